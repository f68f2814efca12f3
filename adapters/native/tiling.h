/* The fewest pieces that make up a stretch of a marked stream: a shortest path through a trie of the pieces.
 *
 * A marked stream is UTF-8 with four marks between, none of which is a byte of UTF-8. */
#ifndef WEIGHBRIDGE_TILING_H
#define WEIGHBRIDGE_TILING_H

#include <stdbool.h>

#include "bits.h"
#include "merge.h" /* Outcome and Poll */

enum Mark { OPEN = 0xF8, CLOSE = 0xF9, SHIFT = 0xFA, CAPS = 0xFB, SEPARATOR = 0xFF };

#define LONGEST_PIECE 255
#define STRETCH 4096 /* bytes of a stretch that are held at once */

/* A double array: the child of `unit` by a byte is at unit.next + byte, if that one's owner is `unit`. Unit 0 is the root;
 * its 256 children follow it, for every single byte is a piece. */
typedef struct {
    uint32_t next;  /* 0 for no children; ENDS marks the end of a piece */
    uint32_t owner; /* number of the parent plus one, 0 where the unit is free */
} Unit;

#define ENDS 0x80000000u

typedef struct {
    Unit *units;
    size_t size, longest, count;
} Pieces;

enum PiecesError { PIECES_BUILT, PIECES_NO_MEMORY, PIECES_MALFORMED, PIECES_CROSSING };

/* Reads pieces in order, each ended by SEPARATOR. `pieces` must be all zeros. */
enum PiecesError pieces_build(Pieces *pieces, const uint8_t *file, size_t size);
void pieces_free(Pieces *pieces);

/* A stretch as it grows. `total` has the pieces of all stretches before it. */
typedef struct {
    const Pieces *pieces;
    Poll poll;
    uint64_t total, limit;
    size_t size, unpolled;
    bool continued; /* the stretch began before `bytes` */
    enum Outcome outcome; /* once it is not DONE, nothing is counted any more */
    uint8_t bytes[STRETCH];
    uint32_t fewest[STRETCH + 1]; /* pieces up to each place */
} Tiler;

void tiler_start(Tiler *tiler, const Pieces *pieces, uint64_t limit, Poll poll);
void tiler_advance(Tiler *tiler); /* makes room */
void tiler_cut(Tiler *tiler);     /* ends the stretch */

static FORCE_INLINE void tiler_put(Tiler *tiler, uint8_t byte)
{
    if (UNLIKELY(tiler->size == STRETCH))
        tiler_advance(tiler);
    tiler->bytes[tiler->size++] = byte;
}

#endif
