/* Where a piece falls apart: between two characters that no token holds side by side. Every merge makes a token, so none
 * is ever made across such a border, and what lies between two of them is merged as if it were alone. Chinese falls into
 * stretches of one or two characters, whose tokens are known without a merge. */
#ifndef WEIGHBRIDGE_STRETCHES_H
#define WEIGHBRIDGE_STRETCHES_H

#include "memory.h"

/* Notes which characters stand side by side in the token at this place. */
void stretches_note(Vocabulary *vocabulary, size_t place);

/* Tokens of a piece of whole characters; 0 where it does not fall apart, or is not looked at: it is longer than
 * SMALL_PIECE or has characters beyond U+FFFF. A piece that falls apart is no token. `end` is that of the text. */
size_t stretches_count(const Vocabulary *vocabulary, Memory *memory, const uint8_t *piece, size_t size,
                       const uint8_t *end);

/* Whether the piece that ends at `end`, of more than two bytes, is of a script that tends to fall apart: U+3000 to
 * U+9FFF, so Chinese and kana. */
static FORCE_INLINE bool tends_apart(const uint8_t *end)
{
    return (uint8_t)(end[-3] - 0xe3) < 7;
}

#endif
