#include "cleaning.h"

#include <stdlib.h>

enum Change { KEEP, DROP, DROP_PRIVATE, BLANK, QUOTE, DOUBLE_QUOTE, VOWEL };

/* Whether a byte begins no character that may change: C0 and C1 controls, DEL, and the lead bytes C2, E0 to E2, EE, EF do. */
static FORCE_INLINE bool plain(uint8_t byte)
{
    static const uint64_t odd[4] = {0xFFFFF9FFull, 1ull << 63, 0, 1ull << 2 | 7ull << 32 | 3ull << 46};
    return !(odd[byte >> 6] >> (byte & 63) & 1);
}

static enum Change change_of_e2(const uint8_t *at, bool folds_quotes)
{
    if (at[1] == 0x81 && at[2] == 0x9F)
        return BLANK;
    if (at[1] != 0x80)
        return KEEP;
    if (at[2] <= 0x8A || at[2] == 0xA8 || at[2] == 0xA9 || at[2] == 0xAF)
        return BLANK;
    if (folds_quotes && (at[2] == 0x98 || at[2] == 0x99))
        return QUOTE;
    return folds_quotes && (at[2] == 0x9C || at[2] == 0x9D) ? DOUBLE_QUOTE : KEEP;
}

/* What becomes of the character at `at`, the first byte of which is not plain. */
static enum Change change_of(const uint8_t *at, bool folds_quotes)
{
    switch (at[0]) {
    case 0x00:
        return BLANK;
    case 0xC2: /* U+0080 to U+00A0 */
        return at[1] < 0xA0 ? DROP : at[1] == 0xA0 ? BLANK : KEEP;
    case 0xE0: /* U+0E32 after U+0E4D becomes U+0E33 */
        return at[1] == 0xB8 && at[2] == 0xB2 ? VOWEL : KEEP;
    case 0xE1:
        return at[1] == 0x9A && at[2] == 0x80 ? BLANK : KEEP;
    case 0xE2:
        return change_of_e2(at, folds_quotes);
    case 0xEE:
        return DROP_PRIVATE;
    case 0xEF:
        return at[1] < 0xA4 ? DROP_PRIVATE : KEEP;
    default:
        return DROP;
    }
}

static FORCE_INLINE size_t length(uint8_t first)
{
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static const uint8_t nikhahit[3] = {0xE0, 0xB9, 0x8D};

/* The first place from `at` on where something may change. */
static const uint8_t *first_change(const uint8_t *at, const uint8_t *end, bool folds_quotes)
{
    while (at < end) {
        if (plain(*at))
            at++;
        else if (change_of(at, folds_quotes) == KEEP)
            at += length(*at);
        else
            return at;
    }
    return end;
}

static uint8_t *copy(uint8_t *into, const uint8_t *from, const uint8_t *to)
{
    memcpy(into, from, (size_t)(to - from));
    return into + (to - from);
}

int clean(Clean *clean, const uint8_t *text, size_t size, bool folds_quotes)
{
    const uint8_t *end = text + size, *at = first_change(text, end, folds_quotes);
    *clean = (Clean){text, size, NULL};
    if (at == end)
        return 0;
    uint8_t *own = malloc(size), *into, *apart = NULL; /* a character dropped at `apart` keeps the vowels apart */
    if (!own)
        return -1;
    into = copy(own, text, at);
    while (at < end) {
        enum Change change = change_of(at, folds_quotes);
        if (change == VOWEL) {
            if (into - own >= 3 && into != apart && !memcmp(into - 3, nikhahit, 3))
                memcpy(into - 3, (const uint8_t[3]){0xE0, 0xB8, 0xB3}, 3);
            else
                into = copy(into, at, at + 3);
        } else if (change == DROP_PRIVATE) {
            apart = into;
        } else if (change != DROP) {
            *into++ = change == BLANK ? ' ' : change == QUOTE ? '\'' : '"';
        }
        at += length(*at);
        const uint8_t *next = first_change(at, end, folds_quotes);
        into = copy(into, at, next);
        at = next;
    }
    *clean = (Clean){own, (size_t)(into - own), own};
    return 0;
}
