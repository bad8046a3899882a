/* Binomial counts, each with a number of trials n and a chance p of its own; `binomial.py` says by what method.
 *
 * A row is drawn in pieces of at most PIECE counts. The words that a piece takes from NumPy's generator depend on its
 * own counts only, and no piece crosses rows, so numbers do not depend on how many rows a call has.
 */
#include "kernel.h"
#include "random.h"

#define PIECE 256

typedef uint64_t uvec __attribute__((vector_size(8 * LANES)));

typedef struct { /* the counts of a piece: their laws, the words of their last trials, and what these gave */
    double n[PIECE], p[PIECE];
    uint64_t word[PIECE], more[PIECE];
    int64_t found[PIECE], done[PIECE];
} piece;

typedef struct { /* which counts of a piece; padded to whole vectors with the last one */
    int64_t number, at[PIECE + LANES];
} list;

INLINE vec take(const double *from, const int64_t *at) {
    vec x;
    for (int l = 0; l < LANES; l++) x[l] = from[at[l]];
    return x;
}

INLINE uvec take_words(const uint64_t *from, const int64_t *at) {
    uvec x;
    for (int l = 0; l < LANES; l++) x[l] = from[at[l]];
    return x;
}

INLINE void put(int64_t *to, const int64_t *at, ivec x) {
    for (int l = 0; l < LANES; l++) to[at[l]] = x[l];
}

/* Uniform on -1/2 to 1/2, an odd multiple of 2^-53, from the first 52 bits of a word; and its last 12 bits. */
INLINE vec centred(uvec word) { return ((vec)((word >> 12) | 0x3ff0000000000000) - 1.5) + 0x1p-53; }

INLINE vec last_bits(uvec word) { return (vec)((word & 4095) | 0x4330000000000000) - 0x1p52; }

INLINE vec rounded_down(vec x) { /* |x| < 2^51 */
    vec near = (x + 0x1.8p52) - 0x1.8p52;
    return near - keep(near > x, splat(1));
}

/* The remainder of Stirling's formula for k!, given x = 1 / (k + 1). */
INLINE vec remainder_of(vec k, vec x) {
    vec found = far_remainder(x);
    ivec near = k < TABLE;
    if (any_set(near))
        for (int l = 0; l < LANES; l++)
            if (near[l]) found[l] = remainders[(int)k[l]];
    return found;
}

/* log(P(X = k) / P(X = m)); m and n - m are TABLE or more. */
INLINE vec log_ratio(vec n, vec p, vec q, vec m, vec k) {
    vec d = k - m, other = n - k, most = n - m;
    vec at_k = 1 / (k + 1), at_other = 1 / (other + 1), at_m = 1 / (m + 1), at_most = 1 / (most + 1);
    vec wins = (k + 0.5) * logarithm_1p(-d * at_k), losses = (other + 0.5) * logarithm_1p(d * at_other);
    vec odds = d * logarithm((most + 1) * p * at_m / q);
    vec rest = (far_remainder(at_m) + far_remainder(at_most)) - (remainder_of(k, at_k) + remainder_of(other, at_other));
    return (wins + losses) + (odds + rest);
}

typedef struct { vec n, p, q, deviation, a, b, us, y; } trial; /* p: at most 1/2; y: what is rounded down to k */

INLINE trial trial_of(vec n, vec p, uvec word) {
    trial t = {.n = n, .p = smaller(p, 1 - p)};
    vec u = centred(word);
    t.q = 1 - t.p;
    t.deviation = root(n * t.p * t.q);
    t.b = 1.15 + 2.53 * t.deviation;
    t.a = -0.0873 + 0.0248 * t.b + 0.01 * t.p;
    t.us = 0.5 - magnitude(u);
    t.y = (2 * t.a / t.us + t.b) * u + (n * t.p + 0.5);
    return t;
}

/* k, or n - k where p is above 1/2, as an integer. */
INLINE ivec count(vec n, vec p, vec k) { return (ivec)(choose(p > 0.5, n - k, k) + 0x1.8p52) - 0x4338000000000000; }

/* A trial of LANES counts, accepted only where the squeeze says so. */
INLINE void squeeze(piece *c, const int64_t *at) {
    vec n = take(c->n, at), p = take(c->p, at);
    uvec word = take_words(c->word, at);
    trial t = trial_of(n, p, word);
    put(c->done, at, (t.us >= 0.07) & (last_bits(word) + 1 <= 4096 * (0.92 - 4.2 / t.b)));
    put(c->found, at, count(n, p, rounded_down(t.y)));
}

/* The same trial, decided. */
INLINE void decide(piece *c, const int64_t *at) {
    vec n = take(c->n, at), p = take(c->p, at);
    uvec word = take_words(c->word, at), more = take_words(c->more, at);
    trial t = trial_of(n, p, word);
    ivec inside = (t.y >= 0) & (t.y < n + 1);
    vec k = keep(inside, rounded_down(t.y)), m = rounded_down((n + 1) * t.p);
    vec v = (last_bits(word) + (centred(more) + 0.5)) * 0x1p-12;
    vec height = logarithm(v * ((2.83 + 5.1 / t.b) * t.deviation) / (t.a / (t.us * t.us) + t.b));
    put(c->done, at, inside & (height <= log_ratio(n, t.p, t.q, m, k)));
    put(c->found, at, count(n, p, k));
}

/* Inversion from 0 on. The share of words, about 1e-16, that rounding leaves after all chances gives 0. */
INLINE void invert(piece *c, const int64_t *at) {
    vec n = take(c->n, at), p = take(c->p, at), less = smaller(p, 1 - p), k = {0};
    vec odds = less / (1 - less), top = (n + 1) * odds, chance = exponential(n * logarithm_1p(-less));
    vec u = centred(take_words(c->word, at)) + 0.5;
    ivec open = u > chance;
    for (int step = 1; step <= STEPS && any_set(open); step++) {
        u -= chance;
        k += keep(open, splat(1));
        chance *= top / (double)step - odds;
        open &= u > chance;
    }
    put(c->found, at, count(n, p, keep(~open, k)));
}

INLINE void add(list *some, int64_t at, int64_t whether) {
    some->at[some->number] = at;
    some->number += whether;
}

INLINE void pad(list *some) {
    for (int64_t i = some->number; some->number && i < some->number + LANES; i++) some->at[i] = some->at[i - 1];
}

INLINE void keep_undone(list *some, const piece *c) {
    int64_t number = some->number;
    some->number = 0;
    for (int64_t i = 0; i < number; i++) add(some, some->at[i], !c->done[some->at[i]]);
    pad(some);
}

INLINE void draw_words(const generator *from, uint64_t *words, const list *some) {
    for (int64_t i = 0; i < some->number; i++) words[some->at[i]] = from->next(from->state);
}

INLINE void draw_piece(const generator *from, piece *c, int64_t number) {
    list large, small;
    large.number = small.number = 0;
    for (int64_t i = 0; i < number; i++) {
        double p = c->p[i], mean = c->n[i] * (p < 1 - p ? p : 1 - p);
        add(&large, i, mean >= SMALL), add(&small, i, mean < SMALL);
    }
    pad(&large), pad(&small);
    draw_words(from, c->word, &small);
    for (int64_t i = 0; i < small.number; i += LANES) invert(c, small.at + i);
    while (large.number) {
        draw_words(from, c->word, &large);
        for (int64_t i = 0; i < large.number; i += LANES) squeeze(c, large.at + i);
        keep_undone(&large, c);
        draw_words(from, c->more, &large);
        for (int64_t i = 0; i < large.number; i += LANES) decide(c, large.at + i);
        keep_undone(&large, c);
    }
}

/* (rows, width) counts. from: NumPy's bitgen_t. Trials 0 <= n < 2^50 and chances 0 <= p <= 1 are (rows, width), or
 * (rows, 1). */
KERNEL int draw(int64_t from, int64_t rows, int64_t width, int64_t n_width, const int64_t *n, int64_t p_width,
                const double *p, int64_t *out) {
    piece c = {0};
    for (int64_t row = 0; row < rows; row++, n += n_width, p += p_width)
        for (int64_t first = 0; first < width; first += PIECE) {
            int64_t number = width - first < PIECE ? width - first : PIECE;
            for (int64_t i = 0; i < number; i++) c.n[i] = (double)n[n_width > 1 ? first + i : 0];
            for (int64_t i = 0; i < number; i++) c.p[i] = p[p_width > 1 ? first + i : 0];
            draw_piece((const generator *)from, &c, number);
            for (int64_t i = 0; i < number; i++) *out++ = c.found[i];
        }
    return 0;
}
