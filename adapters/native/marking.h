/* Texts in NFC as a marked stream, tiled as it comes. The rules are those of adapters/claude/marking.py. */
#ifndef WEIGHBRIDGE_MARKING_H
#define WEIGHBRIDGE_MARKING_H

#include "runs.h"
#include "tiling.h"

enum Marking { FOLDS_QUOTES = 1, CAPITALS = 2, OPENED = 4 };

typedef struct {
    const uint8_t *traits; /* of each code point of the plane */
    const uint8_t *small;  /* small letters, two bytes each */
} Characters;

/* Counts the pieces of a text of at least one byte in a message of its own; the number is in tiler->total. Takes as much
 * memory as the text at the most. */
void count_marked(Tiler *tiler, const Characters *characters, unsigned marking, const uint8_t *text, size_t size);

#endif
