/* Where a text may be cut so that its parts have, together, the very pieces of the whole.
 *
 * A cut lies between two characters. It is safe where, whatever stands before and after them, a piece ends there, no
 * piece before it would end elsewhere if the text stopped there, and none after it looks back. No split pattern looks
 * back, so that the last holds wherever a piece ends. What holds for all patterns here:
 *   - a blank that follows anything but white space begins a piece: within a piece white space stands only at its start
 *     or in a run of white space, or, as a line break, behind other characters;
 *   - numbers share a piece with nothing but numbers and, in r50k, a blank before them;
 *   - a letter goes on only with letters, marks and, in o200k, an apostrophe;
 *   - a line break ends its run of white space unless more white space follows, and the piece of other characters that
 *     took it unless, in o200k and tekken, a slash follows. In r50k it is white space like any other. */
#ifndef WEIGHBRIDGE_CUTS_H
#define WEIGHBRIDGE_CUTS_H

#include <stdbool.h>

#include "kinds.h"

typedef struct {
    const char *family;
    bool breaks;  /* white space is cut after its last line break */
    bool quotes;  /* an apostrophe may go on after a letter */
    bool slashes; /* a slash may go on after a line break */
} CutRule;

/* The rule of a family of split patterns, or NULL for an unknown name. */
const CutRule *cut_rule_named(const char *family);

/* Place of the last safe cut that is beyond `low` and at most `high`; `low` where there is none. Both are borders of
 * characters; `high` itself is a cut where it is the end of the text, which is at `size`. */
size_t last_cut(const CutRule *rule, const Kinds *kinds, const uint8_t *text, size_t size, size_t low, size_t high);

#endif
