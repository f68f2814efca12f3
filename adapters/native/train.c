#include "pairs.h"

#include <stdlib.h>

#define BORDER UINT32_MAX
#define INSIDE (UINT32_MAX - 1) /* where a merge left neither a first slot nor a last one */
#define CHUNK_PLACES (1u << 14)
#define BETWEEN_POLLS (1u << 16) /* places looked at */
#define BETWEEN_BUILD_POLLS (1u << 20)

/* Room for so many places, kept until the trainer is freed: over all merges no more than thrice the slots. */
static uint32_t *take_places(Trainer *trainer, size_t count)
{
    Chunk *chunk = trainer->chunks;
    if (!chunk || chunk->room - chunk->used < count) {
        size_t room = count > CHUNK_PLACES ? count : CHUNK_PLACES;
        chunk = malloc(sizeof *chunk + room * sizeof *chunk->places);
        if (!chunk)
            return NULL;
        *chunk = (Chunk){.room = room};
        Chunk *last = trainer->chunks;
        if (last && last->room - last->used > room - count) { /* the last one has more left to give */
            chunk->next = last->next;
            last->next = chunk;
        } else {
            chunk->next = last;
            trainer->chunks = chunk;
        }
    }
    uint32_t *places = chunk->places + chunk->used;
    chunk->used += count;
    return places;
}

static int widen_gains(Gains *gains, size_t from, size_t to)
{
    Gain *of = realloc(gains->of, to * sizeof *of);
    if (!of)
        return -1;
    memset(of + from, 0, (to - from) * sizeof *of);
    gains->of = of;
    return 0;
}

/* Room for what is known of each symbol, one more than there are. */
static int reserve_symbol(Trainer *trainer)
{
    if (trainer->symbol_count < trainer->symbol_room)
        return 0;
    size_t room = trainer->symbol_room + trainer->symbol_room / 2 + 512;
    uint32_t *lengths = realloc(trainer->lengths, room * sizeof *lengths);
    if (!lengths)
        return -1;
    trainer->lengths = lengths;
    if (widen_gains(&trainer->before, trainer->symbol_room, room) ||
        widen_gains(&trainer->after, trainer->symbol_room, room))
        return -1;
    trainer->symbol_room = room;
    return 0;
}

static int lay_out(Trainer *trainer, const WordRow *words)
{
    trainer->slot_count = words->symbol_count + words->count + 1;
    trainer->symbols = malloc(trainer->slot_count * sizeof *trainer->symbols);
    trainer->word_of = malloc(trainer->slot_count * sizeof *trainer->word_of);
    trainer->weights = malloc((words->count + 1) * sizeof *trainer->weights);
    if (!trainer->symbols || !trainer->word_of || !trainer->weights)
        return -1;
    size_t slot = 0, from = 0;
    for (size_t word = 0; word < words->count; word++) {
        trainer->weights[word] = words->weights[word];
        trainer->word_of[slot] = 0;
        trainer->symbols[slot++] = BORDER;
        for (size_t i = 0; i < words->lengths[word]; i++, slot++, from++) {
            uint32_t symbol = words->symbols[from * words->width];
            if (words->width == 4)
                memcpy(&symbol, words->symbols + from * 4, 4);
            trainer->symbols[slot] = symbol;
            trainer->word_of[slot] = (uint32_t)word;
        }
    }
    trainer->word_of[slot] = 0;
    trainer->symbols[slot] = BORDER;
    return 0;
}

static bool is_asked_to_stop(Poll poll, size_t step)
{
    return step % BETWEEN_BUILD_POLLS == BETWEEN_BUILD_POLLS - 1 && poll.ask && poll.ask(poll.context);
}

/* Counts all pairs, and how many places each has. */
static enum Outcome count_pairs(Trainer *trainer, Poll poll)
{
    const uint32_t *symbols = trainer->symbols;
    for (size_t slot = 0; slot + 1 < trainer->slot_count; slot++) {
        if (is_asked_to_stop(poll, slot))
            return STOPPED;
        if (symbols[slot] == BORDER || symbols[slot + 1] == BORDER)
            continue;
        uint32_t number = pair_find(trainer, symbols[slot], symbols[slot + 1]);
        if (number == NO_PAIR && (number = pair_add(trainer, symbols[slot], symbols[slot + 1])) == NO_PAIR)
            return NO_MEMORY;
        trainer->records[number].count += trainer->weights[trainer->word_of[slot]];
        trainer->records[number].place_count++;
    }
    return DONE;
}

/* Forgets the pairs that occur once; the others get room for their places. */
static enum Outcome keep_frequent(Trainer *trainer)
{
    for (size_t number = 0; number < trainer->record_count; number++) {
        PairRecord *record = &trainer->records[number];
        if (record->count < 2) {
            if (pair_forget(trainer, (uint32_t)number))
                return NO_MEMORY;
            continue;
        }
        record->places = take_places(trainer, record->place_count);
        if (!record->places)
            return NO_MEMORY;
        record->place_count = 0;
    }
    return DONE;
}

static enum Outcome place_pairs(Trainer *trainer, Poll poll)
{
    const uint32_t *symbols = trainer->symbols;
    for (size_t slot = 0; slot + 1 < trainer->slot_count; slot++) {
        if (is_asked_to_stop(poll, slot))
            return STOPPED;
        if (symbols[slot] == BORDER || symbols[slot + 1] == BORDER)
            continue;
        uint32_t number = pair_find(trainer, symbols[slot], symbols[slot + 1]);
        if (number != NO_PAIR) {
            PairRecord *record = &trainer->records[number];
            record->places[record->place_count++] = (uint32_t)slot;
        }
    }
    for (size_t number = 0; number < trainer->record_count; number++)
        if (trainer->records[number].count > 1 && heap_push(trainer, (uint32_t)number))
            return NO_MEMORY;
    return DONE;
}

enum Outcome trainer_build(Trainer *trainer, const WordRow *words, uint32_t alphabet, Poll poll)
{
    do {
        trainer->symbol_count = trainer->symbol_room;
        if (reserve_symbol(trainer))
            return NO_MEMORY;
    } while (trainer->symbol_room <= alphabet);
    for (trainer->symbol_count = 0; trainer->symbol_count < alphabet; trainer->symbol_count++)
        trainer->lengths[trainer->symbol_count] = 1;
    if (lay_out(trainer, words))
        return NO_MEMORY;
    enum Outcome outcome = count_pairs(trainer, poll);
    if (outcome == DONE)
        outcome = keep_frequent(trainer);
    return outcome == DONE ? place_pairs(trainer, poll) : outcome;
}

/* Takes `weight` off a pair that loses a place. */
static FORCE_INLINE void lose(Trainer *trainer, uint32_t left, uint32_t right, uint64_t weight)
{
    uint32_t number = pair_find(trainer, left, right);
    if (number != NO_PAIR)
        trainer->records[number].count -= weight;
}

static FORCE_INLINE int gain(Gains *gains, uint32_t neighbour, uint32_t place, uint64_t weight)
{
    if (GROW(gains->row, gains->count, gains->room))
        return -1;
    gains->row[gains->count++] = (Gained){neighbour, place};
    gains->of[neighbour].count += weight;
    gains->of[neighbour].places++;
    return 0;
}

/* Puts `symbol` in the place of the pair at `place`; its neighbours' pairs change. */
static FORCE_INLINE int put(Trainer *trainer, uint32_t left, uint32_t right, uint32_t place, uint32_t symbol)
{
    uint32_t *symbols = trainer->symbols;
    const uint32_t middle = place + trainer->lengths[left], end = middle + trainer->lengths[right];
    const uint32_t before = symbols[place - 1], after = symbols[end];
    const uint64_t weight = trainer->weights[trainer->word_of[place]];
    symbols[middle] = INSIDE;
    symbols[place] = symbols[end - 1] = symbol;
    if (before != BORDER) {
        if (before == symbol) /* what it gained a moment ago */
            trainer->after.of[left].count -= weight;
        else
            lose(trainer, before, left, weight);
        if (gain(&trainer->before, before, place - trainer->lengths[before], weight))
            return -1;
    }
    if (after != BORDER) {
        lose(trainer, right, after, weight);
        if (gain(&trainer->after, after, place, weight))
            return -1;
    }
    return 0;
}

/* Makes records of what was gained at least twice, with the places where it still is. */
static int keep_gains(Trainer *trainer, Gains *gains, uint32_t symbol, bool comes_after)
{
    for (size_t i = 0; i < gains->count; i++) {
        const Gained gained = gains->row[i];
        const uint32_t left = comes_after ? symbol : gained.neighbour, right = comes_after ? gained.neighbour : symbol;
        Gain *of = &gains->of[gained.neighbour];
        if (of->places && of->count > 1) { /* seen for the first time */
            uint32_t number = pair_add(trainer, left, right);
            uint32_t *places = take_places(trainer, of->places);
            if (number == NO_PAIR || !places)
                return -1;
            trainer->records[number].count = of->count;
            trainer->records[number].places = places;
            of->record = number + 1;
        }
        of->places = 0;
        if (of->record && pair_is_at(trainer, left, right, gained.place)) {
            PairRecord *record = &trainer->records[of->record - 1];
            record->places[record->place_count++] = gained.place;
        }
    }
    for (size_t i = 0; i < gains->count; i++) {
        Gain *of = &gains->of[gains->row[i].neighbour];
        if (of->record && heap_push(trainer, of->record - 1))
            return -1;
        *of = (Gain){0};
    }
    gains->count = 0;
    return 0;
}

static enum Outcome merge_pair(Trainer *trainer, uint32_t number)
{
    const PairRecord pair = trainer->records[number];
    if (trainer->symbol_count >= MOST_SYMBOLS || reserve_symbol(trainer) ||
        GROW(trainer->merges, trainer->merge_count, trainer->merge_room))
        return NO_MEMORY;
    const uint32_t symbol = (uint32_t)trainer->symbol_count++;
    trainer->lengths[symbol] = trainer->lengths[pair.left] + trainer->lengths[pair.right];
    for (uint32_t i = pair.passed; i < pair.place_count; i++)
        if (pair_is_at(trainer, pair.left, pair.right, pair.places[i]) &&
            put(trainer, pair.left, pair.right, pair.places[i], symbol))
            return NO_MEMORY;
    trainer->records[number].count = 0;
    if (keep_gains(trainer, &trainer->before, symbol, false) || keep_gains(trainer, &trainer->after, symbol, true))
        return NO_MEMORY;
    trainer->merges[trainer->merge_count++] = (Merged){pair.left, pair.right, pair.count};
    return DONE;
}

enum Outcome trainer_run(Trainer *trainer, uint64_t most, Poll poll)
{
    uint64_t looked_at = 0;
    for (uint64_t done = 0; done < most; done++) {
        bool failed = false;
        uint32_t number = heap_take(trainer, &failed);
        if (number == NO_PAIR)
            return failed ? NO_MEMORY : DONE;
        looked_at += trainer->records[number].place_count + 64;
        enum Outcome outcome = merge_pair(trainer, number);
        if (outcome != DONE || pair_forget(trainer, number))
            return NO_MEMORY;
        if (looked_at >= BETWEEN_POLLS && poll.ask) {
            looked_at = 0;
            if (poll.ask(poll.context))
                return STOPPED;
        }
    }
    return DONE;
}

enum Outcome trainer_repeat(Trainer *trainer, Merged merge, bool *fits)
{
    uint32_t number = pair_find(trainer, merge.left, merge.right);
    *fits = number != NO_PAIR && trainer->records[number].count == merge.frequency && merge.frequency > 1;
    return *fits ? merge_pair(trainer, number) : DONE; /* its heap entry goes when it comes up */
}

void trainer_free(Trainer *trainer)
{
    while (trainer->chunks) {
        Chunk *next = trainer->chunks->next;
        free(trainer->chunks);
        trainer->chunks = next;
    }
    free(trainer->symbols);
    free(trainer->word_of);
    free(trainer->weights);
    free(trainer->lengths);
    free(trainer->records);
    free(trainer->unused);
    free(trainer->table);
    free(trainer->heap);
    free(trainer->before.of);
    free(trainer->before.row);
    free(trainer->after.of);
    free(trainer->after.row);
    free(trainer->merges);
    *trainer = (Trainer){0};
}
