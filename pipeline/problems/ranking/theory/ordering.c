/* The excess risk of `ordering.py`, LANES replications side by side: a vector holds one item of each. */
#include "kernel.h"

#define NEAR 0.1   /* largest error, logits, below which divergences are summed as series: above, they keep 12 digits */
#define PLAIN 80.0 /* range of logits and of errors up to which BATCH factors are multiplied before a logarithm */
#define BATCH 8

/* KL divergence of Bernoulli(sigma(gap + error)) from Bernoulli(sigma(gap)), |error| <= NEAR: all of its digits.
 * p: sigma(-|gap|); error: that of p's side. With t = p (e^error - 1) and s = t / (2 + t) it is
 * log(1 + t) - p error = p (e^error - 1 - error) - s t + 2 (s³/3 + s⁵/5 + …). */
INLINE vec near_divergence(vec p, vec error) {
    vec e = error * error;
    vec rest = (1.0 / 2 + error * (1.0 / 6)) + e * ((1.0 / 24 + error * (1.0 / 120)) + e * ((1.0 / 720 + error * (1.0 / 5040)) + e * (1.0 / 40320 + error * (1.0 / 362880))));
    vec bend = e * rest, t = p * (error + bend), s = t / (2 + t), z = s * s;
    vec odd = 1.0 / 3 + z * (1.0 / 5 + z * (1.0 / 7 + z * (1.0 / 9 + z * (1.0 / 11 + z * (1.0 / 13)))));
    return (p * bend - s * t) + 2 * s * z * odd;
}

/* log(1 + e^x) */
INLINE vec softplus(vec x) { return larger(x, splat(0)) + logarithm_1p(exponential(-magnitude(x))); }

/* estimate, theta (m,) -> the sum over pairs of the divergence; room: (2 m,). As a sum of log((v_i + v_j)/(u_i + u_j))
 * less the errors of the items times their expected wins, where u = e^theta and v = e^estimate: few logarithms. */
INLINE vec divergence(int64_t m, const vec *estimate, const vec *theta, vec *room) {
    vec *u = room, *v = room + m, middle = {0}, shift = {0}, widest = {0}, most = theta[0], least = theta[0];
    vec top = estimate[0] - theta[0], bottom = top;
    for (int64_t i = 0; i < m; i++) {
        vec error = estimate[i] - theta[i];
        top = larger(error, top), bottom = smaller(error, bottom);
        most = larger(theta[i], most), least = smaller(theta[i], least);
    }
    middle = (most + least) / 2, shift = (top + bottom) / 2, widest = larger(most - least, top - bottom);
    ivec small = top - bottom < NEAR, plain = widest < PLAIN;
    vec near = {0}, far = {0}, linear = {0}, product = splat(1), logs = {0};
    for (int64_t i = 0; i < m; i++) {
        u[i] = exponential(theta[i] - middle);
        v[i] = exponential(estimate[i] - middle - shift);
    }
    int all_small = !any_set(~small), some_small = any_set(small), some_far = any_set(~plain);
    for (int64_t i = 1; i < m; i++) {
        vec own = estimate[i] - theta[i];
        for (int64_t j = 0; j < i; j++) {
            vec inverse = 1 / (u[i] + u[j]), p = u[i] * inverse, error = own - (estimate[j] - theta[j]);
            ivec ahead = p > 0.5;
            if (some_small) near += near_divergence(choose(ahead, u[j] * inverse, p), choose(ahead, -error, error));
            if (all_small) continue;
            product *= (v[i] + v[j]) * inverse;
            linear += (own - shift) * p + (estimate[j] - theta[j] - shift) * (u[j] * inverse);
            if (j % BATCH == BATCH - 1 || j == i - 1) {
                logs += logarithm(product);
                product = splat(1);
            }
            if (some_far) {
                vec gap = theta[i] - theta[j], low = -magnitude(gap), other = choose(gap > 0, -error, error);
                vec e = exponential(low), share = e / (1 + e);
                vec exact = softplus(low + other) - softplus(low) - share * other;
                far += choose(magnitude(error) < NEAR, near_divergence(share, other), exact);
            }
        }
    }
    return choose(small, near, choose(plain, logs - linear, far));
}

/* estimate, theta (reps, m) -> risk (reps,) */
KERNEL int excess_risks(int64_t m, int64_t reps, const double *estimate, const double *theta, double *risk) {
    vec *room = allocate(4 * m), *fit = room + 2 * m, *truth = fit + m;
    if (!room) return 1;
    for (int64_t first = 0; first < reps; first += LANES) {
        int64_t count = reps - first < LANES ? reps - first : LANES;
        for (int64_t l = 0; l < LANES; l++) { /* the last one again where there are no more */
            int64_t one = first + (l < count ? l : count - 1);
            for (int64_t i = 0; i < m; i++) fit[i][l] = estimate[one * m + i], truth[i][l] = theta[one * m + i];
        }
        vec sum = divergence(m, fit, truth, room) / (double)(m * m);
        for (int64_t l = 0; l < count; l++) risk[first + l] = sum[l];
    }
    free(room);
    return 0;
}
