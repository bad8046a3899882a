/* A normal law of abilities that fits counts of pairs, and what pairs that share an item have in common under it:
 * `fitted_abilities.py` says how. LANES replications at a time, one in each lane. */
#include "kernel.h"

#define LOW -3.0 /* of log s */
#define HIGH 2.0

/* The numbers of LANES replications from the first one on, the last one again where there are no more. */
INLINE vec gather(const double *from, int64_t first, int64_t reps, int64_t stride) {
    vec x = {0};
    for (int l = 0; l < LANES; l++) {
        int64_t r = first + l < reps ? first + l : reps - 1;
        x[l] = from[r * stride];
    }
    return x;
}

INLINE void scatter(vec x, double *to, int64_t first, int64_t reps, int64_t stride) {
    for (int l = 0; l < LANES; l++)
        if (first + l < reps) to[(first + l) * stride] = x[l];
}

INLINE vec between(vec x, double low, double high) {
    x = choose(x < low, splat(low), x);
    return choose(x > high, splat(high), x);
}

INLINE vec logistic(vec x) { return 1 / (1 + exponential(-x)); }

/* Steps of Gauss and Newton's method for the mean and log s of each replication: law (reps, 2).
 * theta: (reps, m). share, precision: (reps, m, m), symmetric. nodes, weights: of N(0, 1). */
KERNEL int fit(int64_t reps, int64_t m, int64_t points, int64_t steps, double spread, const double *theta,
               const double *share, const double *precision, const double *nodes, const double *weights, double *law) {
    vec *room = allocate((3 * points + 3) * m);
    if (!room) return 1;
    vec *right = room, *slope = right + points * m, *tilt = slope + points * m;
    vec *sum_right = tilt + points * m, *sum_slope = sum_right + m, *sum_tilt = sum_slope + m;
    for (int64_t first = 0; first < reps; first += LANES) {
        vec mean = splat(0), log_spread = splat(0);
        for (int64_t step = 0; step < steps; step++) {
            vec scale = spread * exponential(log_spread);
            for (int64_t i = 0; i < m; i++) {
                vec difficulty = gather(theta + i, first, reps, m);
                vec by_right = splat(0), by_slope = splat(0), by_tilt = splat(0);
                for (int64_t q = 0; q < points; q++) {
                    vec scaled = scale * nodes[q];
                    vec p = logistic(mean + scaled - difficulty), s = p * (1 - p), t = s * scaled;
                    right[i * points + q] = p;
                    slope[i * points + q] = s * weights[q];
                    tilt[i * points + q] = t * weights[q];
                    by_right += p * weights[q];
                    by_slope += s * weights[q];
                    by_tilt += t * weights[q];
                }
                sum_right[i] = by_right, sum_slope[i] = by_slope, sum_tilt[i] = by_tilt;
            }
            vec by_mean = splat(1), mixed = splat(0), by_spread = splat(4);
            vec pull_mean = -mean, pull_spread = -4 * log_spread;
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < i; j++) {
                    const vec *p = right + i * points, *o = right + j * points;
                    const vec *ps = slope + i * points, *os = slope + j * points;
                    const vec *pt = tilt + i * points, *ot = tilt + j * points;
                    vec both = splat(0), both_slope = splat(0), both_tilt = splat(0);
                    for (int64_t q = 0; q < points; q++) {
                        both += p[q] * o[q] * weights[q];
                        both_slope += ps[q] * o[q] + p[q] * os[q];
                        both_tilt += pt[q] * o[q] + p[q] * ot[q];
                    }
                    vec one = sum_right[i] + sum_right[j] - 2 * both;
                    vec of_mean = sum_slope[i] + sum_slope[j] - 2 * both_slope;
                    vec of_spread = sum_tilt[i] + sum_tilt[j] - 2 * both_tilt;
                    vec residual = gather(share + i * m + j, first, reps, m * m) - one;
                    vec exact = gather(precision + i * m + j, first, reps, m * m);
                    by_mean += exact * of_mean * of_mean;
                    mixed += exact * of_mean * of_spread;
                    by_spread += exact * of_spread * of_spread;
                    pull_mean += exact * of_mean * residual;
                    pull_spread += exact * of_spread * residual;
                }
            vec determinant = by_mean * by_spread - mixed * mixed;
            vec of_mean = (by_spread * pull_mean - mixed * pull_spread) / determinant;
            vec of_spread = (by_mean * pull_spread - mixed * pull_mean) / determinant;
            mean += between(of_mean, -1, 1);
            log_spread = between(log_spread + between(of_spread, -1, 1), LOW, HIGH);
        }
        scatter(mean, law, first, reps, 2);
        scatter(log_spread, law + 1, first, reps, 2);
    }
    free(room);
    return 0;
}

/* Covariance of one person's part from two pairs that share an item, (reps, m, m).
 * theta: (reps, m). weight: a, (reps, m, m). present: (graphs, m, m), of pairs that are known, 1 or 0; one for all
 * replications, or one for each. abilities: (reps, points). */
KERNEL int shared(int64_t reps, int64_t m, int64_t points, int64_t graphs, const double *theta, const double *weight,
                  const double *present, const double *abilities, const double *weights, double *covariance) {
    vec *room = allocate(5 * m * m + 2 * m);
    if (!room) return 1;
    vec *a = room, *is_known = a + m * m, *linear = is_known + m * m, *total = linear + m * m, *edge = total + m * m;
    vec *right = edge + m * m, *difficulty = right + m;
    for (int64_t first = 0; first < reps; first += LANES) {
        for (int64_t i = 0; i < m; i++) difficulty[i] = gather(theta + i, first, reps, m);
        for (int64_t e = 0; e < m * m; e++) {
            a[e] = gather(weight + e, first, reps, m * m);
            is_known[e] = gather(present + e, first, graphs, m * m);
            total[e] = edge[e] = splat(0);
        }
        for (int64_t q = 0; q < points; q++) {
            vec ability = gather(abilities + q, first, reps, points);
            for (int64_t i = 0; i < m; i++) right[i] = logistic(ability - difficulty[i]);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < m; j++) {
                    vec part = a[j * m + i] * (1 - right[i]) + a[i * m + j] * right[i];
                    linear[i * m + j] = i == j ? splat(0) : part * is_known[i * m + j];
                }
            for (int64_t j = 0; j < m; j++) {
                vec own = splat(0);
                for (int64_t i = 0; i < m; i++)
                    if (i != j) own -= linear[i * m + j];
                linear[j * m + j] = own;
            }
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j <= i; j++) {
                    vec sum = splat(0);
                    for (int64_t k = 0; k < m; k++)
                        sum += linear[i * m + k] * linear[j * m + k] * (right[k] * (1 - right[k]));
                    total[i * m + j] += weights[q] * sum;
                    if (i == j) continue;
                    vec there = a[i * m + j], back = a[j * m + i], apart = there - back;
                    vec wrong_i = 1 - right[i], wrong_j = 1 - right[j];
                    vec product = apart * apart * (right[i] * wrong_i) * (right[j] * wrong_j);
                    vec alone = back * back * wrong_i * right[j] + there * there * right[i] * wrong_j;
                    edge[i * m + j] += weights[q] * (product - alone) * is_known[i * m + j];
                }
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < i; j++) {
                vec e = edge[i * m + j];
                total[i * m + i] += e;
                total[j * m + j] += e;
                total[i * m + j] -= e;
            }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j <= i; j++) {
                scatter(total[i * m + j], covariance + i * m + j, first, reps, m * m);
                scatter(total[i * m + j], covariance + j * m + i, first, reps, m * m);
            }
    }
    free(room);
    return 0;
}
