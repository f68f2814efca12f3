#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "tables.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_PAGE ((size_t)1 << 21) /* bytes; where pages are of another size this only costs some room */

void *table_new(size_t count, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (count <= SIZE_MAX / 2 / size && count * size >= LARGE_PAGE / 4) {
        size_t room = (count * size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        void *table = aligned_alloc(LARGE_PAGE, room);
        if (!table)
            return NULL;
        (void)madvise(table, room, MADV_HUGEPAGE); /* a request: without it all is as right, and slower */
        return memset(table, 0, count * size);
    }
#endif
    return calloc(count, size);
}
