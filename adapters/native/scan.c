#include "scan.h"

#include <stdlib.h>

#include "stretches.h"
#include "window.h"

#define BETWEEN_POLLS (1 << 16)

static int reserve(Job *job, size_t more)
{
    if (job->room - job->count >= more)
        return 0;
    size_t room = job->room + job->room / 2 + more + 64;
    uint32_t *grown = realloc(job->ids, room * sizeof *grown);
    if (!grown)
        return -1;
    job->ids = grown;
    job->room = room;
    return 0;
}

static void to_ranks(const Vocabulary *vocabulary, uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = vocabulary->tokens[PLACE(numbers[i])].rank;
}

static size_t count_merged(const Job *job, const uint8_t *at, size_t size)
{
    size_t count = 0;
    if (size > 3 && tends_apart(at + size))
        count = stretches_count(job->vocabulary, job->memory, at, size, job->text + job->size);
    return count ? count : merge_small(job->vocabulary, at, size, NULL);
}

/* A piece of at most SHORT_SIZE bytes that is no token. */
static enum Outcome add_short(Job *job, const uint8_t *at, size_t size, Word key, uint64_t hash)
{
    Memory *memory = job->memory;
    if (!job->wants_ids) {
        size_t count = remembered_count(memory, key, hash);
        if (!count) {
            count = count_merged(job, at, size);
            remember_count(memory, key, hash, count);
        }
        job->count += count;
        return DONE;
    }
    if (reserve(job, SHORT_SIZE))
        return NO_MEMORY;
    ShortIds *known = &memory->ids[hash >> (64 - IDS_PLACES_BITS)];
    uint32_t *into = job->ids + job->count;
    if (known->key.low == key.low && known->key.high == key.high) {
        memcpy(into, known->ranks, sizeof known->ranks);
        job->count += known->count;
        return DONE;
    }
    size_t count = merge_small(job->vocabulary, at, size, into);
    to_ranks(job->vocabulary, into, count);
    if (count <= IDS_REMEMBERED) {
        known->key = key;
        known->count = (uint32_t)count;
        memcpy(known->ranks, into, count * sizeof *into);
    }
    job->count += count;
    return DONE;
}

static enum Outcome add_merged(Job *job, const uint8_t *at, size_t size)
{
    if (job->wants_ids && reserve(job, size))
        return NO_MEMORY;
    uint32_t *into = job->wants_ids ? job->ids + job->count : NULL;
    size_t count = 0;
    if (size > SMALL_PIECE &&
        (job->limit < job->count || (size - 1) / job->vocabulary->longest >= job->limit - job->count)) {
        job->count = job->limit + 1; /* even in its longest tokens the piece does not fit */
        return BEYOND_LIMIT;
    }
    enum Outcome outcome = merge(job->vocabulary, at, size, into, &count, job->poll);
    if (outcome != DONE)
        return outcome;
    if (into)
        to_ranks(job->vocabulary, into, count);
    job->count += count;
    return DONE;
}

/* A piece of more than SHORT_SIZE bytes. */
static enum Outcome add_long(Job *job, const uint8_t *at, size_t size)
{
    uint32_t rank = size <= job->vocabulary->longest ? long_rank(job->vocabulary, at, size) : NO_RANK;
    if (rank == NO_RANK)
        return add_merged(job, at, size);
    if (job->wants_ids) {
        if (reserve(job, 1))
            return NO_MEMORY;
        job->ids[job->count] = rank;
    }
    job->count++;
    return DONE;
}

/* The same where only its count is wanted and `known` is the place for it. */
static enum Outcome add_long_count(Job *job, const uint8_t *at, size_t size, LongCount *known)
{
    if (known->size != size || memcmp(known->bytes, at, size)) {
        uint64_t before = job->count;
        enum Outcome outcome = add_long(job, at, size);
        if (outcome != DONE)
            return outcome;
        known->count = (uint8_t)(job->count - before);
        known->size = (uint8_t)size;
        memcpy(known->bytes, at, size);
        return DONE;
    }
    job->count += known->count;
    return DONE;
}

/* The same for a piece that tends to fall apart: to count it takes no longer than to look for it. */
static enum Outcome add_apart(Job *job, const uint8_t *at, size_t size)
{
    size_t count = stretches_count(job->vocabulary, job->memory, at, size, job->text + job->size);
    job->count += count;
    if (count)
        return DONE;
    return size <= LONG_REMEMBERED ? add_long_count(job, at, size, &job->memory->long_counts[long_place(at, size)])
                                   : add_long(job, at, size);
}

/* Size of the ASCII word at the start of `word`, with the character that leads it; 0 where the state machine has to
 * look: no such word, one that ends beyond SHORT_SIZE bytes, or whose next character may belong to it. */
static FORCE_INLINE size_t plain_word(Word word, bool leads, const Pattern pattern)
{
    unsigned size = leads;
    uint32_t beyond;
    if (pattern.cased) {
        LetterMasks masks = letter_masks(word);
        size += trailing_zeros(~(masks.upper >> size));
        size += trailing_zeros(~(masks.lower >> size));
        beyond = masks.beyond_ascii;
    } else {
        size += trailing_zeros(~(any_letter_mask(word) >> size));
        beyond = beyond_ascii_mask(word);
    }
    if (size == leads || size > SHORT_SIZE || beyond >> size & 1)
        return 0;
    if (pattern.contraction == AFTER_ANY_CASE) {
        uint8_t next = (uint8_t)(size < 8 ? word.low >> size * 8 : word.high >> (size - 8) * 8);
        if (next == '\'')
            return 0;
    }
    return size;
}

/* Whether a character may lead a plain word; an apostrophe may begin a contraction instead. */
static FORCE_INLINE bool leads_word(const Kinds *kinds, uint8_t first, const Pattern pattern)
{
    if (!pattern.any_lead)
        return first == ' ';
    if (first >= 0x80 || (first == '\'' && pattern.contraction == BEFORE_ANY_CASE))
        return false;
    return IN(kinds->blocks[first], SET(OTHER) | SET(SPACE));
}

/* Pieces that wait to be counted. Looking up one takes long where its slot is far from the processor, so that all slots
 * are asked for before the first of them is read. */
typedef struct {
    Word key;
    uint64_t hash;
    const uint8_t *at;
    size_t size;
} ShortPiece;

typedef struct {
    const uint8_t *at;
    size_t size, place; /* of its count; for a piece up to LONG_REMEMBERED */
} LongPiece;

#define ENOUGH 64 /* pieces of one of both sorts */

typedef struct {
    ShortPiece short_pieces[ENOUGH + WINDOW];
    LongPiece long_pieces[ENOUGH + WINDOW];
    size_t short_count, long_count;
} Queue;

static FORCE_INLINE void put(Queue *queue, const Job *job, const uint8_t *at, size_t size, Word word)
{
    const Vocabulary *vocabulary = job->vocabulary;
    if (LIKELY(size <= SHORT_SIZE)) {
        ShortPiece *piece = &queue->short_pieces[queue->short_count++];
        Word key = short_key(word, size);
        *piece = (ShortPiece){key, key_hash(key), at, size};
        PREFETCH(&vocabulary->keys[first_slot(vocabulary, piece->hash)]);
    } else {
        LongPiece *piece = &queue->long_pieces[queue->long_count++];
        *piece = (LongPiece){at, size, 0};
        if (size <= LONG_REMEMBERED) {
            piece->place = long_place(at, size);
            PREFETCH(&job->memory->long_counts[piece->place]);
        }
    }
}

static enum Outcome add_short_ids(Job *job, const ShortPiece *piece)
{
    const Vocabulary *vocabulary = job->vocabulary;
    size_t slot = short_slot(vocabulary, piece->key, piece->hash);
    if (!vocabulary->keys[slot].high)
        return add_short(job, piece->at, piece->size, piece->key, piece->hash);
    if (job->room == job->count && reserve(job, 1))
        return NO_MEMORY;
    job->ids[job->count++] = vocabulary->ranks[slot];
    return DONE;
}

/* In the order of the text. */
static enum Outcome add_ids(Job *job, const Queue *queue)
{
    const ShortPiece *piece = queue->short_pieces, *last = piece + queue->short_count;
    const LongPiece *long_piece = queue->long_pieces, *last_long = long_piece + queue->long_count;
    while (piece < last || long_piece < last_long) {
        enum Outcome outcome;
        if (long_piece == last_long || (piece < last && piece->at < long_piece->at)) {
            outcome = add_short_ids(job, piece++);
        } else {
            outcome = add_long(job, long_piece->at, long_piece->size);
            long_piece++;
        }
        if (UNLIKELY(outcome != DONE))
            return outcome;
    }
    return DONE;
}

static enum Outcome add_short_counts(Job *job, const Queue *queue)
{
    const Vocabulary *vocabulary = job->vocabulary;
    uint8_t others[ENOUGH + WINDOW]; /* that are no token */
    size_t other_count = 0;
    for (size_t i = 0; i < queue->short_count; i++) {
        others[other_count] = (uint8_t)i;
        other_count += !is_short_token(vocabulary, &queue->short_pieces[i].key, queue->short_pieces[i].hash);
    }
    job->count += queue->short_count - other_count;
    for (size_t i = 0; i < other_count; i++)
        PREFETCH(short_places(job->memory, queue->short_pieces[others[i]].hash));
    for (size_t i = 0; i < other_count; i++) {
        const ShortPiece *piece = &queue->short_pieces[others[i]];
        enum Outcome outcome = add_short(job, piece->at, piece->size, piece->key, piece->hash);
        if (UNLIKELY(outcome != DONE))
            return outcome;
    }
    return DONE;
}

static enum Outcome add_long_counts(Job *job, const Queue *queue)
{
    for (size_t i = 0; i < queue->long_count; i++) {
        const LongPiece *piece = &queue->long_pieces[i];
        enum Outcome outcome;
        if (tends_apart(piece->at + piece->size))
            outcome = add_apart(job, piece->at, piece->size);
        else if (piece->size <= LONG_REMEMBERED)
            outcome = add_long_count(job, piece->at, piece->size, &job->memory->long_counts[piece->place]);
        else
            outcome = add_long(job, piece->at, piece->size);
        if (UNLIKELY(outcome != DONE))
            return outcome;
    }
    return DONE;
}

static enum Outcome add_queue(Job *job, Queue *queue)
{
    enum Outcome outcome;
    if (job->wants_ids)
        outcome = add_ids(job, queue);
    else if ((outcome = add_short_counts(job, queue)) == DONE)
        outcome = add_long_counts(job, queue);
    queue->short_count = queue->long_count = 0;
    if (outcome == DONE && job->count > job->limit)
        return BEYOND_LIMIT;
    return outcome;
}

/* Puts the pieces that end within the window at `at` into the queue; returns where they end. */
static FORCE_INLINE const uint8_t *put_window(Queue *queue, const Job *job, const uint8_t *at, const Pattern pattern)
{
    unsigned from = 0;
    for (uint64_t starts = piece_starts(&job->vocabulary->kinds, at, pattern) & ~1ull; starts; starts &= starts - 1) {
        unsigned to = trailing_zeros_64(starts);
        put(queue, job, at + from, to - from, load_16(at + from));
        from = to;
    }
    return at + from;
}

static FORCE_INLINE enum Outcome scan(Job *job, const Pattern pattern)
{
    const Kinds *kinds = &job->vocabulary->kinds;
    const uint8_t *at = job->text, *end = at + job->size, *check = at, *next_window = at;
    Queue queue;
    queue.short_count = queue.long_count = 0;
    while (at < end) {
        if (UNLIKELY(at >= check)) {
            if (job->poll.ask && job->poll.ask(job->poll.context))
                return STOPPED;
            check = (size_t)(end - at) > BETWEEN_POLLS ? at + BETWEEN_POLLS : end;
        }
        if (at >= next_window && end - at >= WINDOW + 16) {
            const uint8_t *window = at;
            at = put_window(&queue, job, at, pattern);
            if (at == window) /* a long piece, or one that the window does not decide */
                next_window = at + 1;
        } else {
            Word word = load_within(at, end);
            size_t size = plain_word(word, leads_word(kinds, *at, pattern), pattern);
            if (!size)
                size = (size_t)(piece_end(kinds, at, end, pattern) - at);
            put(&queue, job, at, size, word);
            at += size;
        }
        if (queue.short_count >= ENOUGH || queue.long_count >= ENOUGH) {
            enum Outcome outcome = add_queue(job, &queue);
            if (UNLIKELY(outcome != DONE))
                return outcome;
        }
    }
    return add_queue(job, &queue);
}

#define SCANNER(name, pattern)                                                                                         \
    static enum Outcome name(Job *job)                                                                                 \
    {                                                                                                                  \
        return scan(job, pattern);                                                                                     \
    }

SCANNER(scan_r50k, PATTERN_R50K)
SCANNER(scan_cl100k, PATTERN_CL100K)
SCANNER(scan_llama3, PATTERN_LLAMA3)
SCANNER(scan_qwen, PATTERN_QWEN)
SCANNER(scan_o200k, PATTERN_O200K)
SCANNER(scan_tekken, PATTERN_TEKKEN)

#define WITH_CASES {OTHER, SPACE, BREAK, NUMBER, UPPER, LOWER, BOTH, MARK}
#define WITHOUT_CASES {OTHER, SPACE, BREAK, NUMBER, BOTH, BOTH, BOTH, OTHER}
#define MARKS_ARE_LETTERS {OTHER, SPACE, BREAK, NUMBER, BOTH, BOTH, BOTH, BOTH}

static const Family families[] = {
    {"r50k", scan_r50k, WITHOUT_CASES},
    {"cl100k", scan_cl100k, WITHOUT_CASES},
    {"llama3", scan_llama3, WITHOUT_CASES},
    {"qwen", scan_qwen, WITHOUT_CASES},
    {"qwen3_5", scan_qwen, MARKS_ARE_LETTERS},
    {"o200k", scan_o200k, WITH_CASES},
    {"tekken", scan_tekken, WITH_CASES},
};

const Family *family_named(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].name, name))
            return &families[i];
    return NULL;
}
