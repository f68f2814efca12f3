/* The text as the vocabularies of the claude family see it: adapters/claude/cleaning.py in C. */
#ifndef WEIGHBRIDGE_CLEANING_H
#define WEIGHBRIDGE_CLEANING_H

#include <stdbool.h>

#include "bits.h"

typedef struct {
    const uint8_t *bytes;
    size_t size;
    uint8_t *own; /* to be freed; NULL where nothing had to change */
} Clean;

/* 0, or -1 without memory. */
int clean(Clean *clean, const uint8_t *text, size_t size, bool folds_quotes);

#endif
