/* Pieces that wait to be counted or encoded. To look up one takes long where its slot is far from the processor, so all
 * slots are asked for before the first of them is read; short and long pieces wait apart, for what is done with one then
 * depends on no branch that is hard to foretell. */
#ifndef WEIGHBRIDGE_QUEUE_H
#define WEIGHBRIDGE_QUEUE_H

#include "scan.h"
#include "window.h"

typedef struct {
    Word key;
    uint64_t hash;
    const uint8_t *at;
    size_t size;
} ShortPiece;

typedef struct {
    const uint8_t *at;
    size_t size, place; /* of its count; for a piece up to LONG_REMEMBERED */
} LongPiece;

#define ENOUGH 64 /* pieces of one of both sorts */

typedef struct {
    ShortPiece short_pieces[ENOUGH + WINDOW];
    LongPiece long_pieces[ENOUGH + WINDOW];
    size_t short_count, long_count;
} Queue;

static FORCE_INLINE void put(Queue *queue, const Job *job, const uint8_t *at, size_t size, Word word)
{
    const Vocabulary *vocabulary = job->vocabulary;
    if (LIKELY(size <= SHORT_SIZE)) {
        ShortPiece *piece = &queue->short_pieces[queue->short_count++];
        Word key = short_key(word, size);
        *piece = (ShortPiece){key, key_hash(key), at, size};
        PREFETCH(&vocabulary->keys[first_slot(vocabulary, piece->hash)]);
    } else {
        LongPiece *piece = &queue->long_pieces[queue->long_count++];
        *piece = (LongPiece){at, size, 0};
        if (size <= LONG_REMEMBERED) {
            piece->place = long_place(at, size);
            PREFETCH(&job->memory->long_counts[piece->place]);
        }
    }
}

/* Counts or encodes all that waits; the queue is empty then. */
enum Outcome add_queue(Job *job, Queue *queue);

#endif
