#include "atoms.h"

#include <stdbool.h>
#include <stdlib.h>

static bool continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static void lower(uint32_t *least, uint32_t rank)
{
    if (rank < *least)
        *least = rank;
}

/* Bytes of the whole character of two or three bytes at `at`, or 0; `*point` becomes its code point. */
static unsigned character_at(const uint8_t *at, size_t left, uint32_t *point)
{
    if (left >= 2 && at[0] >= 0xc2 && at[0] < 0xe0 && continues(at[1])) {
        *point = (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu);
        return 2;
    }
    if (left >= 3 && at[0] >= 0xe0 && at[0] < 0xf0 && continues(at[1]) && continues(at[2])) {
        *point = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        return *point >= 0x800 ? 3 : 0;
    }
    return 0;
}

/* Whether the last character of these bytes is cut short. */
static bool ends_in_part(const uint8_t *at, size_t size)
{
    size_t back = 1;
    while (back < size && back < 4 && continues(at[size - back]))
        back++;
    uint8_t lead = at[size - back];
    size_t whole = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return back < whole;
}

/* Lowers the ranks of what the token could come in the way of; `touching` is by code point. */
static void note(Vocabulary *vocabulary, uint32_t *touching, const Token *token)
{
    const uint8_t *at = vocabulary->bytes + token->offset;
    size_t size = token->size;
    uint32_t point;
    if (continues(at[0]) || ends_in_part(at, size))
        for (size_t i = 1; i < size; i++)
            if (!continues(at[i]))
                lower(&vocabulary->crossed[at[i - 1] << 8 | at[i]], token->rank);
    unsigned first = character_at(at, size, &point);
    if (first && first < size)
        lower(&touching[point], token->rank);
    for (unsigned last = 2; last <= 3 && last < size; last++)
        if (character_at(at + size - last, last, &point) == last)
            lower(&touching[point], token->rank);
}

/* Highest rank among the merges that make the character's token, or NO_RANK where none do. */
static uint32_t highest_merge(const Vocabulary *vocabulary, const uint8_t *at, unsigned size, uint32_t rank)
{
    if (size == 2)
        return rank;
    uint32_t left = vocabulary->pair_ranks[at[0] << 8 | at[1]], right = vocabulary->pair_ranks[at[1] << 8 | at[2]];
    uint32_t first = left < right ? left : right;
    return first > rank ? first : rank; /* without a pair that is NO_RANK */
}

int atoms_find(Vocabulary *vocabulary)
{
    const size_t points = sizeof vocabulary->atoms / sizeof *vocabulary->atoms;
    uint32_t *touching = malloc(points * sizeof *touching);
    if (!touching)
        return -1;
    memset(touching, 0xff, points * sizeof *touching);
    memset(vocabulary->atoms, 0xff, sizeof vocabulary->atoms);
    memset(vocabulary->crossed, 0xff, sizeof vocabulary->crossed);
    for (size_t i = 0; i < vocabulary->count; i++)
        note(vocabulary, touching, &vocabulary->tokens[i]);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const Token *token = &vocabulary->tokens[i];
        const uint8_t *at = vocabulary->bytes + token->offset;
        uint32_t point;
        if (token->size > 3 || character_at(at, token->size, &point) != token->size)
            continue;
        uint32_t highest = highest_merge(vocabulary, at, token->size, token->rank);
        if (highest < touching[point])
            vocabulary->atoms[point] = highest;
    }
    free(touching);
    return 0;
}
