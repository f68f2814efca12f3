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

/* Tokens of a piece of at most SMALL_PIECE bytes, at least one; their ranks go to `ranks` unless that is NULL. */
size_t merge_small(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *ranks);

/* The same for a piece of any size. `ranks`, if given, has room for `size` of them. Time grows with the size, and at the
 * worst with its logarithm too; holds two bytes for each byte of the piece, and at the very worst 25. */
enum Outcome merge_large(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *ranks,
                         size_t *count, Poll poll);

#endif
