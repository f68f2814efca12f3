#include "kinds.h"

#include <stdlib.h>

int kinds_build(Kinds *kinds, const uint8_t *classes, const uint8_t as_kind[KINDS])
{
    size_t room = 0;
    kinds->blocks = NULL;
    kinds->block_count = 0;
    for (size_t number = 0; number < CODE_POINTS / BLOCK; number++) {
        uint8_t block[BLOCK];
        for (size_t i = 0; i < BLOCK; i++)
            block[i] = as_kind[classes[number * BLOCK + i] % KINDS];
        size_t same = 0;
        /* The last block first: most repeat their neighbour. */
        if (kinds->block_count && !memcmp(kinds->blocks + (kinds->block_count - 1) * BLOCK, block, BLOCK))
            same = kinds->block_count - 1;
        else
            while (same < kinds->block_count && memcmp(kinds->blocks + same * BLOCK, block, BLOCK))
                same++;
        if (same == kinds->block_count) {
            if (same == room) {
                room = room ? room * 2 : 128;
                uint8_t *grown = realloc(kinds->blocks, room * BLOCK);
                if (!grown)
                    return -1;
                kinds->blocks = grown;
            }
            memcpy(kinds->blocks + same * BLOCK, block, BLOCK);
            kinds->block_count++;
        }
        kinds->block_of[number] = (uint16_t)same;
    }
    for (size_t point = 0; point < BASIC_PLANE; point++)
        kinds->plane[point] = as_kind[classes[point] % KINDS];
    kinds->han = true;
    for (size_t point = 0x5000; point < 0xa000; point++)
        kinds->han &= as_kind[classes[point] % KINDS] == BOTH;
    return 0;
}

void kinds_free(Kinds *kinds)
{
    free(kinds->blocks);
    kinds->blocks = NULL;
}
