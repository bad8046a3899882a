/* Truncated Newton for eq. (3) of Xu, Sun and Cheng; `newton.py` says what it solves and why it converges.
 *
 * One code for two layouts. Few items: LANES replications side by side, a vector holds one item of each. Many items
 * (`one`): one replication at a time, a vector holds LANES items, the last ones padded. Numbers of a replication, such
 * as its step length, then stand in all lanes. Each lane goes its own way, so that results do not depend on the batch.
 */
#include "kernel.h"

#define FAR_START 200.0 /* score range / ridge from which minimisers may be far into the tails (measured) */
#define FAR_ITEMS 300.0 /* e^(-2x) would not be finite */
#define USABLE 1e50
#define ACCURACY 1e-6 /* of a minimiser, relative to 1 logit and the range of its scores */

typedef struct {
    int one;              /* layout */
    int64_t m, n;         /* items; vectors of a vector over all items */
    vec *weight;          /* of the edges of pairs i < j; (m, n - i / LANES) or m (m - 1) / 2 vectors, row by row */
    const ivec *position; /* `one`: numbers of the items, -1 where there is none */
} graph;

INLINE vec total(int one, vec x) { return one ? splat(across(x)) : x; }

INLINE vec dot(const graph *g, const vec *a, const vec *b) {
    vec sum = {0};
    for (int64_t i = 0; i < g->n; i++) sum += a[i] * b[i];
    return total(g->one, sum);
}

/* The items that a vector holds: all but the padding. */
INLINE vec items_only(const graph *g, int64_t i, vec x) { return g->one ? keep(g->position[i] >= 0, x) : x; }

INLINE void centre(const graph *g, vec *a) {
    vec sum = {0};
    for (int64_t i = 0; i < g->n; i++) sum += a[i];
    sum = total(g->one, sum) / (double)g->m;
    for (int64_t i = 0; i < g->n; i++) a[i] = items_only(g, i, a[i] - sum);
}

INLINE void extremes(const graph *g, const vec *a, vec *low, vec *high) {
    vec less = a[0], more = a[0]; /* padding is in the last vector only and takes the place of the first */
    for (int64_t i = 1; i < g->n; i++) {
        vec x = g->one ? choose(g->position[i] >= 0, a[i], a[0]) : a[i];
        less = smaller(x, less), more = larger(x, more);
    }
    *low = g->one ? splat(least(less)) : less;
    *high = g->one ? splat(greatest(more)) : more;
}

/* Half of sigma(x_i - x_j) - sigma(x_j - x_i), and the weight sigma(x_i - x_j) sigma(x_j - x_i) of the pair. */
INLINE vec pair(int far, ivec beyond, vec x, vec u, vec y, vec v, vec *weight) {
    vec inverse = 1 / (u + v), win = u * inverse, lose = v * inverse;
    if (far) {
        vec gap = x - y, e = exponential(-magnitude(gap)), large = 1 / (1 + e), small = e * large;
        ivec ahead = gap > 0;
        win = choose(beyond, choose(ahead, large, small), win);
        lose = choose(beyond, choose(ahead, small, large), lose);
    }
    *weight = win * lose;
    return 0.5 * (win - lose);
}

/* wins_i = sum of sigma(x_i - x_j) - 1/2 over j; the weights, and their sums, the degrees. u: room. */
INLINE void pair_sums(const graph *g, int far, ivec beyond, const vec *x, const vec *u, vec *wins, vec *degree) {
    vec *weight = g->weight;
    for (int64_t i = 0; i < g->n; i++) wins[i] = degree[i] = (vec){0};
    for (int64_t i = 0; i < g->m; i++) {
        int64_t block = g->one ? i / LANES : i + 1;
        vec own = g->one ? splat(x[block][i % LANES]) : x[i], power = g->one ? splat(u[block][i % LANES]) : u[i];
        vec won = {0}, sum = {0};
        for (int64_t j = block; j < g->n; j++) {
            vec w, half = pair(far, beyond, own, power, x[j], u[j], &w);
            if (g->one) half = keep(g->position[j] > i, half), w = keep(g->position[j] > i, w);
            won += half, sum += w;
            wins[j] -= half, degree[j] += w;
            *weight++ = w;
        }
        if (g->one) {
            wins[block][i % LANES] += across(won), degree[block][i % LANES] += across(sum);
        } else {
            wins[i] += won, degree[i] += sum;
        }
    }
}

/* image = (Laplacian + curve) x */
INLINE void multiply(const graph *g, vec curve, const vec *x, vec *image) {
    const vec *weight = g->weight;
    for (int64_t i = 0; i < g->n; i++) image[i] = curve * x[i];
    for (int64_t i = 0; i < g->m; i++) {
        int64_t block = g->one ? i / LANES : i + 1;
        vec own = g->one ? splat(x[block][i % LANES]) : x[i], sum = {0};
        for (int64_t j = block; j < g->n; j++) {
            vec flow = *weight++ * (own - x[j]);
            sum += flow;
            image[j] -= flow;
        }
        if (g->one) image[block][i % LANES] += across(sum);
        else image[i] += sum;
    }
}

/* Newton step by diagonally preconditioned conjugate gradients in the subspace of sum 0, truncated at a residual of
 * 0.1 min(1, norm) norm: superlinear; the slope along p stays -p'Hp, as for the exact step. `scale` comes as degrees;
 * residual, direction, image are room. */
INLINE void newton_step(const graph *g, vec curve, const vec *gradient, vec norm, vec tolerance, ivec active,
                        vec *scale, vec *residual, vec *direction, vec *image, vec *step) {
    vec target = larger(0.1 * smaller(norm, splat(1)) * norm, tolerance / 10), before = splat(1);
    for (int64_t i = 0; i < g->n; i++) {
        scale[i] = items_only(g, i, 1 / larger(scale[i] + curve, splat(1 / USABLE)));
        residual[i] = -gradient[i];
        step[i] = direction[i] = (vec){0};
    }
    for (int64_t k = 0; k < g->m + 5; k++) {
        ivec rough = active & (root(dot(g, residual, residual)) > target);
        if (!any_set(rough)) break;
        vec *scaled = image; /* until the product */
        for (int64_t i = 0; i < g->n; i++) scaled[i] = residual[i] * scale[i];
        centre(g, scaled);
        vec rho = dot(g, residual, scaled), share = keep(rho > 0, rho / before); /* 0/0 if solved exactly */
        for (int64_t i = 0; i < g->n; i++) direction[i] = share * direction[i] + scaled[i];
        multiply(g, curve, direction, image);
        vec curvature = dot(g, direction, image), alpha = keep(rough & (curvature > 0), rho / curvature);
        if (!any_set(alpha != 0)) break;
        for (int64_t i = 0; i < g->n; i++) {
            step[i] += alpha * direction[i];
            residual[i] -= alpha * image[i];
        }
        before = rho;
    }
}

/* The norm of a gradient below which a minimiser is accurate for certain. The objective's curvature, at scores of this
 * range r, is that of the ridge and at least that of a complete graph whose edges all weigh sigma(r) sigma(-r). */
INLINE vec surely_small(int64_t m, vec curve, vec range) {
    vec e = exponential(-range), lose = e / (1 + e), weight = lose * (1 - lose);
    return ACCURACY * (1 + range) * (curve + (double)m * weight);
}

typedef struct {
    double value;
    int64_t item;
} score;

static int by_value(const void *a, const void *b) {
    double x = ((const score *)a)->value, y = ((const score *)b)->value;
    return (x > y) - (x < y);
}

/* Are sorted, centred scores inside the permutahedron? Then, and only then, a ridge of 0 has a minimum. Landau: any k
 * items are compared k (k - 1) / 2 times among themselves, so that any k scores must sum to more. */
static int inside(int64_t m, const score *sorted, double margin) {
    double sum = 0;
    for (int64_t k = 1; k < m; k++) {
        sum += sorted[k - 1].value;
        if (!(sum + (double)(k * (m - k)) / 2 > margin)) return 0;
    }
    return 1;
}

/* Centred scores minus their projection on the permutahedron: the limit of 2 lambda theta as lambda -> 0. Isotonic
 * regression of the sorted scores by pooling neighbours (Lim and Wright 2016). mean, last: room for m. */
static void excess(int64_t m, const score *sorted, double *mean, int64_t *last, double *found, int64_t stride) {
    int64_t pools = 0;
    double sum = 0;
    for (int64_t k = 0; k < m; k++, pools++) {
        mean[pools] = sorted[k].value + (double)(m - 1) / 2 - (double)k; /* non-decreasing means are wanted */
        last[pools] = k;
        for (; pools > 0 && mean[pools - 1] >= mean[pools]; pools--) {
            int64_t start = pools > 1 ? last[pools - 2] + 1 : 0, middle = last[pools - 1] + 1;
            mean[pools - 1] = (mean[pools - 1] * (double)(middle - start) + mean[pools] * (double)(k + 1 - middle)) /
                              (double)(k + 1 - start);
            last[pools - 1] = k;
        }
    }
    for (int64_t p = 0, k = 0; p < pools; p++)
        for (; k <= last[p]; k++) sum += found[sorted[k].item * stride] = mean[p];
    for (int64_t k = 0; k < m; k++) found[k * stride] -= sum / (double)m;
}

/* Results of the replications whose lanes stop. */
INLINE void write_out(const graph *g, const vec *x, ivec stop, ivec done, int64_t k, vec norm, int64_t count,
                      const int64_t *rows, double *theta, uint8_t *converged, int64_t *iterations,
                      double *gradient_norm) {
    for (int64_t r = 0; r < count; r++) {
        if (!stop[r]) continue;
        for (int64_t i = 0; i < g->m; i++)
            theta[rows[r] * g->m + i] = g->one ? x[i / LANES][i % LANES] : x[i][r];
        converged[rows[r]] = done[r] != 0, iterations[rows[r]] = k, gradient_norm[rows[r]] = norm[r];
    }
}

/* One slice: the scores in s, (n,) vectors, come centred; rows: the replications, `count` of them, in the lanes. */
INLINE void solve(const graph *g, vec *room, const vec *s, vec curve, ivec exists, vec *base, double tolerance,
                  int64_t limit, int64_t count, const int64_t *rows, double *theta, uint8_t *converged,
                  int64_t *iterations, double *gradient_norm) {
    int64_t n = g->n, m = g->m;
    vec *x = room, *u = x + n, *gradient = u + n, *scale = gradient + n, *residual = scale + n;
    vec *direction = residual + n, *image = direction + n, *newton = image + n, *step = newton + n;
    vec size = root(dot(g, s, s)), descent = {0}, length = {0}, safe = splat(1);
    vec lowest = splat(1e300); /* norm of the gradient in the iteration before, if that was small enough */
    ivec active = {0};
    for (int64_t l = 0; l < LANES; l++) active[l] = g->one || l < count ? -1 : 0;
    for (int64_t i = 0; i < n; i++) x[i] = base[i], step[i] = (vec){0};
    for (int64_t k = 1; k <= limit; k++) {
        vec low, high;
        extremes(g, x, &low, &high);
        vec middle = (low + high) / 2;
        ivec beyond = ~(high - middle < FAR_ITEMS); /* NaN, too */
        for (int64_t i = 0; i < n; i++) u[i] = items_only(g, i, exponential(x[i] - middle));
        if (any_set(beyond & active)) pair_sums(g, 1, beyond, x, u, gradient, scale);
        else pair_sums(g, 0, beyond, x, u, gradient, scale);
        for (int64_t i = 0; i < n; i++) gradient[i] = gradient[i] - s[i] + curve * x[i];
        centre(g, gradient);
        vec norm = root(dot(g, gradient, gradient));
        vec far = root(dot(g, x, x)), rounding = 4 * 0x1p-52 * (size + ((double)m / 4 + curve) * far);
        vec range = high - low, sure = surely_small(m, curve, range);
        ivec flat = exists & (norm <= larger(splat(tolerance), rounding));
        /* What rounds along a valley: what pairs add to the gradients of two items cancels in their sum. */
        ivec visible = 0x1p-52 * (size + curve * far) <= sure, done = flat & visible & (norm <= sure);
        ivec stop = active & (done | ~exists);
        if (k == limit) stop = active;
        if (any_set(stop)) {
            write_out(g, x, stop, done, k, norm, count, rows, theta, converged, iterations, gradient_norm);
            active &= ~stop;
            if (!any_set(active)) return;
        }
        /* By convexity a trial that is still on a descending slope has decreased the objective. */
        vec slope = dot(g, gradient, step);
        ivec accept = (length <= safe) | (slope <= 0), doubtful = active & accept & flat;
        vec exact = choose(doubtful, smaller(sure, splat(tolerance)), splat(tolerance));
        newton_step(g, curve, gradient, norm, exact, active & accept, scale, residual, direction, image, newton);
        if (any_set(doubtful)) { /* as in flat valleys: the step says how far it is to the minimum */
            extremes(g, newton, &low, &high);
            done = doubtful & visible & (high - low <= ACCURACY / 10 * (1 + range));
            stop = done | (doubtful & (norm <= rounding) & ~(norm < lowest / 2)); /* or steps gain nothing more */
            lowest = choose(doubtful, norm, lowest);
            write_out(g, x, stop, done, k, norm, count, rows, theta, converged, iterations, gradient_norm);
            active &= ~stop;
            if (!any_set(active)) return;
        }
        for (int64_t i = 0; i < n; i++) base[i] = choose(accept, x[i], base[i]);
        for (int64_t i = 0; i < n; i++) step[i] = choose(accept, newton[i], step[i]);
        extremes(g, step, &low, &high);
        vec radius = high - low, bound = splat(1);
        if (any_set(radius > 1)) bound = choose(radius > 1, logarithm_1p(radius) / radius, bound);
        safe = bound;
        vec secant = length * larger(descent / (descent + slope), splat(0.25)); /* where the slope should vanish */
        length = choose(accept, splat(1), larger(safe, smaller(secant, 0.9 * length)));
        descent = choose(accept, -dot(g, gradient, newton), descent);
        for (int64_t i = 0; i < n; i++) x[i] = base[i] + length * step[i];
    }
}

/* Scores (reps, m), ridge (reps,) -> theta (reps, m), converged, iterations, gradient_norm (reps,). `rows`: the usable
 * replications. Scores of others are not read. many: items from which one replication is solved at a time. */
INLINE int minimise_all(int one, int64_t m, int64_t usable, const int64_t *rows, const double *scores,
                        const double *ridge, double tolerance, int64_t limit, double *theta, uint8_t *converged,
                        int64_t *iterations, double *gradient_norm) {
    graph g = {.one = one, .m = m, .n = one ? (m + LANES - 1) / LANES : m};
    int64_t n = g.n, edges = one ? 0 : m * (m - 1) / 2;
    for (int64_t i = 0; one && i < m; i++) edges += n - i / LANES;
    vec *memory = allocate(edges + 12 * n);
    score *sorted = malloc((size_t)m * sizeof(score));
    double *mean = malloc((size_t)m * sizeof(double));
    int64_t *last = malloc((size_t)m * sizeof(int64_t));
    int failed = !memory || !sorted || !mean || !last;
    vec *s = memory, *base = s + n, *room = base + n;
    ivec *position = (ivec *)(room + 9 * n);
    g.weight = (vec *)position + n, g.position = position;
    for (int64_t i = 0; !failed && i < n; i++)
        for (int64_t l = 0; l < LANES; l++) position[i][l] = i * LANES + l < m ? i * LANES + l : -1;
    for (int64_t first = 0; !failed && first < usable; first += one ? 1 : LANES) {
        int64_t count = one ? 1 : (usable - first < LANES ? usable - first : LANES);
        vec curve = splat(2);
        ivec exists = splat(0) == 0;
        for (int64_t i = 0; i < n; i++) s[i] = (vec){0};
        for (int64_t r = 0; r < count; r++) {
            const double *from = scores + rows[first + r] * m;
            for (int64_t i = 0; i < m; i++) s[one ? i / LANES : i][one ? i % LANES : r] = from[i];
            curve[r] = 2 * ridge[rows[first + r]];
        }
        if (one) curve = splat(curve[0]);
        centre(&g, s);
        /* The exact Newton step from 0, where the Laplacian is m/4 in the subspace. */
        for (int64_t i = 0; i < n; i++) base[i] = s[i] / ((double)m / 4 + curve);
        vec low, high;
        extremes(&g, s, &low, &high);
        ivec far = (high - low) > FAR_START / 2 * curve;
        for (int64_t r = 0; r < count; r++) {
            if (!far[r]) continue; /* a ridge of 0 as well, unless all scores are equal */
            for (int64_t i = 0; i < m; i++)
                sorted[i] = (score){one ? s[i / LANES][i % LANES] : s[i][r], i};
            qsort(sorted, (size_t)m, sizeof(score), by_value);
            if (inside(m, sorted, tolerance)) continue;
            if (curve[r] == 0) {
                exists[r] = 0;
                continue;
            }
            double *start = one ? (double *)base : (double *)base + r;
            excess(m, sorted, mean, last, start, one ? 1 : LANES);
            for (int64_t i = 0; i < m; i++) start[i * (one ? 1 : LANES)] /= curve[r];
        }
        if (one) exists = splat((double)exists[0]) != 0;
        solve(&g, room, s, curve, exists, base, tolerance, limit, count, rows + first, theta, converged, iterations,
              gradient_norm);
    }
    free(memory), free(sorted), free(mean), free(last);
    return failed;
}

KERNEL int minimise(int64_t many, int64_t m, int64_t usable, const int64_t *rows, const double *scores,
                    const double *ridge, double tolerance, int64_t limit, double *theta, uint8_t *converged,
                    int64_t *iterations, double *gradient_norm) {
    if (m >= many)
        return minimise_all(1, m, usable, rows, scores, ridge, tolerance, limit, theta, converged, iterations,
                            gradient_norm);
    return minimise_all(0, m, usable, rows, scores, ridge, tolerance, limit, theta, converged, iterations,
                        gradient_norm);
}

/* Means of pairs (reps, m (m - 1) / 2), row by row of the upper triangle -> scores (reps, m): an item's own share of
 * every pair, 1 - mean for the second of it. */
KERNEL int pair_scores(int64_t m, int64_t reps, const double *mean, double *scores) {
    for (int64_t r = 0; r < reps; r++, scores += m) {
        for (int64_t i = 0; i < m; i++) scores[i] = (double)i;
        for (int64_t i = 0; i + 1 < m; mean += m - 1 - i, i++) {
            vec sums = {0};
            double sum = 0;
            int64_t others = m - 1 - i, j = 0;
            for (; j + LANES <= others; j += LANES) {
                vec x = load(mean + j);
                sums += x;
                store(scores + i + 1 + j, load(scores + i + 1 + j) - x);
            }
            for (; j < others; j++) {
                sum += mean[j];
                scores[i + 1 + j] -= mean[j];
            }
            scores[i] += sum + across(sums);
        }
    }
    return 0;
}
