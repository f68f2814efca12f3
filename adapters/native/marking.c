#include "marking.h"

#include <stdlib.h>

#include "cleaning.h"

#define NEXT (unsigned)-1 /* places behind the current run */

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
    const uint8_t *traits = stream->characters->traits;
    read_run(traits, at, stream->end, run_at(stream, 0));
    if (at == stream->end) {
        stream->tiler->total += (stream->marking & OPENED) != 0;
        return;
    }
    read_run(traits, run_at(stream, 0)->end, stream->end, run_at(stream, NEXT));
    put_head(stream);
    while (run_at(stream, 0)->at && stream->tiler->outcome == DONE) {
        put_run(stream);
        stream->now++;
        const Run *run = run_at(stream, 0);
        read_run(traits, run->at ? run->end : stream->end, stream->end, run_at(stream, NEXT));
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
