/* Texts in NFC as a marked stream, tiled as it comes. The rules are those of adapters/claude/marking.py. */
#ifndef WEIGHBRIDGE_MARKING_H
#define WEIGHBRIDGE_MARKING_H

#include "tiling.h"

#define PLANE 0x10000

/* The numbers of Kind and of Trait in adapters/claude/characters.py. */
enum Character {
    C_LETTER, C_SYMBOL, C_DECIMAL, C_NUMERAL, C_SELECTOR, C_SPACE, C_PUNCTUATION, C_DIGIT, C_OTHER_DIGIT, C_WORD, C_MARK
};
enum Trait { CAPITAL = 0x10, SMALL = 0x20, FIXED = 0x40, BORDERED = 0x80 };
enum Marking { FOLDS_QUOTES = 1, CAPITALS = 2, OPENED = 4 };

typedef struct {
    const uint8_t *traits; /* of each code point of the plane */
    const uint8_t *small;  /* small letters, two bytes each */
} Characters;

/* Counts the pieces of a text of at least one byte in a message of its own; the number is in tiler->total. Takes as much
 * memory as the text at the most. */
void count_marked(Tiler *tiler, const Characters *characters, unsigned marking, const uint8_t *text, size_t size);

#endif
