"""Statistical assertions: n, statistic, bound and alpha printed."""

import numpy as np
from scipy import stats

ALPHA = 1e-6


def follows(draws, law, what):
    """Whether rows of `draws` follow a law of tuples, by chi-square with cells of at least 10
    expected.
    """
    expected = {vector: chance * len(draws) for vector, chance in law.items()}
    observed = dict.fromkeys(law, 0)
    for row in map(tuple, draws.tolist()):
        if row not in observed:
            print(f"{what}: {row} cannot be")
            return False
        observed[row] += 1
    order = sorted(law, key=expected.get)
    cells, e, o = [], 0.0, 0
    for vector in order:
        e, o = e + expected[vector], o + observed[vector]
        if e >= 10:
            cells.append((e, o))
            e, o = 0.0, 0
    e, o = np.array(cells).T + [[e], [o]] * (np.arange(len(cells)) == len(cells) - 1)
    statistic, bound = ((o - e) ** 2 / e).sum(), stats.chi2.isf(ALPHA, len(cells) - 1)
    print(f"{what}: n={len(draws)} statistic={statistic:.4g} bound={bound:.4g} alpha={ALPHA:g}")
    return statistic <= bound


def mean_is(sample, expected, what):
    """Whether the mean of a sample is `expected`, by a t test."""
    sample = np.asarray(sample, float)
    statistic = abs(sample.mean() - expected) / max(
        sample.std(ddof=1) / np.sqrt(sample.size), 1e-12
    )
    bound = stats.t.isf(ALPHA / 2, sample.size - 1)
    print(f"{what}: n={sample.size} statistic={statistic:.4g} bound={bound:.4g} alpha={ALPHA:g}")
    return statistic <= bound
