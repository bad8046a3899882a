"""Statistical assertions: fixed seeds, n, statistic, bound and alpha printed, all at alpha = 1e-6."""

import numpy as np
from scipy import stats

ALPHA = 1e-6


def _report(what, n, statistic, bound, alpha):
    print(f"{what}: n={n} statistic={statistic:.4g} bound={bound:.4g} alpha={alpha:g}")
    return statistic <= bound


def mean_agrees(sample, expected, what="mean", alpha=ALPHA):
    """True when the sample mean is within its t bound of `expected` (two-sided)."""
    sample = np.asarray(sample, float).ravel()
    error = sample.std(ddof=1) / np.sqrt(sample.size)
    statistic = abs(sample.mean() - expected) / max(error, 1e-300)
    return _report(what, sample.size, statistic, stats.t.isf(alpha / 2, sample.size - 1), alpha)


def counts_agree(observed, probabilities, what="law", alpha=ALPHA, least=10):
    """True when counts follow the given probabilities (chi-square; cells below `least` expected are pooled)."""
    observed, probabilities = (
        np.asarray(observed, float).ravel(),
        np.asarray(probabilities, float).ravel(),
    )
    n = observed.sum()
    order = np.argsort(probabilities)
    pooled_o, pooled_e, o, e = [], [], 0.0, 0.0
    for k in order:
        o, e = o + observed[k], e + n * probabilities[k]
        if e >= least:
            pooled_o.append(o)
            pooled_e.append(e)
            o = e = 0.0
    if pooled_e:
        pooled_o[-1] += o
        pooled_e[-1] += e
    pooled_o, pooled_e = np.array(pooled_o), np.array(pooled_e)
    statistic = ((pooled_o - pooled_e) ** 2 / pooled_e).sum()
    return _report(what, int(n), statistic, stats.chi2.isf(alpha, max(len(pooled_e) - 1, 1)), alpha)
