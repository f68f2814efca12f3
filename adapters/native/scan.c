#include "scan.h"

#include "queue.h"
#include "window.h"

#define BETWEEN_POLLS (1 << 16)

/* Size of the ASCII word at the start of `word`, with the character that leads it; 0 where the state machine has to
 * look: no such word, one that ends beyond SHORT_SIZE bytes, or whose next character may belong to it. */
static FORCE_INLINE size_t plain_word(Word word, bool leads, const Pattern pattern)
{
    unsigned size = leads;
    uint32_t beyond;
    if (pattern.cased) {
        LetterMasks masks = letter_masks(word);
        size += trailing_zeros(~(masks.upper >> size));
        size += trailing_zeros(~(masks.lower >> size));
        beyond = masks.beyond_ascii;
    } else {
        size += trailing_zeros(~(any_letter_mask(word) >> size));
        beyond = beyond_ascii_mask(word);
    }
    if (size == leads || size > SHORT_SIZE || beyond >> size & 1)
        return 0;
    if (pattern.contraction == AFTER_ANY_CASE) {
        uint8_t next = (uint8_t)(size < 8 ? word.low >> size * 8 : word.high >> (size - 8) * 8);
        if (next == '\'')
            return 0;
    }
    return size;
}

/* Whether a character may lead a plain word; an apostrophe may begin a contraction instead. */
static FORCE_INLINE bool leads_word(const Kinds *kinds, uint8_t first, const Pattern pattern)
{
    if (!pattern.any_lead)
        return first == ' ';
    if (first >= 0x80 || (first == '\'' && pattern.contraction == BEFORE_ANY_CASE))
        return false;
    return IN(kinds->blocks[first], SET(OTHER) | SET(SPACE));
}

/* Puts the pieces that end within the window at `at` into the queue; returns where they end. */
static FORCE_INLINE const uint8_t *put_window(Queue *queue, const Job *job, const uint8_t *at, const Pattern pattern)
{
    unsigned from = 0;
    for (uint64_t starts = piece_starts(&job->vocabulary->kinds, at, pattern) & ~1ull; starts; starts &= starts - 1) {
        unsigned to = trailing_zeros_64(starts);
        put(queue, job, at + from, to - from, load_16(at + from));
        from = to;
    }
    return at + from;
}

static FORCE_INLINE enum Outcome scan(Job *job, const Pattern pattern)
{
    const Kinds *kinds = &job->vocabulary->kinds;
    const uint8_t *at = job->text, *end = at + job->size, *check = at, *next_window = at;
    Queue queue;
    queue.short_count = queue.long_count = 0;
    while (at < end) {
        if (UNLIKELY(at >= check)) {
            if (job->poll.ask && job->poll.ask(job->poll.context))
                return STOPPED;
            check = (size_t)(end - at) > BETWEEN_POLLS ? at + BETWEEN_POLLS : end;
        }
        if (at >= next_window && end - at >= WINDOW + 16) {
            const uint8_t *window = at;
            at = put_window(&queue, job, at, pattern);
            if (at == window) /* a long piece, or one that the window does not decide */
                next_window = at + 1;
        } else {
            Word word = load_within(at, end);
            size_t size = plain_word(word, leads_word(kinds, *at, pattern), pattern);
            if (!size)
                size = (size_t)(piece_end(kinds, at, end, pattern) - at);
            put(&queue, job, at, size, word);
            at += size;
        }
        if (queue.short_count >= ENOUGH || queue.long_count >= ENOUGH) {
            enum Outcome outcome = add_queue(job, &queue);
            if (UNLIKELY(outcome != DONE))
                return outcome;
        }
    }
    return add_queue(job, &queue);
}

#define SCANNER(name, pattern)                                                                                         \
    static enum Outcome name(Job *job)                                                                                 \
    {                                                                                                                  \
        return scan(job, pattern);                                                                                     \
    }

SCANNER(scan_r50k, PATTERN_R50K)
SCANNER(scan_cl100k, PATTERN_CL100K)
SCANNER(scan_llama3, PATTERN_LLAMA3)
SCANNER(scan_qwen, PATTERN_QWEN)
SCANNER(scan_o200k, PATTERN_O200K)
SCANNER(scan_tekken, PATTERN_TEKKEN)

#define WITH_CASES {OTHER, SPACE, BREAK, NUMBER, UPPER, LOWER, BOTH, MARK}
#define WITHOUT_CASES {OTHER, SPACE, BREAK, NUMBER, BOTH, BOTH, BOTH, OTHER}
#define MARKS_ARE_LETTERS {OTHER, SPACE, BREAK, NUMBER, BOTH, BOTH, BOTH, BOTH}

static const Family families[] = {
    {"r50k", scan_r50k, WITHOUT_CASES},
    {"cl100k", scan_cl100k, WITHOUT_CASES},
    {"llama3", scan_llama3, WITHOUT_CASES},
    {"qwen", scan_qwen, WITHOUT_CASES},
    {"qwen3_5", scan_qwen, MARKS_ARE_LETTERS},
    {"o200k", scan_o200k, WITH_CASES},
    {"tekken", scan_tekken, WITH_CASES},
};

const Family *family_named(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].name, name))
            return &families[i];
    return NULL;
}
