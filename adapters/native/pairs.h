/* The pairs that a trainer may still merge: found by their symbols, taken by their frequency. */
#ifndef WEIGHBRIDGE_PAIRS_H
#define WEIGHBRIDGE_PAIRS_H

#include "train.h"

#define NO_PAIR UINT32_MAX

/* Makes room for one more item; 0, or -1 without memory. `*items` is an array of items of `size` bytes. */
int grow(void **items, size_t count, size_t *room, size_t size);

#define GROW(items, count, room) grow((void **)&(items), count, &(room), sizeof *(items))

/* Number of a pair's record, or NO_PAIR. */
uint32_t pair_find(const Trainer *trainer, uint32_t left, uint32_t right);

/* Number of a new record, without count or places, of a pair that has none; NO_PAIR without memory. */
uint32_t pair_add(Trainer *trainer, uint32_t left, uint32_t right);

/* Forgets a pair, whose record may be used again. */
int pair_forget(Trainer *trainer, uint32_t record);

/* Whether the pair is at `place`, where its left symbol was. */
static FORCE_INLINE bool pair_is_at(const Trainer *trainer, uint32_t left, uint32_t right, uint32_t place)
{
    return trainer->symbols[place] == left && trainer->symbols[place + trainer->lengths[left]] == right;
}

/* Enters a pair that occurs twice into the heap; 0, or -1 without memory. */
int heap_push(Trainer *trainer, uint32_t record);

/* Takes the pair to merge next out of the heap: the record's number, or NO_PAIR where no pair occurs twice or, with
 * `*failed` set, without memory. */
uint32_t heap_take(Trainer *trainer, bool *failed);

#endif
