/* Where pieces begin in 64 bytes, all at once: one bit for each byte, found without a branch for each piece.
 *
 * A window starts where a piece starts, so that nothing before it matters. Bit i of a mask says whether byte i is of a
 * class, which all bytes of a character share; a mask shifted left speaks of the byte before, shifted right of the byte
 * after. What cannot be decided within the window is left to the next one, or to the state machine: `piece_starts`
 * gives only starts that no byte beyond their successor changes. */
#ifndef WEIGHBRIDGE_WINDOW_H
#define WEIGHBRIDGE_WINDOW_H

#include "pieces.h"

#define WINDOW 64

/* Blank: ' ' alone. Inner: all bytes of a character but its first. Han: those that are sure to begin a Chinese
 * character of three bytes. Beyond: characters that only the state machine knows. */
typedef struct {
    uint64_t upper, lower, both, mark, digit, blank, space, line_break, quote, slash, no_ascii, inner, han, beyond;
} ByteMasks;

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
        uint64_t beyond_ascii = bits_of(bytes);
        masks.no_ascii |= beyond_ascii << i;
        if (beyond_ascii) {
            masks.inner |= bits_of(_mm_cmplt_epi8(bytes, _mm_set1_epi8((char)0xc0))) << i;
            masks.han |= bits_of(in_range(bytes, (char)0xe5, 5)) << i;
        }
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

/* With 0x80 and what follows at 0x00, so that ranges of it can be found too. */
static FORCE_INLINE Word flipped(Word bytes)
{
    return (Word){bytes.low ^ EACH_BYTE(0x80), bytes.high ^ EACH_BYTE(0x80)};
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
        masks.no_ascii |= (uint64_t)beyond_ascii_mask(bytes) << i;
        masks.inner |= range_bits(flipped(bytes), 0x00, 0x40) << i;
        masks.han |= range_bits(flipped(bytes), 0x65, 5) << i;
    }
    if (!pattern.cased)
        masks.lower |= masks.upper, masks.upper = 0;
    masks.space &= ~masks.line_break;
    return masks;
}

#endif

/* The lowest three bits of each byte of a window: bit i of a mask is that of byte i. */
typedef struct {
    uint64_t first, second, third;
} BitMasks;

static FORCE_INLINE BitMasks bit_masks(const uint8_t *bytes)
{
    BitMasks masks = {0};
    for (unsigned i = 0; i < WINDOW; i += 16) {
#ifdef WEIGHBRIDGE_SSE2
        __m128i sixteen = _mm_loadu_si128((const __m128i *)(const void *)(bytes + i));
        masks.first |= bits_of(_mm_slli_epi16(sixteen, 7)) << i;
        masks.second |= bits_of(_mm_slli_epi16(sixteen, 6)) << i;
        masks.third |= bits_of(_mm_slli_epi16(sixteen, 5)) << i;
#else
        Word sixteen = load_16(bytes + i);
        masks.first |= (uint64_t)beyond_ascii_mask((Word){sixteen.low << 7, sixteen.high << 7}) << i;
        masks.second |= (uint64_t)beyond_ascii_mask((Word){sixteen.low << 6, sixteen.high << 6}) << i;
        masks.third |= (uint64_t)beyond_ascii_mask((Word){sixteen.low << 5, sixteen.high << 5}) << i;
#endif
    }
    return masks;
}

/* What is said of the first byte of each character, said of all its bytes. */
static FORCE_INLINE uint64_t of_all_bytes(uint64_t firsts, uint64_t inner)
{
    firsts |= firsts << 1 & inner;
    firsts |= firsts << 1 & inner;
    return firsts | (firsts << 1 & inner);
}

/* Those of these first bytes of characters whose character ends within the window. */
static FORCE_INLINE uint64_t whole_ones(uint64_t leads, const uint8_t *at)
{
    const uint8_t *end = at + WINDOW;
    if (UNLIKELY(leads >> (WINDOW - 3)))
        leads &= ~((uint64_t)(end[-1] >= 0xc0) << (WINDOW - 1) | (uint64_t)(end[-2] >= 0xe0) << (WINDOW - 2) |
                   (uint64_t)(end[-3] >= 0xf0) << (WINDOW - 3));
    return leads;
}

/* Classes of the characters beyond ASCII. One that only the state machine knows, and all after it, are beyond. */
static FORCE_INLINE void add_characters(ByteMasks *masks, const Kinds *kinds, const uint8_t *at)
{
    uint8_t found[WINDOW] = {OTHER}; /* the kind of each character, at its first byte */
    const uint64_t leads = masks->no_ascii & ~masks->inner, whole = whole_ones(leads, at);
    const uint64_t han = kinds->han ? masks->han & whole : 0;
    for (uint64_t left = whole & ~han; left; left &= left - 1) {
        unsigned place = trailing_zeros_64(left), size;
        found[place] = (uint8_t)kind_at(kinds, at + place, &size);
    }
    BitMasks bits = bit_masks(found);
    bits.second |= han;
    bits.third |= han;
    /* In this order: SPACE, BREAK and NUMBER lack the third bit, and the four that are added here have it. */
    uint64_t beyond = (~bits.third & (bits.first | bits.second)) | (leads & ~whole);
    bits.first = of_all_bytes(bits.first, masks->inner);
    bits.second = of_all_bytes(bits.second, masks->inner);
    bits.third = of_all_bytes(bits.third, masks->inner);
    masks->beyond = beyond ? UINT64_MAX << trailing_zeros_64(beyond) : 0;
    bits.third &= ~masks->beyond;
    masks->upper |= bits.third & ~bits.second & ~bits.first;
    masks->lower |= bits.third & ~bits.second & bits.first;
    masks->both = bits.third & bits.second & ~bits.first;
    masks->mark = bits.third & bits.second & bits.first;
}

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

static FORCE_INLINE unsigned first_of(uint64_t mask, unsigned otherwise)
{
    unsigned place = mask ? trailing_zeros_64(mask) : WINDOW;
    return place < otherwise ? place : otherwise;
}

static FORCE_INLINE uint64_t below(unsigned place)
{
    return place < WINDOW ? (1ull << place) - 1 : UINT64_MAX;
}

/* Starts among white space that no piece of other characters has taken; `*known` falls to where it is undecided. */
static FORCE_INLINE uint64_t white_starts(const ByteMasks *m, uint64_t white, uint64_t taken_breaks, unsigned *known,
                                          const Pattern pattern)
{
    const uint64_t free_white = white & ~taken_breaks;
    uint64_t starts = free_white & ~(free_white << 1);
    starts |= (pattern.breaks ? m->space : white) & ~(white >> 1); /* the last one of a run may lead */
    if (pattern.breaks) {
        uint64_t after_break = m->space & m->line_break << 1;
        uint64_t ends = (m->space + after_break) & ~m->space;
        if (ends & m->line_break) /* breaks, spaces, breaks: where the last break is decides */
            *known = first_of(after_break, *known);
        starts |= after_break;
    }
    return starts;
}

/* Starts of words and of runs of other characters. One other character may lead a word: then the run of others, which
 * is as long as the character, has the start and the letters after it none. */
static FORCE_INLINE uint64_t word_starts(const ByteMasks *m, uint64_t letters, uint64_t other_runs,
                                         const Pattern pattern)
{
    uint64_t led = m->blank << 1;
    if (pattern.any_lead) {
        uint64_t runs = other_runs & ~(m->blank << 1), second = m->inner << 1;
        led = m->space << 1 | runs << 1;
        if (m->inner)
            led |= (runs << 2 & second) | (runs << 3 & second & second << 1) |
                   (runs << 4 & second & second << 1 & second << 2);
    }
    uint64_t starts = letters & ~(letters << 1) & ~led;
    if (pattern.cased)
        starts |= m->upper & m->lower << 1;
    return starts | (other_runs & ~(m->blank << 1));
}

/* Up to where starts are final: a run of white space that reaches the end of what is known may go on, and so may the
 * last character's part in what follows. */
static FORCE_INLINE unsigned final_place(uint64_t white, unsigned known)
{
    uint64_t solid = ~white & below(known);
    unsigned last = solid ? WINDOW - leading_zeros_64(solid) : 0; /* after the last that is no white space */
    return last + 1 < known ? last + 1 : known ? known - 1 : 0;
}

/* Starts of pieces in the window at `at`, itself among them; every one is final, and so is the end of each piece but
 * the last one. Only bit 0 is set where the window does not tell. */
static FORCE_INLINE uint64_t piece_starts(const Kinds *kinds, const uint8_t *at, const Pattern pattern)
{
    ByteMasks m = byte_masks(at, pattern);
    if (m.no_ascii)
        add_characters(&m, kinds, at);
    unsigned known = first_of(m.beyond, WINDOW);
    uint64_t letters = m.upper | m.lower | m.both;
    if (pattern.cased && m.no_ascii) {
        /* A mark belongs to the letter before it; elsewhere it may be many things. Whether an upper-case letter goes on
         * with a word after a letter of neither case depends on all that follows and precedes. */
        known = first_of(m.mark & ~(m.mark << 1) & ~(letters << 1), known);
        known = first_of(m.upper & (m.both | m.mark) << 1, known);
        letters |= m.mark;
    }
    const uint64_t white = m.space | m.line_break, others = ~(letters | m.digit | white | m.beyond);
    const uint64_t other_runs = others & ~(others << 1);

    /* Line breaks right after other characters belong to these. Adding a run's start to the run carries to its end. */
    uint64_t taken_breaks = 0;
    if (pattern.tail != NO_TAIL) {
        uint64_t first = m.line_break & others << 1;
        taken_breaks = m.line_break & ~(m.line_break + first);
        if (pattern.tail == BREAKS_AND_SLASHES) /* the piece goes on after a slash: know no more than what is before */
            known = first_of(taken_breaks << 1 & m.slash, known);
    }
    uint64_t starts = white_starts(&m, white, taken_breaks, &known, pattern);
    starts |= word_starts(&m, letters, other_runs, pattern);
    uint64_t digit_runs = m.digit & ~(m.digit << 1);
    if (pattern.digits == 1)
        starts |= m.digit;
    else if (pattern.digits == 3)
        starts |= digit_groups(m.digit, digit_runs);
    else
        starts |= digit_runs & ~(m.blank << 1);
    if (pattern.contraction != NONE_APART && m.quote) {
        uint64_t quotes = m.quote & letters >> 1 & below(known);
        quotes &= pattern.contraction == AFTER_ANY_CASE ? letters << 1 : other_runs & ~(m.blank << 1);
        starts = with_contractions(starts, quotes, at, known, pattern);
        /* An apostrophe too near to the end is undecided. */
        known = first_of(known > 4 ? quotes & ~below(known - 4) : quotes, known);
    }
    return (starts & below(final_place(white, known))) | 1;
}

#endif
