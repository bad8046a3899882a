/* Sums over persons of the Rasch model's information: `_sums` in cramer_rao.py says of what. */
#include "kernel.h"

#define PERSONS 4 /* added at a time, so that sums of squares are read and stored once for all of them */

/* own (reps, r): sum over persons of s i_k, i_k = 1/(s + odds_k)^2, s = exp(ability).
 * core (reps, r, r): sum of x_k x_l, x = i sqrt(s / (share . i)). odds, share: (reps, r). ability: (reps, n). */
KERNEL int information_sums(int64_t reps, int64_t n, int64_t r, const double *odds, const double *share,
                            const double *ability, double *own, double *core) {
    int64_t v = (r + LANES - 1) / LANES;
    vec *room = allocate((3 + PERSONS) * v + v * LANES * v);
    if (!room) return 1;
    vec *o = room, *part = o + v, *sum = part + v, *x = sum + v, *square = x + PERSONS * v;
    for (int64_t rep = 0; rep < reps; rep++, odds += r, share += r, ability += n, own += r, core += r * r) {
        for (int64_t k = 0; k < v * LANES; k++) {
            o[k / LANES][k % LANES] = k < r ? odds[k] : 1;
            part[k / LANES][k % LANES] = k < r ? share[k] : 0;
        }
        for (int64_t k = 0; k < v; k++) sum[k] = splat(0);
        for (int64_t k = 0; k < v * LANES * v; k++) square[k] = splat(0);
        for (int64_t from = 0; from < n; from += PERSONS) {
            double skill[PERSONS] = {0};
            for (int p = 0; p < PERSONS && from + p < n; p++) skill[p] = ability[from + p];
            for (int p = 0; p < PERSONS; p += LANES) store(skill + p, exponential(load(skill + p)));
            for (int p = 0; p < PERSONS; p++) {
                vec s = splat(skill[p]), total = splat(0), *own_x = x + p * v;
                if (from + p >= n) {
                    for (int64_t k = 0; k < v; k++) own_x[k] = splat(0);
                    continue;
                }
                for (int64_t k = 0; k < v; k++) {
                    vec both = s + o[k], inverse = 1 / (both * both);
                    sum[k] += s * inverse;
                    total += part[k] * inverse;
                    own_x[k] = inverse;
                }
                vec factor = splat(__builtin_sqrt(skill[p]) / __builtin_sqrt(across(total)));
                for (int64_t k = 0; k < v; k++) own_x[k] *= factor;
            }
            for (int64_t k = 0; k < v * LANES; k += 2) { /* two rows of squares, up to the diagonal */
                vec one[PERSONS], other[PERSONS], *row = square + k * v;
                for (int p = 0; p < PERSONS; p++) {
                    const double *all = (const double *)(x + p * v);
                    one[p] = splat(all[k]), other[p] = splat(all[k + 1]);
                }
                for (int64_t l = 0; l <= k / LANES; l++) {
                    vec upper = row[l], lower = row[v + l];
                    for (int p = 0; p < PERSONS; p++) {
                        upper += one[p] * x[p * v + l];
                        lower += other[p] * x[p * v + l];
                    }
                    row[l] = upper, row[v + l] = lower;
                }
            }
        }
        for (int64_t k = 0; k < r; k++) {
            own[k] = sum[k / LANES][k % LANES];
            for (int64_t l = 0; l <= k; l++) core[k * r + l] = core[l * r + k] = square[k * v + l / LANES][l % LANES];
        }
    }
    free(room);
    return 0;
}
