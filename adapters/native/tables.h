/* Memory for tables that are looked up at random places: in large pages where the system has them, since most look-ups
 * would otherwise wait for an address to be translated too. */
#ifndef WEIGHBRIDGE_TABLES_H
#define WEIGHBRIDGE_TABLES_H

#include <stddef.h>

/* `count` entries of `size` bytes each, all zeros; NULL without memory. `free` gives them back. */
void *table_new(size_t count, size_t size);

#endif
