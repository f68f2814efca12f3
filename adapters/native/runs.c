#include "runs.h"

#define SHARP_S 0x1E9E
#define DOTTED_I 0x0130

static FORCE_INLINE uint8_t entry_of(const uint8_t *traits, uint32_t code_point)
{
    return code_point < PLANE ? traits[code_point] : C_LETTER;
}

/* Whether a character of `kind` goes on with a run of the kind `run`. */
static FORCE_INLINE bool joins(enum Character run, enum Character kind)
{
    switch (run) {
    case C_WORD:
        return kind == C_WORD || kind == C_MARK;
    case C_DIGIT:
    case C_OTHER_DIGIT:
        return kind == C_DIGIT || kind == C_OTHER_DIGIT;
    case C_DECIMAL:
    case C_NUMERAL:
        return kind == C_DECIMAL || kind == C_NUMERAL || kind == C_SELECTOR;
    case C_LETTER:
    case C_SYMBOL:
        return kind == run || kind == C_SELECTOR;
    default:
        return kind == run;
    }
}

static FORCE_INLINE bool number(enum Character kind)
{
    return kind == C_DIGIT || kind == C_OTHER_DIGIT || kind == C_DECIMAL || kind == C_NUMERAL;
}

static FORCE_INLINE void add_letter(Run *run, uint32_t code_point, uint8_t entry)
{
    run->letters = (uint8_t)(run->letters + (run->letters < LEAST_CAPITALS));
    run->literal |= code_point == SHARP_S;
    run->dotted |= code_point == DOTTED_I;
    if (run->letters == 1)
        run->first = entry;
    else
        run->inner |= entry;
}

/* Goes on with a word from `at`, which is behind its first letter. */
static const uint8_t *read_word(const uint8_t *traits, const uint8_t *at, const uint8_t *end, Run *run)
{
    for (;;) {
        const uint8_t *start = at;
        uint8_t inner = 0, last = 0;
        while (at < end && *at < 0x80 && kind_of(traits[*at]) == C_WORD)
            inner |= last = traits[*at++];
        if (at > start) {
            size_t letters = run->letters + (size_t)(at - start);
            run->letters = letters < LEAST_CAPITALS ? (uint8_t)letters : LEAST_CAPITALS;
            run->inner |= inner;
            run->last = last;
        }
        if (at == end || *at < 0x80)
            return at;
        size_t size;
        uint32_t code_point = decode(at, &size);
        uint8_t entry = entry_of(traits, code_point);
        if (!joins(C_WORD, kind_of(entry)))
            return at;
        add_letter(run, code_point, code_point == DOTTED_I ? C_WORD : entry);
        run->last = entry;
        at += size;
    }
}

/* Goes on with any other run. */
static const uint8_t *read_others(const uint8_t *traits, const uint8_t *at, const uint8_t *end, enum Character first,
                                  Run *run)
{
    while (at < end) {
        size_t size;
        uint8_t entry = entry_of(traits, decode(at, &size));
        enum Character kind = kind_of(entry);
        if (!joins(run->kind, kind))
            break;
        run->digits &= kind == first || run->kind == C_DIGIT || run->kind == C_OTHER_DIGIT;
        run->last = entry;
        at += size;
    }
    return at;
}

void read_run(const uint8_t *traits, const uint8_t *at, const uint8_t *end, Run *run)
{
    *run = (Run){0};
    if (at == end)
        return;
    size_t size;
    uint32_t code_point = decode(at, &size);
    uint8_t entry = entry_of(traits, code_point);
    enum Character kind = kind_of(entry);
    run->at = at;
    run->first = run->last = entry;
    run->kind = kind == C_SELECTOR ? C_LETTER : kind;
    run->digits = number(kind);
    if (kind == C_WORD) {
        add_letter(run, code_point, code_point == DOTTED_I ? C_WORD : entry);
        run->end = read_word(traits, at + size, end, run);
    } else {
        run->end = read_others(traits, at + size, end, kind, run);
    }
}
