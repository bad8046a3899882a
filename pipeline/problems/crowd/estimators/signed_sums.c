/* Sums of a crowd's answers with signs, and the steps of expectation-maximisation that are made of them.
 *
 * Numbers are added up as whole numbers, so sums are exact, and the same in any order. Workers are in groups of up to
 * eight. A group's answers to a task are one byte, their code: a table has, for each code, what all workers or tasks with
 * it have in common, so that a sum takes one addition for each code instead of one for each answer.
 */
#include "kernel.h"

#include <string.h>

#define GROUPS 8   /* of workers, whose codes are the bytes of one word */
#define STRIDE 264 /* from one group's table to the next: 256 codes at most, and not in the same sets of a cache */
#define BLOCK 1024 /* tasks at a time in bytes */
#define SHORT 127  /* workers whose answers add up to a byte */

typedef uint64_t uvec __attribute__((vector_size(8 * LANES)));

typedef struct { /* how answers are coded */
    int64_t n, m, base, groups, sets; /* base: 2 if all are answered, else 3; sets of up to GROUPS groups */
} coding;

INLINE coding coding_of(int64_t n, int64_t m, int64_t base) {
    int64_t most = 1; /* workers in a group: tables should not be longer than what they are made for */
    for (int64_t codes = base * base; most < (base == 2 ? 8 : 5) && codes <= m; codes *= base) most++;
    int64_t groups = (n + most - 1) / most;
    return (coding){n, m, base, groups, (groups + GROUPS - 1) / GROUPS};
}

/* The first group of a set, and the first worker of a group: sizes differ by one at most. */
INLINE int64_t first_group(coding how, int64_t set) { return set * how.groups / how.sets; }
INLINE int64_t first_worker(coding how, int64_t group) { return group * how.n / how.groups; }

INLINE int64_t vectors(int64_t numbers) { return (numbers + LANES - 1) / LANES; }

INLINE double power_of_two(int64_t exponent) {
    int64_t bits = (exponent + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE int64_t bits_of(int64_t x) { /* least e with x <= 2^e */
    int64_t e = 0;
    while (((int64_t)1 << e) < x) e++;
    return e;
}

INLINE int64_t exponent_of(double x) { /* e with 0 <= x < 2^e, no less than -900 */
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 52 > 122 ? (bits >> 52) - 1022 : -900;
}

INLINE vec real(ivec x) { /* the nearest double, |x| <= 2^62 */
    uvec moved = (uvec)x + ((uint64_t)1 << 62);
    vec high = (vec)(moved >> 32 | 0x4530000000000000), low = (vec)((moved & 0xffffffff) | 0x4330000000000000);
    return (high - (0x1p84 + 0x1p62 + 0x1p52)) + low;
}

INLINE ivec whole(vec x) { return (ivec)(x + 0x1.8p52) - 0x4338000000000000; } /* the nearest one, |x| <= 2^51 */

/* Numbers of answers of each worker, 1 for a worker without any; gives the base of the coding. */
INLINE int64_t count(int64_t n, int64_t m, const int8_t *answers, double *answered) {
    for (int64_t i = 0; i < n; i++) answered[i] = (double)m;
    if (!memchr(answers, 0, (size_t)(n * m))) return 2;
    for (int64_t i = 0; i < n; i++) {
        int64_t given = 0;
        for (int64_t j = 0; j < m; j++) given += answers[i * m + j] != 0;
        answered[i] = given ? (double)given : 1;
    }
    return 3;
}

/* Codes (set, task), a byte for each group: digits answer + 1, or (answer + 1)/2, in the base, the first worker's last. */
INLINE void encode(coding how, const int8_t *answers, uint64_t *codes) {
    uint8_t code[BLOCK];
    memset(codes, 0, (size_t)(how.sets * how.m) * sizeof *codes);
    for (int64_t s = 0; s < how.sets; s++)
        for (int64_t h = first_group(how, s); h < first_group(how, s + 1); h++)
            for (int64_t from = 0; from < how.m; from += BLOCK) {
                int64_t tasks = how.m - from < BLOCK ? how.m - from : BLOCK;
                uint64_t *to = codes + s * how.m + from;
                memset(code, 0, sizeof code);
                for (int64_t i = first_worker(how, h + 1) - 1; i >= first_worker(how, h); i--) {
                    const int8_t *row = answers + i * how.m + from;
                    if (how.base == 2)
                        for (int64_t j = 0; j < tasks; j++) code[j] = (uint8_t)(2 * code[j] + (row[j] > 0));
                    else
                        for (int64_t j = 0; j < tasks; j++) code[j] = (uint8_t)(3 * code[j] + 1 + row[j]);
                }
                for (int64_t j = 0; j < tasks; j++) to[j] |= (uint64_t)code[j] << 8 * (h - first_group(how, s));
            }
}

/* For each group of a set, and each code: the sum of the workers' weights with the signs of their answers. */
INLINE void tabulate(coding how, int64_t set, const int64_t *weights, int64_t *table) {
    for (int64_t h = first_group(how, set); h < first_group(how, set + 1); h++, table += STRIDE) {
        table[0] = 0;
        for (int64_t i = first_worker(how, h), length = 1; i < first_worker(how, h + 1); i++, length *= how.base)
            for (int64_t x = 0; x < length; x++) {
                int64_t others = table[x];
                table[x] = others - weights[i];
                if (how.base == 3) table[length + x] = others;
                table[(how.base - 1) * length + x] = others + weights[i];
            }
    }
}

/* For each worker of a set: the sum with signs of what its group's codes have. Overwrites the table. */
INLINE void collect(coding how, int64_t set, int64_t *table, int64_t *totals) {
    for (int64_t h = first_group(how, set); h < first_group(how, set + 1); h++, table += STRIDE) {
        int64_t length = 1;
        for (int64_t i = first_worker(how, h) + 1; i < first_worker(how, h + 1); i++) length *= how.base;
        for (int64_t i = first_worker(how, h + 1) - 1; i >= first_worker(how, h); i--, length /= how.base) {
            int64_t total = 0;
            for (int64_t x = 0; x < length; x++) {
                int64_t no = table[x], yes = table[(how.base - 1) * length + x];
                total += yes - no;
                table[x] = no + yes + (how.base == 3 ? table[length + x] : 0);
            }
            totals[i] = total;
        }
    }
}

/* Adds to each task the sums of its codes. */
INLINE void look_up_some(const int groups, int64_t m, const uint64_t *codes, const int64_t *table, int64_t *tasks) {
    for (int64_t j = 0; j < m; j++) {
        uint64_t code = codes[j];
        int64_t sum = tasks[j];
        __asm__("" : "+r"(code)); /* one task at a time: compilers would gather from tables, which is slower */
        for (int g = 0; g < groups; g++) sum += table[g * STRIDE + (code >> 8 * g & 255)];
        tasks[j] = sum;
    }
}

/* Adds what each task has to its codes. */
INLINE void add_up_some(const int groups, int64_t m, const uint64_t *codes, const int64_t *tasks, int64_t *table) {
    for (int64_t j = 0; j < m; j++) {
        uint64_t code = codes[j]; /* copies: the table might be stored over them */
        int64_t task = tasks[j];
        for (int g = 0; g < groups; g++) table[g * STRIDE + (code >> 8 * g & 255)] += task;
    }
}

#define FOR_A_NUMBER(call, groups, ...) /* compiled for each number of groups, without a loop over them */ \
    switch (groups) {                                                                                      \
    case 1: call(1, __VA_ARGS__); break;                                                                   \
    case 2: call(2, __VA_ARGS__); break;                                                                   \
    case 3: call(3, __VA_ARGS__); break;                                                                   \
    case 4: call(4, __VA_ARGS__); break;                                                                   \
    case 5: call(5, __VA_ARGS__); break;                                                                   \
    case 6: call(6, __VA_ARGS__); break;                                                                   \
    case 7: call(7, __VA_ARGS__); break;                                                                   \
    default: call(8, __VA_ARGS__);                                                                         \
    }

INLINE void look_up(coding how, int64_t set, const uint64_t *codes, const int64_t *table, int64_t *tasks) {
    codes += set * how.m;
    FOR_A_NUMBER(look_up_some, first_group(how, set + 1) - first_group(how, set), how.m, codes, table, tasks)
}

INLINE void add_up(coding how, int64_t set, const uint64_t *codes, const int64_t *tasks, int64_t *table) {
    codes += set * how.m;
    FOR_A_NUMBER(add_up_some, first_group(how, set + 1) - first_group(how, set), how.m, codes, tasks, table)
}

INLINE vec hyperbolic_tangent(vec x) {
    vec e = exponential(-2 * magnitude(x)), size = (1 - e) / (1 + e);
    return (vec)((ivec)size | ((ivec)x & INT64_MIN));
}

INLINE vec inverse_tangent(vec x) { /* hyperbolic, |x| < 1 */
    vec a = magnitude(x), size = 0.5 * logarithm_1p(2 * a / (1 - a));
    return (vec)((ivec)size | ((ivec)x & INT64_MIN));
}

typedef struct { /* room for the longest coding of a crowd */
    int64_t crowd, tasks;
    vec *room, *totals, *weights, *sums;
    int64_t *table;
    uint64_t *codes;
} workspace;

INLINE workspace make_room(int64_t n, int64_t m, int64_t more) { /* more: vectors in front */
    workspace w = {.crowd = vectors(n), .tasks = vectors(m)};
    w.room = allocate(more + 2 * w.crowd + w.tasks + vectors(GROUPS * STRIDE) + vectors(coding_of(n, m, 3).sets * m));
    if (!w.room) return w;
    memset(w.room, 0, (size_t)(more + 2 * w.crowd) * sizeof *w.room);
    w.totals = w.room + more;
    w.weights = w.totals + w.crowd;
    w.sums = w.weights + w.crowd;
    w.table = (int64_t *)(w.sums + w.tasks);
    w.codes = (uint64_t *)(w.table + LANES * vectors(GROUPS * STRIDE));
    return w;
}

/* sums = S' weights; weights, 0 beyond the n, are overwritten. Gives the exponent of the unit of the sums, 2^-e. */
INLINE int64_t weigh(coding how, workspace w) {
    int64_t *whole_weights = (int64_t *)w.weights;
    vec largest = splat(0);
    for (int64_t v = 0; v < w.crowd; v++) largest = larger(magnitude(w.weights[v]), largest);
    int64_t fine = 62 - bits_of(how.n) - exponent_of(greatest(largest)); /* so that a sum is at most 2^62 */
    for (int64_t v = 0; v < w.crowd; v++) {
        vec scaled = w.weights[v] * power_of_two(fine);
        for (int l = 0; l < LANES; l++) whole_weights[v * LANES + l] = (int64_t)scaled[l];
    }
    memset(w.sums, 0, (size_t)w.tasks * sizeof *w.sums);
    for (int64_t s = 0; s < how.sets; s++) {
        tabulate(how, s, whole_weights, w.table);
        look_up(how, s, w.codes, w.table, (int64_t *)w.sums);
    }
    return fine;
}

/* Weighted votes S' weights of each task into votes (reps, m); weights: (reps, n), finite. */
KERNEL int weighted_votes(int64_t reps, int64_t n, int64_t m, const int8_t *answers, const double *weights,
                          double *votes) {
    workspace w = make_room(n, m, 0);
    if (!w.room) return 1;
    for (int64_t r = 0; r < reps; r++, answers += n * m, weights += n, votes += m) {
        coding how = coding_of(n, m, memchr(answers, 0, (size_t)(n * m)) ? 3 : 2);
        encode(how, answers, w.codes);
        memcpy(w.weights, weights, (size_t)n * sizeof *weights);
        double unit = power_of_two(-weigh(how, w));
        for (int64_t v = 0; v < w.tasks; v++) w.sums[v] = real((ivec)w.sums[v]) * unit;
        memcpy(votes, w.sums, (size_t)m * sizeof *votes);
    }
    free(w.room);
    return 0;
}

/* Mean sign of each task's answers, 0 without any. complete: all are answered. */
INLINE void vote(int64_t n, int64_t m, int complete, const int8_t *answers, double *votes) {
    for (int64_t from = 0; from < m; from += BLOCK) {
        int64_t tasks = m - from < BLOCK ? m - from : BLOCK;
        int32_t found[BLOCK] = {0}, given[BLOCK] = {0};
        for (int64_t first = 0; first < n; first += SHORT) {
            int64_t last = first + SHORT < n ? first + SHORT : n;
            int8_t sum[BLOCK] = {0}, some[BLOCK] = {0};
            for (int64_t i = first; i < last; i++)
                for (int64_t j = 0; j < tasks; j++) sum[j] = (int8_t)(sum[j] + answers[i * m + from + j]);
            for (int64_t i = first; i < last && !complete; i++)
                for (int64_t j = 0; j < tasks; j++) some[j] = (int8_t)(some[j] + (answers[i * m + from + j] != 0));
            for (int64_t j = 0; j < tasks; j++) found[j] += sum[j], given[j] += complete ? (int32_t)(last - first) : some[j];
        }
        for (int64_t j = 0; j < tasks; j++) votes[from + j] = (double)found[j] / (double)(given[j] + !given[j]);
    }
}

/* The same for all replications, into votes (reps, m). */
KERNEL int mean_vote(int64_t reps, int64_t n, int64_t m, const int8_t *answers, double *votes) {
    for (int64_t r = 0; r < reps; r++, answers += n * m, votes += m)
        vote(n, m, !memchr(answers, 0, (size_t)(n * m)), answers, votes);
    return 0;
}

/* Fits, one for each replication; see `em_steps` in signed_sums.py. voted: start, (reps, m), becomes the mean vote. */
KERNEL int em_steps(int64_t reps, int64_t n, int64_t m, const int8_t *answers, int64_t voted, double limit, int64_t steps,
                    double least, double *start, double *labels, double *abilities, double *answered, double *changes,
                    double *unsure, int64_t *taken) {
    workspace w = make_room(n, m, 2 * vectors(n));
    if (!w.room) return 1;
    vec *c = w.room, *given = c + w.crowd;
    int64_t finest = 62 - bits_of(m) < 51 ? 62 - bits_of(m) : 51; /* so that a sum over tasks is at most 2^62 */
    double scale = power_of_two(finest), unit = power_of_two(-finest);
    for (int64_t r = 0; r < reps; r++, answers += n * m, start += m, labels += m, abilities += n, answered += n) {
        coding how = coding_of(n, m, count(n, m, answers, answered));
        if (voted) vote(n, m, how.base == 2, answers, start);
        encode(how, answers, w.codes);
        for (int64_t i = 0; i < LANES * w.crowd; i++) ((double *)given)[i] = i < n ? answered[i] : __builtin_inf();
        memcpy(w.sums, start, (size_t)m * sizeof *start);
        for (int64_t v = 0; v < w.tasks; v++) w.sums[v] = (vec)whole(w.sums[v] * scale);
        for (int64_t step = 1, over = 0; !over; step++) {
            for (int64_t s = 0; s < how.sets; s++) {
                memset(w.table, 0, GROUPS * STRIDE * sizeof *w.table);
                add_up(how, s, w.codes, (int64_t *)w.sums, w.table);
                collect(how, s, w.table, (int64_t *)w.totals);
            }
            vec change = splat(0);
            for (int64_t v = 0; v < w.crowd; v++) {
                vec now = real((ivec)w.totals[v]) * unit / given[v];
                now = larger(smaller(now, splat(limit)), splat(-limit));
                change = larger(magnitude(now - c[v]), change);
                c[v] = now;
                w.weights[v] = inverse_tangent(now);
            }
            changes[r] = step == 1 ? __builtin_inf() : greatest(change);
            taken[r] = step;
            over = changes[r] < least || step >= steps;
            double back = power_of_two(-weigh(how, w));
            for (int64_t v = 0; v < w.tasks; v++) {
                vec u = hyperbolic_tangent(real((ivec)w.sums[v]) * back);
                w.sums[v] = over ? u : (vec)whole(u * scale);
            }
        }
        vec sum = splat(0); /* tasks beyond the last have u = 0 */
        for (int64_t v = 0; v < w.tasks; v++) sum += w.sums[v] * w.sums[v];
        unsure[r] = (double)m - across(sum);
        memcpy(labels, w.sums, (size_t)m * sizeof *labels);
        memcpy(abilities, c, (size_t)n * sizeof *abilities);
    }
    free(w.room);
    return 0;
}

/* For each worker: S sign(labels) over its answers, 0 without any, into agreement (reps, n); the sign of 0 is +1. */
KERNEL int agreement(int64_t reps, int64_t n, int64_t m, const int8_t *answers, const double *labels, double *agree) {
    int8_t *signs = malloc((size_t)m);
    if (!signs) return 1;
    for (int64_t r = 0; r < reps; r++, labels += m) {
        for (int64_t j = 0; j < m; j++) signs[j] = labels[j] >= 0 ? 1 : -1;
        for (int64_t i = 0; i < n; i++, answers += m) {
            int64_t sum = 0, given = 0;
            for (int64_t j = 0; j < m; j++) sum += answers[j] * signs[j], given += answers[j] != 0;
            *agree++ = given ? (double)sum / (double)given : 0;
        }
    }
    free(signs);
    return 0;
}
