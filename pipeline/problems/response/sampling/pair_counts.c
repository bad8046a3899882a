/* Counts over persons for every pair of items. An item's answers are bits, 64 persons to a word, so a count of a pair is
 * one of the bits that two items share. */
#define KERNEL_TARGETS "default", "popcnt"
#include "kernel.h"

#include <string.h>

#define WORDS 32   /* of an item at a time: 2048 persons */
#define TILE 4     /* items counted at a time with another one */

enum { RIGHT, WRONG, GIVEN }; /* the answers that are looked for */

/* Bits of `items` items, eight at most, of as many persons: of item k into byte k * step of bits. */
INLINE void few_to_bits(int64_t persons, int64_t items, int64_t m, const uint8_t *answers, const uint8_t *observed,
                        int kind, int64_t step, uint8_t *bits) {
    uint64_t sum = 0, x = 0, seen = 0; /* a byte for each item */
    for (int64_t person = 0; person < persons; person++) {
        memcpy(&x, answers + person * m, (size_t)items);
        if (observed && kind != GIVEN) {
            memcpy(&seen, observed + person * m, (size_t)items);
            x = kind == RIGHT ? x & seen : ~x & seen;
        }
        sum = sum + sum + x;
    }
    uint8_t byte[8];
    memcpy(byte, &sum, sizeof byte);
    for (int64_t k = 0; k < items; k++) bits[k * step] = byte[k];
}

/* Bits of the answers of up to 64 persons: of item i into bits[i * WORDS], in an order that is the same for all items. */
INLINE void to_bits(int64_t persons, int64_t m, const uint8_t *answers, const uint8_t *observed, int kind,
                    uint64_t *bits) {
    const int64_t step = WORDS * sizeof *bits;
    for (int64_t i = 0; persons < 64 && i < m; i++) bits[i * WORDS] = 0;
    for (int64_t i = 0; i < m; i += 8)
        for (int64_t first = 0; first < persons; first += 8) {
            int64_t from = m < 8 || i + 8 <= m ? i : m - 8, at = first * m + from, rows = persons - first;
            const uint8_t *x = answers + at, *seen = observed ? observed + at : NULL;
            uint8_t *to = (uint8_t *)(bits + from * WORDS) + first / 8;
            if (rows >= 8 && m >= 8) /* compiled for these numbers */
                few_to_bits(8, 8, m, x, seen, kind, step, to);
            else
                few_to_bits(rows < 8 ? rows : 8, m < 8 ? m : 8, m, x, seen, kind, step, to);
        }
}

/* Adds to counts (m, m) the bits that item i in a and j in b share, for j >= i only if they are the same. */
INLINE void count(int64_t m, int64_t words, const uint64_t *a, const uint64_t *b, double *counts) {
    for (int64_t i = 0; i < m; i++, a += WORDS)
        for (int64_t j = a == b + i * WORDS ? i : 0; j < m; j += TILE) {
            const uint64_t *x = b + j * WORDS;
            int64_t shared[TILE] = {0};
            for (int64_t w = 0; w < words; w++)
                for (int t = 0; t < TILE; t++) shared[t] += __builtin_popcountll(a[w] & x[t * WORDS + w]);
            for (int64_t t = 0; t < TILE && j + t < m; t++) counts[i * m + j + t] += (double)shared[t];
        }
}

/* counts (reps, m, m): persons who have what `first` says of item i and what `second` says of item j. */
INLINE int all_counts(int64_t reps, int64_t n, int64_t m, const uint8_t *answers, const uint8_t *observed, int first,
                      int second, double *counts) {
    int64_t size = (m + TILE) * WORDS;
    uint64_t *room = calloc((size_t)size, 2 * sizeof *room), *a = room, *b = first == second ? a : a + size;
    if (!room) return 1;
    for (int64_t r = 0; r < reps; r++, counts += m * m) {
        memset(counts, 0, (size_t)(m * m) * sizeof *counts);
        for (int64_t person = 0, words; person < n; person += 64 * words) {
            for (words = 0; words < WORDS && person + 64 * words < n; words++) {
                int64_t start = person + 64 * words, at = (r * n + start) * m, persons = n - start < 64 ? n - start : 64;
                const uint8_t *seen = observed ? observed + at : NULL;
                to_bits(persons, m, answers + at, seen, first, a + words);
                if (a != b) to_bits(persons, m, answers + at, seen, second, b + words);
            }
            count(m, words, a, b, counts);
        }
        for (int64_t i = 0; a == b && i < m; i++)
            for (int64_t j = 0; j < i; j++) counts[i * m + j] = counts[j * m + i];
    }
    free(room);
    return 0;
}

/* Persons who have item i right and item j wrong, (reps, m, m). answers, observed: (reps, n, m), 0 or 1. */
KERNEL int observed_differences(int64_t reps, int64_t n, int64_t m, const uint8_t *answers, const uint8_t *observed,
                                double *counts) {
    return all_counts(reps, n, m, answers, observed, RIGHT, WRONG, counts);
}

/* The same where all is observed: those who have i right, but for those who have j right, too. */
KERNEL int differences(int64_t reps, int64_t n, int64_t m, const uint8_t *answers, double *counts) {
    if (all_counts(reps, n, m, answers, NULL, RIGHT, RIGHT, counts)) return 1;
    for (int64_t r = 0; r < reps; r++, counts += m * m)
        for (int64_t i = 0; i < m; i++) {
            double right = counts[i * m + i];
            for (int64_t j = 0; j < m; j++) counts[i * m + j] = right - counts[i * m + j];
        }
    return 0;
}

/* Persons of whom both are given, (reps, m, m). given: (reps, n, m), 0 or 1. */
KERNEL int pairs(int64_t reps, int64_t n, int64_t m, const uint8_t *given, double *counts) {
    return all_counts(reps, n, m, given, NULL, GIVEN, GIVEN, counts);
}
