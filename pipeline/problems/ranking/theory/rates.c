/* sigma(theta_i - theta_j) for i < j, row by row: theta (reps, m), out (reps, m (m - 1) / 2). Chances below 1e-307 are
 * 3e-308. */
#include "kernel.h"

KERNEL int win_probabilities(int64_t reps, int64_t m, const double *theta, double *out) {
    for (int64_t r = 0; r < reps; r++, theta += m)
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = i + 1; j < m; j += LANES) {
                int64_t left = m - j < LANES ? m - j : LANES;
                vec other = {0};
                if (left == LANES) other = load(theta + j);
                else for (int l = 0; l < left; l++) other[l] = theta[j + l];
                vec chance = 1 / (1 + exponential(other - theta[i]));
                if (left == LANES) store(out, chance);
                else for (int l = 0; l < left; l++) out[l] = chance[l];
                out += left;
            }
        }
    return 0;
}
