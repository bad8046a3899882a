/* NumPy's source of random bits, and what draws of binomial numbers share. Included after kernel.h. */
#ifndef RANDOM_H
#define RANDOM_H

#define SMALL 10.0 /* n min(p, 1 - p) below which binomial numbers are drawn by inversion */
#define STEPS 64   /* of an inversion, at most: P(X > STEPS) < 1e-28 */
#define TABLE 10   /* numbers below have their remainder of Stirling's formula in a table */

typedef struct { /* the first members of NumPy's bitgen_t */
    void *state;
    uint64_t (*next)(void *);
    uint32_t (*next_half)(void *);
} generator;

/* log k! - ((k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2) for k < TABLE */
static const double remainders[TABLE] = {
    0x1.4c071bcda0a5bp-4, 0x1.52a9b923ea649p-5, 0x1.c579a268d80b3p-6, 0x1.54a2662fd78a9p-6, 0x1.10b4e513fcbedp-6,
    0x1.c6b167bebdf36p-7, 0x1.85d4d612e4a86p-7, 0x1.552805e7b3076p-7, 0x1.2f4871b12ab64p-7, 0x1.10f9d4c0743a7p-7};

/* The same, within 2e-16, for k >= TABLE, given x = 1 / (k + 1). */
INLINE vec far_remainder(vec x) {
    vec z = x * x, last = 1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360));
    return x * (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * last)));
}

#endif
