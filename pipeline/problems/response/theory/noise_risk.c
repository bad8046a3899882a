/* Sums over persons that give the expected counts of all pairs of items: `noise_risk.py` says how. */
#include "kernel.h"

#include <string.h>

#define PERSONS 256 /* added up before they are added to the sums: fewer roundings */
#define ITEMS 64    /* at a time */

/* wrong_i = Σ_l w_li and spread_i = Σ_l w_li (1 − w_li), w_li = d_i/(s_l + d_i), (reps, m). skill: s, (reps, n).
 * difficulty: d, (reps, m). */
KERNEL int sums(int64_t reps, int64_t n, int64_t m, const double *skill, const double *difficulty, double *wrong,
                double *spread) {
    memset(wrong, 0, (size_t)(reps * m) * sizeof *wrong);
    memset(spread, 0, (size_t)(reps * m) * sizeof *spread);
    for (int64_t r = 0; r < reps; r++, skill += n, difficulty += m, wrong += m, spread += m)
        for (int64_t first = 0; first < n; first += PERSONS)
            for (int64_t from = 0; from < m; from += ITEMS) {
                double w[ITEMS] = {0}, v[ITEMS] = {0};
                int64_t size = m - from < ITEMS ? m - from : ITEMS, end = first + PERSONS < n ? first + PERSONS : n;
                for (int64_t l = first; l < end; l++)
                    for (int64_t i = 0; i < size; i++) {
                        double one = difficulty[from + i] / (skill[l] + difficulty[from + i]);
                        w[i] += one;
                        v[i] += one * (1 - one);
                    }
                for (int64_t i = 0; i < size; i++) wrong[from + i] += w[i], spread[from + i] += v[i];
            }
    return 0;
}
