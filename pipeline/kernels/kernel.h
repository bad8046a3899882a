/* What all compiled kernels share: vectors of LANES numbers, functions on them, and memory.
 *
 * Numbers are the same whatever the compiler and the processor: vectors have LANES lanes everywhere, the order of every
 * sum is written in the source, nothing is contracted to fused operations, and no function of libm is called. Compilers
 * spread the lanes over the registers that there are.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>
#include <stdlib.h>

#define LANES 4 /* one register of AVX2; GCC splits wider vectors badly where there is no AVX-512 (measured) */

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef int64_t ivec __attribute__((vector_size(8 * LANES))); /* also masks: -1 for true, 0 for false */

/* Exported functions, one version for each width of registers. Whatever they call must be INLINE to be in each. */
#if defined(KERNEL) /* given, to test one version */
#elif defined(__x86_64__) && defined(__ELF__) && defined(__GLIBC__)
#define KERNEL __attribute__((target_clones("default", "avx2")))
#else
#define KERNEL
#endif
#define INLINE static inline __attribute__((always_inline))

/* The digest of the sources, which `pipeline.kernels.loader` compares with those that are there. */
extern const char kernel_digest[];
const char kernel_digest[] = KERNEL_DIGEST;

INLINE vec splat(double x) { return x - (vec){0}; }

INLINE vec load(const double *from) { /* of any alignment */
    vec x;
    __builtin_memcpy(&x, from, sizeof x);
    return x;
}

INLINE void store(double *to, vec x) { __builtin_memcpy(to, &x, sizeof x); }

INLINE vec choose(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

INLINE vec keep(ivec mask, vec x) { return (vec)(mask & (ivec)x); } /* 0 elsewhere */

INLINE vec smaller(vec a, vec b) { return choose(a < b, a, b); } /* b if either is NaN */

INLINE vec larger(vec a, vec b) { return choose(a > b, a, b); } /* b if either is NaN */

INLINE vec magnitude(vec a) { return (vec)((ivec)a & INT64_MAX); }

INLINE int any_set(ivec mask) {
    int64_t any = 0;
    for (int l = 0; l < LANES; l++) any |= mask[l];
    return any != 0;
}

/* Sum, least and greatest of the lanes, in a fixed order. */
INLINE double across(vec x) { return (x[0] + x[2]) + (x[1] + x[3]); }

INLINE double least(vec x) {
    double found = x[0];
    for (int l = 1; l < LANES; l++) found = x[l] < found ? x[l] : found;
    return found;
}

INLINE double greatest(vec x) {
    double found = x[0];
    for (int l = 1; l < LANES; l++) found = x[l] > found ? x[l] : found;
    return found;
}

INLINE vec root(vec x) { /* IEEE square roots are exact to the last bit everywhere */
    for (int l = 0; l < LANES; l++) x[l] = __builtin_sqrt(x[l]);
    return x;
}

/* e^x within 1 unit in the last place for |x| <= 708; below and above that, as there. NaN gives NaN.
 * x = n log 2 + r, |r| <= log(2)/2, e^r = 1 + r + r² q(r), q the best polynomial of degree 9: 4e-18. */
INLINE vec exponential(vec x) {
    const double shift = 0x1.8p52; /* x + shift is rounded to an integer, which is in its last bits */
    x = choose(x < -708.0, splat(-708.0), x);
    x = choose(x > 708.0, splat(708.0), x);
    vec n = x * 0x1.71547652b82fep0 + shift;
    ivec power = (ivec)n << 52;
    n -= shift;
    vec r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    vec square = r * r, fourth = square * square;
    vec low = (0x1.000000000000ap-1 + r * 0x1.55555555554fap-3) + square * (0x1.555555555087dp-5 + r * 0x1.1111111127be6p-7);
    vec high = (0x1.6c16c1842a09fp-10 + r * 0x1.a01a012a57064p-13) + square * (0x1.a0199a0c78972p-16 + r * 0x1.71df255430ed3p-19);
    vec q = low + fourth * (high + fourth * (0x1.28ad72bf7e407p-22 + r * 0x1.ad7f6b5dc2ef6p-26));
    return (vec)((ivec)(1 + (r + square * q)) + power);
}

/* log x within 1 unit in the last place for normal x > 0, as in fdlibm; anything for others, without a trap. */
INLINE vec logarithm(vec x) {
    const int64_t half = 0x3fe6a09e00000000; /* about √½: mantissas are taken from there to about √2 */
    ivec power = ((ivec)x - half) >> 52;
    vec f = (vec)((ivec)x - (power << 52)) - 1;
    vec n = (vec)(power + 0x4338000000000000) - 0x1.8p52;
    vec s = f / (2 + f), z = s * s, w = z * z, square = 0.5 * f * f;
    vec even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    vec odd = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return n * 6.93147180369123816490e-01 - ((square - (s * (square + (even + odd)) + n * 1.90821492927058770002e-10)) - f);
}

/* log(1 + x) within 2 units in the last place for x > -1. */
INLINE vec logarithm_1p(vec x) {
    vec u = 1 + x;
    return logarithm(u) + (x - (u - 1)) / u;
}

/* Room for n vectors, aligned; NULL where memory ends. To be freed. */
INLINE vec *allocate(int64_t n) { return aligned_alloc(sizeof(vec), (size_t)(n > 0 ? n : 1) * sizeof(vec)); }

#endif
