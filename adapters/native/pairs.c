#include "pairs.h"

#include <stdlib.h>

int grow(void **items, size_t count, size_t *room, size_t size)
{
    if (LIKELY(count < *room))
        return 0;
    size_t more = *room + *room / 2 + 16;
    void *grown = realloc(*items, more * size);
    if (!grown)
        return -1;
    *items = grown;
    *room = more;
    return 0;
}

static FORCE_INLINE size_t home(const Trainer *trainer, uint32_t left, uint32_t right)
{
    uint64_t mixed = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15ull;
    return (size_t)((mixed ^ mixed >> 29) * 0xd6e8feb86659fd93ull >> 32) & trainer->table_mask;
}

/* The slot of a pair, or the empty one where it would be. */
static FORCE_INLINE size_t slot_of(const Trainer *trainer, uint32_t left, uint32_t right)
{
    size_t slot = home(trainer, left, right);
    for (; trainer->table[slot]; slot = (slot + 1) & trainer->table_mask) {
        const PairRecord *found = &trainer->records[trainer->table[slot] - 1];
        if (found->left == left && found->right == right)
            break;
    }
    return slot;
}

uint32_t pair_find(const Trainer *trainer, uint32_t left, uint32_t right)
{
    return trainer->table ? trainer->table[slot_of(trainer, left, right)] - 1 : NO_PAIR;
}

/* Keeps at least half of the table empty. */
static int widen(Trainer *trainer)
{
    size_t places = trainer->table ? trainer->table_mask + 1 : 0;
    if (trainer->table_used * 2 < places)
        return 0;
    size_t wider = places ? places * 2 : 1024;
    if (wider > (size_t)UINT32_MAX + 1)
        return -1;
    uint32_t *old = trainer->table;
    uint32_t *table = calloc(wider, sizeof *table);
    if (!table)
        return -1;
    trainer->table = table;
    trainer->table_mask = wider - 1;
    for (size_t i = 0; i < places; i++) {
        if (old[i]) {
            const PairRecord *record = &trainer->records[old[i] - 1];
            table[slot_of(trainer, record->left, record->right)] = old[i];
        }
    }
    free(old);
    return 0;
}

uint32_t pair_add(Trainer *trainer, uint32_t left, uint32_t right)
{
    if (widen(trainer))
        return NO_PAIR;
    uint32_t number;
    if (trainer->unused_count) {
        number = trainer->unused[--trainer->unused_count];
    } else {
        if (trainer->record_count >= NO_PAIR - 1 ||
            GROW(trainer->records, trainer->record_count, trainer->record_room))
            return NO_PAIR;
        number = (uint32_t)trainer->record_count++;
    }
    trainer->records[number] = (PairRecord){.left = left, .right = right};
    trainer->table[slot_of(trainer, left, right)] = number + 1;
    trainer->table_used++;
    return number;
}

int pair_forget(Trainer *trainer, uint32_t number)
{
    if (GROW(trainer->unused, trainer->unused_count, trainer->unused_room))
        return -1;
    const size_t mask = trainer->table_mask;
    size_t hole = slot_of(trainer, trainer->records[number].left, trainer->records[number].right);
    trainer->table[hole] = 0;
    /* What follows without a gap moves up, unless that would put it before its home. */
    for (size_t slot = (hole + 1) & mask; trainer->table[slot]; slot = (slot + 1) & mask) {
        const PairRecord *record = &trainer->records[trainer->table[slot] - 1];
        if (((slot - home(trainer, record->left, record->right)) & mask) < ((slot - hole) & mask))
            continue;
        trainer->table[hole] = trainer->table[slot];
        trainer->table[slot] = 0;
        hole = slot;
    }
    trainer->table_used--;
    trainer->unused[trainer->unused_count++] = number;
    return 0;
}

static FORCE_INLINE HeapEntry entry_of(Trainer *trainer, uint32_t number)
{
    PairRecord *record = &trainer->records[number];
    uint64_t tie = (uint64_t)record->left << 32 | record->right;
    if (trainer->first_seen) {
        while (!pair_is_at(trainer, record->left, record->right, record->places[record->passed]))
            record->passed++;
        tie = record->places[record->passed];
    }
    return (HeapEntry){record->count, tie, number};
}

static FORCE_INLINE bool better(const HeapEntry *one, const HeapEntry *other)
{
    return one->count != other->count ? one->count > other->count : one->tie < other->tie;
}

/* Puts `entry` at the top's place or below, in a heap of which that place is free. */
static void sink(Trainer *trainer, HeapEntry entry)
{
    HeapEntry *heap = trainer->heap;
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= trainer->heap_count)
            break;
        if (child + 1 < trainer->heap_count && better(&heap[child + 1], &heap[child]))
            child++;
        if (!better(&heap[child], &entry))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
}

static void remove_top(Trainer *trainer)
{
    trainer->heap_count--;
    if (trainer->heap_count)
        sink(trainer, trainer->heap[trainer->heap_count]);
}

int heap_push(Trainer *trainer, uint32_t number)
{
    if (GROW(trainer->heap, trainer->heap_count, trainer->heap_room))
        return -1;
    HeapEntry entry = entry_of(trainer, number), *heap = trainer->heap;
    size_t at = trainer->heap_count++;
    for (; at && better(&entry, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
    return 0;
}

uint32_t heap_take(Trainer *trainer, bool *failed)
{
    while (trainer->heap_count) {
        const HeapEntry top = trainer->heap[0];
        if (trainer->records[top.record].count < 2) {
            remove_top(trainer);
            if (pair_forget(trainer, top.record)) {
                *failed = true;
                return NO_PAIR;
            }
            continue;
        }
        HeapEntry now = entry_of(trainer, top.record);
        if (now.count == top.count && now.tie == top.tie) {
            remove_top(trainer);
            return top.record;
        }
        sink(trainer, now);
    }
    return NO_PAIR;
}
