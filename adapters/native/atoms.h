/* Characters whose bytes become one token before any of them joins a byte of another character.
 *
 * Merges go by rank, so this holds for a character c of two or three bytes where all merges that make its token have
 * lower ranks than every token that
 *   - lies across a border of c and has a part of c at one end (it would take a byte of c away): of these, only those
 *     with the same two bytes at the border as the text; or
 *   - begins or ends with the whole of c and is longer (it could come too early).
 * Then as long as c is not made, a merge within c is among the lowest that can be, and none of those comes. So c can be
 * taken as one token from the start. Nearly all Chinese characters are such, which saves two merges for each. */
#ifndef WEIGHBRIDGE_ATOMS_H
#define WEIGHBRIDGE_ATOMS_H

#include "vocabulary.h"

/* Fills `atoms` and `crossed`; 0, or -1 without memory. */
int atoms_find(Vocabulary *vocabulary);

/* Size of the character at `at` if it is an atom in the piece from `start` to `end`, else 1; two more bytes must be
 * readable beyond `end`. */
static FORCE_INLINE size_t atom_size(const Vocabulary *vocabulary, const uint8_t *start, const uint8_t *at,
                                     const uint8_t *end)
{
    unsigned lead = at[0];
    if (lead < 0xc2 || lead >= 0xf0)
        return 1;
    size_t size = lead < 0xe0 ? 2 : 3;
    if ((size_t)(end - at) < size) /* a part of a piece may end within a character */
        return 1;
    uint32_t point = size == 2 ? (lead & 0x1f) << 6 | (at[1] & 0x3fu)
                               : (lead & 0x0f) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    uint32_t highest = vocabulary->atoms[point];
    if (highest == NO_RANK || (at > start && vocabulary->crossed[at[-1] << 8 | lead] <= highest))
        return 1;
    return at + size < end && vocabulary->crossed[at[size - 1] << 8 | at[size]] <= highest ? 1 : size;
}

#endif
