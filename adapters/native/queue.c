#include "queue.h"

#include <stdlib.h>

#include "stretches.h"

static int reserve(Job *job, size_t more)
{
    if (job->room - job->count >= more)
        return 0;
    size_t room = job->room + job->room / 2 + more + 64;
    uint32_t *grown = realloc(job->ids, room * sizeof *grown);
    if (!grown)
        return -1;
    job->ids = grown;
    job->room = room;
    return 0;
}

static void to_ranks(const Vocabulary *vocabulary, uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = vocabulary->tokens[PLACE(numbers[i])].rank;
}

static size_t count_merged(const Job *job, const uint8_t *at, size_t size)
{
    size_t count = 0;
    if (size > 3 && tends_apart(at + size))
        count = stretches_count(job->vocabulary, job->memory, at, size, job->text + job->size);
    return count ? count : merge_small(job->vocabulary, at, size, NULL);
}

/* A piece of at most SHORT_SIZE bytes that is no token. */
static enum Outcome add_short(Job *job, const uint8_t *at, size_t size, Word key, uint64_t hash)
{
    Memory *memory = job->memory;
    if (!job->wants_ids) {
        size_t count = remembered_count(memory, key, hash);
        if (!count) {
            count = count_merged(job, at, size);
            remember_count(memory, key, hash, count);
        }
        job->count += count;
        return DONE;
    }
    if (reserve(job, SHORT_SIZE))
        return NO_MEMORY;
    ShortIds *known = &memory->ids[hash >> (64 - IDS_PLACES_BITS)];
    uint32_t *into = job->ids + job->count;
    if (known->key.low == key.low && known->key.high == key.high) {
        memcpy(into, known->ranks, sizeof known->ranks);
        job->count += known->count;
        return DONE;
    }
    size_t count = merge_small(job->vocabulary, at, size, into);
    to_ranks(job->vocabulary, into, count);
    if (count <= IDS_REMEMBERED) {
        known->key = key;
        known->count = (uint32_t)count;
        memcpy(known->ranks, into, count * sizeof *into);
    }
    job->count += count;
    return DONE;
}

static enum Outcome add_merged(Job *job, const uint8_t *at, size_t size)
{
    if (job->wants_ids && reserve(job, size))
        return NO_MEMORY;
    uint32_t *into = job->wants_ids ? job->ids + job->count : NULL;
    size_t count = 0;
    if (size > SMALL_PIECE &&
        (job->limit < job->count || (size - 1) / job->vocabulary->longest >= job->limit - job->count)) {
        job->count = job->limit + 1; /* even in its longest tokens the piece does not fit */
        return BEYOND_LIMIT;
    }
    enum Outcome outcome = merge(job->vocabulary, at, size, into, &count, job->poll);
    if (outcome != DONE)
        return outcome;
    if (into)
        to_ranks(job->vocabulary, into, count);
    job->count += count;
    return DONE;
}

/* A piece of more than SHORT_SIZE bytes. */
static enum Outcome add_long(Job *job, const uint8_t *at, size_t size)
{
    uint32_t rank = size <= job->vocabulary->longest ? long_rank(job->vocabulary, at, size) : NO_RANK;
    if (rank == NO_RANK)
        return add_merged(job, at, size);
    if (job->wants_ids) {
        if (reserve(job, 1))
            return NO_MEMORY;
        job->ids[job->count] = rank;
    }
    job->count++;
    return DONE;
}

static FORCE_INLINE void remember_long(LongCount *known, const uint8_t *at, size_t size, size_t count)
{
    known->count = (uint8_t)count;
    known->size = (uint8_t)size;
    memcpy(known->bytes, at, size);
}

/* The count of a piece that tends to fall apart: to count it takes no longer than to look for it. */
static enum Outcome add_apart(Job *job, const uint8_t *at, size_t size)
{
    size_t count = stretches_count(job->vocabulary, job->memory, at, size, job->text + job->size);
    job->count += count;
    if (count)
        return DONE;
    LongCount *known = size <= LONG_REMEMBERED ? &job->memory->long_counts[long_place(at, size)] : NULL;
    if (known && known->size == size && !memcmp(known->bytes, at, size)) {
        job->count += known->count;
        return DONE;
    }
    uint64_t before = job->count;
    enum Outcome outcome = add_long(job, at, size);
    if (known && outcome == DONE)
        remember_long(known, at, size, (size_t)(job->count - before));
    return outcome;
}

static FORCE_INLINE bool falls_apart(const ShortPiece *piece)
{
    return piece->size > 3 && tends_apart(piece->at + piece->size);
}

static enum Outcome add_short_ids(Job *job, const ShortPiece *piece)
{
    const Vocabulary *vocabulary = job->vocabulary;
    size_t slot = short_slot(vocabulary, piece->key, piece->hash);
    if (!vocabulary->keys[slot].high)
        return add_short(job, piece->at, piece->size, piece->key, piece->hash);
    if (job->room == job->count && reserve(job, 1))
        return NO_MEMORY;
    job->ids[job->count++] = vocabulary->ranks[slot];
    return DONE;
}

/* In the order of the text. */
static enum Outcome add_ids(Job *job, const Queue *queue)
{
    const ShortPiece *piece = queue->short_pieces, *last = piece + queue->short_count;
    const LongPiece *long_piece = queue->long_pieces, *last_long = long_piece + queue->long_count;
    while (piece < last || long_piece < last_long) {
        enum Outcome outcome;
        if (long_piece == last_long || (piece < last && piece->at < long_piece->at)) {
            outcome = add_short_ids(job, piece++);
        } else {
            outcome = add_long(job, long_piece->at, long_piece->size);
            long_piece++;
        }
        if (UNLIKELY(outcome != DONE))
            return outcome;
    }
    return DONE;
}

/* One or two short pieces that are not remembered. */
static void add_new(Job *job, const ShortPiece *one, const ShortPiece *other)
{
    size_t counts[2] = {0, 0};
    if (other && !falls_apart(one) && !falls_apart(other)) {
        const uint8_t *const pieces[2] = {one->at, other->at};
        const size_t sizes[2] = {one->size, other->size};
        merge_two(job->vocabulary, pieces, sizes, counts);
    } else {
        counts[0] = count_merged(job, one->at, one->size);
        counts[1] = other ? count_merged(job, other->at, other->size) : 0;
    }
    remember_count(job->memory, one->key, one->hash, counts[0]);
    if (other)
        remember_count(job->memory, other->key, other->hash, counts[1]);
    job->count += counts[0] + counts[1];
}

static enum Outcome add_short_counts(Job *job, const Queue *queue)
{
    const Vocabulary *vocabulary = job->vocabulary;
    uint8_t others[ENOUGH + WINDOW]; /* that are no token */
    size_t other_count = 0;
    for (size_t i = 0; i < queue->short_count; i++) {
        others[other_count] = (uint8_t)i;
        other_count += !is_short_token(vocabulary, &queue->short_pieces[i].key, queue->short_pieces[i].hash);
    }
    job->count += queue->short_count - other_count;
    for (size_t i = 0; i < other_count; i++)
        PREFETCH(short_places(job->memory, queue->short_pieces[others[i]].hash));
    size_t new_count = 0; /* of those that are not remembered; they come first among the others */
    for (size_t i = 0; i < other_count; i++) {
        const ShortPiece *piece = &queue->short_pieces[others[i]];
        size_t count = remembered_count(job->memory, piece->key, piece->hash);
        others[new_count] = others[i];
        new_count += !count;
        job->count += count;
    }
    for (size_t i = 0; i < new_count; i += 2)
        add_new(job, &queue->short_pieces[others[i]], i + 1 < new_count ? &queue->short_pieces[others[i + 1]] : NULL);
    return DONE;
}

static FORCE_INLINE LongCount *place_of(const Job *job, const LongPiece *piece)
{
    return &job->memory->long_counts[piece->place];
}

/* Counts a piece of at most LONG_REMEMBERED bytes that is remembered, or a token; false for any other. */
static bool add_known(Job *job, const LongPiece *piece)
{
    LongCount *known = place_of(job, piece);
    if (known->size != piece->size || memcmp(known->bytes, piece->at, piece->size)) {
        if (piece->size > job->vocabulary->longest || long_rank(job->vocabulary, piece->at, piece->size) == NO_RANK)
            return false;
        remember_long(known, piece->at, piece->size, 1);
    }
    job->count += known->count;
    return true;
}

/* One or two long pieces that are neither. */
static void add_new_long(Job *job, const LongPiece *one, const LongPiece *other)
{
    size_t counts[2] = {0, 0};
    if (other) {
        const uint8_t *const pieces[2] = {one->at, other->at};
        const size_t sizes[2] = {one->size, other->size};
        merge_two(job->vocabulary, pieces, sizes, counts);
        remember_long(place_of(job, other), other->at, other->size, counts[1]);
    } else {
        counts[0] = merge_small(job->vocabulary, one->at, one->size, NULL);
    }
    remember_long(place_of(job, one), one->at, one->size, counts[0]);
    job->count += counts[0] + counts[1];
}

static enum Outcome add_long_counts(Job *job, const Queue *queue)
{
    const LongPiece *pieces = queue->long_pieces;
    uint8_t others[ENOUGH + WINDOW];
    size_t new_count = 0;
    for (size_t i = 0; i < queue->long_count; i++) {
        const LongPiece *piece = &pieces[i];
        enum Outcome outcome = DONE;
        if (tends_apart(piece->at + piece->size))
            outcome = add_apart(job, piece->at, piece->size);
        else if (piece->size > LONG_REMEMBERED)
            outcome = add_long(job, piece->at, piece->size);
        else if (!add_known(job, piece))
            others[new_count++] = (uint8_t)i;
        if (UNLIKELY(outcome != DONE))
            return outcome;
    }
    for (size_t i = 0; i < new_count; i += 2)
        add_new_long(job, &pieces[others[i]], i + 1 < new_count ? &pieces[others[i + 1]] : NULL);
    return DONE;
}

enum Outcome add_queue(Job *job, Queue *queue)
{
    enum Outcome outcome;
    if (job->wants_ids)
        outcome = add_ids(job, queue);
    else if ((outcome = add_short_counts(job, queue)) == DONE)
        outcome = add_long_counts(job, queue);
    queue->short_count = queue->long_count = 0;
    if (outcome == DONE && job->count > job->limit)
        return BEYOND_LIMIT;
    return outcome;
}
