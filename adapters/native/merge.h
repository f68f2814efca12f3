/* Byte-pair merges of one piece that is no token as a whole. */
#ifndef WEIGHBRIDGE_MERGE_H
#define WEIGHBRIDGE_MERGE_H

#include "vocabulary.h"

#define SMALL_PIECE 128 /* bytes; beyond, a heap finds the lowest rank */

/* Asks whether to go on; anything but 0 ends the work. */
typedef struct {
    int (*ask)(void *context);
    void *context;
} Poll;

enum Outcome { DONE, NO_MEMORY, STOPPED, BEYOND_LIMIT };

/* Tokens of a piece of at most SMALL_PIECE bytes, at least one; their numbers go to `numbers` unless that is NULL. */
size_t merge_small(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *numbers);

/* The counts alone of two such pieces, in less time: where the processor waits for one it goes on with the other. */
void merge_two(const Vocabulary *vocabulary, const uint8_t *const pieces[2], const size_t sizes[2], size_t counts[2]);

/* The same for a piece of any size. `numbers`, if given, has room for `size` of them. Time grows with the size, and at
 * the worst with its logarithm too; holds two bytes for each byte of the piece, and at the very worst 28. */
enum Outcome merge(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *numbers, size_t *count,
                   Poll poll);

#endif
