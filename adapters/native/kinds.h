/* What a split pattern can tell about a character, by code point. */
#ifndef WEIGHBRIDGE_KINDS_H
#define WEIGHBRIDGE_KINDS_H

#include <stdbool.h>

#include "bits.h"

/* In the order of CLASS_NUMBERS in families.py. */
enum Kind {
    OTHER,
    SPACE, /* white space that is not a line break */
    BREAK, /* \r and \n */
    NUMBER,
    UPPER, /* Lu, Lt */
    LOWER, /* Ll */
    BOTH,  /* Lm, Lo: counts as either case; every letter, for a pattern without cases */
    MARK,
    KINDS
};

#define IN(kind, set) ((1u << (kind)) & (set))
#define SET(kind) (1u << (kind))
#define LETTERS (SET(UPPER) | SET(LOWER) | SET(BOTH))
#define WHITE (SET(SPACE) | SET(BREAK))

#define CODE_POINTS 0x110000
#define BLOCK 256
#define BASIC_PLANE 0x10000 /* code points that two or three bytes reach */

/* Two stages: blocks of 256 code points, equal blocks stored once. Block 0, which holds ASCII, comes first. */
typedef struct {
    uint16_t block_of[CODE_POINTS / BLOCK];
    uint8_t *blocks;
    size_t block_count;
    bool han; /* whether U+5000 to U+9FFF, all that begin with 0xe5 to 0xe9 in UTF-8, are of the kind BOTH */
    uint8_t plane[BASIC_PLANE]; /* the kinds of U+0000 to U+FFFF once more, a load away */
} Kinds;

/* `classes` has a byte for every code point; `as_kind` says which kind stands for each. 0, or -1 without memory. */
int kinds_build(Kinds *kinds, const uint8_t *classes, const uint8_t as_kind[KINDS]);
void kinds_free(Kinds *kinds);

/* Kind of the character at `at`, which must begin a whole UTF-8 sequence; `*size` becomes its length in bytes. */
static FORCE_INLINE enum Kind kind_at(const Kinds *kinds, const uint8_t *at, unsigned *size)
{
    uint32_t lead = at[0];
    if (LIKELY(lead < 0x80)) {
        *size = 1;
        return (enum Kind)kinds->plane[lead];
    }
    if (lead < 0xe0) { /* what the upper bits of each byte add to the point is taken off at once */
        *size = 2;
        return (enum Kind)kinds->plane[(lead << 6) + at[1] - (0xc0u << 6) - 0x80];
    }
    if (LIKELY(lead < 0xf0)) {
        *size = 3;
        return (enum Kind)kinds->plane[(lead << 12) + (at[1] << 6) + at[2] - (0xe0u << 12) - (0x80u << 6) - 0x80];
    }
    *size = 4;
    uint32_t point = (lead & 0x07) << 18 | (at[1] & 0x3fu) << 12 | (at[2] & 0x3fu) << 6 | (at[3] & 0x3fu);
    return (enum Kind)kinds->blocks[(size_t)kinds->block_of[point / BLOCK] * BLOCK + point % BLOCK];
}

#endif
