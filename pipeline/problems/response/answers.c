/* Answers of the Rasch model by one random byte each: `answers.py` says how. */
#include "kernel.h"

#define PART 64 /* items at a time */

/* Answers of n persons to m items, (reps, n, m), from as many random bytes. person: e^θ, (reps, n). item: e^β, (reps, m).
 * Where the byte does not settle an answer, its index goes to ties and the chance that is left to rest, which have room for
 * all; *found is how many there are. */
KERNEL int answer(int64_t reps, int64_t n, int64_t m, const double *person, const double *item, const uint8_t *byte,
                  uint8_t *answers, int64_t *ties, double *rest, int64_t *found) {
    int64_t count = 0, at = 0;
    for (int64_t r = 0; r < reps; r++, item += m)
        for (int64_t l = 0; l < n; l++, person++)
            for (int64_t from = 0; from < m; from += PART) {
                double bound[PART];
                int tied = 0;
                int64_t size = m - from < PART ? m - from : PART;
                for (int64_t i = 0; i < size; i++) {
                    bound[i] = *person / (*person + item[from + i]) * (256 - 0x1p-44);
                    int whole = (int)bound[i];
                    answers[at + i] = byte[at + i] < whole;
                    tied |= byte[at + i] == whole;
                }
                for (int64_t i = 0; tied && i < size; i++) {
                    int whole = (int)bound[i];
                    if (byte[at + i] == whole) ties[count] = at + i, rest[count++] = bound[i] - whole;
                }
                at += size;
            }
    *found = count;
    return 0;
}
