/* Where pieces begin in 64 bytes of ASCII, all at once: one bit for each byte, found without a branch for each piece.
 *
 * A window starts where a piece starts, so that nothing before it matters. Bit i of a mask says whether byte i is of a
 * class; a mask shifted left speaks of the byte before, shifted right of the byte after. What cannot be decided within
 * the window is left to the next one: `pieces_in_window` gives only starts that no byte beyond their successor changes. */
#ifndef WEIGHBRIDGE_WINDOW_H
#define WEIGHBRIDGE_WINDOW_H

#include "pieces.h"

#define WINDOW 64

typedef struct {
    uint64_t upper, lower, digit, blank, space, line_break, quote, slash, beyond; /* blank: ' ' alone; beyond: no ASCII */
} ByteMasks;

static FORCE_INLINE unsigned trailing_zeros_64(uint64_t mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(mask);
#else
    unsigned low = (unsigned)(mask & UINT32_MAX ? 0 : 32);
    return low + trailing_zeros((uint32_t)(mask >> low));
#endif
}

#ifdef WEIGHBRIDGE_SSE2

static FORCE_INLINE uint64_t bits_of(__m128i bytes)
{
    return (uint64_t)(uint32_t)_mm_movemask_epi8(bytes);
}

static FORCE_INLINE __m128i in_range(__m128i bytes, char first, int count)
{
    return _mm_cmplt_epi8(_mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128))), _mm_set1_epi8((char)(-128 + count)));
}

static FORCE_INLINE ByteMasks byte_masks(const uint8_t *at, const Pattern pattern)
{
    ByteMasks masks = {0};
    for (unsigned i = 0; i < WINDOW; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        if (pattern.cased) {
            masks.upper |= bits_of(in_range(bytes, 'A', 26)) << i;
            masks.lower |= bits_of(in_range(bytes, 'a', 26)) << i;
        } else {
            masks.lower |= bits_of(in_range(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a', 26)) << i;
        }
        __m128i blank = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' '));
        masks.digit |= bits_of(in_range(bytes, '0', 10)) << i;
        masks.blank |= bits_of(blank) << i;
        masks.space |= bits_of(_mm_or_si128(blank, in_range(bytes, '\t', 5))) << i;
        masks.line_break |= bits_of(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
                                                 _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')))) << i;
        masks.quote |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\''))) << i;
        if (pattern.tail == BREAKS_AND_SLASHES)
            masks.slash |= bits_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('/'))) << i;
        masks.beyond |= bits_of(bytes) << i;
    }
    masks.space &= ~masks.line_break;
    return masks;
}

#else

static FORCE_INLINE uint64_t range_bits(Word word, unsigned first, unsigned count)
{
    uint64_t top = EACH_BYTE(0x80), low = word.low & ~top, high = word.high & ~top;
    uint64_t from = EACH_BYTE(0x80 - first), after = EACH_BYTE(0x80 - first - count);
    return (uint64_t)(gathered((low + from) & ~(low + after) & ~word.low) |
                      gathered((high + from) & ~(high + after) & ~word.high) << 8);
}

static FORCE_INLINE ByteMasks byte_masks(const uint8_t *at, const Pattern pattern)
{
    ByteMasks masks = {0};
    for (unsigned i = 0; i < WINDOW; i += 16) {
        Word bytes = load_16(at + i);
        masks.upper |= range_bits(bytes, 'A', 26) << i;
        masks.lower |= range_bits(bytes, 'a', 26) << i;
        masks.digit |= range_bits(bytes, '0', 10) << i;
        masks.blank |= range_bits(bytes, ' ', 1) << i;
        masks.space |= (range_bits(bytes, ' ', 1) | range_bits(bytes, '\t', 5)) << i;
        masks.line_break |= (range_bits(bytes, '\n', 1) | range_bits(bytes, '\r', 1)) << i;
        masks.quote |= range_bits(bytes, '\'', 1) << i;
        masks.slash |= range_bits(bytes, '/', 1) << i;
        masks.beyond |= (uint64_t)beyond_ascii_mask(bytes) << i;
    }
    if (!pattern.cased)
        masks.lower |= masks.upper, masks.upper = 0;
    masks.space &= ~masks.line_break;
    return masks;
}

#endif

/* Starts of the groups of three that digits fall into; `runs` are the starts of their runs. */
static FORCE_INLINE uint64_t digit_groups(uint64_t digits, uint64_t runs)
{
    uint64_t groups = runs, triples = digits & digits << 1 & digits << 2; /* the last ones of three digits in a row */
    for (uint64_t next = groups << 3 & triples << 1 & digits; next; next = next << 3 & triples << 1 & digits)
        groups |= next;
    return groups;
}

/* Contractions at the end of a word (cased) or before all else: moves the starts that they change. `quotes` are the
 * apostrophes that would lead a word. */
static inline uint64_t with_contractions(uint64_t starts, uint64_t quotes, const uint8_t *at, unsigned known,
                                         const Pattern pattern)
{
    unsigned taken = 0; /* where the last contraction ended */
    for (; quotes; quotes &= quotes - 1) {
        unsigned place = trailing_zeros_64(quotes);
        if (place + 4 > known)
            break;
        if (pattern.contraction == AFTER_ANY_CASE && (!place || place == taken))
            continue; /* there is no word before it that could end in one */
        unsigned size = contraction_size(at + place, at + place + 3, pattern.contraction != BEFORE_SAME_CASE);
        if (!size)
            continue;
        taken = place + size;
        if (pattern.contraction == AFTER_ANY_CASE)
            starts &= ~(1ull << place);
        starts &= ~((2ull << (taken - 1)) - (2ull << place)); /* none between its letters */
        starts |= 1ull << taken;
    }
    return starts;
}

/* Starts of pieces in the window at `at`, itself among them; every one is final, and so is the end of each piece but
 * the last one. Only bit 0 is set where the window does not tell. */
static FORCE_INLINE uint64_t piece_starts(const uint8_t *at, const Pattern pattern)
{
    const ByteMasks m = byte_masks(at, pattern);
    const uint64_t letters = m.upper | m.lower, white = m.space | m.line_break;
    const uint64_t others = ~(letters | m.digit | white | m.beyond);
    const uint64_t other_runs = others & ~(others << 1);
    unsigned known = m.beyond ? trailing_zeros_64(m.beyond) : WINDOW;

    /* Line breaks right after other characters belong to these. Adding a run's start to the run carries to its end. */
    uint64_t taken_breaks = 0;
    if (pattern.tail != NO_TAIL) {
        uint64_t first = m.line_break & others << 1;
        taken_breaks = m.line_break & ~(m.line_break + first);
        uint64_t slashed = pattern.tail == BREAKS_AND_SLASHES ? taken_breaks << 1 & m.slash : 0;
        if (slashed) { /* the piece goes on after a slash: know no more than what is before */
            unsigned place = trailing_zeros_64(slashed);
            known = place < known ? place : known;
        }
    }
    const uint64_t free_white = white & ~taken_breaks;
    uint64_t starts = free_white & ~(free_white << 1);
    starts |= (pattern.breaks ? m.space : white) & ~(white >> 1); /* the last one of a run may lead */
    if (pattern.breaks) {
        uint64_t after_break = m.space & m.line_break << 1;
        uint64_t ends = (m.space + after_break) & ~m.space;
        if (ends & m.line_break) { /* breaks, spaces, breaks: where the last break is decides */
            unsigned place = trailing_zeros_64(after_break);
            known = place < known ? place : known;
        }
        starts |= after_break;
    }
    uint64_t leads = pattern.any_lead ? m.space | (other_runs & ~(m.blank << 1) & letters >> 1) : m.blank;
    starts |= letters & ~(letters << 1) & ~(leads << 1);
    if (pattern.cased)
        starts |= m.upper & m.lower << 1;
    starts |= other_runs & ~(m.blank << 1);
    uint64_t digit_runs = m.digit & ~(m.digit << 1);
    if (pattern.digits == 1)
        starts |= m.digit;
    else if (pattern.digits == 3)
        starts |= digit_groups(m.digit, digit_runs);
    else
        starts |= digit_runs & ~(m.blank << 1);
    if (pattern.contraction != NONE_APART && m.quote) {
        uint64_t quotes = m.quote & letters >> 1;
        quotes &= pattern.contraction == AFTER_ANY_CASE ? letters << 1 : other_runs & ~(m.blank << 1);
        uint64_t seen = quotes & (known < 64 ? (1ull << known) - 1 : ~0ull);
        starts = with_contractions(starts, seen, at, known, pattern);
        /* An apostrophe too near to the end is undecided. */
        uint64_t near = known > 4 ? seen >> (known - 4) << (known - 4) : seen;
        if (near)
            known = trailing_zeros_64(near);
    }
    /* A run of white space that reaches the end of what is known may go on. */
    uint64_t below = known < 64 ? (1ull << known) - 1 : ~0ull;
    uint64_t solid = ~white & below;
    unsigned last = 0;
    while (solid) { /* position after the last character that is no white space */
#if defined(__GNUC__) || defined(__clang__)
        last = 64 - (unsigned)__builtin_clzll(solid);
        break;
#else
        last++;
        solid >>= 1;
#endif
    }
    unsigned final = last < known && last + 1 < known ? last + 1 : (known ? known - 1 : 0);
    return (starts & (final < 64 ? (1ull << final) - 1 : ~0ull)) | 1;
}

#endif
