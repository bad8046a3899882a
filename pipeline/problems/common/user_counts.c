/* Users of many kinds, split by exact laws; `user_counts.py` says by what method.
 *
 * A law is a table of cells, made once for all rows that have it. Numbers do not depend on which tables are kept.
 */
#include "kernel.h"
#include "random.h"

#include <string.h>

#define NEVER 0x1p-63  /* weight over that of the mode, below which a tail is left out */
#define FEW 4          /* users who are always drawn one by one */
#define LAWS (1 << 13) /* laws, and cells of all of them, that are kept; then all are forgotten */
#define CELLS (1 << 19)

enum { BINOMIAL, HYPERGEOMETRIC, TABULATED };

typedef struct { /* rest: weight of this cell and all after it. p: this cell's share of that, q = 1 - p */
    int64_t value;
    double rest, p, q, log_more; /* log(1 - min(p, q)) */
} cell;

typedef struct {
    int64_t word[3], first, cells;
} law;

typedef struct { /* values and weights: (laws, width), of what is tabulated */
    int64_t kind, width;
    const int64_t *values;
    const double *weights;
    law *laws;
    int32_t *slots; /* 1 + number of a law */
    cell *cells;
    int64_t known, used, room;
} book;

typedef struct {
    int64_t value, users;
} part;

/* Uniform on -1/2 to 1/2, an odd multiple of 2^-53, from the first 52 bits of a word. */
INLINE double centred(uint64_t word) { return (double)(int64_t)(word >> 12) * 0x1p-52 + (0x1p-53 - 0.5); }

INLINE double uniform(const generator *from) { return centred(from->next(from->state)) + 0.5; }

/* log(P(X = k) / P(X = m)) >= log of height; m and n - m are TABLE or more. Lanes: height, k, n - k, odds of m. */
INLINE int below(double n, double p, double q, double m, double k, double height) {
    double d = k - m, other = n - k, most = n - m;
    vec at = 1 / (vec){k + 1, other + 1, m + 1, most + 1}, rest = far_remainder(at);
    if (k < TABLE) rest[0] = remainders[(int64_t)k];
    if (other < TABLE) rest[1] = remainders[(int64_t)other];
    vec x = {0, -d * at[0], d * at[1], 0}, u = {height, 1 + x[1], 1 + x[2], (most + 1) * p * at[2] / q};
    vec log = logarithm(u) + (vec){0, x[1] - (u[1] - 1), x[2] - (u[2] - 1), 0} / u;
    double terms = (k + 0.5) * log[1] + (other + 0.5) * log[2] + d * log[3];
    return log[0] <= terms + ((rest[2] + rest[3]) - (rest[0] + rest[1]));
}

/* Binomial(n, p) of a cell: by inversion, or Hormann's BTRS, as in ranking/binomial.c. */
INLINE int64_t binomial(const generator *from, int64_t users, const cell *c) {
    double n = (double)users, p = c->p < c->q ? c->p : c->q, q = c->p < c->q ? c->q : c->p;
    int64_t found = 0;
    if (n * p < SMALL) {
        double u = uniform(from), chance = exponential(splat(n * c->log_more))[0], odds = p / q, top = (n + 1) * odds;
        for (; u > chance && found < STEPS; chance *= top / (double)found - odds) u -= chance, found++;
        found = u > chance ? 0 : found; /* the share of words, about 1e-16, that rounding leaves */
    } else {
        double deviation = __builtin_sqrt(n * p * q), b = 1.15 + 2.53 * deviation;
        double a = -0.0873 + 0.0248 * b + 0.01 * p, sure = 4096 * (0.92 - 4.2 / b);
        for (int done = 0; !done;) {
            uint64_t word = from->next(from->state);
            double u = centred(word), us = 0.5 - __builtin_fabs(u), y = (2 * a / us + b) * u + (n * p + 0.5);
            double bits = (double)(int64_t)(word & 4095);
            int inside = y >= 0 && y < n + 1;
            found = inside ? (int64_t)y : 0;
            done = inside && us >= 0.07 && bits + 1 <= sure;
            if (!done && inside) {
                double v = (bits + uniform(from)) * 0x1p-12, k = (double)found, m = (double)(int64_t)((n + 1) * p);
                done = below(n, p, q, m, k, v * ((2.83 + 5.1 / b) * deviation) / (a / (us * us) + b));
            }
        }
    }
    return c->p < c->q ? found : users - found;
}

/* How many users have each value; gives the number of parts, at most cells + max(FEW, cells / 8). */
INLINE int64_t draw(const generator *from, const cell *c, int64_t cells, int64_t users, part *parts) {
    int64_t found = 0, at = 0;
    for (; at < cells - 1 && users > FEW && users * 8 > cells - at; at++) {
        int64_t some = binomial(from, users, c + at);
        parts[found] = (part){c[at].value, some};
        found += some > 0, users -= some;
    }
    if (at == cells - 1 && users) parts[found++] = (part){c[at].value, users}, users = 0;
    for (; users; users--) { /* one by one: the last cell whose rest is no less than u */
        double u = uniform(from) * c[at].rest;
        int64_t i = at, step = 1;
        for (; i + step < cells && c[i + step].rest >= u; step *= 2) i += step;
        for (; step; step /= 2) i += i + step < cells && c[i + step].rest >= u ? step : 0;
        parts[found++] = (part){c[i].value, 1};
    }
    return found;
}

INLINE uint64_t mixed(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t x = (a * 0x9e3779b97f4a7c15 ^ b) * 0xbf58476d1ce4e5b9;
    x = ((x ^ x >> 29) + c) * 0x94d049bb133111eb;
    return x ^ x >> 32;
}

INLINE int add_cell(book *b, int64_t value, double weight) {
    if (b->used == b->room) {
        cell *more = realloc(b->cells, (size_t)(2 * b->room) * sizeof *more);
        if (!more) return 1;
        b->cells = more, b->room *= 2;
    }
    b->cells[b->used++] = (cell){.value = value, .p = weight};
    return 0;
}

/* P(X = k + 1) / P(X = k), 0 for the greatest k; and with the sign turned for k - 1. */
INLINE double ratio(const book *b, const law *one, double odds, double k, int up) {
    double n = (double)one->word[0];
    if (b->kind == BINOMIAL) return up ? (n - k) / (k + 1) * odds : k / ((n - k + 1) * odds);
    double sample = (double)one->word[2], rest = (double)one->word[1] - sample + k; /* bad ones that are left */
    return up ? (n - k) * (sample - k) / ((k + 1) * (rest + 1)) : k * rest / ((n - k + 1) * (sample - k + 1));
}

/* Cells from the mode outwards, the likelier side first, until both are below NEVER. */
INLINE int add_outwards(book *b, const law *one) {
    double odds = 0, p = 0;
    memcpy(&p, &one->word[1], sizeof p);
    int64_t n = one->word[0], mode;
    if (b->kind == BINOMIAL) {
        if (n == 0 || !(p > 0)) return add_cell(b, 0, 1);
        if (!(p < 1)) return add_cell(b, n, 1);
        odds = p / (1 - p), mode = (int64_t)((double)(n + 1) * p), mode = mode < n ? mode : n;
    } else {
        mode = (int64_t)((double)(n + 1) * (double)(one->word[2] + 1) / (double)(n + one->word[1] + 2));
        int64_t low = one->word[2] - one->word[1], high = n < one->word[2] ? n : one->word[2];
        mode = mode < low ? low : mode, mode = mode < high ? mode : high;
    }
    if (add_cell(b, mode, 1)) return 1;
    int64_t up = mode + 1, down = mode - 1;
    double more = ratio(b, one, odds, (double)mode, 1), less = ratio(b, one, odds, (double)mode, 0);
    while (more >= NEVER || less >= NEVER)
        if (more >= less) {
            if (add_cell(b, up, more)) return 1;
            more *= ratio(b, one, odds, (double)up++, 1);
        } else {
            if (add_cell(b, down, less)) return 1;
            less *= ratio(b, one, odds, (double)down--, 0);
        }
    return 0;
}

/* The table of a law; NULL where memory ends. */
INLINE const law *find(book *b, int64_t x, int64_t y, int64_t z) {
    const uint64_t mask = 2 * LAWS - 1;
    uint64_t slot = mixed((uint64_t)x, (uint64_t)y, (uint64_t)z) & mask;
    for (; b->slots[slot]; slot = (slot + 1) & mask) {
        const law *one = b->laws + b->slots[slot] - 1;
        if (one->word[0] == x && one->word[1] == y && one->word[2] == z) return one;
    }
    if (b->known == LAWS || b->used > CELLS) {
        memset(b->slots, 0, 2 * LAWS * sizeof *b->slots);
        b->known = b->used = 0;
        slot = mixed((uint64_t)x, (uint64_t)y, (uint64_t)z) & mask;
    }
    law *one = b->laws + b->known++;
    *one = (law){{x, y, z}, b->used, 0};
    b->slots[slot] = (int32_t)b->known;
    if (b->kind != TABULATED) {
        if (add_outwards(b, one)) return NULL;
    } else
        for (int64_t i = x * b->width; i < (x + 1) * b->width; i++)
            if (b->weights[i] > 0 && add_cell(b, b->values[i], b->weights[i])) return NULL;
    one->cells = b->used - one->first;
    double rest = 0;
    for (cell *c = b->cells + b->used - 1; c >= b->cells + one->first; c--) { /* the least first */
        double weight = c->p;
        c->q = rest / (rest + weight), c->p = weight / (rest + weight), c->rest = rest += weight;
        c->log_more = logarithm_1p(splat(-(c->p < c->q ? c->p : c->q)))[0];
    }
    return one;
}

INLINE int open_book(book *b) {
    b->room = 1 << 10;
    b->laws = malloc(LAWS * sizeof *b->laws);
    b->slots = calloc(2 * LAWS, sizeof *b->slots);
    b->cells = malloc((size_t)b->room * sizeof *b->cells);
    return !b->laws || !b->slots || !b->cells;
}

INLINE void close_book(book *b) { free(b->laws), free(b->slots), free(b->cells); }

INLINE int64_t most_parts(const law *one) { return one->cells + (one->cells / 8 > FEW ? one->cells / 8 : FEW); }

/* Rows of users split by laws (rows, 3). from: NumPy's bitgen_t. values, weights: (laws, width), of what is tabulated.
 * out: (3, room), for each part its row, value and users. progress: first row to split, which becomes the first that
 * found no room; parts found. A row takes at most 9/8 of its values and 4. */
KERNEL int split(int64_t from, int64_t kind, int64_t rows, const int64_t *laws, const int64_t *users, int64_t width,
                 const int64_t *values, const double *weights, int64_t room, int64_t *out, int64_t *progress) {
    book b = {.kind = kind, .width = width, .values = values, .weights = weights};
    int64_t longest = 0, row = progress[0], found = 0;
    part *parts = NULL;
    int failed = open_book(&b);
    for (; !failed && row < rows; row++) {
        const law *one = find(&b, laws[3 * row], laws[3 * row + 1], laws[3 * row + 2]);
        if ((failed = !one)) break;
        if (most_parts(one) > longest) {
            longest = 2 * most_parts(one);
            free(parts);
            if ((failed = !(parts = malloc((size_t)longest * sizeof *parts)))) break;
        }
        if (found + most_parts(one) > room) break;
        int64_t some = draw((const generator *)from, b.cells + one->first, one->cells, users[row], parts);
        for (int64_t i = 0; i < some; i++, found++) {
            out[found] = row, out[room + found] = parts[i].value, out[2 * room + found] = parts[i].users;
        }
    }
    progress[0] = row, progress[1] = found;
    free(parts);
    close_book(&b);
    return failed;
}

/* Equal keys added up, in the order of their first rows. first: those rows. total: their users. found: how many. */
KERNEL int merge(int64_t rows, const int64_t *key, const int64_t *users, int64_t *first, int64_t *total,
                 int64_t *found) {
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)rows) mask = 2 * mask + 1;
    int64_t *slots = calloc(mask + 1, sizeof *slots), kinds = 0;
    if (!slots) return 1;
    for (int64_t row = 0; row < rows; row++) {
        uint64_t slot = mixed((uint64_t)key[row], 0, 0) & mask;
        while (slots[slot] && key[first[slots[slot] - 1]] != key[row]) slot = (slot + 1) & mask;
        if (!slots[slot]) {
            first[kinds] = row, total[kinds] = 0;
            slots[slot] = ++kinds;
        }
        total[slots[slot] - 1] += users[row];
    }
    *found = kinds;
    free(slots);
    return 0;
}

typedef struct { /* users with so many items of a run in their first and second subsets */
    int64_t held[2], users, slot;
} holders;

typedef struct { /* rows are all different */
    holders *rows;
    int32_t *slots; /* 1 + number of a row */
    int64_t number, room; /* slots: twice as many as room, a power of two */
} group;

INLINE int open_group(group *g, int64_t room) {
    *g = (group){malloc((size_t)room * sizeof *g->rows), calloc((size_t)(2 * room), sizeof *g->slots), 0, room};
    return !g->rows || !g->slots;
}

INLINE int64_t slot_of(const group *g, int64_t first, int64_t second) {
    uint64_t mask = 2 * (uint64_t)g->room - 1, slot = mixed((uint64_t)first, (uint64_t)second, 0) & mask;
    for (; g->slots[slot]; slot = (slot + 1) & mask) {
        const holders *row = g->rows + g->slots[slot] - 1;
        if (row->held[0] == first && row->held[1] == second) break;
    }
    return (int64_t)slot;
}

INLINE int enlarge(group *g) {
    group larger;
    if (open_group(&larger, 2 * g->room)) return free(larger.rows), free(larger.slots), 1;
    for (; larger.number < g->number; larger.number++) {
        holders *row = larger.rows + larger.number;
        *row = g->rows[larger.number];
        row->slot = slot_of(&larger, row->held[0], row->held[1]);
        larger.slots[row->slot] = (int32_t)larger.number + 1;
    }
    free(g->rows), free(g->slots);
    *g = larger;
    return 0;
}

/* Users with so many items of the run (start, size): to the sums if that settles which items, else to the group. */
INLINE int add(group *g, int64_t start, int64_t size, int64_t first, int64_t second, int64_t users, int64_t *steps,
               int64_t width) {
    if (first == size || second == size) {
        steps += second == size ? width : 0;
        steps[start] += users, steps[start + size] -= users;
        return 0;
    }
    if (!first && !second) return 0;
    int64_t slot = slot_of(g, first, second);
    if (!g->slots[slot]) {
        if (g->number == g->room) {
            if (enlarge(g)) return 1;
            slot = slot_of(g, first, second);
        }
        g->rows[g->number] = (holders){{first, second}, 0, slot};
        g->slots[slot] = (int32_t)++g->number;
    }
    g->rows[g->slots[slot] - 1].users += users;
    return 0;
}

typedef struct {
    int64_t start, size, rows; /* how many rows on the stack */
} run;

typedef struct {
    run runs[128]; /* halves of halves: at most 64 levels, two runs each */
    holders *rows;
    int64_t number, used, room;
} stack;

INLINE int push(stack *s, int64_t start, int64_t size, group *g) {
    while (s->used + g->number > s->room) {
        holders *more = realloc(s->rows, (size_t)(2 * s->room) * sizeof *more);
        if (!more) return 1;
        s->rows = more, s->room *= 2;
    }
    for (int64_t i = 0; i < g->number; i++) s->rows[s->used++] = g->rows[i], g->slots[g->rows[i].slot] = 0;
    if (g->number) s->runs[s->number++] = (run){start, size, g->number};
    g->number = 0;
    return 0;
}

/* One row of a run of `size` items, split between its halves. */
INLINE int halve(const generator *from, book *b, const holders *row, run now, part *parts, group *halves,
                 int64_t *steps, int64_t width) {
    int64_t left = now.size / 2, right = now.size - left;
    const law *one = find(b, left, right, row->held[0]);
    if (!one) return 1;
    int64_t some = draw(from, b->cells + one->first, one->cells, row->users, parts);
    for (int64_t i = 0; i < some; i++) {
        int64_t first = parts[i].value, after = row->held[0] - first, number = 1;
        part *more = parts + some;
        more[0] = (part){0, parts[i].users};
        if (row->held[1]) {
            if (!(one = find(b, left - first, right - after, row->held[1]))) return 1;
            number = draw(from, b->cells + one->first, one->cells, parts[i].users, more);
        }
        for (int64_t j = 0; j < number; j++) {
            int64_t second = more[j].value, rest = row->held[1] - second, users = more[j].users;
            if (add(halves, now.start, left, first, second, users, steps, width) ||
                add(halves + 1, now.start + left, right, after, rest, users, steps, width)) return 1;
        }
    }
    return 0;
}

/* Steps, from item to item, of two sums (2, width): how many users have each item in their first and second subsets.
 * Rows: users with so many items of the run (start, size) in each, disjoint, all that fit equally likely; rows of a run
 * are together.
 * from: NumPy's bitgen_t. longest: the greatest size. */
KERNEL int add_subsets(int64_t from, int64_t rows, const int64_t *start, const int64_t *size, const int64_t *first,
                       const int64_t *second, const int64_t *users, int64_t longest, int64_t width, int64_t *steps) {
    book b = {.kind = HYPERGEOMETRIC};
    group halves[2] = {{0}};
    stack s = {.rows = malloc(1024 * sizeof *s.rows), .room = 1024};
    part *parts = malloc((size_t)(3 * longest + 16) * sizeof *parts); /* of both subsets */
    int failed = open_book(&b) | open_group(halves, 64) | open_group(halves + 1, 64) | !s.rows | !parts;
    for (int64_t row = 0; !failed && row < rows;) {
        int64_t begin = start[row], items = size[row];
        for (; !failed && row < rows && start[row] == begin; row++)
            failed = add(halves, begin, items, first[row], second[row], users[row], steps, width);
        failed = failed || push(&s, begin, items, halves);
        while (!failed && s.number) {
            run now = s.runs[--s.number];
            s.used -= now.rows;
            for (int64_t i = s.used; !failed && i < s.used + now.rows; i++)
                failed = halve((const generator *)from, &b, s.rows + i, now, parts, halves, steps, width);
            failed = failed || push(&s, now.start, now.size / 2, halves) ||
                     push(&s, now.start + now.size / 2, now.size - now.size / 2, halves + 1);
        }
    }
    close_book(&b);
    for (int i = 0; i < 2; i++) free(halves[i].rows), free(halves[i].slots);
    free(s.rows), free(parts);
    return failed;
}
