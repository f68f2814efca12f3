/* Runs of characters of one kind, in well-formed UTF-8. */
#ifndef WEIGHBRIDGE_RUNS_H
#define WEIGHBRIDGE_RUNS_H

#include <stdbool.h>

#include "bits.h"

#define PLANE 0x10000
#define LEAST_CAPITALS 4

/* The numbers of Kind and of Trait in adapters/claude/characters.py. */
enum Character {
    C_LETTER, C_SYMBOL, C_DECIMAL, C_NUMERAL, C_SELECTOR, C_SPACE, C_PUNCTUATION, C_DIGIT, C_OTHER_DIGIT, C_WORD, C_MARK
};
enum Trait { CAPITAL = 0x10, SMALL = 0x20, FIXED = 0x40, BORDERED = 0x80 };

/* Neighbouring characters of one kind. */
typedef struct {
    const uint8_t *at, *end; /* NULL where there is no run */
    enum Character kind;
    uint8_t first, last; /* entries of the first and the last character */
    bool digits;         /* all decimal digits, or all other numbers */
    /* Of a word: */
    uint8_t inner;   /* traits of all characters behind the first */
    uint8_t letters; /* their number, up to LEAST_CAPITALS */
    bool literal;    /* its case is not marked */
    bool dotted;     /* never all capitals */
} Run;

/* The run that begins at `at`, or one of zeros at the end. `traits` has the entry of each code point of the plane. */
void read_run(const uint8_t *traits, const uint8_t *at, const uint8_t *end, Run *run);

static FORCE_INLINE enum Character kind_of(uint8_t entry)
{
    return (enum Character)(entry & 0x0F);
}

/* The code point at `at`; its bytes are `*size`. */
static FORCE_INLINE uint32_t decode(const uint8_t *at, size_t *size)
{
    uint8_t first = at[0];
    if (first < 0x80)
        return *size = 1, first;
    if (first < 0xE0)
        return *size = 2, (uint32_t)(first & 0x1F) << 6 | (at[1] & 0x3F);
    if (first < 0xF0)
        return *size = 3, (uint32_t)(first & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    return *size = 4, PLANE;
}

static FORCE_INLINE bool borders(uint8_t entry)
{
    return entry & BORDERED || kind_of(entry) == C_SELECTOR;
}

static FORCE_INLINE bool border_digit(const Run *run, uint8_t entry)
{
    return run->digits && kind_of(entry) != C_DIGIT;
}

#endif
