/* Stationary laws of Markov chains by elimination of states: `stationary.py` says how. */
#include "kernel.h"

#include <string.h>

#define STATES 4  /* eliminated at a time, so that the others are read once for all of them */
#define STEPS 16  /* states of a law computed between rescalings */

INLINE void add_multiple(int64_t n, double factor, const double *restrict x, double *restrict y) {
    for (int64_t j = 0; j < n; j++) y[j] += factor * x[j];
}

/* Divides n numbers by their sum, and gives it. */
INLINE double normalise(int64_t n, double *x) {
    double lanes[LANES] = {0};
    for (int64_t j = 0; j < n; j++) lanes[j % LANES] += x[j];
    double sum = across(load(lanes));
    for (int64_t j = 0; j < n; j++) x[j] /= sum;
    return sum;
}

/* y += f0 x0 + f1 x1 + f2 x2 + f3 x3, added from the left. */
INLINE void add_multiples(int64_t n, const double *f, double *const *x, double *restrict y) {
    const double *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2], *restrict x3 = x[3];
    for (int64_t j = 0; j < n; j++) y[j] = (((y[j] + f[0] * x0[j]) + f[1] * x1[j]) + f[2] * x2[j]) + f[3] * x3[j];
}

/* Censors the chain on fewer and fewer states. Keeps, for each state k: the chances of its next state below k, its rate of
 * leaving to these, and the rates at which it is entered from them. */
INLINE void eliminate(int64_t m, double *rates, double *leaving) {
    for (int64_t high = m; high > 1;) {
        int64_t n = high - 1 < STATES ? high - 1 : STATES, low = high - n;
        double *row[STATES], f[STATES];
        for (int64_t p = 0; p < n; p++) {
            int64_t k = high - 1 - p;
            row[p] = rates + k * m;
            for (int64_t q = 0; q < p; q++) add_multiple(high - 1 - q, row[p][high - 1 - q], row[q], row[p]);
            leaving[k] = normalise(k, row[p]);
        }
        for (int64_t i = 0; i < low; i++) {
            double *from = rates + i * m;
            for (int64_t p = 0; p < n; p++) {
                int64_t k = high - 1 - p;
                for (int64_t q = 0; q < p; q++) from[k] += f[q] * row[q][k];
                f[p] = from[k];
            }
            if (n == STATES) add_multiples(low, f, row, from);
            else
                for (int64_t p = 0; p < n; p++) add_multiple(low, f[p], row[p], from);
        }
        high = low;
    }
}

/* Laws (reps, m) of the chains with rates (reps, m, m), which are overwritten. */
KERNEL int stationary(int64_t reps, int64_t m, double *rates, double *law) {
    double *leaving = malloc(2 * (size_t)m * sizeof *leaving), *entering = leaving + m;
    if (!leaving) return 1;
    for (int64_t r = 0; r < reps; r++, rates += m * m, law += m) {
        eliminate(m, rates, leaving);
        memcpy(entering, rates, (size_t)m * sizeof *rates);
        law[0] = 1;
        for (int64_t k = 1; k < m; k++) {
            law[k] = entering[k] / leaving[k];
            add_multiple(m - k - 1, law[k], rates + k * m + k + 1, entering + k + 1);
            if (k % STEPS && k < m - 1) continue;
            double most = 0;
            for (int64_t j = 0; j <= k; j++) most = law[j] > most ? law[j] : most;
            for (int64_t j = 0; j <= k; j++) law[j] /= most;
            for (int64_t j = k + 1; j < m; j++) entering[j] /= most;
        }
    }
    free(leaving);
    return 0;
}
