/* Answers of the Rasch model by one random byte each: `answers.py` says how. */
#include "kernel.h"

#include <string.h>

#define TILE 512     /* answers at a time, or those of one person if they are more */
#define LARGE 1e36   /* of e^θ and e^β up to this 256 times are numbers of single precision, down to its inverse, too */
#define MARGIN 2e-4f /* more than the error of single precision in the chances of a byte */

INLINE float single(double x) { return x > 1 / LARGE && x < LARGE ? (float)x : __builtin_nanf(""); }

/* Answers of some persons to m items, `size` in all, as single precision sees them; sets `open` where it cannot settle one. */
INLINE void settle(int64_t size, const float *skill, const float *difficulty, const uint8_t *byte, uint8_t *answers,
                   uint8_t *open) {
    for (int64_t j = 0; j < size; j++) {
        float above = 256 * skill[j] / (skill[j] + difficulty[j]) - (float)byte[j];
        uint8_t right = above >= 1 + MARGIN, wrong = above < -MARGIN;
        answers[j] = right;
        open[j] = !(right | wrong);
    }
}

/* Answers of n persons to m items, (reps, n, m), from as many random bytes. person: e^θ, (reps, n). item: e^β, (reps, m).
 * Where the byte does not settle an answer, its index goes to ties and the chance that is left to rest, which have room for
 * all; *found is how many there are. */
KERNEL int answer(int64_t reps, int64_t n, int64_t m, const double *person, const double *item, const uint8_t *byte,
                  uint8_t *answers, int64_t *ties, double *rest, int64_t *found) {
    int64_t count = 0, at = 0, height = m < TILE ? TILE / m : 1, room = (height * m + 7) / 8 * 8;
    float *skill = malloc((size_t)room * (2 * sizeof *skill + 1)), *difficulty = skill + room;
    uint8_t *open = (uint8_t *)(difficulty + room);
    if (!skill) return 1;
    for (int64_t r = 0; r < reps; r++, item += m) {
        for (int64_t j = 0; j < height * m; j++) difficulty[j] = single(item[j % m]);
        for (int64_t first = 0; first < n; first += height) {
            int64_t persons = n - first < height ? n - first : height, size = persons * m;
            for (int64_t l = 0; l < persons; l++) {
                float one = single(person[r * n + first + l]);
                for (int64_t i = 0; i < m; i++) skill[l * m + i] = one;
            }
            memset(open, 0, (size_t)room);
            settle(size, skill, difficulty, byte + at, answers + at, open);
            for (int64_t j = 0; j < size; j += 8) {
                uint64_t some;
                memcpy(&some, open + j, sizeof some);
                for (int64_t k = j; some && k < j + 8; k++) {
                    if (!open[k]) continue;
                    double chance = person[r * n + first + k / m];
                    chance = chance / (chance + item[k % m]) * (256 - 0x1p-44);
                    int whole = (int)chance, own = byte[at + k];
                    answers[at + k] = own < whole;
                    if (own == whole) ties[count] = at + k, rest[count++] = chance - whole;
                }
            }
            at += size;
        }
    }
    free(skill);
    *found = count;
    return 0;
}
