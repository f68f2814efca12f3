#include "words.h"

#include <stdlib.h>

#include "pairs.h"
#include "window.h"

#define BETWEEN_POLLS (1 << 16)
#define FIRST_SLOTS_BITS 12

static uint64_t long_hash(const uint8_t *at, size_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15ull;
    for (size_t i = 0; i + 8 < size; i += 8) {
        hash = (hash ^ load_8(at + i)) * 0xd6e8feb86659fd93ull;
        hash ^= hash >> 32;
    }
    hash = (hash ^ load_8(at + size - 8)) * 0xd6e8feb86659fd93ull;
    return (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
}

static const uint8_t *long_word(const WordTable *table, const CountedWord *word)
{
    return table->long_bytes + word->key.low;
}

static uint64_t hash_of(const WordTable *table, const CountedWord *word)
{
    if (word->key.high < LONG_WORD)
        return key_hash(word->key);
    return long_hash(long_word(table, word), (size_t)(word->key.high & ~LONG_WORD));
}

static void fill(WordTable *table)
{
    for (size_t i = 0; i < table->count; i++) {
        uint64_t hash = hash_of(table, &table->words[i]);
        size_t slot = (size_t)(hash >> table->shift);
        while (table->slots[slot])
            slot = (slot + 1) & table->mask;
        table->slots[slot] = (hash & ~(uint64_t)UINT32_MAX) | (i + 1);
    }
}

/* Room for one word more; keeps at least half of the slots empty. */
static int reserve(WordTable *table)
{
    if (GROW(table->words, table->count, table->room))
        return -1;
    size_t places = table->slots ? table->mask + 1 : 0;
    if (table->count * 2 < places)
        return 0;
    unsigned bits = places ? 64 - table->shift + 1 : FIRST_SLOTS_BITS;
    if (bits > 32)
        return -1;
    uint64_t *slots = calloc((size_t)1 << bits, sizeof *slots);
    if (!slots)
        return -1;
    free(table->slots);
    table->slots = slots;
    table->shift = 64 - bits;
    table->mask = ((size_t)1 << bits) - 1;
    fill(table);
    return 0;
}

static int add_new(WordTable *table, size_t slot, uint64_t hash, Word key, size_t size, uint64_t times)
{
    table->slots[slot] = (hash & ~(uint64_t)UINT32_MAX) | (table->count + 1);
    table->words[table->count++] = (CountedWord){key, times};
    table->size += size;
    return reserve(table);
}

static FORCE_INLINE int add_short(WordTable *table, Word key, size_t size, const uint64_t times)
{
    const uint64_t hash = key_hash(key);
    size_t slot = (size_t)(hash >> table->shift);
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (table->slots[slot] >> 32 != hash >> 32)
            continue;
        CountedWord *word = &table->words[(uint32_t)table->slots[slot] - 1];
        if (LIKELY(word->key.low == key.low && word->key.high == key.high)) {
            word->count += times;
            return 0;
        }
    }
    return add_new(table, slot, hash, key, size, times);
}

static int add_long(WordTable *table, const uint8_t *at, size_t size, uint64_t times)
{
    const uint64_t hash = long_hash(at, size);
    size_t slot = (size_t)(hash >> table->shift);
    for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
        if (table->slots[slot] >> 32 != hash >> 32)
            continue;
        CountedWord *word = &table->words[(uint32_t)table->slots[slot] - 1];
        if (word->key.high == (LONG_WORD | size) && !memcmp(long_word(table, word), at, size)) {
            word->count += times;
            return 0;
        }
    }
    if (table->long_room - table->long_size < size) {
        size_t room = table->long_room + table->long_room / 2 + size + 4096;
        uint8_t *bytes = realloc(table->long_bytes, room);
        if (!bytes)
            return -1;
        table->long_bytes = bytes;
        table->long_room = room;
    }
    memcpy(table->long_bytes + table->long_size, at, size);
    Word key = {table->long_size, LONG_WORD | size};
    table->long_size += size;
    return add_new(table, slot, hash, key, size, times);
}

static FORCE_INLINE int add_word(WordTable *table, const uint8_t *at, size_t size, Word word, const uint64_t times)
{
    if (LIKELY(size <= SHORT_SIZE))
        return add_short(table, short_key(word, size), size, times);
    return add_long(table, at, size, times);
}

enum Outcome words_add(WordTable *table, const uint8_t *bytes, const uint32_t *sizes, const uint64_t *counts,
                       size_t count)
{
    const uint8_t *end = bytes;
    for (size_t i = 0; i < count; i++)
        end += sizes[i];
    if (!table->slots && reserve(table))
        return NO_MEMORY;
    for (size_t i = 0; i < count; bytes += sizes[i++])
        if (sizes[i] && add_word(table, bytes, sizes[i], load_within(bytes, end), counts[i]))
            return NO_MEMORY;
    return DONE;
}

/* Adds the pieces that end within the window at `*at`, and moves it to where they end. */
static FORCE_INLINE int add_window(WordTable *table, const Kinds *kinds, const uint8_t **at, const Pattern pattern)
{
    const uint8_t *window = *at;
    unsigned from = 0;
    for (uint64_t starts = piece_starts(kinds, window, pattern) & ~1ull; starts; starts &= starts - 1) {
        unsigned to = trailing_zeros_64(starts);
        if (add_word(table, window + from, to - from, load_16(window + from), 1))
            return -1;
        from = to;
    }
    *at = window + from;
    return 0;
}

static FORCE_INLINE enum Outcome count_words(WordTable *table, const Kinds *kinds, const uint8_t *text, size_t size,
                                             Poll poll, const Pattern pattern)
{
    const uint8_t *at = text, *end = text + size, *check = text, *next_window = text;
    if (!table->slots && reserve(table))
        return NO_MEMORY;
    while (at < end) {
        int failed = 0;
        if (UNLIKELY(at >= check)) {
            if (poll.ask && poll.ask(poll.context))
                return STOPPED;
            check = (size_t)(end - at) > BETWEEN_POLLS ? at + BETWEEN_POLLS : end;
        }
        const uint8_t *start = at;
        if (at >= next_window && end - at >= WINDOW + 16 && *at < 0x80) {
            failed = add_window(table, kinds, &at, pattern);
            if (at == start) /* a long piece: the state machine finds its end */
                next_window = at + 1;
        } else {
            at = piece_end(kinds, start, end, pattern);
            failed = add_word(table, start, (size_t)(at - start), load_within(start, end), 1);
        }
        if (UNLIKELY(failed))
            return NO_MEMORY;
    }
    return DONE;
}

#define COUNTER(name, pattern)                                                                                         \
    static enum Outcome name(WordTable *table, const Kinds *kinds, const uint8_t *text, size_t size, Poll poll)        \
    {                                                                                                                  \
        return count_words(table, kinds, text, size, poll, pattern);                                                   \
    }

COUNTER(count_r50k, PATTERN_R50K)
COUNTER(count_cl100k, PATTERN_CL100K)
COUNTER(count_llama3, PATTERN_LLAMA3)
COUNTER(count_qwen, PATTERN_QWEN)
COUNTER(count_o200k, PATTERN_O200K)
COUNTER(count_tekken, PATTERN_TEKKEN)

CountWords word_counter_named(const char *family)
{
    static const struct {
        const char *name;
        CountWords count;
    } counters[] = {
        {"r50k", count_r50k}, {"cl100k", count_cl100k}, {"llama3", count_llama3}, {"qwen", count_qwen},
        {"qwen3_5", count_qwen}, {"o200k", count_o200k}, {"tekken", count_tekken},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (!strcmp(counters[i].name, family))
            return counters[i].count;
    return NULL;
}

void words_write(const WordTable *table, uint8_t *bytes, uint32_t *sizes, uint64_t *counts)
{
    for (size_t i = 0; i < table->count; i++) {
        const CountedWord *word = &table->words[i];
        size_t size = (size_t)(word->key.high >= LONG_WORD ? word->key.high & ~LONG_WORD : word->key.high >> 56);
        if (word->key.high >= LONG_WORD)
            memcpy(bytes, long_word(table, word), size);
        else
            for (size_t at = 0; at < size; at++)
                bytes[at] = (uint8_t)(at < 8 ? word->key.low >> at * 8 : word->key.high >> (at - 8) * 8);
        bytes += size;
        sizes[i] = (uint32_t)size;
        counts[i] = word->count;
    }
}

void words_free(WordTable *table)
{
    free(table->words);
    free(table->slots);
    free(table->long_bytes);
    *table = (WordTable){0};
}
