"""Exact means of sketches and of released bits at finite N and w.

Shapes: alpha (K,) shares of user classes; sizes (Lc,) items per cluster, sum N; b (K, Lc) chances of a positive rating.
A sketch that is 1 with chance q is released as a bit that is 1 with chance π = f + t q, f = 1/(1 + e^ε), t = tanh(ε/2).
Means of sketches and bits are (K, Lc), given a user's class.
"""

import numpy as np
import scipy
from scipy import special

from pipeline.study.arrays import Array, Floats, Integers


def products(sizes: Array, factors: Array, v: int) -> float:
    """E Π_{i∈V} factors[cluster of i], V a uniform v-subset of the items; sizes, factors (Lc,), factors ≥ 0.

    The coefficient of z^v in Π_ℓ (1 + z·factors_ℓ)^{sizes_ℓ} over C(N, v), as a ratio of chances of sums of Binomials:
    no overflow, relative error about 1e-12. O(Lc v²).
    """
    sizes, factors = np.asarray(sizes, int), np.asarray(factors, float)
    N = int(sizes.sum())
    if v == 0 or v == N:
        return float(np.prod(factors**sizes)) if v else 1.0
    odds = v / (N - v) * factors
    law = np.ones(1)
    for n, chance in zip(sizes, odds / (1 + odds), strict=True):
        law = np.convolve(law, scipy.stats.binom.pmf(np.arange(min(n, v) + 1), n, chance))[: v + 1]
    level = np.exp((sizes * (np.log1p(odds) - np.log1p(v / (N - v)))).sum())
    return float(level * law[v] / scipy.stats.binom.pmf(v, N, v / N)) if len(law) > v else 0.0


def _without_one(sizes: Array, cluster: int) -> Integers:
    """Sizes of the clusters without one item of that cluster."""
    left = np.array(sizes, int)
    left[cluster] -= 1
    return left


def maxsense_means(w: int, p: float, sizes: Array, b: Array) -> Floats:
    """(K, Lc): P(sketch = 1 | an item of the cluster is sensed), others being sensed with probability p each. Exact.

    Given class k and i sensed, the sketch is 0 with chance (w/N)(1 − b_kℓ) F_{w−1} + (1 − w/N) F_w, F_v the mean of
    Π(1 − p b) over v others. The paper has items rated independently with chance w/N instead.
    Source: Figure 2; the proof of Theorem 15.
    """
    N, b, p = int(np.sum(sizes)), np.asarray(b, float), float(p)
    silent = np.empty(b.shape)
    for k, row in enumerate(b):
        for cluster, liked in enumerate(row):
            others = _without_one(sizes, cluster)
            silent[k, cluster] = w / N * (1 - liked) * products(others, 1 - p * row, w - 1)
            if w < N:
                silent[k, cluster] += (1 - w / N) * products(others, 1 - p * row, w)
    return 1 - silent


def multi_means(w: int, sensed: int, sizes: Array, b: Array) -> Floats:
    """(K, Lc): the same where a sensing set has exactly so many items, a uniform subset; Multi-MaxSense. Exact.

    Of r ~ Hypergeometric rated items among the s sensed ones, the item is one with chance r/s; all r are a uniform
    subset. Source: Figure 3.
    """
    N, b = int(np.sum(sizes)), np.asarray(b, float)
    rated = np.arange(min(sensed, w) + 1)
    chance = scipy.stats.hypergeom.pmf(rated, N, w, sensed)
    silent = np.zeros(b.shape)
    for k, row in enumerate(b):
        for cluster, liked in enumerate(row):
            others = _without_one(sizes, cluster)
            none = [products(others, 1 - row, int(v)) if v < N else 0.0 for v in rated]
            for r, weight in zip(rated, chance, strict=True):
                silent[k, cluster] += weight * (
                    r / sensed * (1 - liked) * (none[r - 1] if r else 0)
                    + (1 - r / sensed) * none[r]
                )
    return 1 - silent


def pair_means(
    rated: tuple[float, float], alpha: Array, b: Array, reading: str = "agree"
) -> Floats:
    """(Lc, Lc): P(sketch = 1) for a pair of items of two clusters, the user being of a random class. Exact.

    rated: chances that both items, and that a given one only, are rated. reading: as in the mechanism; `agree` gives
    ρ Σ α (b b' + (1−b)(1−b')), a Gram matrix. KeyError for others.
    """
    alpha, b = np.asarray(alpha, float)[:, None], np.asarray(b, float)
    both, one = rated
    positive = (alpha * b).T @ b
    mixed = (alpha * b).sum(axis=0)  # a rating is positive
    negative = 1 - mixed[:, None] - mixed + positive
    lone = one * (2 - mixed[:, None] - mixed)
    means: Floats = {
        "agree": both * (positive + negative),
        "positive": both * positive,
        "equal": both * (positive + negative) + lone + (1 - both - 2 * one),
    }[reading]
    return means


def rated_chances(N: int, w: int, rated_set: str = "private") -> tuple[float, float]:
    """Chances that both items of the pair are rated, and that a given one only; (1, 0) if rated sets are `public`."""
    return (
        (1.0, 0.0)
        if rated_set == "public"
        else (w * (w - 1) / (N * (N - 1)), w * (N - w) / (N * (N - 1)))
    )


def released(means: Array, epsilon: float) -> Floats:
    """π = f + t·means, the chances that released bits are 1; shape of `means`."""
    pi: Floats = special.expit(-epsilon) + np.tanh(epsilon / 2) * np.asarray(means)
    return pi
