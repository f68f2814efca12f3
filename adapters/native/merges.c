#include "merges.h"

#include <stdlib.h>

#include "tables.h"

#define SLOTS_FOR_WORD 8 /* of the filter: 16 bits or more for a pair */

uint32_t token_number(size_t place, uint8_t first)
{
    static const uint8_t starts[] = {0, 'A', 'a', 0x80, 0xc2, 0xe0, 0xe3, 0xe4, 0xea, 0xf0}; /* of the regions */
    unsigned region = sizeof starts; /* one of its own for what begins with a blank: half of all words */
    if (first != ' ')
        do
            region--;
        while (first < starts[region]);
    return (uint32_t)place << REGION_BITS | region;
}

static size_t slots_for(size_t count)
{
    size_t slots = SLOTS_FOR_WORD;
    while (slots < count * 2)
        slots *= 2;
    return slots;
}

int pairs_start(Pairs *pairs, const size_t counts[REGIONS])
{
    size_t slots = SLOTS_FOR_WORD; /* for the one that is always empty */
    for (size_t i = 0; i < REGIONS; i++)
        slots += slots_for(counts[i]);
    pairs->slots = table_new(slots, sizeof *pairs->slots);
    pairs->filter = table_new(slots / SLOTS_FOR_WORD, sizeof *pairs->filter);
    if (!pairs->slots || !pairs->filter)
        return -1;
    slots = SLOTS_FOR_WORD;
    for (size_t i = 0; i < REGIONS; i++) {
        size_t own = slots_for(counts[i]);
        pairs->regions[i] = (Region){slots, pairs->filter + slots / SLOTS_FOR_WORD, own - 1,
                                     own / SLOTS_FOR_WORD - 1};
        slots += own;
    }
    return 0;
}

void pairs_insert(Pairs *pairs, uint32_t left, uint32_t right, uint32_t merged)
{
    const Region *region = &pairs->regions[left % REGIONS];
    uint64_t key = pair_key(left, right), hash = pair_hash(key);
    size_t slot = (size_t)(hash >> 32) & region->last_slot;
    uint64_t *slots = pairs->slots + region->first;
    while (slots[slot])
        slot = (slot + 1) & region->last_slot;
    slots[slot] = key << NUMBER_BITS | merged;
    region->filter[hash >> 32 & region->last_word] |= 1ull << (hash >> 58);
}

void pairs_free(Pairs *pairs)
{
    free(pairs->slots);
    free(pairs->filter);
}
