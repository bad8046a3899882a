/* Sums over persons that give the expected counts of all pairs of items: `noise_risk.py` says how. */
#include "kernel.h"

#include <string.h>

#define PERSONS 256 /* added up before they are added to the sums: fewer roundings */
#define ITEMS 64    /* at a time */

/* wrong_i = Σ_l d_i/(s_l + d_i), right_i = Σ_l s_l/(s_l + d_i), and spread_i, the sum of their products, (reps, m).
 * skill: s, (reps, n). difficulty: d, (reps, m). */
KERNEL int sums(int64_t reps, int64_t n, int64_t m, const double *skill, const double *difficulty, double *wrong,
                double *right, double *spread) {
    memset(wrong, 0, (size_t)(reps * m) * sizeof *wrong);
    memset(right, 0, (size_t)(reps * m) * sizeof *right);
    memset(spread, 0, (size_t)(reps * m) * sizeof *spread);
    for (int64_t r = 0; r < reps; r++, skill += n, difficulty += m, wrong += m, right += m, spread += m)
        for (int64_t first = 0; first < n; first += PERSONS)
            for (int64_t from = 0; from < m; from += ITEMS) {
                double w[ITEMS] = {0}, u[ITEMS] = {0}, v[ITEMS] = {0};
                int64_t size = m - from < ITEMS ? m - from : ITEMS, end = first + PERSONS < n ? first + PERSONS : n;
                for (int64_t l = first; l < end; l++)
                    for (int64_t i = 0; i < size; i++) {
                        double inverse = 1 / (skill[l] + difficulty[from + i]);
                        double no = difficulty[from + i] * inverse, yes = skill[l] * inverse;
                        w[i] += no;
                        u[i] += yes;
                        v[i] += no * yes;
                    }
                for (int64_t i = 0; i < size; i++) {
                    wrong[from + i] += w[i];
                    right[from + i] += u[i];
                    spread[from + i] += v[i];
                }
            }
    return 0;
}
