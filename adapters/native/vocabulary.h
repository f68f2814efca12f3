/* Tokens and their ranks, found by their bytes. Read-only once built, so that threads may share it. */
#ifndef WEIGHBRIDGE_VOCABULARY_H
#define WEIGHBRIDGE_VOCABULARY_H

#include "kinds.h"
#include "merges.h"

#define NO_RANK UINT32_MAX
#define SHORT_SIZE 15 /* bytes that fit into a key beside their number */
#define LONGEST_TOKEN 65535

typedef struct {
    uint32_t rank, offset, size; /* bytes at `offset` of the vocabulary's */
} Token;

typedef struct {
    uint32_t tag, token; /* upper bits of the hash; number of the token plus one, 0 where the slot is empty */
} LongSlot;

/* See openings.h. */
typedef struct {
    uint32_t numbers[3], count : 2, highest : 30;
} Opening;

#define OPENINGS (1 << 16)
#define SIDES_BITS 18

typedef struct {
    Kinds kinds;
    uint8_t *bytes;
    Token *tokens; /* by rank, ascending */
    size_t count, longest;
    /* Tokens of up to SHORT_SIZE bytes: open addressing from the first of LINE_SLOTS on; an empty slot has the key
     * {0, 0}, which no token has. */
    Word *keys;
    uint32_t *ranks; /* of each slot; apart, because a count reads the keys alone */
    unsigned short_shift;
    size_t short_mask;
    LongSlot *long_slots; /* longer tokens */
    unsigned long_shift;
    size_t long_mask;
    uint32_t byte_numbers[256];
    Pairs pairs;
    Opening *openings; /* by code point; OPENINGS of them */
    uint32_t crossed[1 << 16]; /* by the bytes at a border of characters: lowest number that crosses it */
    uint64_t sides[(1 << SIDES_BITS) / 64]; /* a bit for each hash of two characters that a token holds side by side */
} Vocabulary;

enum BuildError { BUILT, OUT_OF_MEMORY, MALFORMED, REPEATED, TOO_LONG, TOO_MANY, LACKS_BYTES };

/* Reads a rank file: lines of base64, blanks and a rank. `vocabulary` must be all zeros, but for its kinds. */
enum BuildError vocabulary_build(Vocabulary *vocabulary, const uint8_t *file, size_t size);
void vocabulary_free(Vocabulary *vocabulary);

/* The token with this rank, or NULL. */
const Token *vocabulary_token(const Vocabulary *vocabulary, uint32_t rank);

/* For one number of bytes from 0 to 15: which bytes of a word are kept, and the mark that tells sizes apart. */
extern const Word key_masks[SHORT_SIZE + 1];

static FORCE_INLINE Word short_key(Word bytes, size_t size)
{
    Word mask = key_masks[size];
    return (Word){bytes.low & mask.low, (bytes.high & mask.high) | (uint64_t)size << 56};
}

static FORCE_INLINE uint64_t key_hash(Word key)
{
    uint64_t mixed = key.low ^ key.high * 0x9e3779b97f4a7c15ull;
    return (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93ull;
}

#define LINE_SLOTS 4 /* that the processor reads at once */

static FORCE_INLINE size_t first_slot(const Vocabulary *vocabulary, uint64_t hash)
{
    return (size_t)(hash >> vocabulary->short_shift) & ~(size_t)(LINE_SLOTS - 1);
}

/* The slot of a key, or of the empty place where it would be. */
static FORCE_INLINE size_t short_slot(const Vocabulary *vocabulary, Word key, uint64_t hash)
{
    size_t slot = first_slot(vocabulary, hash);
    for (;;) {
        Word found = vocabulary->keys[slot];
        if (LIKELY(((found.low ^ key.low) | (found.high ^ key.high)) == 0) || found.high == 0)
            return slot;
        slot = (slot + 1) & vocabulary->short_mask;
    }
}

/* Whether a key is that of a token: without a branch but where a line is full. */
static FORCE_INLINE bool is_short_token(const Vocabulary *vocabulary, const Word *key, uint64_t hash)
{
    const Word *line = &vocabulary->keys[first_slot(vocabulary, hash)];
    bool found = among_four(line, key);
    if (UNLIKELY(line[LINE_SLOTS - 1].high > 0 - (uint64_t)found)) /* not found, and the last slot taken */
        return vocabulary->keys[short_slot(vocabulary, *key, hash)].high != 0;
    return found;
}

uint32_t long_rank(const Vocabulary *vocabulary, const uint8_t *at, size_t size);

#endif
