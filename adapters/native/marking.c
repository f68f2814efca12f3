#include "marking.h"

#include <stdlib.h>

#include "cleaning.h"

#define SHARP_S 0x1E9E
#define DOTTED_I 0x0130
#define LEAST_CAPITALS 4
#define NEXT (unsigned)-1 /* places behind the current run */

/* Neighbouring characters of one kind. */
typedef struct {
    const uint8_t *at, *end; /* NULL where there is no run */
    enum Character kind;
    uint8_t first, last; /* entries of the first and the last character */
    bool digits;         /* all decimal digits, or all other numbers */
    /* Of a word: */
    uint8_t inner;   /* traits of all characters behind the first */
    uint8_t letters; /* their number, up to LEAST_CAPITALS */
    bool literal;    /* its case is not marked */
    bool dotted;     /* never all capitals */
} Run;

typedef struct {
    Tiler *tiler;
    const Characters *characters;
    unsigned marking;
    const uint8_t *end;
    Run runs[4]; /* the current one is at `now`, modulo 4 */
    unsigned now;
    bool closed; /* the stream ends in CLOSE */
    bool blank;  /* and then in a blank, which is left out between two words */
} Stream;

/* The run so many places behind the current one. */
static FORCE_INLINE Run *run_at(Stream *stream, unsigned behind)
{
    return &stream->runs[(stream->now - behind) & 3];
}

static FORCE_INLINE enum Character kind_of(uint8_t entry)
{
    return (enum Character)(entry & 0x0F);
}

/* The code point at `at`; its bytes are `*size`. */
static FORCE_INLINE uint32_t decode(const uint8_t *at, size_t *size)
{
    uint8_t first = at[0];
    if (first < 0x80)
        return *size = 1, first;
    if (first < 0xE0)
        return *size = 2, (uint32_t)(first & 0x1F) << 6 | (at[1] & 0x3F);
    if (first < 0xF0)
        return *size = 3, (uint32_t)(first & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
    return *size = 4, PLANE;
}

static FORCE_INLINE uint8_t entry_of(const Stream *stream, uint32_t code_point)
{
    return code_point < PLANE ? stream->characters->traits[code_point] : C_LETTER;
}

/* Whether a character of `kind` goes on with a run of the kind `run`. */
static FORCE_INLINE bool joins(enum Character run, enum Character kind)
{
    switch (run) {
    case C_WORD:
        return kind == C_WORD || kind == C_MARK;
    case C_DIGIT:
    case C_OTHER_DIGIT:
        return kind == C_DIGIT || kind == C_OTHER_DIGIT;
    case C_DECIMAL:
    case C_NUMERAL:
        return kind == C_DECIMAL || kind == C_NUMERAL || kind == C_SELECTOR;
    case C_LETTER:
    case C_SYMBOL:
        return kind == run || kind == C_SELECTOR;
    default:
        return kind == run;
    }
}

static FORCE_INLINE bool number(enum Character kind)
{
    return kind == C_DIGIT || kind == C_OTHER_DIGIT || kind == C_DECIMAL || kind == C_NUMERAL;
}

static FORCE_INLINE void add_letter(Run *run, uint32_t code_point, uint8_t entry)
{
    run->letters = (uint8_t)(run->letters + (run->letters < LEAST_CAPITALS));
    run->literal |= code_point == SHARP_S;
    run->dotted |= code_point == DOTTED_I;
    if (run->letters == 1)
        run->first = entry;
    else
        run->inner |= entry;
}

/* Goes on with a word from `at`, which is behind its first letter. */
static const uint8_t *read_word(const Stream *stream, const uint8_t *at, Run *run)
{
    const uint8_t *traits = stream->characters->traits, *end = stream->end;
    for (;;) {
        const uint8_t *start = at;
        uint8_t inner = 0, last = 0;
        while (at < end && *at < 0x80 && kind_of(traits[*at]) == C_WORD)
            inner |= last = traits[*at++];
        if (at > start) {
            size_t letters = run->letters + (size_t)(at - start);
            run->letters = letters < LEAST_CAPITALS ? (uint8_t)letters : LEAST_CAPITALS;
            run->inner |= inner;
            run->last = last;
        }
        if (at == end || *at < 0x80)
            return at;
        size_t size;
        uint32_t code_point = decode(at, &size);
        uint8_t entry = entry_of(stream, code_point);
        if (!joins(C_WORD, kind_of(entry)))
            return at;
        add_letter(run, code_point, code_point == DOTTED_I ? C_WORD : entry);
        run->last = entry;
        at += size;
    }
}

/* Goes on with any other run. */
static const uint8_t *read_others(const Stream *stream, const uint8_t *at, enum Character first, Run *run)
{
    while (at < stream->end) {
        size_t size;
        uint8_t entry = entry_of(stream, decode(at, &size));
        enum Character kind = kind_of(entry);
        if (!joins(run->kind, kind))
            break;
        run->digits &= kind == first || run->kind == C_DIGIT || run->kind == C_OTHER_DIGIT;
        run->last = entry;
        at += size;
    }
    return at;
}

/* The run that begins at `at`. */
static void read_run(const Stream *stream, const uint8_t *at, Run *run)
{
    *run = (Run){0};
    if (at == stream->end)
        return;
    size_t size;
    uint32_t code_point = decode(at, &size);
    uint8_t entry = entry_of(stream, code_point);
    enum Character kind = kind_of(entry);
    run->at = at;
    run->first = run->last = entry;
    run->kind = kind == C_SELECTOR ? C_LETTER : kind;
    run->digits = number(kind);
    if (kind == C_WORD) {
        add_letter(run, code_point, code_point == DOTTED_I ? C_WORD : entry);
        run->end = read_word(stream, at + size, run);
    } else {
        run->end = read_others(stream, at + size, kind, run);
    }
}

static FORCE_INLINE bool borders(uint8_t entry)
{
    return entry & BORDERED || kind_of(entry) == C_SELECTOR;
}

static FORCE_INLINE bool border_digit(const Run *run, uint8_t entry)
{
    return run->digits && kind_of(entry) != C_DIGIT;
}

static FORCE_INLINE bool is(const Run *run, char character)
{
    return run->at && run->end - run->at == 1 && *run->at == (uint8_t)character;
}

static FORCE_INLINE bool is_word(const Run *run)
{
    return run->at && (run->kind == C_WORD || run->kind == C_MARK);
}

static bool opens_word(const Run *run, const Run *next)
{
    return is(run, '\'') && is_word(next);
}

/* An apostrophe between `before` and the word joins them: it's. */
static bool contracted(Stream *stream)
{
    const Run *word = run_at(stream, 0), *before = run_at(stream, 2);
    size_t size = (size_t)(word->end - word->at);
    if (size > 2 || !is(run_at(stream, 1), '\''))
        return false;
    if (size == 1 && !strchr("stdm", word->at[0]))
        return false;
    if (size == 2 && memcmp(word->at, "ll", 2) && memcmp(word->at, "re", 2) && memcmp(word->at, "ve", 2))
        return false;
    return !before->at || !(before->kind == C_PUNCTUATION || borders(before->last) || border_digit(before, before->last));
}

static void put_all(Tiler *tiler, const uint8_t *at, const uint8_t *end)
{
    while (at < end)
        tiler_put(tiler, *at++);
}

static void put_small(const Stream *stream, const Run *run)
{
    Tiler *tiler = stream->tiler;
    size_t size;
    for (const uint8_t *at = run->at; at < run->end; at += size) {
        uint32_t code_point = decode(at, &size);
        uint16_t small;
        if (code_point < 0x80) {
            tiler_put(tiler, (uint8_t)(code_point - 'A' < 26u ? code_point | 0x20 : code_point));
            continue;
        }
        memcpy(&small, stream->characters->small + 2 * code_point, 2);
        if (small < 0x80) {
            tiler_put(tiler, (uint8_t)small);
        } else if (small < 0x800) {
            tiler_put(tiler, (uint8_t)(0xC0 | small >> 6));
            tiler_put(tiler, (uint8_t)(0x80 | (small & 0x3F)));
        } else {
            tiler_put(tiler, (uint8_t)(0xE0 | small >> 12));
            tiler_put(tiler, (uint8_t)(0x80 | (small >> 6 & 0x3F)));
            tiler_put(tiler, (uint8_t)(0x80 | (small & 0x3F)));
        }
    }
}

/* Before a mark that opens: the blank before it is left out, and nothing reaches across. */
static void cut(Stream *stream)
{
    tiler_cut(stream->tiler);
    stream->blank = stream->closed = false;
}

static void open_word(Stream *stream, uint8_t mark)
{
    cut(stream);
    if (mark)
        tiler_put(stream->tiler, mark);
    tiler_put(stream->tiler, OPEN);
}

static void close_word(Stream *stream)
{
    tiler_put(stream->tiler, CLOSE);
    tiler_cut(stream->tiler);
    stream->closed = true;
}

/* Before what opens no word: the blank stays. */
static void go_on(Stream *stream)
{
    stream->tiler->total += stream->blank;
    stream->blank = stream->closed = false;
}

static uint8_t case_mark(const Stream *stream, const Run *run)
{
    uint8_t all = run->first | run->inner;
    if (run->literal || !(all & CAPITAL))
        return 0;
    if (stream->marking & CAPITALS && !run->dotted && run->letters == LEAST_CAPITALS && !(all & (SMALL | FIXED)))
        return CAPS;
    return run->first & CAPITAL && !(run->inner & CAPITAL) ? SHIFT : 0;
}

static void put_word(Stream *stream)
{
    const Run *run = run_at(stream, 0);
    const Run *previous = run_at(stream, 1);
    bool carried = previous->at && previous->kind == C_MARK;
    uint8_t mark = carried ? 0 : case_mark(stream, run);
    if (carried || contracted(stream))
        go_on(stream);
    else
        open_word(stream, mark);
    if (mark)
        put_small(stream, run);
    else
        put_all(stream->tiler, run->at, run->end);
    close_word(stream);
}

static bool blank_before(Stream *stream)
{
    const Run *previous = run_at(stream, 1);
    if (!previous->at)
        return stream->marking & OPENED;
    return previous->kind == C_SPACE && previous->end[-1] == ' ';
}

static bool blank_behind(Stream *stream)
{
    const Run *next = run_at(stream, NEXT);
    return next->at && next->kind == C_SPACE && next->at[0] == ' ' && (next->end - next->at == 1 || next->at[1] != ' ');
}

static void put_other(Stream *stream)
{
    const Run *run = run_at(stream, 0);
    bool opens = blank_before(stream), closes = blank_behind(stream);
    if (run->kind == C_PUNCTUATION || borders(run->first) || borders(run->last)) {
        opens = opens && !opens_word(run, run_at(stream, NEXT)) && (run->kind == C_PUNCTUATION || borders(run->first));
        closes = closes && (run->kind == C_PUNCTUATION || borders(run->last));
    } else {
        opens = opens && border_digit(run, run->first);
        closes = closes && border_digit(run, run->last);
    }
    if (opens)
        open_word(stream, 0);
    else
        go_on(stream);
    put_all(stream->tiler, run->at, run->end);
    if (closes)
        close_word(stream);
}

static void put_run(Stream *stream)
{
    const Run *run = run_at(stream, 0);
    if (run->kind == C_WORD) {
        put_word(stream);
    } else if (run->kind == C_MARK) {
        open_word(stream, 0);
        put_all(stream->tiler, run->at, run->end);
        if (!run_at(stream, NEXT)->at || run_at(stream, NEXT)->kind != C_WORD)
            close_word(stream);
    } else if (run->kind == C_SPACE) {
        tiler_cut(stream->tiler);
        stream->blank = is(run, ' ') && stream->closed;
        stream->closed = false;
        if (stream->blank)
            return;
        put_all(stream->tiler, run->at, run->end);
        tiler_cut(stream->tiler);
    } else {
        put_other(stream);
    }
}

/* The border that a message opens with, where its first run has none of its own. */
static void put_head(Stream *stream)
{
    const Run *run = run_at(stream, 0);
    if (!(stream->marking & OPENED))
        return;
    if (opens_word(run, run_at(stream, NEXT)))
        tiler_put(stream->tiler, ' ');
    else if (!(is_word(run) || run->kind == C_PUNCTUATION || borders(run->first) || border_digit(run, run->first) ||
               run->at[0] == ' '))
        tiler_put(stream->tiler, OPEN);
}

static void put_text(Stream *stream, const uint8_t *at)
{
    read_run(stream, at, run_at(stream, 0));
    if (at == stream->end) {
        stream->tiler->total += (stream->marking & OPENED) != 0;
        return;
    }
    read_run(stream, run_at(stream, 0)->end, run_at(stream, NEXT));
    put_head(stream);
    while (run_at(stream, 0)->at && stream->tiler->outcome == DONE) {
        put_run(stream);
        stream->now++;
        const Run *run = run_at(stream, 0);
        read_run(stream, run->at ? run->end : stream->end, run_at(stream, NEXT));
    }
    go_on(stream);
    tiler_cut(stream->tiler);
}

/* A message ends in two newlines, which go together with those of its text; the last piece is the message's own. */
static void put_newlines(Tiler *tiler, size_t count)
{
    tiler->limit += tiler->limit < UINT64_MAX;
    for (size_t i = 0; i < count + 2; i++)
        tiler_put(tiler, '\n');
    tiler_cut(tiler);
    tiler->total--;
    tiler->limit -= tiler->limit < UINT64_MAX;
}

void count_marked(Tiler *tiler, const Characters *characters, unsigned marking, const uint8_t *text, size_t size)
{
    if (tiler->poll.ask && tiler->poll.ask(tiler->poll.context)) {
        tiler->outcome = STOPPED;
        return;
    }
    Clean cleaned;
    if (clean(&cleaned, text, size, marking & FOLDS_QUOTES)) {
        tiler->outcome = NO_MEMORY;
        return;
    }
    const uint8_t *at = cleaned.bytes, *end = at + cleaned.size;
    while (end > at && end[-1] == '\n')
        end--;
    size_t newlines = (size_t)(cleaned.bytes + cleaned.size - end);
    if (marking & OPENED && text[0] == ' ' && end > at && at[0] == ' ' && (end - at == 1 || at[1] != ' '))
        at++;
    Stream stream = {.tiler = tiler, .characters = characters, .marking = marking, .end = end};
    put_text(&stream, at);
    if (newlines && tiler->outcome == DONE)
        put_newlines(tiler, newlines);
    free(cleaned.own);
}
