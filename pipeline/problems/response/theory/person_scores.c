/* Sum over persons of ψψᵀ, of estimating equations from counts of pairs: `person_scores.py` says what ψ is.
 * LANES persons at a time, one in each lane. */
#include "kernel.h"

/* answers, observed: (reps, n, m), 0 or 1; where `some` is 0 everything is observed, and `observed` is not read.
 * weight: a, (reps, m, m). hit, miss: unbiased number of right answers where the released one is right, or is not.
 * covariance: (reps, m, m). */
KERNEL int scores(int64_t reps, int64_t n, int64_t m, int64_t some, const uint8_t *answers, const uint8_t *observed,
                  const double *weight, double hit, double miss, double *covariance) {
    vec *room = allocate(3 * m + m * m);
    if (!room) return 1;
    vec *right = room, *wrong = right + m, *part = wrong + m, *total = part + m;
    for (int64_t r = 0; r < reps; r++, weight += m * m, covariance += m * m, answers += n * m, observed += some ? n * m : 0) {
        for (int64_t e = 0; e < m * m; e++) total[e] = splat(0);
        for (int64_t first = 0; first < n; first += LANES) {
            ivec is_person = {0};
            for (int l = 0; l < LANES; l++) is_person[l] = first + l < n ? -1 : 0;
            for (int64_t i = 0; i < m; i++) {
                vec is_right = {0}, there = {0};
                for (int l = 0; l < LANES; l++) {
                    int64_t at = (first + l < n ? first + l : n - 1) * m + i;
                    is_right[l] = answers[at];
                    there[l] = some ? observed[at] : 1;
                }
                vec x = miss + (hit - miss) * is_right;
                there = keep(is_person, there);
                right[i] = x * there;
                wrong[i] = (1 - x) * there;
            }
            for (int64_t i = 0; i < m; i++) {
                vec gained = splat(0), lost = splat(0);
                for (int64_t j = 0; j < m; j++) {
                    gained += right[j] * weight[j * m + i];
                    lost += wrong[j] * weight[i * m + j];
                }
                part[i] = wrong[i] * gained - right[i] * lost;
            }
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j <= i; j++) total[i * m + j] += part[i] * part[j];
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j <= i; j++)
                covariance[i * m + j] = covariance[j * m + i] = across(total[i * m + j]);
    }
    free(room);
    return 0;
}
