/* Sums of squares of what persons move spectral difficulties by: `person_influences.py` says how. Items are in lanes. */
#include "kernel.h"

#include <string.h>

#define ITEMS 5 /* whose answers are looked up at a time */
#define PATTERNS (1 << ITEMS)
#define MOST 4 /* vectors of items at a time: as many as registers hold */

/* What a bit of a pattern says: that an answer is right, that it is wrong, or right if set and wrong if not. */
enum { RIGHT, WRONG, EITHER };

/* Bits of up to ITEMS items of a person: of the first one, the last bit. bytes: how many may be read. */
INLINE int64_t pattern_of(int64_t items, int64_t bytes, const uint8_t *answers) {
    uint64_t x = 0;
    if (items == ITEMS && bytes >= 8) {
        memcpy(&x, answers, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        x = __builtin_bswap64(x);
#endif
        return (int64_t)(((x & 0x0101010101) * 0x0102040810204080) >> 56); /* byte k, 0 or 1, becomes bit k */
    }
    for (int64_t k = 0; k < items; k++) x |= (uint64_t)(answers[k] & 1) << k;
    return (int64_t)x;
}

/* Adds to S, U, P and Q an item with so many right answers times its weight, and so many wrong ones. */
INLINE void add_item(vec *to, int64_t v, const vec *column, double right, double wrong) {
    to[0] += right;
    to[1] += wrong;
    for (int64_t k = 0; k < v; k++) {
        to[2 + k] += wrong * column[k];
        to[2 + v + k] += right * column[k];
    }
}

/* S, U, P and Q of every pattern of `items` items. columns: of their K⁺, v vectors each. */
INLINE void fill(int64_t items, int kind, const double *weight, double hit, double miss, int64_t v, const vec *columns,
                 vec *table) {
    int64_t width = 2 + 2 * v;
    double set = kind == WRONG ? miss : hit, more = kind == EITHER ? hit - miss : set;
    for (int64_t e = 0; e < width; e++) table[e] = splat(0);
    for (int64_t k = 0; k < items && kind == EITHER; k++) add_item(table, v, columns + k * v, weight[k] * miss, 1 - miss);
    for (int64_t pattern = 1; pattern < (int64_t)1 << items; pattern++) {
        int64_t k = __builtin_ctzll((uint64_t)pattern);
        vec *to = table + pattern * width;
        memcpy(to, table + (pattern & (pattern - 1)) * width, (size_t)width * sizeof *to);
        add_item(to, v, columns + k * v, weight[k] * more, kind == EITHER ? miss - hit : 1 - set);
    }
}

/* Rows of the tables that a person's answers to the items of one group have: one, or two where some are not observed. */
INLINE int64_t find_rows(int64_t group, int64_t groups, int64_t m, int64_t left, const uint8_t *answers,
                         const uint8_t *observed, int64_t width, const vec *of, const vec **row) {
    int64_t at = group * ITEMS, items = m - at < ITEMS ? m - at : ITEMS;
    int64_t right = pattern_of(items, left - at, answers + at);
    if (!observed) {
        row[0] = of + (group * PATTERNS + right) * width;
        return 1;
    }
    int64_t seen = pattern_of(items, left - at, observed + at);
    row[0] = of + (group * PATTERNS + (right & seen)) * width;
    row[1] = of + ((groups + group) * PATTERNS + (seen & ~right)) * width;
    return 2;
}

/* Adds the squares of n persons to total, v vectors of up to MOST. of: (kinds, groups, PATTERNS) rows.
 * left: bytes from `answers` on. */
INLINE void add_persons(int64_t n, int64_t m, int64_t v, int64_t groups, const uint8_t *answers, const uint8_t *observed,
                        int64_t left, const vec *of, vec *total) {
    const vec *row[2];
    for (int64_t l = 0; l < n; l++, answers += m, left -= m) {
        vec s = splat(0), u = splat(0), p[MOST], q[MOST];
        for (int64_t k = 0; k < v; k++) p[k] = q[k] = splat(0);
        for (int64_t g = 0; g < groups; g++) {
            int64_t rows = find_rows(g, groups, m, left, answers, observed, 2 + 2 * v, of, row);
            for (int64_t t = 0; t < rows; t++) {
                s += row[t][0];
                u += row[t][1];
                for (int64_t k = 0; k < v; k++) p[k] += row[t][2 + k], q[k] += row[t][2 + v + k];
            }
        }
        for (int64_t k = 0; k < v; k++) {
            vec moved = s * p[k] - u * q[k];
            total[k] += moved * moved;
        }
        if (observed) observed += m;
    }
}

/* The same where one group is all items, and all answers are observed: persons of one pattern are counted first. */
INLINE void add_patterns(int64_t n, int64_t m, int64_t v, const uint8_t *answers, int64_t left, const vec *of, vec *total) {
    int64_t width = 2 + 2 * v, persons[PATTERNS] = {0};
    for (int64_t l = 0; l < n; l++, answers += m, left -= m) persons[pattern_of(m, left, answers)]++;
    for (int64_t pattern = 0; pattern < PATTERNS; pattern++) {
        const vec *row = of + pattern * width;
        for (int64_t k = 0; k < v && persons[pattern]; k++) {
            vec moved = row[0] * row[2 + k] - row[1] * row[2 + v + k];
            total[k] += (double)persons[pattern] * (moved * moved);
        }
    }
}

/* Either, with a number of vectors that is known when it is compiled. */
INLINE void add_all(int64_t n, int64_t m, int64_t v, int64_t groups, const uint8_t *answers, const uint8_t *observed,
                    int64_t left, const vec *of, vec *total) {
    if (observed) add_persons(n, m, v, groups, answers, observed, left, of, total);
    else if (groups > 1) add_persons(n, m, v, groups, answers, NULL, left, of, total);
    else if (m == ITEMS) add_patterns(n, ITEMS, v, answers, left, of, total);
    else add_patterns(n, m, v, answers, left, of, total);
}

/* variance (reps, m): sums over persons of the squares of what they move each item by.
 * answers, observed: (reps, n, m), 0 or 1; where `some` is 0 everything is observed, and `observed` is not read.
 * weight: (reps, m). inverse: K⁺, (reps, m, m), symmetric. hit, miss: as in `person_scores.c`. */
KERNEL int variances(int64_t reps, int64_t n, int64_t m, int64_t some, const uint8_t *answers, const uint8_t *observed,
                     const double *weight, const double *inverse, double hit, double miss, double *variance) {
    int64_t groups = (m + ITEMS - 1) / ITEMS, kinds = some ? 2 : 1;
    vec *room = allocate(m * MOST + kinds * groups * PATTERNS * (2 + 2 * MOST));
    if (!room) return 1;
    vec total[MOST], *columns = room, *of = room + m * MOST;
    for (int64_t r = 0; r < reps; r++, answers += n * m, weight += m, inverse += m * m, variance += m)
        for (int64_t first = 0; first < m; first += MOST * LANES) {
            int64_t moved = m - first < MOST * LANES ? m - first : MOST * LANES, v = (moved + LANES - 1) / LANES;
            for (int64_t k = 0; k < v; k++) total[k] = splat(0);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < v * LANES; j++)
                    columns[i * v + j / LANES][j % LANES] = j < moved ? inverse[i * m + first + j] : 0;
            for (int64_t kind = 0; kind < kinds; kind++)
                for (int64_t g = 0; g < groups; g++) {
                    int64_t at = g * ITEMS, items = m - at < ITEMS ? m - at : ITEMS;
                    fill(items, some ? (int)kind : EITHER, weight + at, hit, miss, v, columns + at * v,
                         of + (kind * groups + g) * PATTERNS * (2 + 2 * v));
                }
            const uint8_t *seen = some ? observed + r * n * m : NULL;
            int64_t left = (reps - r) * n * m;
            if (v == 1) add_all(n, m, 1, groups, answers, seen, left, of, total);
            else if (v == 2) add_all(n, m, 2, groups, answers, seen, left, of, total);
            else if (v == 3) add_all(n, m, 3, groups, answers, seen, left, of, total);
            else add_all(n, m, 4, groups, answers, seen, left, of, total);
            for (int64_t j = 0; j < moved; j++) variance[first + j] = total[j / LANES][j % LANES];
        }
    free(room);
    return 0;
}
