/* Sets of questions, drawn or dealt, of each single person or counted: `deals.py` says by what laws. */
#include "kernel.h"
#include "random.h"

#include <string.h>

#define ENOUGH 0x1p40 /* choices that share a random word: places are added until there are so many */
#define PLACES 48     /* that share a word, at most */

/* Of sizes up to one; so that places are drawn again at most once in 256 times. */
INLINE uint64_t enough_for(int64_t size) {
    double most = 0x1p56 / (double)(size + 1);
    return (uint64_t)(most < ENOUGH ? most : ENOUGH);
}

INLINE void swap(int32_t *one, int32_t *other) {
    int32_t moved = *one;
    *one = *other, *other = moved;
}

/* `some` of the numbers in `list`, which has `size`, come first, in an order; all are equally likely.
 *
 * A random word times a size, over 2^64, is a place; what is left over is the word for the next size. Places are equally
 * likely if the last rest is at least 2^64 modulo the product of the sizes; else they are drawn again. What was swapped
 * by then does no harm, as any order may come before.
 * Source: Brackett-Rozinsky and Lemire, Batched ranged random integer generation (2024).
 */
INLINE void choose_first(const generator *from, int32_t *list, int64_t size, int64_t some) {
    const uint64_t enough = enough_for(size);
    for (int64_t done = 0, i = 0; done < some; done = i) {
        uint64_t product, rest;
        do {
            product = 1, rest = from->next(from->state), i = done;
            for (; i < some && product < enough; i++) {
                const uint64_t left = (uint64_t)(size - i);
                unsigned __int128 whole = (unsigned __int128)rest * left;
                product *= left, rest = (uint64_t)whole;
                swap(list + i, list + i + (int64_t)(whole >> 64));
            }
        } while (rest < product && rest < (0 - product) % product);
    }
}

INLINE void mark(uint8_t *row, const int32_t *list, int64_t some, uint8_t is_asked) {
    for (int64_t i = 0; i < some; i++) row[list[i]] = is_asked;
}

/* Questions that are not marked in a row come first; gives their number. */
INLINE int64_t sort_new(int32_t *list, int64_t kinds, const uint8_t *row, uint8_t is_asked) {
    int64_t fresh = 0;
    for (int64_t i = 0; i < kinds; i++)
        if (row[list[i]] != is_asked) swap(list + i, list + fresh++);
    return fresh;
}

INLINE int32_t *room_for(int64_t size) { return malloc((size_t)(size + 1) * sizeof(int32_t)); }

/* Numbers in their order, as every replication begins, so that slices of replications draw the same. */
INLINE void begin(int32_t *list, int64_t size) {
    for (int64_t i = 0; i < size; i++) list[i] = (int32_t)i;
}

/* Independent sets of k questions, marked in gets (reps, people, kinds) by `is_asked`, all others by its opposite. */
KERNEL int draw_sets(int64_t bits, int64_t reps, int64_t people, int64_t kinds, int64_t k, int64_t is_asked,
                     uint8_t *gets) {
    int32_t *list = room_for(kinds);
    if (!list) return 1;
    memset(gets, !is_asked, (size_t)(reps * people * kinds));
    for (int64_t rep = 0; rep < reps; rep++) {
        begin(list, kinds);
        for (int64_t person = 0; person < people; person++, gets += kinds) {
            choose_first((const generator *)bits, list, kinds, k);
            mark(gets, list, k, (uint8_t)is_asked);
        }
    }
    free(list);
    return 0;
}

/* A pack in an order, of which the last k questions, or the last ones that are fewer, are in any; some come first. */
INLINE void shuffle(const generator *from, int32_t *list, int64_t size, int64_t k) {
    int64_t last = size % k ? size % k : k;
    choose_first(from, list, size, size > last ? size - last : 0);
}

/* The same where packs of all questions are dealt out, one after the other, to people in random order. What is left of
 * a pack is the end of `list`. */
KERNEL int deal_packs(int64_t bits, int64_t reps, int64_t people, int64_t kinds, int64_t k, int64_t is_asked,
                      uint8_t *gets) {
    const generator *from = (const generator *)bits;
    int32_t *list = room_for(kinds), *order = room_for(people);
    int failed = !list || !order;
    if (!failed) memset(gets, !is_asked, (size_t)(reps * people * kinds));
    for (int64_t rep = 0; !failed && k && rep < reps; rep++, gets += people * kinds) {
        begin(list, kinds), begin(order, people);
        choose_first(from, order, people, people - 1);
        for (int64_t person = 0, left = 0; person < people; person++) {
            uint8_t *row = gets + order[person] * kinds;
            int64_t last = left < k ? left : k, missing = k - last;
            mark(row, list + kinds - left, last, (uint8_t)is_asked);
            left -= last;
            if (!missing) continue;
            if (last) choose_first(from, list, sort_new(list, kinds, row, (uint8_t)is_asked), missing);
            left = kinds - (last ? missing : 0);
            shuffle(from, list + kinds - left, left, k);
            if (!last) left = kinds - k;
            mark(row, list, missing, (uint8_t)is_asked);
        }
    }
    free(list), free(order);
    return failed;
}

/* One question each: as many places share a word as `choose_first` would let share it; the last ones may be too many. */
INLINE void throw(const generator *from, int64_t people, uint64_t kinds, int64_t *times) {
    uint64_t product = kinds, rest;
    int64_t number = 1, place[PLACES];
    for (; kinds > 1 && product < enough_for((int64_t)kinds); number++) product *= kinds;
    const uint64_t least = kinds > 1 ? (0 - product) % product : 0;
    for (int64_t left = people; left > 0; left -= number) {
        do {
            rest = from->next(from->state);
            for (int64_t i = 0; i < number; i++) {
                unsigned __int128 whole = (unsigned __int128)rest * kinds;
                place[i] = (int64_t)(whole >> 64), rest = (uint64_t)whole;
            }
        } while (rest < least);
        for (int64_t i = 0; i < number && i < left; i++) times[place[i]]++;
    }
}

/* How many of `people` have each question in their sets of k, times (rows, kinds); people: (rows). */
KERNEL int count_sets(int64_t bits, int64_t rows, int64_t kinds, int64_t k, const int64_t *people, int64_t *times) {
    const generator *from = (const generator *)bits;
    int32_t *list = room_for(kinds);
    if (!list) return 1;
    memset(times, 0, (size_t)(rows * kinds) * sizeof *times);
    for (int64_t row = 0; row < rows; row++, times += kinds) {
        begin(list, kinds);
        if (k == 1) throw(from, people[row], (uint64_t)kinds, times);
        for (int64_t person = 0; k > 1 && person < people[row]; person++) {
            choose_first(from, list, kinds, k);
            for (int64_t i = 0; i < k; i++) times[list[i]]++;
        }
    }
    free(list);
    return 0;
}
