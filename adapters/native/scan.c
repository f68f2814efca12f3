#include "scan.h"

#include <stdlib.h>

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

/* A piece of at most SHORT_SIZE bytes that is no token. */
static enum Outcome add_short(Job *job, const uint8_t *at, size_t size, Word key, uint64_t hash)
{
    Memory *memory = job->memory;
    if (!job->wants_ids) {
        size_t place = (size_t)(hash >> (64 - SHORT_PLACES_BITS));
        Word *known = &memory->short_keys[place];
        if (known->low != key.low || known->high != key.high) {
            memory->short_counts[place] = (uint8_t)merge_small(job->vocabulary, at, size, NULL);
            *known = key;
        }
        job->count += memory->short_counts[place];
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
    if (size <= SMALL_PIECE) {
        count = merge_small(job->vocabulary, at, size, into);
    } else {
        if (job->limit < job->count || (size - 1) / job->vocabulary->longest >= job->limit - job->count) {
            job->count = job->limit + 1; /* even in its longest tokens the piece does not fit */
            return BEYOND_LIMIT;
        }
        enum Outcome outcome = merge_large(job->vocabulary, at, size, into, &count, job->poll);
        if (outcome != DONE)
            return outcome;
    }
    job->count += count;
    return DONE;
}

/* A piece of more than SHORT_SIZE bytes. */
static enum Outcome add_long(Job *job, const uint8_t *at, size_t size)
{
    uint32_t rank = size <= job->vocabulary->longest ? long_rank(job->vocabulary, at, size) : NO_RANK;
    if (rank != NO_RANK) {
        if (job->wants_ids) {
            if (reserve(job, 1))
                return NO_MEMORY;
            job->ids[job->count] = rank;
        }
        job->count++;
        return DONE;
    }
    if (job->wants_ids || size > LONG_REMEMBERED)
        return add_merged(job, at, size);
    LongCount *known = &job->memory->long_counts[long_place(at, size)];
    if (known->size != size || memcmp(known->bytes, at, size)) {
        known->count = (uint8_t)merge_small(job->vocabulary, at, size, NULL);
        known->size = (uint8_t)size;
        memcpy(known->bytes, at, size);
    }
    job->count += known->count;
    return DONE;
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

static FORCE_INLINE enum Outcome add_piece(Job *job, const uint8_t *at, size_t size, Word word, const bool wants_ids)
{
    if (UNLIKELY(size > SHORT_SIZE))
        return add_long(job, at, size);
    const Vocabulary *vocabulary = job->vocabulary;
    Word key = short_key(word, size);
    uint64_t hash = key_hash(key);
    size_t slot = short_slot(vocabulary, key, hash);
    if (UNLIKELY(!vocabulary->keys[slot].high))
        return add_short(job, at, size, key, hash);
    if (wants_ids) {
        if (UNLIKELY(job->room == job->count) && reserve(job, 1))
            return NO_MEMORY;
        job->ids[job->count] = vocabulary->ranks[slot];
    }
    job->count++;
    return DONE;
}

/* Adds the pieces that end within the window at `*at`, and moves it to where they end. */
static FORCE_INLINE enum Outcome add_window(Job *job, const uint8_t **at, const Pattern pattern, const bool wants_ids)
{
    const uint8_t *window = *at;
    unsigned from = 0;
    for (uint64_t starts = piece_starts(window, pattern) & ~1ull; starts; starts &= starts - 1) {
        unsigned to = trailing_zeros_64(starts);
        enum Outcome outcome = add_piece(job, window + from, to - from, load_16(window + from), wants_ids);
        if (UNLIKELY(outcome != DONE))
            return outcome;
        from = to;
    }
    *at = window + from;
    return DONE;
}

static FORCE_INLINE enum Outcome scan(Job *job, const Pattern pattern, const bool wants_ids)
{
    const Kinds *kinds = &job->vocabulary->kinds;
    const uint8_t *at = job->text, *end = at + job->size, *check = at, *next_window = at;
    while (at < end) {
        enum Outcome outcome = DONE;
        if (UNLIKELY(at >= check)) {
            if (job->poll.ask && job->poll.ask(job->poll.context))
                return STOPPED;
            check = (size_t)(end - at) > BETWEEN_POLLS ? at + BETWEEN_POLLS : end;
        }
        Word word = load_within(at, end);
        if (at >= next_window && end - at >= WINDOW + 16 && !beyond_ascii_mask(word)) {
            const uint8_t *window = at;
            outcome = add_window(job, &at, pattern, wants_ids);
            if (at == window) /* a long piece: the state machine finds its end */
                next_window = at + 1;
        } else {
            size_t size = plain_word(word, leads_word(kinds, *at, pattern), pattern);
            if (!size)
                size = (size_t)(piece_end(kinds, at, end, pattern) - at);
            outcome = add_piece(job, at, size, word, wants_ids);
            at += size;
        }
        if (UNLIKELY(outcome != DONE))
            return outcome;
        if (UNLIKELY(job->count > job->limit))
            return BEYOND_LIMIT;
    }
    return DONE;
}

#define SCANNER(name, pattern)                                                                                         \
    static enum Outcome name(Job *job)                                                                                 \
    {                                                                                                                  \
        return job->wants_ids ? scan(job, pattern, true) : scan(job, pattern, false);                                  \
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
