#include "vocabulary.h"

#include "merge.h"
#include "openings.h"
#include "stretches.h"
#include "tables.h"

#include <stdbool.h>
#include <stdlib.h>

#define LOW(n) ((n) >= 8 ? UINT64_MAX : (1ull << (n) * 8 % 64) - 1)
#define HIGH(n) ((n) <= 8 ? 0 : (1ull << ((n) - 8) * 8 % 64) - 1)
#define MASK(n) {LOW(n), HIGH(n)}

const Word key_masks[SHORT_SIZE + 1] = {
    MASK(0), MASK(1), MASK(2),  MASK(3),  MASK(4),  MASK(5),  MASK(6),  MASK(7),
    MASK(8), MASK(9), MASK(10), MASK(11), MASK(12), MASK(13), MASK(14), MASK(15),
};

/* Any two tokens of one size that begin and end alike collide, which costs a comparison; a hash of all bytes would make
 * each merge of a long piece cost the longest token. */
static uint64_t long_hash(const uint8_t *at, size_t size)
{
    return key_hash((Word){load_8(at), load_8(at + size - 8) + size});
}

uint32_t long_rank(const Vocabulary *vocabulary, const uint8_t *at, size_t size)
{
    uint64_t hash = long_hash(at, size);
    size_t slot = (size_t)(hash >> vocabulary->long_shift);
    for (;; slot = (slot + 1) & vocabulary->long_mask) {
        LongSlot found = vocabulary->long_slots[slot];
        if (!found.token)
            return NO_RANK;
        const Token *token = &vocabulary->tokens[found.token - 1];
        if (found.tag == (uint32_t)hash && token->size == size && !memcmp(vocabulary->bytes + token->offset, at, size))
            return token->rank;
    }
}

const Token *vocabulary_token(const Vocabulary *vocabulary, uint32_t rank)
{
    size_t low = 0, high = vocabulary->count;
    if (rank < high && vocabulary->tokens[rank].rank == rank) /* ranks without a gap: their place is their number */
        return &vocabulary->tokens[rank];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (vocabulary->tokens[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < vocabulary->count && vocabulary->tokens[low].rank == rank ? &vocabulary->tokens[low] : NULL;
}

static int base64_value(uint8_t symbol)
{
    if (symbol >= 'A' && symbol <= 'Z')
        return symbol - 'A';
    if (symbol >= 'a' && symbol <= 'z')
        return symbol - 'a' + 26;
    if (symbol >= '0' && symbol <= '9')
        return symbol - '0' + 52;
    return symbol == '+' ? 62 : symbol == '/' ? 63 : -1;
}

/* Decodes base64 up to the first other character, which `*after` becomes; the number of bytes, or -1. */
static ptrdiff_t decode_base64(const uint8_t *at, const uint8_t *end, uint8_t *into, const uint8_t **after)
{
    uint8_t *start = into;
    uint32_t bits = 0;
    unsigned held = 0, symbols = 0, padding = 0;
    for (; at < end; at++, symbols++) {
        int value = base64_value(*at);
        if (value < 0)
            break;
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            *into++ = (uint8_t)(bits >> held);
        }
    }
    for (; at < end && *at == '='; at++)
        padding++;
    *after = at;
    if (!symbols || symbols % 4 == 1 || padding != (4 - symbols % 4) % 4 || bits & ((1u << held) - 1))
        return -1;
    return into - start;
}

/* One line: its token's bytes go to `into`; true once `token` is filled. */
static bool read_line(const uint8_t *at, const uint8_t *end, uint8_t *into, Token *token)
{
    ptrdiff_t size = decode_base64(at, end, into, &at);
    const uint8_t *blanks = at;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (size <= 0 || at == blanks || end - at < 1 || end - at > 10)
        return false;
    uint64_t rank = 0;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        rank = rank * 10 + (*at - '0');
    }
    token->rank = (uint32_t)rank;
    token->size = (uint32_t)size;
    return rank < NO_RANK;
}

static enum BuildError read_file(Vocabulary *v, const uint8_t *file, size_t size)
{
    size_t lines = 1, used = 0;
    for (const uint8_t *at = file, *end = file + size; at < end && (at = memchr(at, '\n', (size_t)(end - at))); at++)
        lines++;
    v->tokens = malloc(lines * sizeof *v->tokens);
    v->bytes = malloc(size + 16); /* base64 is longer than its bytes; sixteen more so that each token can be loaded */
    if (!v->tokens || !v->bytes)
        return OUT_OF_MEMORY;
    memset(v->bytes + size, 0, 16);
    for (const uint8_t *at = file, *end = file + size; at < end;) {
        const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
        const uint8_t *next = line_end ? line_end + 1 : end;
        line_end = line_end ? line_end : end;
        if (line_end > at && line_end[-1] == '\r')
            line_end--;
        if (line_end > at) {
            Token *token = &v->tokens[v->count];
            if (used > UINT32_MAX - LONGEST_TOKEN || !read_line(at, line_end, v->bytes + used, token))
                return MALFORMED;
            if (token->size > LONGEST_TOKEN)
                return TOO_LONG;
            token->offset = (uint32_t)used;
            used += token->size;
            v->longest = token->size > v->longest ? token->size : v->longest;
            v->count++;
        }
        at = next;
    }
    uint8_t *shrunk = realloc(v->bytes, used + 16);
    if (shrunk)
        v->bytes = shrunk;
    memset(v->bytes + used, 0, 16);
    if (v->count >= PLACE(NO_NUMBER))
        return TOO_MANY;
    return v->count ? BUILT : MALFORMED;
}

static int by_rank(const void *left, const void *right)
{
    uint32_t a = ((const Token *)left)->rank, b = ((const Token *)right)->rank;
    return (a > b) - (a < b);
}

static enum BuildError sort_tokens(Vocabulary *v)
{
    bool sorted = true;
    for (size_t i = 1; i < v->count && sorted; i++)
        sorted = v->tokens[i - 1].rank < v->tokens[i].rank;
    if (!sorted)
        qsort(v->tokens, v->count, sizeof *v->tokens, by_rank);
    for (size_t i = 1; i < v->count; i++)
        if (v->tokens[i - 1].rank == v->tokens[i].rank)
            return REPEATED;
    return BUILT;
}

/* Bits of a table that is at most half full. */
static unsigned table_bits(size_t entries)
{
    unsigned bits = 4;
    while ((size_t)1 << bits < entries * 2)
        bits++;
    return bits;
}

static bool insert_long(Vocabulary *v, size_t number)
{
    const Token *token = &v->tokens[number];
    const uint8_t *at = v->bytes + token->offset;
    if (long_rank(v, at, token->size) != NO_RANK)
        return false;
    uint64_t hash = long_hash(at, token->size);
    size_t slot = (size_t)(hash >> v->long_shift);
    while (v->long_slots[slot].token)
        slot = (slot + 1) & v->long_mask;
    v->long_slots[slot] = (LongSlot){(uint32_t)hash, (uint32_t)number + 1};
    return true;
}

static bool insert_short(Vocabulary *v, size_t number)
{
    const Token *token = &v->tokens[number];
    const uint8_t *at = v->bytes + token->offset;
    Word key = short_key(load_16(at), token->size);
    size_t slot = short_slot(v, key, key_hash(key));
    if (v->keys[slot].high)
        return false;
    v->keys[slot] = key;
    v->ranks[slot] = token->rank;
    if (token->size == 1)
        v->byte_numbers[at[0]] = token_number(number, at[0]);
    return true;
}

static enum BuildError fill_tables(Vocabulary *v)
{
    size_t short_count = 0;
    for (size_t i = 0; i < v->count; i++)
        short_count += v->tokens[i].size <= SHORT_SIZE;
    unsigned short_bits = table_bits(short_count), long_bits = table_bits(v->count - short_count);
    v->short_mask = ((size_t)1 << short_bits) - 1;
    v->short_shift = 64 - short_bits;
    v->long_mask = ((size_t)1 << long_bits) - 1;
    v->long_shift = 64 - long_bits;
    v->keys = table_new(v->short_mask + 1, sizeof *v->keys);
    v->ranks = table_new(v->short_mask + 1, sizeof *v->ranks);
    v->openings = table_new(OPENINGS, sizeof *v->openings);
    v->long_slots = table_new(v->long_mask + 1, sizeof *v->long_slots);
    if (!v->keys || !v->ranks || !v->openings || !v->long_slots)
        return OUT_OF_MEMORY;
    memset(v->byte_numbers, 0xff, sizeof v->byte_numbers);
    for (size_t i = 0; i < v->count; i++)
        if (!(v->tokens[i].size <= SHORT_SIZE ? insert_short(v, i) : insert_long(v, i)))
            return REPEATED;
    for (size_t byte = 0; byte < 256; byte++)
        if (v->byte_numbers[byte] == NO_RANK)
            return LACKS_BYTES;
    return BUILT;
}

/* Places of the tokens, the shortest first; `places` has room for all. 0, or -1 without memory. */
static int sort_by_size(const Vocabulary *v, uint32_t *places)
{
    size_t *next = calloc(v->longest + 2, sizeof *next);
    if (!next)
        return -1;
    for (size_t i = 0; i < v->count; i++)
        next[v->tokens[i].size + 1]++;
    for (size_t size = 1; size <= v->longest; size++)
        next[size] += next[size - 1];
    for (size_t i = 0; i < v->count; i++)
        places[next[v->tokens[i].size]++] = (uint32_t)i;
    free(next);
    return 0;
}

/* Finds the two tokens that each comes from, if any do: what its bytes are merged to while it is not known. Those are
 * shorter, so the shortest tokens come first. */
static int find_pairs(Vocabulary *v)
{
    size_t counts[REGIONS] = {0}; /* the left token of a pair begins as the merged one does */
    for (size_t i = 0; i < v->count; i++)
        counts[token_number(i, v->bytes[v->tokens[i].offset]) % REGIONS]++;
    uint32_t *by_size = malloc(v->count * sizeof *by_size), *parts = malloc(v->longest * sizeof *parts);
    int failed = !by_size || !parts || pairs_start(&v->pairs, counts) || sort_by_size(v, by_size);
    for (size_t i = 0; i < v->count && !failed; i++) {
        const Token *token = &v->tokens[by_size[i]];
        const uint8_t *at = v->bytes + token->offset;
        size_t count;
        failed = merge(v, at, token->size, parts, &count, (Poll){0}) != DONE;
        if (!failed && count == 2)
            pairs_insert(&v->pairs, parts[0], parts[1], token_number(by_size[i], at[0]));
    }
    free(by_size);
    free(parts);
    return failed;
}

enum BuildError vocabulary_build(Vocabulary *vocabulary, const uint8_t *file, size_t size)
{
    enum BuildError error = read_file(vocabulary, file, size);
    if (error == BUILT)
        error = sort_tokens(vocabulary);
    if (error == BUILT)
        error = fill_tables(vocabulary);
    if (error == BUILT && (find_pairs(vocabulary) || openings_find(vocabulary)))
        error = OUT_OF_MEMORY;
    for (size_t i = 0; i < vocabulary->count && error == BUILT; i++)
        stretches_note(vocabulary, i);
    return error;
}

void vocabulary_free(Vocabulary *vocabulary)
{
    kinds_free(&vocabulary->kinds);
    free(vocabulary->bytes);
    free(vocabulary->tokens);
    free(vocabulary->keys);
    free(vocabulary->ranks);
    free(vocabulary->openings);
    pairs_free(&vocabulary->pairs);
    free(vocabulary->long_slots);
}
