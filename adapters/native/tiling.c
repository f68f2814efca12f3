#include "tiling.h"

#include <stdlib.h>

#define FIRST_UNITS (1 << 16)
#define BETWEEN_POLLS (1 << 16)
#define UNREACHED UINT32_MAX

typedef struct {
    const uint8_t *bytes;
    size_t size;
} Piece;

typedef struct {
    Pieces *built;
    const Piece *pieces;
    size_t free_from; /* nearly all units before it are taken */
} Build;

static int grow(Pieces *pieces, size_t least)
{
    if (least <= pieces->size)
        return 0;
    size_t size = least + least / 2;
    Unit *units = size < ENDS ? realloc(pieces->units, size * sizeof *units) : NULL;
    if (!units)
        return -1;
    memset(units + pieces->size, 0, (size - pieces->size) * sizeof *units);
    pieces->units = units;
    pieces->size = size;
    return 0;
}

static bool all_free(const Pieces *pieces, size_t next, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pieces->units[next + bytes[i]].owner)
            return false;
    return true;
}

/* A place where the children by all `bytes` fit; 0 without memory. */
static size_t find_place(Build *build, const uint8_t *bytes, size_t count)
{
    size_t taken = 0, first = build->free_from;
    for (size_t at = first;; at++) {
        if (grow(build->built, at + 512))
            return 0;
        if (build->built->units[at].owner) {
            taken++;
            continue;
        }
        if (at > bytes[0] && all_free(build->built, at - bytes[0], bytes, count)) {
            if (taken * 20 >= (at - first + 1) * 19)
                build->free_from = at;
            return at - bytes[0];
        }
    }
}

/* Adds the pieces from `low` to `high`, which have `depth` bytes in common, below the unit of those bytes. */
static int add_below(Build *build, size_t unit, size_t low, size_t high, size_t depth)
{
    const Piece *pieces = build->pieces;
    if (low < high && pieces[low].size == depth) {
        build->built->units[unit].next |= ENDS;
        low++;
    }
    uint8_t bytes[256];
    size_t count = 0;
    for (size_t i = low; i < high; i++)
        if (i == low || pieces[i].bytes[depth] != pieces[i - 1].bytes[depth])
            bytes[count++] = pieces[i].bytes[depth];
    if (!count)
        return 0;
    size_t next = find_place(build, bytes, count);
    if (!next)
        return -1;
    build->built->units[unit].next |= (uint32_t)next;
    for (size_t i = 0; i < count; i++)
        build->built->units[next + bytes[i]].owner = (uint32_t)unit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t end = low;
        while (end < high && pieces[end].bytes[depth] == bytes[i])
            end++;
        if (add_below(build, next + bytes[i], low, end, depth + 1))
            return -1;
        low = end;
    }
    return 0;
}

static bool white(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

/* Whether a mark stands inside a piece, or white space beside other characters; a stretch could not be cut then. */
static bool crosses(const uint8_t *bytes, size_t size)
{
    size_t start = 0, end = size;
    while (start < end && (bytes[start] == SHIFT || bytes[start] == CAPS))
        start++;
    if (start < end && bytes[start] == OPEN)
        start++;
    if (start < end && bytes[end - 1] == CLOSE)
        end--;
    bool blank = false, other = end - start < size;
    for (size_t i = start; i < end; i++) {
        if (bytes[i] >= OPEN)
            return true;
        blank |= white(bytes[i]);
        other |= !white(bytes[i]) && bytes[i] != 0xE3 && bytes[i] != 0x80; /* U+3000 is white space too */
    }
    return blank && other;
}

static int order(const Piece *a, const Piece *b)
{
    int order = memcmp(a->bytes, b->bytes, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Finds the pieces of a file; their number, or 0 with `error` set. */
static size_t split(const uint8_t *file, size_t size, Piece *pieces, size_t *longest, enum PiecesError *error)
{
    size_t count = 0, start = 0;
    for (size_t i = 0; i < size; i++) {
        if (file[i] != SEPARATOR)
            continue;
        Piece *piece = &pieces[count++];
        *piece = (Piece){file + start, i - start};
        start = i + 1;
        *error = PIECES_MALFORMED;
        if (!piece->size || piece->size > LONGEST_PIECE || (count > 1 && order(piece - 1, piece) >= 0))
            return 0;
        *error = PIECES_CROSSING;
        if (crosses(piece->bytes, piece->size))
            return 0;
        if (piece->size > *longest)
            *longest = piece->size;
    }
    *error = PIECES_MALFORMED;
    return start == size ? count : 0;
}

static enum PiecesError build_units(Pieces *built, const Piece *pieces)
{
    if (grow(built, FIRST_UNITS))
        return PIECES_NO_MEMORY;
    built->units[0] = (Unit){1, 1};
    for (size_t byte = 0; byte < 256; byte++)
        built->units[1 + byte] = (Unit){ENDS, 1};
    Build build = {built, pieces, 257};
    for (size_t low = 0, high; low < built->count; low = high) {
        uint8_t byte = pieces[low].bytes[0];
        for (high = low; high < built->count && pieces[high].bytes[0] == byte;)
            high++;
        if (add_below(&build, 1 + byte, low, high, 1))
            return PIECES_NO_MEMORY;
    }
    size_t used = built->size;
    while (!built->units[used - 1].owner)
        used--;
    Unit *units = realloc(built->units, (used + 256) * sizeof *units); /* a child that is missing may lie beyond */
    if (units) {
        built->units = units;
        if (built->size < used + 256)
            memset(units + built->size, 0, (used + 256 - built->size) * sizeof *units);
        built->size = used + 256;
    }
    return units ? PIECES_BUILT : PIECES_NO_MEMORY;
}

enum PiecesError pieces_build(Pieces *built, const uint8_t *file, size_t size)
{
    size_t most = 0;
    for (size_t i = 0; i < size; i++)
        most += file[i] == SEPARATOR;
    Piece *pieces = malloc((most + 1) * sizeof *pieces);
    if (!pieces)
        return PIECES_NO_MEMORY;
    enum PiecesError error = PIECES_MALFORMED;
    built->longest = 1;
    built->count = split(file, size, pieces, &built->longest, &error);
    if (built->count)
        error = build_units(built, pieces);
    free(pieces);
    return error;
}

void pieces_free(Pieces *pieces)
{
    free(pieces->units);
}

void tiler_start(Tiler *tiler, const Pieces *pieces, uint64_t limit, Poll poll)
{
    tiler->pieces = pieces;
    tiler->poll = poll;
    tiler->total = 0;
    tiler->limit = limit;
    tiler->size = tiler->unpolled = 0;
    tiler->continued = false;
    tiler->outcome = DONE;
    tiler->fewest[0] = 0;
}

/* Follows every piece that starts at `start`. */
static FORCE_INLINE void relax(Tiler *tiler, size_t start)
{
    const Unit *units = tiler->pieces->units;
    const uint8_t *bytes = tiler->bytes;
    uint32_t *fewest = tiler->fewest;
    size_t size = tiler->size, place = start + 1;
    uint32_t reached = fewest[start] + 1, unit = 1u + bytes[start];
    if (reached < fewest[place])
        fewest[place] = reached;
    while (place < size) {
        uint32_t next = units[unit].next & ~ENDS, child = next + bytes[place];
        if (!next || units[child].owner != unit + 1)
            return;
        unit = child;
        place++;
        if (units[unit].next & ENDS && reached < fewest[place])
            fewest[place] = reached;
    }
}

static void reach_not(Tiler *tiler, size_t from)
{
    for (size_t i = from; i <= tiler->size; i++)
        tiler->fewest[i] = UNREACHED;
}

static void ask(Tiler *tiler, size_t passed)
{
    tiler->unpolled += passed;
    if (tiler->unpolled < BETWEEN_POLLS || !tiler->poll.ask)
        return;
    tiler->unpolled = 0;
    if (tiler->outcome == DONE && tiler->poll.ask(tiler->poll.context))
        tiler->outcome = STOPPED;
}

/* Drops what no piece from here on can begin at. The numbers start again at the least of those that are kept. */
void tiler_advance(Tiler *tiler)
{
    size_t kept = tiler->pieces->longest, start = tiler->size - kept;
    reach_not(tiler, tiler->continued ? kept + 1 : 1);
    for (size_t i = 0; i < start; i++)
        relax(tiler, i);
    uint32_t least = UNREACHED;
    for (size_t i = start; i <= tiler->size; i++)
        if (tiler->fewest[i] < least)
            least = tiler->fewest[i];
    for (size_t i = start; i <= tiler->size; i++)
        tiler->fewest[i - start] = tiler->fewest[i] == UNREACHED ? UNREACHED : tiler->fewest[i] - least;
    memmove(tiler->bytes, tiler->bytes + start, kept);
    tiler->size = kept;
    tiler->continued = true;
    tiler->total += least;
    ask(tiler, start);
    if (tiler->outcome == DONE && tiler->total > tiler->limit)
        tiler->outcome = BEYOND_LIMIT;
}

/* Whether the stretch is one piece. */
static bool is_piece(const Tiler *tiler)
{
    const Unit *units = tiler->pieces->units;
    uint32_t unit = 1u + tiler->bytes[0];
    for (size_t i = 1; i < tiler->size; i++) {
        uint32_t next = units[unit].next & ~ENDS, child = next + tiler->bytes[i];
        if (!next || units[child].owner != unit + 1)
            return false;
        unit = child;
    }
    return units[unit].next & ENDS;
}

void tiler_cut(Tiler *tiler)
{
    size_t size = tiler->size;
    if (!size)
        return;
    if (!tiler->continued && is_piece(tiler)) {
        tiler->total++;
    } else {
        reach_not(tiler, tiler->continued ? tiler->pieces->longest + 1 : 1);
        for (size_t i = 0; i < size; i++)
            relax(tiler, i);
        tiler->total += tiler->fewest[size];
    }
    tiler->size = 0;
    tiler->continued = false;
    tiler->fewest[0] = 0;
    ask(tiler, size);
    if (tiler->outcome == DONE && tiler->total > tiler->limit)
        tiler->outcome = BEYOND_LIMIT;
}
