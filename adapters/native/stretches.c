#include "stretches.h"

#include "merge.h"

#define MOST_CHARACTERS 64 /* a bit for each */

/* Beside code points: a character of which a token has only a part is known by the byte at its border. */
#define FIRST_BYTE(byte) (0x110000u + (byte))
#define LAST_BYTE(byte) (0x110100u + (byte))
#define NOTHING UINT32_MAX

static FORCE_INLINE uint32_t side_by_side(uint32_t left, uint32_t right)
{
    return (left * 0x9e3779b1u + right * 0x85ebca6bu) >> (32 - SIDES_BITS);
}

static FORCE_INLINE bool may_adjoin(const Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    uint32_t bit = side_by_side(left, right);
    return vocabulary->sides[bit / 64] >> bit % 64 & 1;
}

static void set_side_by_side(Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    uint32_t bit = side_by_side(left, right);
    vocabulary->sides[bit / 64] |= 1ull << bit % 64;
}

/* Whether a token may hold a part of at least one of two characters, and at least a part of the other one. */
static bool may_cut(const Vocabulary *vocabulary, uint32_t left, uint32_t last, uint32_t first, uint32_t right)
{
    return may_adjoin(vocabulary, left, FIRST_BYTE(first)) || may_adjoin(vocabulary, LAST_BYTE(last), right) ||
           may_adjoin(vocabulary, LAST_BYTE(last), FIRST_BYTE(first));
}

/* Code point at `at`, and its size in bytes; size 0 where no whole character is. */
static uint32_t point_at(const uint8_t *at, size_t left, unsigned *size)
{
    unsigned lead = at[0];
    *size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (*size > left)
        *size = 0;
    uint32_t point = *size < 2 ? lead : lead & (0x7fu >> *size);
    for (unsigned i = 1; i < *size; i++)
        point = point << 6 | (at[i] & 0x3fu);
    return point;
}

/* Only the first and the last character of a token may be a part of one: there its byte at the border stands for it. */
void stretches_note(Vocabulary *vocabulary, size_t place)
{
    const Token *token = &vocabulary->tokens[place];
    const uint8_t *at = vocabulary->bytes + token->offset, *end = at + token->size;
    uint32_t left = NOTHING;
    for (; at < end && (*at & 0xc0) == 0x80; at++)
        left = LAST_BYTE(*at);
    while (at < end) {
        unsigned size;
        uint32_t right = point_at(at, (size_t)(end - at), &size);
        if (!size)
            right = FIRST_BYTE(*at);
        if (left != NOTHING)
            set_side_by_side(vocabulary, left, right);
        left = right;
        at = size ? at + size : end;
    }
}

/* The characters of a piece. Bit i of `joined` says whether a token may hold character i and the one before it, or parts
 * of them; of `plain`, whether each of the two is sure to become one token before it joins anything of the other. */
typedef struct {
    const Opening *openings[MOST_CHARACTERS];
    uint8_t starts[MOST_CHARACTERS + 1];
    size_t count;
    uint64_t joined, plain;
} Characters;

/* Tokens of the characters, each alone; 0 where they are not to be looked at. */
static FORCE_INLINE size_t characters_of(Characters *found, const Vocabulary *vocabulary, const uint8_t *piece,
                                         size_t size)
{
    static const Opening none = {.count = 3};
    size_t i = 0, tokens = 0;
    uint32_t before = 0, last = 0xff; /* in no text: nothing is before the first one */
    const Opening *previous = &none;
    found->joined = found->plain = 0;
    for (size_t at = 0; at < size; i++) {
        uint32_t lead = piece[at], point = lead;
        if (i == MOST_CHARACTERS || lead >= 0xf0)
            return 0;
        found->starts[i] = (uint8_t)at;
        if (LIKELY(lead >= 0xe0)) {
            point = (lead & 0x0f) << 12 | (piece[at + 1] & 0x3fu) << 6 | (piece[at + 2] & 0x3fu);
            at += 2;
        } else if (lead >= 0x80) {
            point = (lead & 0x1f) << 6 | (piece[at + 1] & 0x3fu);
            at += 1;
        }
        const Opening *opening = &vocabulary->openings[point];
        uint32_t crossed = vocabulary->crossed[last << 8 | lead];
        uint64_t joined = may_adjoin(vocabulary, before, point);
        if (UNLIKELY(crossed != NO_NUMBER))
            joined |= (uint64_t)may_cut(vocabulary, before, last, lead, point);
        uint64_t plain = (uint64_t)(previous->highest < crossed) & (opening->highest < crossed) &
                         (previous->count + opening->count == 2);
        found->joined |= joined << i;
        found->plain |= plain << i;
        found->openings[i] = previous = opening;
        tokens += opening->count;
        before = point;
        last = piece[at++];
    }
    found->count = i;
    found->starts[i] = (uint8_t)size;
    found->joined &= ~1ull;
    return tokens;
}

/* How many merges two or three characters take that are one token each. */
static FORCE_INLINE size_t merges_of_few(const Pairs *pairs, const Opening *const *openings, size_t count)
{
    uint32_t first = openings[0]->numbers[0], second = openings[1]->numbers[0];
    uint32_t left = find_merged(pairs, first, second);
    if (count == 2)
        return left != NO_NUMBER;
    uint32_t third = openings[2]->numbers[0], right = merged(pairs, second, third);
    if (left == NO_NUMBER && right == NO_NUMBER)
        return 0;
    return 1 + ((left <= right ? merged(pairs, left, third) : merged(pairs, first, right)) != NO_NUMBER);
}

/* How many merges the characters of a stretch take; `end` is that of all that may be read. */
static size_t merges_of_stretch(const Vocabulary *vocabulary, Memory *memory, const Opening *const *openings,
                                size_t count, const uint8_t *at, size_t size, const uint8_t *end)
{
    size_t alone = 0;
    for (size_t i = 0; i < count; i++)
        alone += openings[i]->count;
    if (size > SHORT_SIZE)
        return alone - merge_small(vocabulary, at, size, NULL);
    Word key = short_key(load_within(at, end), size);
    uint64_t hash = key_hash(key);
    size_t tokens = remembered_count(memory, key, hash);
    if (!tokens) {
        tokens = merge_small(vocabulary, at, size, NULL);
        remember_count(memory, key, hash, tokens);
    }
    return alone - tokens;
}

size_t stretches_count(const Vocabulary *vocabulary, Memory *memory, const uint8_t *piece, size_t size,
                       const uint8_t *end)
{
    Characters found;
    size_t tokens = size <= SMALL_PIECE ? characters_of(&found, vocabulary, piece, size) : 0;
    if (!tokens || !((~found.joined & ~1ull) << (MOST_CHARACTERS - found.count)))
        return 0;
    for (uint64_t joined = found.joined; joined; joined &= joined + (joined & -joined)) {
        unsigned second = trailing_zeros_64(joined), length = 1 + trailing_zeros_64(~(joined >> second));
        const Opening **openings = found.openings + second - 1;
        const uint8_t *starts = found.starts + second - 1;
        if (length <= 3 && !(~found.plain >> second & (length * 2 - 3)))
            tokens -= merges_of_few(&vocabulary->pairs, openings, length);
        else
            tokens -= merges_of_stretch(vocabulary, memory, openings, length, piece + starts[0],
                                        (size_t)(starts[length] - starts[0]), end);
    }
    return tokens;
}
