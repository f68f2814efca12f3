/* Tokens and their ranks, found by their bytes. Read-only once built, so that threads may share it. */
#ifndef WEIGHBRIDGE_VOCABULARY_H
#define WEIGHBRIDGE_VOCABULARY_H

#include "bits.h"
#include "kinds.h"

#define NO_RANK UINT32_MAX
#define SHORT_SIZE 15 /* bytes that fit into a key beside their number */
#define LONGEST_TOKEN 65535

typedef struct {
    uint32_t rank, offset, size; /* bytes at `offset` of the vocabulary's */
} Token;

typedef struct {
    uint32_t tag, token; /* upper bits of the hash; number of the token plus one, 0 where the slot is empty */
} LongSlot;

typedef struct {
    Kinds kinds;
    uint8_t *bytes;
    Token *tokens; /* by rank, ascending */
    size_t count, longest;
    /* Tokens of up to SHORT_SIZE bytes: open addressing; an empty slot has the key {0, 0}, which no token has. */
    Word *keys;
    uint32_t *ranks; /* of each slot; apart, because a count reads the keys alone */
    unsigned short_shift;
    size_t short_mask;
    uint64_t *filter; /* a bit for each hash of a short token: most spans that are no token are known without a look-up */
    unsigned filter_shift;
    LongSlot *long_slots; /* longer tokens */
    unsigned long_shift;
    size_t long_mask;
    uint32_t pair_ranks[1 << 16]; /* of tokens of two bytes, the first one in the upper bits */
    uint32_t byte_ranks[256];
    /* See atoms.h. */
    uint32_t atoms[1 << 16];   /* by code point: highest rank among the merges that make the character, or NO_RANK */
    uint32_t crossed[1 << 16]; /* by the bytes before and after a border of characters: lowest rank that crosses it */
} Vocabulary;

enum BuildError { BUILT, OUT_OF_MEMORY, MALFORMED, REPEATED, TOO_LONG, LACKS_BYTES };

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

/* The slot of a key, or of the empty place where it would be. */
static FORCE_INLINE size_t short_slot(const Vocabulary *vocabulary, Word key, uint64_t hash)
{
    size_t slot = (size_t)(hash >> vocabulary->short_shift);
    for (;;) {
        Word found = vocabulary->keys[slot];
        if (LIKELY(((found.low ^ key.low) | (found.high ^ key.high)) == 0) || found.high == 0)
            return slot;
        slot = (slot + 1) & vocabulary->short_mask;
    }
}

uint32_t long_rank(const Vocabulary *vocabulary, const uint8_t *at, size_t size);

/* Rank of a span of at least one byte, or NO_RANK; sixteen bytes from `at` on must be readable. */
static FORCE_INLINE uint32_t span_rank(const Vocabulary *vocabulary, const uint8_t *at, size_t size)
{
    if (size == 2)
        return vocabulary->pair_ranks[at[0] << 8 | at[1]];
    if (LIKELY(size <= SHORT_SIZE)) {
        Word key = short_key(load_16(at), size);
        uint64_t hash = key_hash(key), bit = hash >> vocabulary->filter_shift;
        if (!(vocabulary->filter[bit / 64] >> bit % 64 & 1))
            return NO_RANK;
        return vocabulary->ranks[short_slot(vocabulary, key, hash)];
    }
    return size <= vocabulary->longest ? long_rank(vocabulary, at, size) : NO_RANK;
}

#endif
