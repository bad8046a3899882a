/* Traces of the inverse Laplacians of `risk.py`, LANES replications side by side: a vector holds one item of each. */
#include "kernel.h"

#define WORST_CONDITION 1e12

/* a: lower triangle, row by row. */
INLINE vec *row(vec *a, int64_t i) { return a + i * (i + 1) / 2; }

/* sum of a[k] b[k], k = 0, …, n - 1 */
INLINE vec dot(int64_t n, const vec *a, const vec *b) {
    vec even = {0}, odd = {0};
    int64_t k = 0;
    for (; k + 1 < n; k += 2) even += a[k] * b[k], odd += a[k + 1] * b[k + 1];
    if (k < n) even += a[k] * b[k];
    return even + odd;
}

/* Weights of pairs, diagonal 0 -> Laplacian + 2 ridge I, whose eigenvector 1 is lifted to the mean eigenvalue `lift`. */
INLINE vec laplacian(int64_t m, vec *a, vec ridge, vec *degree) {
    vec lift = {0};
    for (int64_t i = 0; i < m; i++) degree[i] = (vec){0};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++) degree[i] += row(a, i)[j], degree[j] += row(a, i)[j];
    for (int64_t i = 0; i < m; i++) lift += degree[i];
    lift = lift / (double)m + 2 * ridge;
    for (int64_t i = 0; i < m; i++) {
        vec *own = row(a, i);
        for (int64_t j = 0; j < i; j++) own[j] = lift / (double)m - own[j];
        own[i] = lift / (double)m + degree[i] + 2 * ridge;
    }
    return lift;
}

/* to[j] += sum of shares[k] a[k][j] over rows k = first, …, last - 1, j < rows' length, at most n. Four rows at a time:
 * memory costs more than arithmetic. shares[k] is a[k][column], or own[k] if that is given. */
INLINE void add_rows(vec *a, int64_t first, int64_t last, int64_t n, const vec *own, int64_t column, vec *to) {
    int64_t k = first;
    for (; k + 3 < last; k += 4) {
        vec *one = row(a, k), *two = row(a, k + 1), *three = row(a, k + 2), *four = row(a, k + 3);
        vec p = own ? own[k] : one[column], q = own ? own[k + 1] : two[column];
        vec r = own ? own[k + 2] : three[column], s = own ? own[k + 3] : four[column];
        int64_t common = n < k + 1 ? n : k + 1;
        for (int64_t j = 0; j < common; j++) to[j] += (p * one[j] + q * two[j]) + (r * three[j] + s * four[j]);
        if (n > k + 1) to[k + 1] += (q * two[k + 1] + r * three[k + 1]) + s * four[k + 1];
        if (n > k + 2) to[k + 2] += r * three[k + 2] + s * four[k + 2];
        if (n > k + 3) to[k + 3] += s * four[k + 3];
    }
    for (; k < last; k++) {
        vec *one = row(a, k), p = own ? own[k] : one[column];
        for (int64_t j = 0; j < (n < k + 1 ? n : k + 1); j++) to[j] += p * one[j];
    }
}

/* In place the inverse of the Cholesky factor; whether the matrix was positive definite. room: (m,). */
INLINE ivec invert_factor(int64_t m, vec *a, vec *room) {
    ivec definite = splat(0) == 0;
    for (int64_t first = 0; first < m; first += 4) { /* four rows at a time, up to the columns of the first of them */
        if (first + 3 < m) {
            vec *one = row(a, first), *two = row(a, first + 1), *three = row(a, first + 2), *four = row(a, first + 3);
            for (int64_t j = 0; j < first; j++) {
                vec *other = row(a, j), p = one[j], q = two[j], r = three[j], s = four[j];
                for (int64_t k = 0; k < j; k++) {
                    p -= one[k] * other[k], q -= two[k] * other[k];
                    r -= three[k] * other[k], s -= four[k] * other[k];
                }
                one[j] = p * other[j], two[j] = q * other[j], three[j] = r * other[j], four[j] = s * other[j];
            }
        }
        for (int64_t i = first; i < first + 4 && i < m; i++) { /* the diagonal holds inverses */
            vec *own = row(a, i);
            for (int64_t j = first + 3 < m ? first : 0; j < i; j++)
                own[j] = (own[j] - dot(j, own, row(a, j))) * row(a, j)[j];
            vec left = own[i] - dot(i, own, own);
            definite &= left > 0;
            own[i] = 1 / root(left);
        }
    }
    for (int64_t i = 1; i < m; i++) {
        vec *own = row(a, i);
        for (int64_t j = 0; j < i; j++) room[j] = (vec){0};
        add_rows(a, 0, i, i, own, 0, room);
        for (int64_t j = 0; j < i; j++) own[j] = -own[i] * room[j];
    }
    return definite;
}

/* theta (reps, m), ridge (reps,) -> sandwich, cramer_rao (reps,), those with wanted[0], wanted[1].
 * own, privacy: the variance of a comparison is own w + privacy; users, noise (groups,): the information of a pair is
 * the sum of users w² / (w + noise). Arrays that are not wanted may be of any length. */
INLINE void risks_of(int64_t m, vec *theta, vec ridge, double own, double privacy, int64_t groups, const double *users,
                     const double *noise, const uint8_t *wanted, vec *room, vec *sandwich, vec *cramer_rao) {
    vec *odds = room, *degree = odds + m, *work = degree + m, *image = work + m, *weights = image + m;
    vec *a = weights + m * (m + 1) / 2, high = theta[0], low = theta[0];
    for (int64_t i = 1; i < m; i++) high = larger(theta[i], high), low = smaller(theta[i], low);
    for (int64_t i = 0; i < m; i++) odds[i] = exponential(theta[i] - (high + low) / 2);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < i; j++) {
            vec inverse = 1 / (odds[i] + odds[j]);
            row(weights, i)[j] = (odds[i] * inverse) * (odds[j] * inverse);
        }
        row(weights, i)[i] = (vec){0};
    }
    if (wanted[0]) {
        for (int64_t k = 0; k < m * (m + 1) / 2; k++) a[k] = weights[k];
        vec lift = laplacian(m, a, ridge, degree), trace = {0}, square = {0}, bias = {0}, sum = {0};
        ivec definite = invert_factor(m, a, work);
        for (int64_t k = 0; k < m * (m + 1) / 2; k++) trace += a[k] * a[k];
        for (int64_t i = 0; i < m; i++) { /* the inverse is the factor's transpose times it */
            for (int64_t j = 0; j <= i; j++) work[j] = (vec){0};
            add_rows(a, i, m, i + 1, NULL, i, work);
            square += work[i] * work[i];
            for (int64_t j = 0; j < i; j++) square += 2 * (work[j] * work[j]);
        }
        for (int64_t i = 0; i < m; i++) image[i] = (vec){0}, sum += theta[i];
        for (int64_t i = 0; i < m; i++) {
            vec *one = row(a, i), along = dot(i + 1, one, theta);
            for (int64_t j = 0; j <= i; j++) image[j] += one[j] * along;
        }
        vec lifted = 1 / (lift + 2 * ridge); /* the eigenvalue of the vector 1 is taken away again */
        for (int64_t i = 0; i < m; i++) {
            vec one = 2 * ridge * (image[i] - lifted * sum / (double)m);
            bias += one * one;
        }
        trace -= lifted, square -= lifted * lifted;
        definite &= (trace * lift > 0) & (trace * lift < WORST_CONDITION);
        vec variance = own * trace + (privacy * (double)m - 2 * own * ridge) * square;
        *sandwich = choose(definite, (variance + bias) / (double)m, splat(__builtin_nan("")));
    }
    if (wanted[1]) {
        for (int64_t k = 0; k < m * (m + 1) / 2; k++) {
            vec sum = {0};
            for (int64_t l = 0; l < groups; l++) sum += users[l] * weights[k] / (weights[k] + noise[l]);
            a[k] = sum * weights[k];
        }
        vec lift = laplacian(m, a, splat(0), degree), trace = {0};
        ivec definite = invert_factor(m, a, work);
        for (int64_t k = 0; k < m * (m + 1) / 2; k++) trace += a[k] * a[k];
        trace -= 1 / lift;
        definite &= (trace * lift > 0) & (trace * lift < WORST_CONDITION);
        *cramer_rao = choose(definite, trace / (double)m, splat(__builtin_nan("")));
    }
}

/* A = (Laplacian + 2 ridge I) without the vector 1, inverted -> the diagonal of A V A, the image A theta; (m,) each.
 * V is the Laplacian with weights own w + privacy, so that A V A = own A + (privacy m - 2 own ridge) A². */
INLINE void variances_of(int64_t m, vec *theta, vec ridge, double own, double privacy, vec *room, vec *variance,
                         vec *image) {
    vec *odds = room, *degree = odds + m, *work = degree + m, *a = work + m;
    vec high = theta[0], low = theta[0], trace = {0}, sum = {0};
    for (int64_t i = 1; i < m; i++) high = larger(theta[i], high), low = smaller(theta[i], low);
    for (int64_t i = 0; i < m; i++) odds[i] = exponential(theta[i] - (high + low) / 2);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < i; j++) {
            vec inverse = 1 / (odds[i] + odds[j]);
            row(a, i)[j] = (odds[i] * inverse) * (odds[j] * inverse);
        }
        row(a, i)[i] = (vec){0};
    }
    vec lift = laplacian(m, a, ridge, degree);
    ivec definite = invert_factor(m, a, work);
    vec lifted = 1 / (lift + 2 * ridge), of_square = privacy * (double)m - 2 * own * ridge;
    for (int64_t i = 0; i < m; i++) variance[i] = (vec){0}, image[i] = (vec){0}, sum += theta[i];
    for (int64_t i = 0; i < m; i++) { /* the inverse is the factor's transpose times it */
        for (int64_t j = 0; j <= i; j++) work[j] = (vec){0};
        add_rows(a, i, m, i + 1, NULL, i, work);
        trace += work[i];
        for (int64_t j = 0; j < i; j++) {
            vec square = of_square * (work[j] * work[j]);
            variance[i] += square, variance[j] += square;
            image[i] += work[j] * theta[j], image[j] += work[j] * theta[i];
        }
        variance[i] += own * work[i] + of_square * (work[i] * work[i]);
        image[i] += work[i] * theta[i];
    }
    trace -= lifted;
    definite &= (trace * lift > 0) & (trace * lift < WORST_CONDITION);
    vec of_one = (own * lifted + of_square * (lifted * lifted)) / (double)m, unknown = splat(__builtin_nan(""));
    for (int64_t i = 0; i < m; i++) { /* the eigenvalue of the vector 1 is taken away again */
        variance[i] = choose(definite, variance[i] - of_one, unknown);
        image[i] = choose(definite, image[i] - lifted * sum / (double)m, unknown);
    }
}

KERNEL int variances(int64_t m, int64_t reps, const double *theta, const double *ridge, double own, double privacy,
                     double *variance, double *image) {
    vec *x = allocate(6 * m + m * (m + 1) / 2);
    if (!x) return 1;
    vec *of_item = x + m, *along = of_item + m, *room = along + m;
    for (int64_t first = 0; first < reps; first += LANES) {
        vec lambda = {0};
        int64_t count = reps - first < LANES ? reps - first : LANES;
        for (int64_t l = 0; l < LANES; l++) { /* the last one again where there are no more */
            int64_t one = first + (l < count ? l : count - 1);
            for (int64_t i = 0; i < m; i++) x[i][l] = theta[one * m + i];
            lambda[l] = ridge[one];
        }
        variances_of(m, x, lambda, own, privacy, room, of_item, along);
        for (int64_t l = 0; l < count; l++)
            for (int64_t i = 0; i < m; i++) {
                variance[(first + l) * m + i] = of_item[i][l];
                image[(first + l) * m + i] = along[i][l];
            }
    }
    free(x);
    return 0;
}

KERNEL int risks(int64_t m, int64_t reps, const double *theta, const double *ridge, double own, double privacy,
                 int64_t groups, const double *users, const double *noise, const uint8_t *wanted, double *sandwich,
                 double *cramer_rao) {
    vec *x = allocate(5 * m + m * (m + 1));
    if (!x) return 1;
    for (int64_t first = 0; first < reps; first += LANES) {
        vec lambda = {0}, predicted = {0}, bound = {0};
        int64_t count = reps - first < LANES ? reps - first : LANES;
        for (int64_t l = 0; l < LANES; l++) { /* the last one again where there are no more */
            int64_t one = first + (l < count ? l : count - 1);
            for (int64_t i = 0; i < m; i++) x[i][l] = theta[one * m + i];
            lambda[l] = ridge[one];
        }
        risks_of(m, x, lambda, own, privacy, groups, users, noise, wanted, x + m, &predicted, &bound);
        for (int64_t l = 0; l < count; l++) {
            if (wanted[0]) sandwich[first + l] = predicted[l];
            if (wanted[1]) cramer_rao[first + l] = bound[l];
        }
    }
    free(x);
    return 0;
}
