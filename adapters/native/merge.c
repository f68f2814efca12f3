#include "merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include "openings.h"

#define BETWEEN_POLLS (1 << 16)
#define STRETCH 4096 /* bytes of a long piece that are merged at once: all they need stays near the processor */
#define CONTEXT 4    /* tokens before it that are merged anew with it */
#define MOST_WORK 16 /* times the size of a piece: then the rest is merged at once */

/* The tokens of a short piece, each where the first of those it is made of was; before them and after them stands
 * NO_NUMBER. `merges` has for each the number of the token that it makes with the next one in the upper half, where it
 * stands in the lower one. So the smallest is the merge to do: lowest rank, then leftmost. */
typedef struct {
    uint64_t merges[SMALL_PIECE + 4];
    uint32_t numbers[SMALL_PIECE + 4];
    uint8_t next[SMALL_PIECE + 4], previous[SMALL_PIECE + 4];
} Row;

static FORCE_INLINE uint64_t merge_at(const Pairs *pairs, uint32_t left, uint32_t right, size_t place)
{
    return (uint64_t)merged(pairs, left, right) << 32 | place;
}

#define NO_MERGE ((uint64_t)NO_NUMBER << 32) /* or more */

static FORCE_INLINE uint64_t lower_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static FORCE_INLINE uint64_t lowest_of(const uint64_t *merges, size_t fours)
{
    uint64_t a = merges[0], b = merges[1], c = merges[2], d = merges[3];
    for (size_t i = 1; i < fours; i++) {
        a = lower_of(a, merges[i * 4]);
        b = lower_of(b, merges[i * 4 + 1]);
        c = lower_of(c, merges[i * 4 + 2]);
        d = lower_of(d, merges[i * 4 + 3]);
    }
    return lower_of(lower_of(a, b), lower_of(c, d));
}

/* Fills the merges and the neighbours of `last` tokens; false where none of them merges. */
static FORCE_INLINE bool row_start(Row *row, const Pairs *pairs, size_t last, size_t fours)
{
    uint8_t possible[SMALL_PIECE]; /* found without a branch for each, for they come at random */
    size_t count = 0;
    for (size_t i = 1; i < last; i++) {
        possible[count] = (uint8_t)i;
        count += may_merge(pairs, row->numbers[i], pair_hash(pair_key(row->numbers[i], row->numbers[i + 1])));
    }
    if (!count)
        return false;
    for (size_t i = 0; i < fours * 4; i++)
        row->merges[i] = NO_MERGE;
    for (size_t i = 0; i < count; i++) {
        size_t at = possible[i];
        row->merges[at] = (uint64_t)find_merged(pairs, row->numbers[at], row->numbers[at + 1]) << 32 | at;
    }
    for (size_t i = 0; i <= last; i++) {
        row->next[i] = (uint8_t)(i + 1);
        row->previous[i + 1] = (uint8_t)i;
    }
    return true;
}

static FORCE_INLINE void row_join(Row *row, const Pairs *pairs, uint64_t lowest)
{
    size_t at = (size_t)(lowest & UINT32_MAX), gone = row->next[at];
    size_t before = row->previous[at], after = row->next[gone];
    row->numbers[at] = (uint32_t)(lowest >> 32);
    row->next[at] = (uint8_t)after;
    row->previous[after] = (uint8_t)at;
    row->merges[gone] = NO_MERGE;
    row->merges[at] = merge_at(pairs, row->numbers[at], row->numbers[after], at);
    row->merges[before] = merge_at(pairs, row->numbers[before], row->numbers[at], before);
}

size_t merge_small(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *numbers)
{
    Row row;
    size_t last = open_piece(vocabulary, piece, size, row.numbers + 1), count = last, fours = last / 4 + 1;
    row.numbers[0] = row.numbers[last + 1] = NO_NUMBER;
    if (!row_start(&row, &vocabulary->pairs, last, fours)) {
        if (numbers)
            memcpy(numbers, row.numbers + 1, count * sizeof *numbers);
        return count;
    }
    for (uint64_t lowest; (lowest = lowest_of(row.merges, fours)) < NO_MERGE; count--)
        row_join(&row, &vocabulary->pairs, lowest);
    if (numbers)
        for (size_t at = 1; at <= last; at = row.next[at])
            *numbers++ = row.numbers[at];
    return count;
}

void merge_two(const Vocabulary *vocabulary, const uint8_t *const pieces[2], const size_t sizes[2], size_t counts[2])
{
    const Pairs *pairs = &vocabulary->pairs;
    Row rows[2];
    size_t fours[2];
    uint64_t lowest[2];
    for (size_t i = 0; i < 2; i++) {
        Row *row = &rows[i];
        size_t last = open_piece(vocabulary, pieces[i], sizes[i], row->numbers + 1);
        row->numbers[0] = row->numbers[last + 1] = NO_NUMBER;
        counts[i] = last;
        fours[i] = last / 4 + 1;
        lowest[i] = row_start(row, pairs, last, fours[i]) ? lowest_of(row->merges, fours[i]) : NO_MERGE;
    }
    for (; lowest[0] < NO_MERGE && lowest[1] < NO_MERGE; counts[0]--, counts[1]--) {
        row_join(&rows[0], pairs, lowest[0]);
        row_join(&rows[1], pairs, lowest[1]);
        lowest[0] = lowest_of(rows[0].merges, fours[0]);
        lowest[1] = lowest_of(rows[1].merges, fours[1]);
    }
    size_t longer = lowest[0] < NO_MERGE ? 0 : 1;
    for (uint64_t left = lowest[longer]; left < NO_MERGE; left = lowest_of(rows[longer].merges, fours[longer])) {
        row_join(&rows[longer], pairs, left);
        counts[longer]--;
    }
}

/* Tokens of a long piece, known by where they start. `sizes` holds the size of a token at its first and at its last
 * byte, which leads to both neighbours. An entry of the heap is a merge's number and its start: lowest rank first, then
 * leftmost. One whose pair has another merge by now is passed over. */
typedef struct {
    uint16_t *sizes;
    uint32_t *numbers, *merges; /* of the token, and of the one that it makes with the next */
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
    chain->sizes = malloc(size * sizeof *chain->sizes);
    chain->numbers = malloc((size + 2) * sizeof *chain->numbers);
    chain->merges = malloc(size * sizeof *chain->merges);
    chain->heap = malloc(size * sizeof *chain->heap);
    chain->room = size;
    if (!chain->sizes || !chain->numbers || !chain->merges || !chain->heap)
        return -1;
    size_t count = open_piece(vocabulary, piece, size, chain->numbers), at = size;
    while (count--) { /* from the last one, to make room for each at its start */
        uint32_t number = chain->numbers[count];
        size_t part = vocabulary->tokens[PLACE(number)].size;
        at -= part;
        chain->numbers[at] = number;
        chain->sizes[at] = chain->sizes[at + part - 1] = (uint16_t)part;
        chain->merges[at] = NO_NUMBER;
        if (at + part == size)
            continue;
        uint32_t found = merged(&vocabulary->pairs, number, chain->numbers[at + part]);
        chain->merges[at] = found;
        if (found != NO_NUMBER)
            chain->heap[chain->length++] = (uint64_t)found << 32 | at;
    }
    for (size_t i = chain->length / 4 + 1; i-- > 0;)
        if (i < chain->length)
            sift_down(chain->heap, chain->length, i);
    return 0;
}

static int repair(Chain *chain, const Pairs *pairs, size_t left, size_t right)
{
    uint32_t found = merged(pairs, chain->numbers[left], chain->numbers[right]);
    chain->merges[left] = found;
    return found == NO_NUMBER ? 0 : push(chain, found, left);
}

static int join(Chain *chain, const Pairs *pairs, size_t left, size_t size)
{
    size_t right = left + chain->sizes[left], end = right + chain->sizes[right];
    chain->numbers[left] = chain->merges[left];
    chain->merges[right] = chain->merges[left] = NO_NUMBER;
    chain->sizes[left] = chain->sizes[end - 1] = (uint16_t)(end - left);
    if (end < size && repair(chain, pairs, left, end))
        return -1;
    return left == 0 ? 0 : repair(chain, pairs, left - chain->sizes[left - 1], left);
}

static enum Outcome join_all(Chain *chain, const Pairs *pairs, size_t size, Poll poll)
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
        if (chain->merges[left] == (uint32_t)(lowest >> 32) && join(chain, pairs, left, size))
            return NO_MEMORY;
    }
    return DONE;
}

/* The tokens of a long piece so far; `numbers` may be NULL. */
typedef struct {
    uint16_t *sizes;
    uint32_t *numbers;
    size_t count;
} Tokens;

static enum Outcome merge_stretch(const Vocabulary *vocabulary, const uint8_t *at, size_t size, Tokens *tokens,
                                  Poll poll)
{
    Chain chain = {0};
    enum Outcome outcome = NO_MEMORY;
    if (size < UINT32_MAX && !chain_start(&chain, vocabulary, at, size))
        outcome = join_all(&chain, &vocabulary->pairs, size, poll);
    if (outcome == DONE)
        for (size_t start = 0; start < size; start += chain.sizes[start]) {
            if (tokens->numbers)
                tokens->numbers[tokens->count] = chain.numbers[start];
            tokens->sizes[tokens->count++] = chain.sizes[start];
        }
    free(chain.sizes);
    free(chain.numbers);
    free(chain.merges);
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

enum Outcome merge(const Vocabulary *vocabulary, const uint8_t *piece, size_t size, uint32_t *numbers, size_t *count,
                   Poll poll)
{
    if (size <= SMALL_PIECE) {
        *count = merge_small(vocabulary, piece, size, numbers);
        return DONE;
    }
    Tokens tokens = {malloc(size * sizeof *tokens.sizes), numbers, 0};
    enum Outcome outcome = tokens.sizes ? merge_stretches(vocabulary, piece, size, &tokens, poll) : NO_MEMORY;
    *count = tokens.count;
    free(tokens.sizes);
    return outcome;
}
