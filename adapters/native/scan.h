/* Counts or encodes a text, piece by piece. Needs no interpreter, so that its lock can be released. */
#ifndef WEIGHBRIDGE_SCAN_H
#define WEIGHBRIDGE_SCAN_H

#include <stdbool.h>

#include "memory.h"
#include "merge.h"

typedef struct {
    const Vocabulary *vocabulary;
    Memory *memory;
    const uint8_t *text; /* UTF-8 */
    size_t size;
    uint64_t limit; /* tokens after which counting ends with BEYOND_LIMIT */
    Poll poll;      /* asked about every 64 KiB */
    bool wants_ids;
    /* Results. The caller frees `ids`. */
    uint64_t count;
    uint32_t *ids;
    size_t room;
} Job;

typedef enum Outcome (*Scan)(Job *job);

/* The scanner of a family of split patterns and the kinds it tells apart, or NULL for an unknown name. */
typedef struct {
    const char *name;
    Scan scan;
    uint8_t as_kind[KINDS];
} Family;

const Family *family_named(const char *name);

#endif
