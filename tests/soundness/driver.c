/* The core without an interpreter: counts and encodes the texts of a file, and prints what it found.
 *
 *     driver FAMILY CLASSES RANKS TEXTS THREADS
 *
 * CLASSES has a byte for every code point; RANKS is a rank file; TEXTS has texts, each behind its number of bytes (four
 * of them, the lowest first). A line of output for each text: its number of tokens, and a hash of its ids. Every text is
 * copied to a block of just its size, so that a sanitizer sees a read beyond its end. With more than one thread all of
 * them count all texts at once on the one vocabulary, and have to agree. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

#define MOST_THREADS 16

typedef struct {
    uint8_t *bytes;
    size_t size;
} Block;

typedef struct {
    uint64_t count, hash;
} Answer;

typedef struct {
    const Vocabulary *vocabulary;
    const Family *family;
    const Block *texts;
    size_t text_count;
    Answer *answers;
} Work;

static void fail(const char *what)
{
    fprintf(stderr, "driver: %s\n", what);
    exit(2);
}

static Block read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    Block block = {NULL, 0};
    size_t room = 1 << 20, got;
    if (!file || !(block.bytes = malloc(room)))
        fail(path);
    while ((got = fread(block.bytes + block.size, 1, room - block.size, file)) > 0) {
        block.size += got;
        if (block.size == room && !(block.bytes = realloc(block.bytes, room *= 2)))
            fail(path);
    }
    fclose(file);
    return block;
}

static Block *split(Block all, size_t *count)
{
    Block *texts = NULL;
    *count = 0;
    for (size_t at = 0; at + 4 <= all.size; (*count)++) {
        const uint8_t *length = all.bytes + at;
        size_t size = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
        at += 4;
        if (size > all.size - at || !(texts = realloc(texts, (*count + 1) * sizeof *texts)))
            fail("the texts are cut short");
        texts[*count].size = size;
        texts[*count].bytes = malloc(size); /* of no bytes too: a pointer that must not be read */
        if (size)
            memcpy(texts[*count].bytes, all.bytes + at, size);
        at += size;
    }
    return texts;
}

static Job job_for(const Work *work, Memory *memory, Block text, bool wants_ids)
{
    return (Job){.vocabulary = work->vocabulary, .memory = memory, .text = text.bytes, .size = text.size,
                 .limit = UINT64_MAX, .wants_ids = wants_ids};
}

static Answer answer_for(const Work *work, Memory *memory, Block text)
{
    Job counting = job_for(work, memory, text, false), encoding = job_for(work, memory, text, true);
    if (work->family->scan(&counting) != DONE || work->family->scan(&encoding) != DONE)
        fail("a text could not be counted");
    if (counting.count != encoding.count)
        fail("a count differs from the number of ids");
    Job limited = job_for(work, memory, text, false);
    limited.limit = counting.count / 2;
    if ((work->family->scan(&limited) == DONE) != (counting.count <= limited.limit))
        fail("a limit is not kept");
    Answer answer = {counting.count, 0xcbf29ce484222325ull};
    for (uint64_t i = 0; i < encoding.count; i++)
        answer.hash = (answer.hash ^ encoding.ids[i]) * 0x100000001b3ull;
    free(encoding.ids);
    return answer;
}

static void *count_all(void *context)
{
    Work *work = context;
    Memory *memory = memory_new();
    if (!memory || memory_remember_ids(memory))
        fail("out of memory");
    for (size_t i = 0; i < work->text_count; i++)
        work->answers[i] = answer_for(work, memory, work->texts[i]);
    memory_free(memory);
    return NULL;
}

/* The answers of the first thread, once the others have given the same. */
static Answer *count_in_threads(Work work, size_t threads)
{
    pthread_t running[MOST_THREADS];
    Work works[MOST_THREADS];
    for (size_t i = 0; i < threads; i++) {
        works[i] = work;
        works[i].answers = calloc(work.text_count + 1, sizeof(Answer));
        if (!works[i].answers || pthread_create(&running[i], NULL, count_all, &works[i]))
            fail("a thread could not be started");
    }
    for (size_t i = 0; i < threads; i++)
        pthread_join(running[i], NULL);
    for (size_t i = 1; i < threads; i++) {
        if (memcmp(works[i].answers, works[0].answers, work.text_count * sizeof(Answer)))
            fail("threads do not agree");
        free(works[i].answers);
    }
    return works[0].answers;
}

int main(int count, char **values)
{
    size_t threads = count == 6 ? strtoul(values[5], NULL, 10) : 0;
    if (threads < 1 || threads > MOST_THREADS)
        fail("give FAMILY CLASSES RANKS TEXTS THREADS, at most 16 threads");
    Block classes = read_file(values[2]), ranks = read_file(values[3]), file = read_file(values[4]);
    Vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
    Work work = {.vocabulary = vocabulary, .family = family_named(values[1])};
    if (!work.family || classes.size != CODE_POINTS)
        fail("no such family, or not a class for every code point");
    if (!vocabulary || kinds_build(&vocabulary->kinds, classes.bytes, work.family->as_kind))
        fail("out of memory");
    if (vocabulary_build(vocabulary, ranks.bytes, ranks.size) != BUILT)
        fail("the rank file was refused");
    Block *texts = split(file, &work.text_count);
    work.texts = texts;
    Answer *answers = count_in_threads(work, threads);
    for (size_t i = 0; i < work.text_count; i++) {
        printf("%llu %016llx\n", (unsigned long long)answers[i].count, (unsigned long long)answers[i].hash);
        free(texts[i].bytes);
    }
    free(answers);
    free(texts);
    vocabulary_free(vocabulary);
    free(vocabulary);
    free(classes.bytes);
    free(ranks.bytes);
    free(file.bytes);
    return 0;
}
