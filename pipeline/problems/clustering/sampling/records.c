/* Whole records of users, one after the other: what several private bits about one record, and a curator's sums, need. */
#include "kernel.h"
#include "random.h"

/* A whole number below `width`, 1 or more and below 2^32, as NumPy's Generator.integers draws it. */
INLINE int64_t below(const generator *from, int64_t width) {
    uint32_t range = (uint32_t)width, rejected = -range % range; /* of 2^32 numbers */
    uint64_t product = (uint64_t)from->next_half(from->state) * range;
    while ((uint32_t)product < rejected) product = (uint64_t)from->next_half(from->state) * range;
    return (int64_t)(product >> 32);
}

/* Uniform on [0, 1), 53 bits. */
INLINE double uniform(const generator *from) { return (double)(from->next(from->state) >> 11) * 0x1p-53; }

/* The class of the next user, drawn from those that are left (count,), and taken away from them. */
INLINE int64_t next_class(const generator *from, int64_t count, int64_t *left, int64_t users) {
    int64_t class = 0, place = left[count - 1] == users ? users - 1 : below(from, users);
    while (place >= left[class]) place -= left[class++];
    left[class]--;
    return class;
}

/* Make the first `heads` of order (n,) a uniform ordered sample of it, without replacement. */
INLINE void shuffle(const generator *from, int64_t n, int64_t heads, int64_t *order) {
    for (int64_t k = 0; k < heads; k++) {
        int64_t other = k + below(from, n - k), item = order[other];
        order[other] = order[k];
        order[k] = item;
    }
}

/* An ordered array 0, ..., n - 1 and, behind it, room for `more` zeros. To be freed; NULL where memory ends. */
INLINE int64_t *room(int64_t n, int64_t more) {
    int64_t *numbers = calloc((size_t)(n + more + 1), sizeof *numbers);
    for (int64_t k = 0; numbers && k < n; k++) numbers[k] = k;
    return numbers;
}

/* Released bits about `questions` random sets of each user, in each of which an item is with one chance. counts (2, n):
 * sets with a bit 0, and with a bit 1, that an item is in. size_law (n + 1,): chances that a set has up to k items. */
KERNEL int sense(int64_t from, int64_t n, const int64_t *clusters, int64_t classes, int64_t *left, int64_t width,
                 const double *likes, int64_t w, int64_t questions, const double *size_law, double keep,
                 int64_t *counts) {
    const generator *g = (const generator *)from;
    int64_t *rated = room(n, 2 * n), *is_liked = rated + n, *sensed = is_liked + n, users = 0;
    if (!rated) return 1;
    for (int64_t i = 0; i < n; i++) sensed[i] = i;
    for (int64_t k = 0; k < classes; k++) users += left[k];
    for (; users > 0; users--) {
        const double *chance = likes + next_class(g, classes, left, users) * width;
        shuffle(g, n, w, rated);
        for (int64_t k = 0; k < w; k++) is_liked[rated[k]] = uniform(g) < chance[clusters[rated[k]]];
        for (int64_t q = 0; q < questions; q++) {
            double place = uniform(g);
            int64_t low = 0, high = n, bit = 0;
            while (low < high) { /* the first size whose chance exceeds the place */
                int64_t middle = (low + high) / 2;
                if (size_law[middle] > place) high = middle;
                else low = middle + 1;
            }
            shuffle(g, n, low, sensed);
            for (int64_t k = 0; k < low; k++) bit |= is_liked[sensed[k]];
            bit ^= uniform(g) >= keep;
            for (int64_t k = 0; k < low; k++) counts[bit * n + sensed[k]]++;
        }
        for (int64_t k = 0; k < w; k++) is_liked[rated[k]] = 0;
    }
    free(rated);
    return 0;
}

/* Released bits about `questions` different pairs of each user. Pairs of n items in the order of numpy.triu_indices:
 * first, second (pairs,). order (pairs,): from which pairs are dealt round and round if `dealt`, else anything. known:
 * whether pairs are of the w items that a user has rated, and not of all. reading 0, 1, 2: the sketch is 1 where both
 * are rated and alike; both liked; ratings are equal, those of unrated items being 0. counts (2, pairs): bits that are
 * 0, and that are 1. */
KERNEL int ask_pairs(int64_t from, int64_t n, const int64_t *clusters, int64_t classes, int64_t *left, int64_t width,
                     const double *likes, int64_t w, int64_t questions, const int64_t *first, const int64_t *second,
                     int64_t dealt, const int64_t *order, int64_t known, int64_t reading, double keep,
                     int64_t *counts) {
    const generator *g = (const generator *)from;
    const int64_t pairs = n * (n - 1) / 2;
    /* rated: a permutation of the items. rating, of this user's: 0 unrated, 1 disliked, 2 liked, 3 not drawn. place
     * of a pair in the order; the user's pairs. */
    int64_t *rated = room(n, n + 2 * questions + 1), *rating = rated + n, *pair = rating + n, *drawn = pair + questions;
    int64_t users = 0, next_dealt = 0, among = known ? w * (w - 1) / 2 : pairs;
    if (!rated) return 1;
    for (int64_t i = 0; i < n; i++) rating[i] = 3;
    for (int64_t k = 0; k < classes; k++) users += left[k];
    for (; users > 0; users--) {
        const double *chance = likes + next_class(g, classes, left, users) * width;
        int64_t seen = 0, rated_seen = 0;
        if (known) shuffle(g, n, w, rated);
        for (int64_t q = 0; q < questions; q++) {
            if (dealt) {
                pair[q] = order[next_dealt];
                next_dealt = next_dealt + 1 < pairs ? next_dealt + 1 : 0;
                continue;
            }
            /* Floyd's sample of a set: the new number, or the last of the range if that is in it already. */
            int64_t last = among - questions + q, number = below(g, last + 1);
            for (int64_t k = 0; k < q; k++)
                if (drawn[k] == number) {
                    number = last;
                    break;
                }
            drawn[q] = number;
            if (known) { /* pairs of the rated items' places, then of the items */
                int64_t a = 1;
                while (number >= a) number -= a++;
                int64_t i = rated[number], j = rated[a];
                if (i > j) {
                    int64_t swap = i;
                    i = j;
                    j = swap;
                }
                number = i * (2 * n - i - 1) / 2 + j - i - 1;
            }
            pair[q] = number;
        }
        for (int64_t q = 0; q < questions; q++) {
            int64_t ends[2] = {first[pair[q]], second[pair[q]]};
            for (int64_t e = 0; e < 2; e++) {
                int64_t i = ends[e];
                if (rating[i] != 3) continue;
                rating[i] = 0;
                if (known || uniform(g) * (double)(n - seen) < (double)(w - rated_seen)) {
                    rating[i] = uniform(g) < chance[clusters[i]] ? 2 : 1;
                    rated_seen++;
                }
                seen++;
            }
            int64_t a = rating[ends[0]], b = rating[ends[1]], bit;
            if (reading == 0) bit = a && a == b;
            else if (reading == 1) bit = a == 2 && b == 2;
            else bit = (a == 2) == (b == 2);
            bit ^= uniform(g) >= keep;
            counts[bit * pairs + pair[q]]++;
        }
        for (int64_t q = 0; q < questions; q++) rating[first[pair[q]]] = rating[second[pair[q]]] = 3;
    }
    free(rated);
    return 0;
}

/* How many users rated both items of a pair, otherwise and alike: counts (2, n, n), at i < j only. */
KERNEL int co_occur(int64_t from, int64_t n, const int64_t *clusters, int64_t classes, int64_t *left, int64_t width,
                    const double *likes, int64_t w, int64_t *counts) {
    const generator *g = (const generator *)from;
    int64_t *rated = room(n, w), *is_liked = rated + n, users = 0;
    if (!rated) return 1;
    for (int64_t k = 0; k < classes; k++) users += left[k];
    for (; users > 0; users--) {
        const double *chance = likes + next_class(g, classes, left, users) * width;
        if (w < n) shuffle(g, n, w, rated);
        for (int64_t k = 0; k < w; k++) is_liked[k] = uniform(g) < chance[clusters[rated[k]]];
        for (int64_t k = 0; k < w; k++)
            for (int64_t l = 0; l < k; l++) {
                int64_t i = rated[k], j = rated[l], alike = is_liked[k] == is_liked[l];
                counts[alike * n * n + (i < j ? i * n + j : j * n + i)]++;
            }
    }
    free(rated);
    return 0;
}
