/* The tokens that a character of two or three bytes is sure to become before any of them joins a byte of another one.
 *
 * Merges go by rank. Let `highest` be the highest number among the tokens that the merges of the character alone make.
 * They come before all else that concerns it, where every token that
 *   - lies across a border of the character and has a part of a character at one end: of these, only those with the
 *     same two bytes at the border as the text; or
 *   - begins or ends with the whole character and is longer, if the character is a token itself
 * has a higher number. For as long as its own merges are not done, one of them is among the lowest that can be, and
 * none of those others. So a piece may begin with the tokens that its characters come to, which are far fewer than its
 * bytes: most Chinese characters are one or two. */
#ifndef WEIGHBRIDGE_OPENINGS_H
#define WEIGHBRIDGE_OPENINGS_H

#include "vocabulary.h"

/* Fills `openings` and `crossed` once the pairs are known; 0, or -1 without memory. */
int openings_find(Vocabulary *vocabulary);

/* Puts the numbers of the tokens that a piece begins its merges with to `numbers`, which has room for its size and two
 * more; returns how many. */
static FORCE_INLINE size_t open_piece(const Vocabulary *vocabulary, const uint8_t *piece, size_t size,
                                      uint32_t *numbers)
{
    const uint8_t *end = piece + size;
    uint32_t *into = numbers;
    unsigned before = 0xff; /* in no text: the bytes around the piece do not count */
    for (const uint8_t *at = piece; at < end;) {
        unsigned lead = at[0];
        if (lead >= 0xc2 && lead < 0xf0) {
            size_t bytes = lead < 0xe0 ? 2 : 3;
            if (LIKELY((size_t)(end - at) >= bytes)) { /* a part of a piece may end within a character */
                uint32_t point = bytes == 2 ? (lead & 0x1f) << 6 | (at[1] & 0x3fu)
                                            : (lead & 0x0f) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
                const Opening *opening = &vocabulary->openings[point];
                unsigned last = at[bytes - 1], after = at + bytes < end ? at[bytes] : 0xff;
                if (LIKELY(opening->highest < vocabulary->crossed[before << 8 | lead] &&
                           opening->highest < vocabulary->crossed[last << 8 | after])) {
                    memcpy(into, opening->numbers, sizeof opening->numbers);
                    into += opening->count;
                    at += bytes;
                    before = last;
                    continue;
                }
            }
        }
        *into++ = vocabulary->byte_numbers[lead];
        before = lead;
        at++;
    }
    return (size_t)(into - numbers);
}

#endif
