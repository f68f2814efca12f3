/* Bytes as words: loads that never read past the end of a text, and masks of the ASCII letters in sixteen bytes. */
#ifndef WEIGHBRIDGE_BITS_H
#define WEIGHBRIDGE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define FORCE_INLINE inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define FORCE_INLINE inline
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define PREFETCH(address) ((void)(address))
#endif

#if !defined(WEIGHBRIDGE_PORTABLE) && (defined(__SSE2__) || defined(_M_X64))
#define WEIGHBRIDGE_SSE2 1
#include <emmintrin.h>
#endif

/* Sixteen bytes, the first one in the lowest bits of `low`, on every machine. */
typedef struct {
    uint64_t low, high;
} Word;

static FORCE_INLINE uint64_t load_8(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static FORCE_INLINE Word load_16(const uint8_t *at)
{
    return (Word){load_8(at), load_8(at + 8)};
}

/* Sixteen bytes of a text that ends at `end`; zeros beyond it. */
static FORCE_INLINE Word load_within(const uint8_t *at, const uint8_t *end)
{
    if (LIKELY((size_t)(end - at) >= 16))
        return load_16(at);
    uint8_t padded[16] = {0};
    memcpy(padded, at, (size_t)(end - at));
    return load_16(padded);
}

static FORCE_INLINE unsigned trailing_zeros(uint32_t mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctz(mask);
#else
    unsigned count = 0;
    while (!(mask & 1)) {
        mask >>= 1;
        count++;
    }
    return count;
#endif
}

static FORCE_INLINE unsigned trailing_zeros_64(uint64_t mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(mask);
#else
    unsigned low = (unsigned)(mask & UINT32_MAX ? 0 : 32);
    return low + trailing_zeros((uint32_t)(mask >> low));
#endif
}

static FORCE_INLINE unsigned leading_zeros_64(uint64_t mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_clzll(mask);
#else
    unsigned count = 0;
    for (; !(mask >> 63); mask <<= 1)
        count++;
    return count;
#endif
}

#define EACH_BYTE(value) (0x0101010101010101ull * (value))

/* Sixteen bits each, the lowest for the first byte. */
typedef struct {
    uint32_t upper, lower, beyond_ascii;
} LetterMasks;

#ifdef WEIGHBRIDGE_SSE2

static FORCE_INLINE uint32_t alphabet_mask(__m128i bytes, char first)
{
    /* Subtracting moves the 26 letters to the lowest signed values, so that one comparison finds them. */
    __m128i moved = _mm_sub_epi8(bytes, _mm_set1_epi8((char)(first + 128)));
    return (uint32_t)_mm_movemask_epi8(_mm_cmplt_epi8(moved, _mm_set1_epi8(-128 + 26)));
}

static FORCE_INLINE LetterMasks letter_masks(Word word)
{
    __m128i bytes = _mm_set_epi64x((long long)word.high, (long long)word.low);
    return (LetterMasks){alphabet_mask(bytes, 'A'), alphabet_mask(bytes, 'a'), (uint32_t)_mm_movemask_epi8(bytes)};
}

static FORCE_INLINE uint32_t any_letter_mask(Word word)
{
    __m128i bytes = _mm_set_epi64x((long long)word.high, (long long)word.low);
    return alphabet_mask(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), 'a');
}

static FORCE_INLINE uint32_t beyond_ascii_mask(Word word)
{
    return (uint32_t)_mm_movemask_epi8(_mm_set_epi64x((long long)word.high, (long long)word.low));
}

static FORCE_INLINE __m128i as_bytes(const Word *word)
{
    return _mm_loadu_si128((const __m128i *)(const void *)word);
}

static FORCE_INLINE __m128i equal_quarters(const Word *one, __m128i word)
{
    return _mm_cmpeq_epi32(as_bytes(one), word);
}

/* Whether one of four words is this one, without a branch. */
static FORCE_INLINE bool among_four(const Word *four, const Word *word)
{
    __m128i same = as_bytes(word);
    __m128i two = _mm_packs_epi32(equal_quarters(four, same), equal_quarters(four + 1, same));
    __m128i others = _mm_packs_epi32(equal_quarters(four + 2, same), equal_quarters(four + 3, same));
    /* Four bytes are left of each word, all of them set where it is the same. */
    return _mm_movemask_epi8(_mm_cmpeq_epi32(_mm_packs_epi16(two, others), _mm_set1_epi8((char)0xff))) != 0;
}

#else

static FORCE_INLINE bool among_four(const Word *four, const Word *word)
{
    bool found = false;
    for (int i = 0; i < 4; i++)
        found |= ((four[i].low ^ word->low) | (four[i].high ^ word->high)) == 0;
    return found;
}

/* The top bit of every byte, gathered in eight bits. */
static FORCE_INLINE uint32_t gathered(uint64_t bytes)
{
    return (uint32_t)(((bytes & EACH_BYTE(0x80)) >> 7) * 0x0102040810204080ull >> 56);
}

/* The top bit of each byte that is one of the 26 from `first` on; seven bits never carry into the next byte. */
static FORCE_INLINE uint64_t alphabet_bits(uint64_t bytes, unsigned first)
{
    uint64_t seven = bytes & EACH_BYTE(0x7f);
    return (seven + EACH_BYTE(0x80 - first)) & ~(seven + EACH_BYTE(0x80 - first - 26)) & ~bytes;
}

static FORCE_INLINE uint32_t beyond_ascii_mask(Word word)
{
    return gathered(word.low) | gathered(word.high) << 8;
}

static FORCE_INLINE LetterMasks letter_masks(Word word)
{
    return (LetterMasks){
        gathered(alphabet_bits(word.low, 'A')) | gathered(alphabet_bits(word.high, 'A')) << 8,
        gathered(alphabet_bits(word.low, 'a')) | gathered(alphabet_bits(word.high, 'a')) << 8,
        beyond_ascii_mask(word),
    };
}

static FORCE_INLINE uint32_t any_letter_mask(Word word)
{
    uint64_t low = word.low | EACH_BYTE(0x20), high = word.high | EACH_BYTE(0x20);
    return gathered(alphabet_bits(low, 'a')) | gathered(alphabet_bits(high, 'a')) << 8;
}

#endif
#endif
