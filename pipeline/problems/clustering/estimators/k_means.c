/* k-means of points in space: starts by k-means++ and from far points, Lloyd's steps, and the best of all starts.
 *
 * Distances and sums are computed in the order in which SciPy's kmeans2 has them where there are fewer than five
 * dimensions, so clusters are the same, also where several are equally good.
 */
#include "kernel.h"

#include <string.h>

#define LESS (1 - 1e-9) /* of a spread, which the last start must have not to be one of those before it, rounded */
#define FEW 128 /* numbers that are added up without halving */

typedef struct {
    int64_t items, dims, count;
    const double *points;      /* (items, dims) */
    int64_t *cluster, *before; /* (items,): the nearest centre, now and a step ago */
    double *square;            /* (items,): squared distances to it */
    double *centres, *sums;    /* (count, dims) */
    int64_t *size;             /* (count,) */
} state;

INLINE double squared_distance(int64_t dims, const double *a, const double *b) {
    double sum = 0;
    for (int64_t k = 0; k < dims; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* The sum of up to FEW numbers, eight side by side, as NumPy has it. */
INLINE double sum_of_few(int64_t n, const double *x) {
    double sum = 0, part[8] = {0};
    int64_t whole = n - n % 8;
    for (int64_t i = 0; i < whole; i += 8)
        for (int l = 0; l < 8; l++) part[l] += x[i + l];
    if (whole) sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (int64_t i = whole; i < n; i++) sum += x[i];
    return sum;
}

/* The sum of n numbers, in halves, as NumPy has it. */
static double sum_of(int64_t n, const double *x) {
    if (n <= FEW) return sum_of_few(n, x);
    int64_t half = n / 2 - n / 2 % 8;
    return sum_of(half, x) + sum_of(n - half, x + half);
}

/* Centres that k-means++ takes from the points: the first one, then each at a place of the cumulated squared distances. */
INLINE void seed(state s, int64_t first, const double *places) {
    memcpy(s.centres, s.points + first * s.dims, (size_t)s.dims * sizeof(double));
    for (int64_t i = 0; i < s.items; i++) s.square[i] = __builtin_inf();
    for (int64_t c = 1; c < s.count; c++) {
        for (int64_t i = 0; i < s.items; i++) {
            double square = squared_distance(s.dims, s.centres + (c - 1) * s.dims, s.points + i * s.dims);
            if (square < s.square[i]) s.square[i] = square;
        }
        double total = sum_of(s.items, s.square), sum = 0;
        int64_t next = 0;
        for (; next < s.items - 1; next++) { /* rounding may end the sum below 1 */
            sum += s.square[next] / total;
            if (!(sum < places[c - 1])) break;
        }
        memcpy(s.centres + c * s.dims, s.points + next * s.dims, (size_t)s.dims * sizeof(double));
    }
}

/* The point with the largest of `square`, the first one of equals. */
INLINE int64_t farthest(state s) {
    int64_t most = 0;
    for (int64_t i = 1; i < s.items; i++)
        if (s.square[i] > s.square[most]) most = i;
    return most;
}

/* Centres that lie far apart: the point farthest from the mean of all, then each farthest from those before. Points that
 * are far from all others, as a cluster of one, are among them, which a draw may miss. */
INLINE void spread_out(state s) {
    for (int64_t k = 0; k < s.dims; k++) {
        double sum = 0;
        for (int64_t i = 0; i < s.items; i++) sum += s.points[i * s.dims + k];
        s.centres[k] = sum / (double)s.items;
    }
    for (int64_t i = 0; i < s.items; i++) s.square[i] = squared_distance(s.dims, s.centres, s.points + i * s.dims);
    for (int64_t c = 0; c < s.count; c++) {
        memcpy(s.centres + c * s.dims, s.points + farthest(s) * s.dims, (size_t)s.dims * sizeof(double));
        for (int64_t i = 0; i < s.items; i++) {
            double square = squared_distance(s.dims, s.centres + c * s.dims, s.points + i * s.dims);
            if (c == 0 || square < s.square[i]) s.square[i] = square;
        }
    }
}

/* Find the nearest centre of each point, the first one of equals. */
INLINE void assign(state s) {
    for (int64_t i = 0; i < s.items; i++) {
        double least = __builtin_inf();
        int64_t nearest = 0;
        for (int64_t c = 0; c < s.count; c++) {
            double square = squared_distance(s.dims, s.centres + c * s.dims, s.points + i * s.dims);
            if (square < least) least = square, nearest = c;
        }
        s.cluster[i] = nearest;
        s.square[i] = least;
    }
}

/* Put each centre at the mean of its points, or leave it where it has none. Gives the number of those that have some. */
INLINE int64_t move(state s) {
    int64_t used = 0;
    memset(s.size, 0, (size_t)s.count * sizeof *s.size);
    memset(s.sums, 0, (size_t)(s.count * s.dims) * sizeof *s.sums);
    for (int64_t i = 0; i < s.items; i++) {
        s.size[s.cluster[i]]++;
        for (int64_t k = 0; k < s.dims; k++) s.sums[s.cluster[i] * s.dims + k] += s.points[i * s.dims + k];
    }
    for (int64_t c = 0; c < s.count; c++) {
        used += s.size[c] > 0;
        for (int64_t k = 0; s.size[c] && k < s.dims; k++)
            s.centres[c * s.dims + k] = s.sums[c * s.dims + k] / (double)s.size[c];
    }
    return used;
}

/* So many steps, or until none changes anything; ends where a cluster has no points, if all must have some. Gives the
 * number of clusters that have points. */
INLINE int64_t walk(state s, int64_t steps, int all) {
    int64_t used = 0, bytes = s.items * (int64_t)sizeof *s.cluster;
    for (int64_t step = 0; step < steps; step++) {
        assign(s);
        if (step && !memcmp(s.cluster, s.before, (size_t)bytes)) break;
        memcpy(s.before, s.cluster, (size_t)bytes);
        used = move(s);
        if (all && used < s.count) break;
    }
    return used;
}

/* The sum of squared distances to the nearest centres. */
INLINE double spread(state s) {
    assign(s);
    for (int64_t i = 0; i < s.items; i++) {
        double distance = __builtin_sqrt(s.square[i]);
        s.square[i] = distance * distance;
    }
    return sum_of(s.items, s.square);
}

/* See `k_means`. Room: for 2 items + 3 count dims + count numbers. */
INLINE void best_of_starts(int64_t items, int64_t dims, int64_t count, int64_t starts, int64_t steps, int64_t more,
                           const double *points, const int64_t *firsts, const double *places, int64_t *clusters,
                           int64_t *used, double *room) {
    int64_t book = count * dims;
    double *best = room + items + 2 * book, least = __builtin_inf();
    int64_t *numbers = (int64_t *)(best + book);
    state s = {items, dims, count, points, clusters, numbers, room, room + items, room + items + book, numbers + items};
    for (int64_t start = 0; start <= starts; start++) {
        if (start < starts) seed(s, firsts[start], places + start * (count - 1));
        else spread_out(s);
        if (walk(s, steps, 1) < count) continue;
        double now = spread(s), limit = start < starts ? least : LESS * least;
        if (now < limit) least = now, memcpy(best, s.centres, (size_t)book * sizeof *best);
    }
    memset(clusters, 0, (size_t)items * sizeof *clusters);
    *used = 0;
    if (least < __builtin_inf()) {
        memcpy(s.centres, best, (size_t)book * sizeof *best);
        *used = walk(s, more, 0);
    }
}

/* clusters (items,) of points (items, dims): `steps` steps from each of several starts and from points far apart, and
 * `more` from the best one. Starts where a cluster loses its points do not count. firsts (starts,), places
 * (starts, count - 1): see `seed`.
 * used (1,): clusters that have points, 0 if no start counts. */
KERNEL int k_means(int64_t items, int64_t dims, int64_t count, int64_t starts, int64_t steps, int64_t more,
                   const double *points, const int64_t *firsts, const double *places, int64_t *clusters,
                   int64_t *used) {
    double *room = malloc((size_t)(2 * items + 3 * count * dims + count) * sizeof *room);
    if (!room) return 1;
    if (dims == 2 && count == 2) /* compiled for these numbers */
        best_of_starts(items, 2, 2, starts, steps, more, points, firsts, places, clusters, used, room);
    else
        best_of_starts(items, dims, count, starts, steps, more, points, firsts, places, clusters, used, room);
    free(room);
    return 0;
}
