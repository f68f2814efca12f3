/* Trains a byte-pair vocabulary on words and their counts: merges the most frequent pair of neighbours, again and again,
 * until no pair occurs twice. Gives the merges of adapters/bpe/merging.py, its slow twin, which states the rules. */
#ifndef WEIGHBRIDGE_TRAIN_H
#define WEIGHBRIDGE_TRAIN_H

#include <stdbool.h>

#include "merge.h"

#define MOST_SLOTS (UINT32_MAX - 2) /* symbols of all words, and one border for each */
#define MOST_SYMBOLS (1u << 31)

typedef struct {
    uint32_t left, right;
    uint64_t frequency; /* how often they were neighbours when they were merged */
} Merged;

/* A pair that occurs at least twice. */
typedef struct {
    uint32_t left, right;
    uint64_t count;
    uint32_t *places; /* of the left symbol, ascending; some no longer hold the pair */
    uint32_t place_count, passed; /* the first `passed` places are known to hold it no longer */
} PairRecord;

/* At least as good as the pair is now: its count only falls, and its first place only moves back. */
typedef struct {
    uint64_t count, tie;
    uint32_t record;
} HeapEntry;

/* What a merge adds to the pairs of the new symbol with one neighbour. */
typedef struct {
    uint64_t count;
    uint32_t places, record; /* record: its number plus one, 0 for none */
} Gain;

typedef struct {
    uint32_t neighbour, place;
} Gained;

typedef struct {
    Gain *of;      /* by the neighbour's id; all zeros between merges */
    Gained *row;   /* in the order of their places */
    size_t count, room;
} Gains;

typedef struct Chunk {
    struct Chunk *next;
    size_t used, room;
    uint32_t places[];
} Chunk;

typedef struct {
    /* One slot for each symbol that a word began with, and a border before and after each word. A symbol made by merges
     * stands in its first slot and in its last one; lengths tell how many it covers. */
    uint32_t *symbols, *word_of;
    uint64_t *weights; /* how often each word occurs */
    uint32_t *lengths; /* by symbol */
    size_t slot_count, symbol_count, symbol_room;
    PairRecord *records;
    size_t record_count, record_room;
    uint32_t *unused; /* numbers of records to use again */
    size_t unused_count, unused_room;
    uint32_t *table; /* record number plus one, by the pair; 0 where empty */
    size_t table_mask, table_used;
    HeapEntry *heap;
    size_t heap_count, heap_room;
    Gains before, after; /* pairs (neighbour, new) and (new, neighbour) */
    Chunk *chunks;
    Merged *merges;
    size_t merge_count, merge_room;
    bool first_seen; /* ties go to the pair that comes first, and not to the one with the lowest ids */
} Trainer;

/* Words as they are given: `width` bytes for each symbol (1 or 4), all symbols in one row. */
typedef struct {
    const uint8_t *symbols;
    unsigned width;
    const uint32_t *lengths;
    const uint64_t *weights;
    size_t count, symbol_count;
} WordRow;

/* `trainer` must be all zeros; `alphabet` is the number of symbols that the words are made of. STOPPED: the poll says so. */
enum Outcome trainer_build(Trainer *trainer, const WordRow *words, uint32_t alphabet, Poll poll);

/* At most `most` further merges; fewer when no pair occurs twice. Whatever the outcome but NO_MEMORY, the trainer stands
 * between two merges, and can go on. */
enum Outcome trainer_run(Trainer *trainer, uint64_t most, Poll poll);

/* Makes a merge that was chosen before; false if it does not have that frequency. */
enum Outcome trainer_repeat(Trainer *trainer, Merged merge, bool *fits);

void trainer_free(Trainer *trainer);

#endif
