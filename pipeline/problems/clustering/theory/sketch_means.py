"""Exact means of sketches and of released bits at finite N and w.

Shapes: alpha (K,) shares of user classes; sizes (Lc,) items per cluster,
sum N; b (K, Lc) chances of a positive rating. A sketch that is 1 with
chance q is released as a bit that is 1 with chance π = f + t q, f = 1/(1 +
e^ε), t = tanh(ε/2). Means of sketches and bits are (K, Lc), given a user's
class.
"""

import numpy as np
import scipy
from scipy import special

from pipeline.study.arrays import Array, Floats, Integers


def products(sizes: Array, factors: Array, v: int) -> float:
    """E Π_{i∈V} factors[cluster of i], V a uniform v-subset of the items.

    sizes, factors: (Lc,), factors ≥ 0. The coefficient of z^v in Π_ℓ (1 +
    z·factors_ℓ)^{sizes_ℓ} over C(N, v), as a ratio of chances of sums of
    Binomials: no overflow, relative error about 1e-12. O(Lc v²).
    """
    sizes = np.asarray(sizes, int)
    factors = np.asarray(factors, float)
    N = int(sizes.sum())
    if v == 0:
        return 1.0
    if v == N:
        return float(np.prod(factors**sizes))
    odds = v / (N - v) * factors
    law = np.ones(1)
    for n, chance in zip(sizes, odds / (1 + odds), strict=True):
        of_cluster = scipy.stats.binom.pmf(np.arange(min(n, v) + 1), n, chance)
        law = np.convolve(law, of_cluster)[: v + 1]
    if len(law) <= v:
        return 0.0
    level = np.exp((sizes * (np.log1p(odds) - np.log1p(v / (N - v)))).sum())
    return float(level * law[v] / scipy.stats.binom.pmf(v, N, v / N))


def _without_one(sizes: Array, cluster: int) -> Integers:
    """Sizes of the clusters without one item of that cluster."""
    left = np.array(sizes, int)
    left[cluster] -= 1
    return left


def maxsense_means(w: int, p: float, sizes: Array, b: Array) -> Floats:
    """(K, Lc): P(sketch = 1 | an item of the cluster is sensed), MaxSense. Exact.

    p: probability that another item is sensed. Given class k and i sensed,
    the sketch is 0 with chance (w/N)(1 − b_kℓ) F_{w−1} + (1 − w/N) F_w, F_v
    the mean of Π(1 − p b) over v others. The paper has items rated
    independently with chance w/N instead. Source: Figure 2; the proof of
    Theorem 15.
    """
    N = int(np.sum(sizes))
    p = float(p)
    likes = np.asarray(b, float)
    silent = np.empty(likes.shape)
    for k, row in enumerate(likes):
        for cluster, liked in enumerate(row):
            others = _without_one(sizes, cluster)
            silent[k, cluster] = w / N * (1 - liked) * products(others, 1 - p * row, w - 1)
            if w < N:
                silent[k, cluster] += (1 - w / N) * products(others, 1 - p * row, w)
    return 1 - silent


def multi_means(w: int, sensed: int, sizes: Array, b: Array) -> Floats:
    """(K, Lc): the same where a sensing set is a uniform subset of so many items. Exact.

    For Multi-MaxSense. Of r ~ Hypergeometric rated items among the s sensed
    ones, the item is one with chance r/s; all r are a uniform subset.
    Source: Figure 3.
    """
    N = int(np.sum(sizes))
    likes = np.asarray(b, float)
    rated = np.arange(min(sensed, w) + 1)
    chance = scipy.stats.hypergeom.pmf(rated, N, w, sensed)
    silent = np.zeros(likes.shape)
    for k, row in enumerate(likes):
        for cluster, liked in enumerate(row):
            others = _without_one(sizes, cluster)
            # Chances that none of so many others is liked; there are N − 1 others.
            none = np.zeros(len(rated))
            for v in rated[rated < N].tolist():
                none[v] = products(others, 1 - row, v)
            for r, weight in zip(rated, chance, strict=True):
                if_rated = 0.0
                if r:
                    if_rated = r / sensed * (1 - liked) * none[r - 1]
                silent[k, cluster] += weight * (if_rated + (1 - r / sensed) * none[r])
    return 1 - silent


def pair_means(
    rated: tuple[float, float], alpha: Array, b: Array, reading: str = "agree"
) -> Floats:
    """(Lc, Lc): P(sketch = 1) for a pair of items of two clusters, of a user of any class. Exact.

    rated: chances that both items, and that a given one only, are rated.
    reading: as in the mechanism; `agree` gives ρ Σ α (b b' + (1−b)(1−b')),
    a Gram matrix. KeyError for others.
    """
    shares = np.asarray(alpha, float)[:, None]
    likes = np.asarray(b, float)
    both, lone = rated
    positive = (shares * likes).T @ likes
    mixed = (shares * likes).sum(axis=0)  # a rating is positive
    negative = 1 - mixed[:, None] - mixed + positive
    lone_negative = lone * (2 - mixed[:, None] - mixed)
    means: dict[str, Floats] = {
        "agree": both * (positive + negative),
        "positive": both * positive,
        "equal": both * (positive + negative) + lone_negative + (1 - both - 2 * lone),
    }
    return means[reading]


def rated_chances(N: int, w: int, rated_set: str = "private") -> tuple[float, float]:
    """Chances that both items of the pair are rated, and that a certain one of them only.

    (1, 0) if rated sets are `public`.
    """
    if rated_set == "public":
        return 1.0, 0.0
    pairs = N * (N - 1)
    return w * (w - 1) / pairs, w * (N - w) / pairs


def released(means: Array, epsilon: float) -> Floats:
    """π = f + t·means, the chances that released bits are 1; shape of `means`."""
    pi: Floats = special.expit(-epsilon) + np.tanh(epsilon / 2) * np.asarray(means)
    return pi
