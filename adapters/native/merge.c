#include "merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "atoms.h"

#define BETWEEN_POLLS (1 << 16)
#define STRETCH 4096 /* bytes of a long piece that are merged at once: all they need stays near the processor */
#define CONTEXT 4    /* tokens before it that are merged anew with it */
#define MOST_WORK 16 /* times the size of a piece: then the rest is merged at once */

/* A token of a short piece: rank of the pair it makes with the next one in the upper half, its start in the lower. So the
 * smallest is the pair to merge: lowest rank, then leftmost. */
#define PART(rank, start) ((uint64_t)(rank) << 32 | (start))
#define START(part) ((size_t)((part) & UINT32_MAX))

size_t merge_small(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *ranks)
{
    uint8_t bytes[SMALL_PIECE + 16];
    uint64_t parts[SMALL_PIECE + 2]; /* and the end of the piece after the last one */
    size_t count = 0;
    memcpy(bytes, piece, size);
    memset(bytes + size, 0, 16);
    for (size_t at = 0; at < size; at += atom_size(vocabulary, bytes, bytes + at, bytes + size))
        parts[count++] = PART(NO_RANK, at);
    parts[count] = PART(NO_RANK, size);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t start = START(parts[i]);
        parts[i] = PART(span_rank(vocabulary, bytes + start, START(parts[i + 2]) - start), start);
    }
    for (;;) {
        size_t best = 0;
        uint64_t lowest = parts[0];
        for (size_t i = 1; i < count; i++) {
            best = parts[i] < lowest ? i : best;
            lowest = parts[i] < lowest ? parts[i] : lowest;
        }
        if (lowest >= PART(NO_RANK, 0))
            break;
        count--;
        for (size_t i = best + 1; i <= count; i++)
            parts[i] = parts[i + 1];
        size_t start = START(lowest), end = START(parts[best + 1]);
        parts[best] = PART(best + 1 < count ? span_rank(vocabulary, bytes + start, START(parts[best + 2]) - start) : NO_RANK,
                           start);
        if (best > 0) {
            start = START(parts[best - 1]);
            parts[best - 1] = PART(span_rank(vocabulary, bytes + start, end - start), start);
        }
    }
    if (ranks)
        for (size_t i = 0; i < count; i++)
            ranks[i] = span_rank(vocabulary, bytes + START(parts[i]), START(parts[i + 1]) - START(parts[i]));
    return count;
}

/* Tokens of a long piece, known by where they start. `sizes` holds the size of a token at its first and at its last byte,
 * which leads to both neighbours. The heap holds rank and start in one number: lowest rank first, then leftmost. An
 * entry whose pair has another rank by now is passed over. */
typedef struct {
    uint8_t *bytes; /* the piece and sixteen zeros */
    uint16_t *sizes;
    uint32_t *pairs;
    uint64_t *heap;
    size_t length, room;
} Chain;

static void sift_down(uint64_t *heap, size_t length, size_t at)
{
    uint64_t moved = heap[at];
    for (;;) {
        size_t child = at * 4 + 1, last = child + 4 < length ? child + 4 : length;
        if (child >= length)
            break;
        for (size_t other = child + 1; other < last; other++)
            child = heap[other] < heap[child] ? other : child;
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static int push(Chain *chain, uint32_t rank, size_t start)
{
    if (chain->length == chain->room) {
        size_t room = chain->room + chain->room / 2 + 16;
        uint64_t *grown = realloc(chain->heap, room * sizeof *grown);
        if (!grown)
            return -1;
        chain->heap = grown;
        chain->room = room;
    }
    uint64_t entry = (uint64_t)rank << 32 | start;
    size_t at = chain->length++;
    while (at > 0 && chain->heap[(at - 1) / 4] > entry) {
        chain->heap[at] = chain->heap[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    chain->heap[at] = entry;
    return 0;
}

static int chain_start(Chain *chain, const Vocabulary *vocabulary, const uint8_t *piece, size_t size)
{
    chain->bytes = malloc(size + 16);
    chain->sizes = malloc(size * sizeof *chain->sizes);
    chain->pairs = malloc(size * sizeof *chain->pairs);
    chain->heap = malloc(size * sizeof *chain->heap);
    chain->room = size;
    if (!chain->bytes || !chain->sizes || !chain->pairs || !chain->heap)
        return -1;
    memcpy(chain->bytes, piece, size);
    memset(chain->bytes + size, 0, 16);
    memset(chain->pairs, 0xff, size * sizeof *chain->pairs);
    const uint8_t *start = chain->bytes, *end = start + size;
    for (size_t at = 0, part; at < size; at += part) {
        part = atom_size(vocabulary, start, start + at, end);
        chain->sizes[at] = chain->sizes[at + part - 1] = (uint16_t)part;
        if (at + part == size)
            break;
        size_t next = atom_size(vocabulary, start, start + at + part, end);
        uint32_t rank = span_rank(vocabulary, start + at, part + next);
        chain->pairs[at] = rank;
        if (rank != NO_RANK)
            chain->heap[chain->length++] = (uint64_t)rank << 32 | at;
    }
    for (size_t at = chain->length / 4 + 1; at-- > 0;)
        if (at < chain->length)
            sift_down(chain->heap, chain->length, at);
    return 0;
}

static int repair(Chain *chain, const Vocabulary *vocabulary, size_t start, size_t size)
{
    uint32_t rank = span_rank(vocabulary, chain->bytes + start, size);
    chain->pairs[start] = rank;
    return rank == NO_RANK ? 0 : push(chain, rank, start);
}

static int join(Chain *chain, const Vocabulary *vocabulary, size_t left, size_t size)
{
    size_t right = left + chain->sizes[left], end = right + chain->sizes[right];
    chain->pairs[right] = chain->pairs[left] = NO_RANK;
    chain->sizes[left] = chain->sizes[end - 1] = (uint16_t)(end - left);
    if (end < size && repair(chain, vocabulary, left, end - left + chain->sizes[end]))
        return -1;
    if (left == 0)
        return 0;
    size_t before = left - chain->sizes[left - 1];
    return repair(chain, vocabulary, before, end - before);
}

static enum Outcome join_all(Chain *chain, const Vocabulary *vocabulary, size_t size, Poll poll)
{
    size_t until_poll = BETWEEN_POLLS;
    while (chain->length) {
        if (!until_poll--) {
            until_poll = BETWEEN_POLLS;
            if (poll.ask && poll.ask(poll.context))
                return STOPPED;
        }
        uint64_t lowest = chain->heap[0];
        chain->heap[0] = chain->heap[--chain->length];
        if (chain->length)
            sift_down(chain->heap, chain->length, 0);
        size_t left = (size_t)(lowest & UINT32_MAX);
        if (chain->pairs[left] == (uint32_t)(lowest >> 32) && join(chain, vocabulary, left, size))
            return NO_MEMORY;
    }
    return DONE;
}

/* The tokens of a long piece so far; `ranks` may be NULL. */
typedef struct {
    uint16_t *sizes;
    uint32_t *ranks;
    size_t count;
} Tokens;

static enum Outcome merge_stretch(const Vocabulary *vocabulary, const uint8_t *at, size_t size, Tokens *tokens,
                                  Poll poll)
{
    Chain chain = {0};
    enum Outcome outcome = NO_MEMORY;
    if (size < UINT32_MAX && !chain_start(&chain, vocabulary, at, size))
        outcome = join_all(&chain, vocabulary, size, poll);
    if (outcome == DONE)
        for (size_t start = 0; start < size; start += chain.sizes[start]) {
            if (tokens->ranks)
                tokens->ranks[tokens->count] = span_rank(vocabulary, chain.bytes + start, chain.sizes[start]);
            tokens->sizes[tokens->count++] = chain.sizes[start];
        }
    free(chain.bytes);
    free(chain.sizes);
    free(chain.pairs);
    free(chain.heap);
    return outcome;
}

/* Whether two neighbours alone would be merged to just these two; `*outcome` tells of what went wrong. */
static bool are_neighbours(const Vocabulary *vocabulary, const uint8_t *border, size_t left, size_t right,
                           enum Outcome *outcome)
{
    uint16_t few[2 * SMALL_PIECE];
    uint16_t *sizes = left + right <= sizeof few / sizeof *few ? few : malloc((left + right) * sizeof *sizes);
    Tokens tokens = {sizes, NULL, 0};
    *outcome = sizes ? merge_stretch(vocabulary, border - left, left + right, &tokens, (Poll){0}) : NO_MEMORY;
    bool same = *outcome == DONE && tokens.count == 2 && sizes[0] == left;
    if (sizes != few)
        free(sizes);
    return same;
}

/* Merges a long piece stretch by stretch. A row of tokens is what all merges of its bytes lead to if that holds for each
 * two neighbours alone: the first merge across any border would also be made by the two beside it. So a stretch is
 * merged together with a few tokens before it, and more of them until its first token and the one before are such. */
static enum Outcome merge_stretches(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, Tokens *tokens,
                                    Poll poll)
{
    enum Outcome outcome = DONE;
    size_t work = 0, next_poll = BETWEEN_POLLS;
    for (size_t done = 0, end; done < size; done = end) {
        if (done >= next_poll) {
            next_poll = done + BETWEEN_POLLS;
            if (poll.ask && poll.ask(poll.context))
                return STOPPED;
        }
        end = size - done > STRETCH && work / MOST_WORK <= size ? done + STRETCH : size;
        while (end < size && (piece[end] & 0xc0) == 0x80)
            end++;
        size_t kept = tokens->count, start = done;
        for (size_t drop = CONTEXT;; drop *= 4) {
            for (size_t i = 0; kept && (i < drop || work / MOST_WORK > size); i++)
                start -= tokens->sizes[--kept];
            tokens->count = kept;
            work += end - start;
            outcome = merge_stretch(vocabulary, piece + start, end - start, tokens, poll);
            if (outcome != DONE || !kept ||
                are_neighbours(vocabulary, piece + start, tokens->sizes[kept - 1], tokens->sizes[kept], &outcome))
                break;
            if (outcome != DONE)
                break;
        }
        if (outcome != DONE)
            return outcome;
    }
    return DONE;
}

enum Outcome merge_large(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *ranks,
                         size_t *count, Poll poll)
{
    Tokens tokens = {malloc(size * sizeof *tokens.sizes), ranks, 0};
    enum Outcome outcome = tokens.sizes ? merge_stretches(vocabulary, piece, size, &tokens, poll) : NO_MEMORY;
    *count = tokens.count;
    free(tokens.sizes);
    return outcome;
}
