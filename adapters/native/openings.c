#include "openings.h"

#include <stdlib.h>

#include "merge.h"

static bool continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static void lower(uint32_t *least, uint32_t number)
{
    if (number < *least)
        *least = number;
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

/* Lowers the numbers of what the token could come in the way of; `touching` is by code point. */
static void note(Vocabulary *vocabulary, uint32_t *touching, size_t place)
{
    const Token *token = &vocabulary->tokens[place];
    const uint8_t *at = vocabulary->bytes + token->offset;
    size_t size = token->size;
    uint32_t number = token_number(place, at[0]), point;
    if (continues(at[0]) || ends_in_part(at, size))
        for (size_t i = 1; i < size; i++)
            if (!continues(at[i]))
                lower(&vocabulary->crossed[at[i - 1] << 8 | at[i]], number);
    unsigned first = character_at(at, size, &point);
    if (first && first < size)
        lower(&touching[point], number);
    for (unsigned last = 2; last <= 3 && last < size; last++)
        if (character_at(at + size - last, last, &point) == last)
            lower(&touching[point], number);
}

/* What the character's bytes alone are merged to. */
static Opening opening_of(const Vocabulary *vocabulary, uint32_t point, const uint32_t *touching)
{
    Opening opening = {.highest = NO_NUMBER};
    uint8_t bytes[3];
    size_t size = 0;
    if (point >= 0x800)
        bytes[size++] = (uint8_t)(0xe0 | point >> 12);
    bytes[size] = (uint8_t)(size ? 0x80 | (point >> 6 & 0x3f) : 0xc0 | point >> 6);
    bytes[++size] = (uint8_t)(0x80 | (point & 0x3f));
    for (size_t i = 0; i <= size; i++)
        opening.numbers[i] = vocabulary->byte_numbers[bytes[i]];
    opening.count = (uint32_t)size + 1;
    uint32_t highest = 0;
    for (;;) {
        const uint32_t *n = opening.numbers;
        uint32_t first = opening.count > 1 ? merged(&vocabulary->pairs, n[0], n[1]) : NO_NUMBER;
        uint32_t second = opening.count > 2 ? merged(&vocabulary->pairs, n[1], n[2]) : NO_NUMBER;
        uint32_t lowest = first < second ? first : second;
        if (lowest == NO_NUMBER)
            break;
        highest = lowest > highest ? lowest : highest;
        opening.numbers[lowest == first ? 0 : 1] = lowest;
        if (lowest == first)
            opening.numbers[1] = opening.numbers[2];
        opening.count--;
    }
    if (opening.count > 1 || highest < touching[point])
        opening.highest = highest;
    return opening;
}

int openings_find(Vocabulary *vocabulary)
{
    uint32_t *touching = malloc(OPENINGS * sizeof *touching);
    if (!touching)
        return -1;
    for (size_t i = 0; i < OPENINGS; i++)
        touching[i] = vocabulary->crossed[i] = NO_NUMBER;
    for (size_t i = 0; i < vocabulary->count; i++)
        note(vocabulary, touching, i);
    for (uint32_t byte = 0; byte < 0x80; byte++) /* for those who ask without opening a piece */
        vocabulary->openings[byte] = (Opening){{vocabulary->byte_numbers[byte]}, 1, 0};
    for (uint32_t point = 0x80; point < OPENINGS; point++)
        vocabulary->openings[point] = opening_of(vocabulary, point, touching);
    free(touching);
    return 0;
}
