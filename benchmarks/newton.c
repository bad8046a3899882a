/* Textbook Newton for eq. (3) of Xu, Sun and Cheng, one replication after the other: the rival of `benchmarks.bars`. */
#include <math.h>

/* theta: (reps, m). scores: (reps, m), wins and half of the diagonal. hessian: room for m·m numbers. */
void fit(int reps, int m, const double *scores, double ridge, double tolerance, double *theta, double *hessian) {
    double u[m], g[m], step[m];
    for (int r = 0; r < reps; r++) {
        const double *s = scores + (long)r * m;
        double *x = theta + (long)r * m, mean = 0;
        for (int i = 0; i < m; i++) mean += s[i] / m;
        for (int i = 0; i < m; i++) x[i] = (s[i] - mean) / (m / 4.0 + 2 * ridge);
        for (int k = 0; k < 100; k++) {
            double norm = 0, least, most;
            for (int i = 0; i < m; i++) u[i] = exp(x[i]);
            for (int i = 0; i < m; i++) g[i] = 2 * ridge * x[i] - (s[i] - mean) - (m - 1) / 2.0;
            for (int i = 0; i < m; i++) {
                double degree = 2 * ridge, wins = 0, *row = hessian + (long)i * m;
                for (int j = 0; j < m; j++) {
                    double p = u[i] / (u[i] + u[j]), w = p * (1 - p);
                    wins += p;
                    degree += w;
                    row[j] = 1.0 / m - w; /* 11'/m: regular without a ridge, too */
                }
                row[i] += degree;
                g[i] += wins - 0.5;
                norm += g[i] * g[i];
            }
            if (norm <= tolerance * tolerance) break;
            for (int j = 0; j < m; j++) { /* Cholesky, rows of the lower triangle */
                double *a = hessian + (long)j * m;
                for (int i = 0; i <= j; i++) {
                    double *b = hessian + (long)i * m, sum = a[i];
                    for (int l = 0; l < i; l++) sum -= a[l] * b[l];
                    a[i] = i == j ? sqrt(sum) : sum / b[i];
                }
            }
            for (int i = 0; i < m; i++) {
                double sum = -g[i], *a = hessian + (long)i * m;
                for (int l = 0; l < i; l++) sum -= a[l] * step[l];
                step[i] = sum / a[i];
            }
            for (int i = m - 1; i >= 0; i--) {
                double sum = step[i];
                for (int l = i + 1; l < m; l++) sum -= hessian[(long)l * m + i] * step[l];
                step[i] = sum / hessian[(long)i * m + i];
            }
            least = most = step[0];
            for (int i = 1; i < m; i++) {
                if (step[i] < least) least = step[i];
                if (step[i] > most) most = step[i];
            }
            double length = most - least <= 1 ? 1 : log1p(most - least) / (most - least);
            for (int i = 0; i < m; i++) x[i] += length * step[i];
        }
    }
}
