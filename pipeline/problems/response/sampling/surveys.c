/* Which items a person answers of those that he could: `surveys.py` says by what designs. */
#include "kernel.h"
#include "random.h"

/* A whole number below `size`, all equally likely: Lemire's multiplication of a half word, with rejection. */
INLINE int64_t below(const generator *from, uint32_t size) {
    uint64_t product = (uint64_t)from->next_half(from->state) * size;
    if ((uint32_t)product < size) {
        uint32_t least = (0u - size) % size;
        while ((uint32_t)product < least) product = (uint64_t)from->next_half(from->state) * size;
    }
    return (int64_t)(product >> 32);
}

/* `some` of the numbers in `list`, which has `size`, come first, all such choices equally likely. */
INLINE void choose_first(const generator *from, int32_t *list, int64_t size, int64_t some) {
    for (int64_t i = 0; i < some; i++) {
        int64_t j = i + below(from, (uint32_t)(size - i));
        int32_t moved = list[i];
        list[i] = list[j], list[j] = moved;
    }
}

/* Of the items that each person could answer, `present` (rows, m), k at random, or all where they are no more. */
KERNEL int thin(int64_t bits, int64_t rows, int64_t m, int64_t k, const uint8_t *present, uint8_t *chosen) {
    const generator *from = (const generator *)bits;
    int32_t *list = malloc((size_t)m * sizeof *list);
    if (!list) return 1;
    for (int64_t row = 0; row < rows; row++, present += m, chosen += m) {
        int64_t size = 0;
        for (int64_t i = 0; i < m; i++) {
            chosen[i] = present[i];
            list[size] = (int32_t)i;
            size += present[i] != 0;
        }
        if (size <= k) continue;
        int64_t out = size - k;
        if (out <= k) { /* fewer to leave out than to choose */
            choose_first(from, list, size, out);
            for (int64_t i = 0; i < out; i++) chosen[list[i]] = 0;
        } else {
            choose_first(from, list, size, k);
            for (int64_t i = k; i < size; i++) chosen[list[i]] = 0;
        }
    }
    free(list);
    return 0;
}

/* Items dealt out round and round to `people` persons in each of `reps`, k each, in an order that is drawn anew after
 * every `period` persons, who get every item equally often. chosen: (reps, people, m). */
KERNEL int deal(int64_t bits, int64_t reps, int64_t people, int64_t m, int64_t k, int64_t period, uint8_t *chosen) {
    const generator *from = (const generator *)bits;
    int32_t *order = malloc((size_t)m * sizeof *order);
    if (!order) return 1;
    for (int64_t i = 0; i < m; i++) order[i] = (int32_t)i;
    for (int64_t rep = 0; rep < reps; rep++) {
        int64_t next = 0;
        for (int64_t person = 0; person < people; person++, chosen += m) {
            if (person % period == 0) choose_first(from, order, m, m - 1), next = 0;
            for (int64_t i = 0; i < m; i++) chosen[i] = 0;
            for (int64_t i = 0; i < k; i++) {
                chosen[order[next]] = 1;
                next = next + 1 == m ? 0 : next + 1;
            }
        }
    }
    free(order);
    return 0;
}
