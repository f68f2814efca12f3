/* Counts the distinct pieces of texts, in the order in which they are first seen. Only they are kept, not the texts. */
#ifndef WEIGHBRIDGE_WORDS_H
#define WEIGHBRIDGE_WORDS_H

#include "scan.h"

/* A word of up to SHORT_SIZE bytes is its key. A longer one has LONG_WORD and its size in `key.high`, and in `key.low`
 * where its bytes are. */
typedef struct {
    Word key;
    uint64_t count;
} CountedWord;

#define LONG_WORD (0xffull << 56)

typedef struct {
    CountedWord *words;
    size_t count, room;
    uint64_t *slots; /* upper half of the hash, number of the word plus one; 0 where empty */
    unsigned shift;
    size_t mask;
    uint8_t *long_bytes;
    size_t long_size, long_room;
    size_t size; /* bytes of all words together */
} WordTable;

/* Counts the pieces of a text. */
typedef enum Outcome (*CountWords)(WordTable *table, const Kinds *kinds, const uint8_t *text, size_t size, Poll poll);

/* How the words of a family of split patterns are counted, or NULL for an unknown name. */
CountWords word_counter_named(const char *family);

/* Adds words that were counted before, given as `words_write` writes them. */
enum Outcome words_add(WordTable *table, const uint8_t *bytes, const uint32_t *sizes, const uint64_t *counts,
                       size_t count);

/* Writes the words one after another, their sizes and their counts. */
void words_write(const WordTable *table, uint8_t *bytes, uint32_t *sizes, uint64_t *counts);
void words_free(WordTable *table);

#endif
