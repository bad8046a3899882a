/* Balls thrown uniformly into boxes, and counts of pairs put into symmetric matrices. */
#include "kernel.h"
#include "random.h"

/* Add to counts (boxes,) where each of the balls falls. Each ball takes 32 random bits, and more where they are
 * rejected, as NumPy's Generator.integers does: Lemire, ACM Trans. Model. Comput. Simul. 29 (2019) 3. */
INLINE void throw_each(const generator *from, int64_t balls, int64_t boxes, int64_t *counts) {
    uint32_t (*next_half)(void *) = from->next_half;
    void *state = from->state;
    uint32_t width = (uint32_t)boxes, rejected = width ? -width % width : 0; /* of 2^32 numbers */
    if (boxes == 1) counts[0] += balls; /* without random bits */
    for (int64_t ball = 0; boxes > 1 && ball < balls; ball++) {
        uint64_t product = (uint64_t)next_half(state) * width;
        while ((uint32_t)product < rejected) product = (uint64_t)next_half(state) * width;
        counts[product >> 32]++;
    }
}

/* The same, from: NumPy's bitgen_t. */
KERNEL int throw_balls(int64_t from, int64_t balls, int64_t boxes, int64_t *counts) {
    throw_each((const generator *)from, balls, boxes, counts);
    return 0;
}

typedef struct { /* a Poisson law, but for 1e-21 of it */
    int64_t least, length;
    double *below; /* (length,): the chance of a number up to least + k */
    int64_t *guide; /* (length,): the least k with below[k] > g / length */
} poisson;

INLINE poisson law_of(double mean, int64_t around, double *room) { /* room: 4 around + 2 numbers */
    int64_t mode = (int64_t)mean, least = mode > around ? mode - around : 0, length = mode - least + around + 1;
    double *chance = room, sum = 0;
    chance[mode - least] = 1; /* of the mode's */
    for (int64_t k = mode - least; k > 0; k--) chance[k - 1] = chance[k] * (double)(least + k) / mean;
    for (int64_t k = mode - least + 1; k < length; k++) chance[k] = chance[k - 1] * mean / (double)(least + k);
    for (int64_t k = 0; k < length; k++) chance[k] = sum += chance[k];
    for (int64_t k = 0; k < length; k++) chance[k] /= sum;
    poisson law = {least, length, chance, (int64_t *)(chance + length)};
    for (int64_t g = 0, k = 0; g < length; g++) {
        while (chance[k] * (double)length <= (double)g) k++;
        law.guide[g] = k;
    }
    return law;
}

/* Counts (boxes,) of balls, many in each box: independent Poisson numbers with about 2 sqrt(balls) fewer in all, drawn
 * until their sum is not above the number of balls, and the rest thrown one by one. */
KERNEL int throw_many(int64_t from, int64_t balls, int64_t boxes, int64_t *counts) {
    const generator *g = (const generator *)from;
    double mean = ((double)balls - 2 * __builtin_sqrt((double)balls)) / (double)boxes;
    int64_t around = (int64_t)(10 * __builtin_sqrt(mean)) + 32, left = -1;
    double *room = malloc((size_t)(4 * around + 2) * sizeof *room);
    if (!room) return 1;
    poisson law = law_of(mean, around, room);
    while (left < 0) {
        left = balls;
        for (int64_t box = 0; box < boxes; box++) {
            double place = (double)(g->next(g->state) >> 11) * 0x1p-53;
            int64_t k = law.guide[(int64_t)(place * (double)law.length)];
            while (law.below[k] <= place) k++;
            counts[box] = law.least + k;
            left -= counts[box];
        }
    }
    free(room);
    throw_each(g, left, boxes, counts);
    return 0;
}

/* matrix (n, n): counts of pairs of an item of `rows` and one of `columns`, in this order, at both of their places; of
 * all pairs of different items, each once, where the columns are the rows. */
KERNEL int put_pairs(int64_t n, int64_t height, const int64_t *rows, int64_t width, const int64_t *columns,
                     int64_t same, const int64_t *counts, int64_t *matrix) {
    for (int64_t i = 0; i < height; i++)
        for (int64_t j = same ? i + 1 : 0; j < width; j++) {
            int64_t a = rows[i], b = columns[j];
            matrix[a * n + b] = matrix[b * n + a] = *counts++;
        }
    return 0;
}
