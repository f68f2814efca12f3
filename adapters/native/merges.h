/* Which two tokens merge into which one.
 *
 * However a text goes on around a token, it comes from the same two: until it is made no merge crosses its ends, so the
 * merges within it are those of its bytes alone, in the same order. One entry for each token is thus all there can be,
 * and none is needed for a token that no merge leads to. */
#ifndef WEIGHBRIDGE_MERGES_H
#define WEIGHBRIDGE_MERGES_H

#include <stdbool.h>

#include "bits.h"

/* A token is known by its number: in the upper bits its place in the order of ranks, which is the order of merges, and
 * in the lowest ones its region, by the first byte. The pairs with a left token of one region lie together, so that
 * those that a script needs stay near the processor. */
#define PLACE_BITS 20
#define REGION_BITS 4
#define REGIONS (1 << REGION_BITS)
#define NUMBER_BITS (PLACE_BITS + REGION_BITS)
#define NO_NUMBER ((1u << NUMBER_BITS) - 1) /* above every number, and part of no pair */
#define PLACE(number) ((number) >> REGION_BITS)

typedef struct {
    size_t first;     /* of the slots */
    uint64_t *filter; /* a bit for each hash: most pairs do not merge, and are known by it without a look-up */
    size_t last_slot, last_word;
} Region;

typedef struct {
    Region regions[REGIONS];
    uint64_t *slots;  /* places of the left and the right token, merged number; 0 where empty, as the first one always
                       * is. Open addressing within a region */
    uint64_t *filter; /* of all regions */
} Pairs;

uint32_t token_number(size_t place, uint8_t first);

/* Empty tables with room for `counts` pairs of each region; 0, or -1 without memory. */
int pairs_start(Pairs *pairs, const size_t counts[REGIONS]);
void pairs_insert(Pairs *pairs, uint32_t left, uint32_t right, uint32_t merged);
void pairs_free(Pairs *pairs);

static FORCE_INLINE uint64_t pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)PLACE(left) << PLACE_BITS | PLACE(right);
}

static FORCE_INLINE uint64_t pair_hash(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15ull;
}

/* Whether the pair with this left token and hash may merge. */
static FORCE_INLINE bool may_merge(const Pairs *pairs, uint32_t left, uint64_t hash)
{
    const Region *region = &pairs->regions[left % REGIONS];
    return region->filter[hash >> 32 & region->last_word] >> (hash >> 58) & 1;
}

/* Number of the token that the two merge into, or NO_NUMBER; whatever the filter says. */
static FORCE_INLINE uint32_t find_merged(const Pairs *pairs, uint32_t left, uint32_t right)
{
    const Region *region = &pairs->regions[left % REGIONS];
    const uint64_t *slots = pairs->slots + region->first, key = pair_key(left, right);
    for (size_t slot = (size_t)(pair_hash(key) >> 32) & region->last_slot;; slot = (slot + 1) & region->last_slot) {
        uint64_t found = slots[slot];
        if (LIKELY(found >> NUMBER_BITS == key && found))
            return (uint32_t)found & NO_NUMBER;
        if (!found)
            return NO_NUMBER;
    }
}

static FORCE_INLINE uint32_t merged(const Pairs *pairs, uint32_t left, uint32_t right)
{
    /* Pairs that merge and pairs that do not come at random, so there is no branch but where another pair is in the way:
     * the slot that is always empty stands for one that need not be looked up. */
    const Region *region = &pairs->regions[left % REGIONS];
    const uint64_t key = pair_key(left, right), hash = pair_hash(key);
    size_t slot = region->first + ((size_t)(hash >> 32) & region->last_slot);
    uint64_t found = pairs->slots[slot & (0 - (size_t)may_merge(pairs, left, hash))];
    uint64_t none = 0 - (uint64_t)(found == 0);
    if (UNLIKELY((found >> NUMBER_BITS ^ key) & ~none))
        return find_merged(pairs, left, right);
    return (uint32_t)(found | none) & NO_NUMBER;
}

#endif
