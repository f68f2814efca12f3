#include "memory.h"

#include <stdlib.h>

Memory *memory_new(void)
{
    Memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->short_keys = calloc((size_t)1 << SHORT_PLACES_BITS, sizeof *memory->short_keys);
    memory->short_counts = calloc((size_t)1 << SHORT_PLACES_BITS, sizeof *memory->short_counts);
    memory->long_counts = calloc((size_t)1 << LONG_PLACES_BITS, sizeof *memory->long_counts);
    if (!memory->short_keys || !memory->short_counts || !memory->long_counts) {
        memory_free(memory);
        return NULL;
    }
    return memory;
}

int memory_remember_ids(Memory *memory)
{
    if (!memory->ids)
        memory->ids = calloc((size_t)1 << IDS_PLACES_BITS, sizeof *memory->ids);
    return memory->ids ? 0 : -1;
}

void memory_free(Memory *memory)
{
    if (!memory)
        return;
    free(memory->short_keys);
    free(memory->short_counts);
    free(memory->long_counts);
    free(memory->ids);
    free(memory);
}
