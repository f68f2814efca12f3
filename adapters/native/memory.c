#include "memory.h"

#include <stdlib.h>

#define LINE 64 /* bytes that the processor reads at once: each LongCount is one */

Memory *memory_new(void)
{
    const size_t long_bytes = sizeof(LongCount) << LONG_PLACES_BITS, short_bytes = sizeof(Word) << SHORT_PLACES_BITS;
    Memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->block = calloc(1, long_bytes + short_bytes + LINE);
    if (!memory->block) {
        free(memory);
        return NULL;
    }
    uint8_t *at = (uint8_t *)memory->block + LINE - (uintptr_t)memory->block % LINE;
    memory->long_counts = (LongCount *)(void *)at;
    memory->short_counts = (Word *)(void *)(at + long_bytes);
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
    free(memory->block);
    free(memory->ids);
    free(memory);
}
