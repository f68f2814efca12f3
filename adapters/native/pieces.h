/* Where a piece ends: the split patterns as state machines over UTF-8, with the meaning that the patterns have in
 * tiktoken (leftmost alternative first). families.py holds the patterns themselves. */
#ifndef WEIGHBRIDGE_PIECES_H
#define WEIGHBRIDGE_PIECES_H

#include <stdbool.h>

#include "kinds.h"

enum Contraction { NONE_APART, BEFORE_SAME_CASE, BEFORE_ANY_CASE, AFTER_ANY_CASE };
enum Tail { NO_TAIL, BREAKS, BREAKS_AND_SLASHES };

/* What the patterns differ in. All values are constants where a state machine is made from them. */
typedef struct {
    bool cased;                    /* a word is upper case, then lower case; otherwise any letters */
    bool any_lead;                 /* one character that is no letter, number or break may lead a word; otherwise ' ' */
    enum Contraction contraction;  /* 's, 'll and so on: pieces before all else, or the end of a word */
    unsigned digits;               /* most of a piece; 0: any number of them, and ' ' may lead */
    enum Tail tail;                /* what may follow in a piece of other characters */
    bool breaks;                   /* white space is cut after its last line break */
    bool whole_end;                /* white space at the end of the text is one piece in any case */
} Pattern;

#define PATTERN_R50K (Pattern){.contraction = BEFORE_SAME_CASE}
#define PATTERN_CL100K                                                                                                 \
    (Pattern){.any_lead = true, .contraction = BEFORE_ANY_CASE, .digits = 3, .tail = BREAKS, .breaks = true,           \
              .whole_end = true}
#define PATTERN_LLAMA3                                                                                                 \
    (Pattern){.any_lead = true, .contraction = BEFORE_ANY_CASE, .digits = 3, .tail = BREAKS, .breaks = true}
#define PATTERN_QWEN                                                                                                   \
    (Pattern){.any_lead = true, .contraction = BEFORE_ANY_CASE, .digits = 1, .tail = BREAKS, .breaks = true}
#define PATTERN_O200K                                                                                                  \
    (Pattern){.cased = true, .any_lead = true, .contraction = AFTER_ANY_CASE, .digits = 3,                             \
              .tail = BREAKS_AND_SLASHES, .breaks = true}
#define PATTERN_TEKKEN                                                                                                 \
    (Pattern){.cased = true, .any_lead = true, .digits = 1, .tail = BREAKS_AND_SLASHES, .breaks = true}

/* Bytes of the contraction at `at`, or 0. Regardless of case, s is also U+017F: no other letter folds to these. */
static inline unsigned contraction_size(const uint8_t *at, const uint8_t *end, bool any_case)
{
    size_t left = (size_t)(end - at);
    if (left < 2 || at[0] != '\'')
        return 0;
    uint8_t fold = any_case ? 0x20 : 0, first = at[1] | fold, second = left > 2 ? at[2] | fold : 0;
    if (first == 's' || first == 'd' || first == 'm' || first == 't')
        return 2;
    if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e'))
        return 3;
    return any_case && left > 2 && at[1] == 0xc5 && at[2] == 0xbf ? 3 : 0;
}

static FORCE_INLINE const uint8_t *run_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end, unsigned set)
{
    unsigned size;
    while (at < end && IN(kind_at(kinds, at, &size), set))
        at += size;
    return at;
}

/* End of X*Y+ from `at`, X the letters that are not lower case and Y those that are not upper case, marks in both; NULL
 * where it does not match. Without a lower-case letter after X*, X* gives back all that follows its last member of Y. */
static inline const uint8_t *lower_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *shared = NULL;
    while (at < end) {
        unsigned size;
        enum Kind kind = kind_at(kinds, at, &size);
        if (kind == LOWER)
            return run_end(kinds, at, end, SET(LOWER) | SET(BOTH) | SET(MARK));
        if (!IN(kind, SET(UPPER) | SET(BOTH) | SET(MARK)))
            break;
        at += size;
        if (kind != UPPER)
            shared = at;
    }
    return shared;
}

/* End of the cased word at `at`, or NULL; `first` is the kind and `size` the length of its first character. */
static inline const uint8_t *cased_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end, enum Kind first,
                                       unsigned size)
{
    const uint8_t *word = at;
    if (IN(first, SET(OTHER) | SET(SPACE) | SET(MARK))) {
        word = at + size;
        const uint8_t *found = lower_end(kinds, word, end);
        if (found || first == MARK)
            return found ? found : lower_end(kinds, at, end);
    } else if (IN(first, LETTERS)) {
        const uint8_t *found = lower_end(kinds, at, end);
        if (found)
            return found;
    } else {
        return NULL;
    }
    const uint8_t *capitals = run_end(kinds, word, end, SET(UPPER));
    return capitals > word ? capitals : NULL;
}

static inline const uint8_t *white_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end, bool breaks,
                                       bool whole_end)
{
    const uint8_t *start = at, *last = at, *after_break = NULL;
    while (at < end) {
        unsigned size;
        enum Kind kind = kind_at(kinds, at, &size);
        if (!IN(kind, WHITE))
            break;
        last = at;
        at += size;
        if (kind == BREAK)
            after_break = at;
    }
    if (whole_end && at == end)
        return at;
    if (breaks && after_break)
        return after_break;
    /* The last one may lead the next piece, unless it is the only one. */
    return at == end || last == start ? at : last;
}

static FORCE_INLINE const uint8_t *tail_end(const uint8_t *at, const uint8_t *end, enum Tail tail)
{
    if (tail != NO_TAIL)
        while (at < end && (*at == '\r' || *at == '\n' || (tail == BREAKS_AND_SLASHES && *at == '/')))
            at++;
    return at;
}

static FORCE_INLINE const uint8_t *word_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end, enum Kind first,
                                            unsigned size, const Pattern pattern)
{
    if (pattern.cased) {
        const uint8_t *found = cased_end(kinds, at, end, first, size);
        if (found && pattern.contraction == AFTER_ANY_CASE && found < end && *found == '\'')
            found += contraction_size(found, end, true);
        return found;
    }
    if (IN(first, LETTERS))
        return run_end(kinds, at + size, end, LETTERS);
    if (pattern.any_lead ? IN(first, SET(OTHER) | SET(SPACE)) : *at == ' ') {
        const uint8_t *found = run_end(kinds, at + size, end, LETTERS);
        return found > at + size ? found : NULL;
    }
    return NULL;
}

/* End of the piece that starts at `at`, which is before `end`, the end of the text. */
static FORCE_INLINE const uint8_t *piece_end(const Kinds *kinds, const uint8_t *at, const uint8_t *end,
                                             const Pattern pattern)
{
    unsigned size;
    enum Kind first = kind_at(kinds, at, &size);
    if (pattern.contraction == BEFORE_SAME_CASE || pattern.contraction == BEFORE_ANY_CASE) {
        unsigned found = contraction_size(at, end, pattern.contraction == BEFORE_ANY_CASE);
        if (found)
            return at + found;
    }
    const uint8_t *word = word_end(kinds, at, end, first, size, pattern);
    if (word)
        return word;
    const unsigned others = SET(OTHER) | (pattern.cased ? SET(MARK) : 0);
    if (first == NUMBER) {
        if (!pattern.digits)
            return run_end(kinds, at, end, SET(NUMBER));
        for (unsigned digits = 0; digits < pattern.digits && at < end; digits++) {
            if (kind_at(kinds, at, &size) != NUMBER)
                break;
            at += size;
        }
        return at;
    }
    if (IN(first, others))
        return tail_end(run_end(kinds, at, end, others), end, pattern.tail);
    if (*at == ' ' && at + 1 < end) {
        enum Kind second = kind_at(kinds, at + 1, &size);
        if (IN(second, others))
            return tail_end(run_end(kinds, at + 1, end, others), end, pattern.tail);
        if (!pattern.digits && second == NUMBER)
            return run_end(kinds, at + 1, end, SET(NUMBER));
    }
    return white_end(kinds, at, end, pattern.breaks, pattern.whole_end);
}

#endif
