#include "cuts.h"

static const CutRule rules[] = {
    {.family = "r50k"},
    {.family = "cl100k", .breaks = true},
    {.family = "llama3", .breaks = true},
    {.family = "qwen", .breaks = true},
    {.family = "qwen3_5", .breaks = true},
    {.family = "o200k", .breaks = true, .quotes = true, .slashes = true},
    {.family = "tekken", .breaks = true, .slashes = true},
};

const CutRule *cut_rule_named(const char *family)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].family, family))
            return &rules[i];
    return NULL;
}

/* Whether a text may be cut between characters of these kinds; `next` is the first byte of the second one. */
static bool is_safe(const CutRule *rule, enum Kind before, enum Kind after, uint8_t next)
{
    if (before == BREAK)
        return rule->breaks && !IN(after, WHITE) && !(rule->slashes && next == '/');
    if (before == SPACE)
        return false;
    if (after == SPACE || (after == BREAK && !rule->breaks))
        return true;
    if (before == NUMBER || after == NUMBER)
        return before != after;
    return IN(before, LETTERS) && (after == BREAK || (after == OTHER && !(rule->quotes && next == '\'')));
}

size_t last_cut(const CutRule *rule, const Kinds *kinds, const uint8_t *text, size_t size, size_t low, size_t high)
{
    if (high == size)
        return size;
    unsigned length;
    enum Kind after = kind_at(kinds, text + high, &length);
    for (size_t at = high, before_at; at > low; at = before_at) {
        for (before_at = at - 1; (text[before_at] & 0xc0) == 0x80; before_at--)
            ;
        enum Kind before = kind_at(kinds, text + before_at, &length);
        if (is_safe(rule, before, after, text[at]))
            return at;
        after = before;
    }
    return low;
}
