/* What one call remembers for the next: pieces that took merges. Used by one thread at a time.
 *
 * Each cache has few places for a piece and forgets what was there before, so that no text can slow it down. At most
 * 1 MB for counts of short pieces, 2 MB for those of longer ones and 1 MB for ids, taken as they are needed. */
#ifndef WEIGHBRIDGE_MEMORY_H
#define WEIGHBRIDGE_MEMORY_H

#include "vocabulary.h"

#define SHORT_PLACES_BITS 16
#define LONG_PLACES_BITS 15
#define IDS_PLACES_BITS 14
#define LONG_REMEMBERED 62 /* bytes */
#define IDS_REMEMBERED 11

typedef struct {
    uint8_t size, count, bytes[LONG_REMEMBERED];
} LongCount;

typedef struct {
    Word key;
    uint32_t count, ranks[IDS_REMEMBERED];
} ShortIds;

typedef struct {
    Word *short_counts; /* keys, with the count in the four bits above the size */
    LongCount *long_counts;
    ShortIds *ids; /* NULL until ids are asked for */
    void *block;   /* that holds the counts */
} Memory;

#define COUNT_SHIFT 60
#define WAYS 4

Memory *memory_new(void);
int memory_remember_ids(Memory *memory); /* 0, or -1 without room */
void memory_free(Memory *memory);

/* The places where a short piece may be: all that the processor reads at once. */
static FORCE_INLINE Word *short_places(const Memory *memory, uint64_t hash)
{
    return &memory->short_counts[hash >> (64 - SHORT_PLACES_BITS) & ~(uint64_t)(WAYS - 1)];
}

/* Tokens that the merges of these bytes lead to, if that is remembered; otherwise 0. */
static FORCE_INLINE size_t remembered_count(const Memory *memory, Word key, uint64_t hash)
{
    const Word *places = short_places(memory, hash);
    uint64_t count = 0;
    for (size_t i = 0; i < WAYS; i++) { /* without a branch, for no place is likelier than another */
        uint64_t low = places[i].low ^ key.low, high = places[i].high ^ key.high;
        count |= (low | high << (64 - COUNT_SHIFT)) == 0 ? high >> COUNT_SHIFT : 0;
    }
    return (size_t)count;
}

/* What was remembered first among these places is forgotten. */
static FORCE_INLINE void remember_count(Memory *memory, Word key, uint64_t hash, size_t count)
{
    Word *places = short_places(memory, hash);
    for (size_t i = WAYS - 1; i > 0; i--)
        places[i] = places[i - 1];
    places[0] = (Word){key.low, key.high | (uint64_t)count << COUNT_SHIFT};
}

static FORCE_INLINE size_t long_place(const uint8_t *at, size_t size)
{
    uint64_t hash = size;
    for (size_t i = 0; i + 8 < size; i += 8)
        hash = (hash ^ load_8(at + i)) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
    hash = (hash ^ load_8(at + size - 8)) * 0xd6e8feb86659fd93ull;
    return (size_t)(hash >> (64 - LONG_PLACES_BITS));
}

#endif
