/* Balls thrown uniformly into boxes, and counts of pairs put into symmetric matrices. */
#include "kernel.h"

typedef struct { /* the first members of NumPy's bitgen_t */
    void *state;
    uint64_t (*next)(void *);
    uint32_t (*next_half)(void *);
} generator;

/* Add to counts (boxes,) where each of the balls falls. from: NumPy's bitgen_t. Each ball takes 32 random bits, and more
 * where they are rejected, as NumPy's Generator.integers does: Lemire, ACM Trans. Model. Comput. Simul. 29 (2019) 3. */
KERNEL int throw_balls(int64_t from, int64_t balls, int64_t boxes, int64_t *counts) {
    const generator *g = (const generator *)from;
    uint32_t (*next_half)(void *) = g->next_half;
    void *state = g->state;
    uint32_t width = (uint32_t)boxes, rejected = width ? -width % width : 0; /* of 2^32 numbers */
    if (boxes == 1) counts[0] += balls; /* without random bits */
    for (int64_t ball = 0; boxes > 1 && ball < balls; ball++) {
        uint64_t product = (uint64_t)next_half(state) * width;
        while ((uint32_t)product < rejected) product = (uint64_t)next_half(state) * width;
        counts[product >> 32]++;
    }
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
