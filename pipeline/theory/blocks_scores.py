"""What sketches look like at finite N and w, and where clustering succeeds: exact means, Gaussian predictions.

Shapes: alpha (K,) shares of user classes; sizes (Lc,) items per cluster, sum N; b (K, Lc) chances of a positive rating.
A sketch with chance q leaves as a bit with chance π = f + t q, f = 1/(1 + e^ε), t = tanh(ε/2). Means of sketches and
bits are (K, Lc), given a user's class; classes have exactly α_k U users.
"""

import numpy as np
from scipy import optimize, special, stats


def products(sizes: np.ndarray, factors: np.ndarray, v: int) -> float:
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
        law = np.convolve(law, stats.binom.pmf(np.arange(min(n, v) + 1), n, chance))[: v + 1]
    level = np.exp((sizes * (np.log1p(odds) - np.log1p(v / (N - v)))).sum())
    return float(level * law[v] / stats.binom.pmf(v, N, v / N)) if len(law) > v else 0.0


def _without_one(sizes, cluster):
    left = np.array(sizes, int)
    left[cluster] -= 1
    return left


def maxsense_means(w: int, p: float, sizes: np.ndarray, b: np.ndarray) -> np.ndarray:
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


def multi_means(w: int, sensed: int, sizes: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(K, Lc): the same where a sensing set has exactly so many items, a uniform subset; Multi-MaxSense. Exact.

    Of r ~ Hypergeometric rated items among the s sensed ones, the item is one with chance r/s; all r are a uniform
    subset. Source: Figure 3.
    """
    N, b = int(np.sum(sizes)), np.asarray(b, float)
    rated = np.arange(min(sensed, w) + 1)
    chance = stats.hypergeom.pmf(rated, N, w, sensed)
    silent = np.zeros(b.shape)
    for k, row in enumerate(b):
        for cluster, liked in enumerate(row):
            others = _without_one(sizes, cluster)
            none = [products(others, 1 - row, v) if v < N else 0.0 for v in rated]
            for r, weight in zip(rated, chance, strict=True):
                silent[k, cluster] += weight * (r / sensed * (1 - liked) * (none[r - 1] if r else 0)
                                                + (1 - r / sensed) * none[r])
    return 1 - silent


def released(means: np.ndarray, epsilon: float) -> np.ndarray:
    """π = f + t·means."""
    return special.expit(-epsilon) + np.tanh(epsilon / 2) * np.asarray(means)


def score_mean(U: int, p: float, alpha: np.ndarray, pi: np.ndarray, Q: int = 1) -> np.ndarray:
    """(Lc,): E B_i = U Q p Σ_k α_k π_kℓ of a cluster's items, exact; Q disjoint sketches a user."""
    return U * Q * p * (np.asarray(alpha) @ pi)


def score_variance(U: int, p: float, alpha: np.ndarray, pi: np.ndarray, Q: int = 1) -> np.ndarray:
    """(Lc,): Var B_i = U Σ_k α_k c π_kℓ (1 − c π_kℓ), c = Q p, exact: each user adds 0 or 1."""
    each = Q * p * np.asarray(pi)
    return U * (np.asarray(alpha) @ (each * (1 - each)))


def score_noise(U: int, p: float, alpha: np.ndarray, pi: np.ndarray, Q: int = 1, adjusted: bool = False) -> np.ndarray:
    """(Lc,): half the variance of B_i − B_j, i and j of one cluster: what all scores share moves no item.

    U c π [1 − p − (c − p) π], c = Q p, π averaged over classes; adjusted, U c π (1 − π)(1 − p): scores less the mean
    bit's worth of the number of times that the item happened to be sensed, at ε → 0 half the noise. To first order in
    w/N.
    """
    pi, cover = np.asarray(alpha) @ pi, Q * p
    return U * cover * pi * ((1 - pi) * (1 - p) if adjusted else 1 - p - (cover - p) * pi)


def score_success(
    U: int, p: float, alpha: np.ndarray, pi: np.ndarray, sizes: np.ndarray, Q: int = 1, adjusted: bool = False
) -> float:
    """P(every item right), Gaussian: each item errs past the middle to the next cluster's mean, independently.

    Valid where errors are rare, N large and U p w/N ≫ 1; the cluster means of k-means are taken as known.
    """
    means = score_mean(U, p, alpha, pi, Q)
    noise = np.sqrt(score_noise(U, p, alpha, pi, Q, adjusted))
    order = np.argsort(means)
    half = np.diff(means[order]) / 2
    noise, items = noise[order], np.asarray(sizes)[order]
    wrong = np.zeros(len(items))
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong[:-1] += stats.norm.sf(half / noise[:-1])
        wrong[1:] += stats.norm.sf(half / noise[1:])
        return float(np.exp((items * np.log1p(-np.minimum(np.nan_to_num(wrong, nan=1), 1))).sum()))


def users_of_success(success, wanted: float = 0.5, most: float = 1e18) -> float:
    """Real U at which success(U), rising, is `wanted`; infinite if it is not reached at `most`. Bisection in log U."""
    if not success(most) > wanted:
        return np.inf
    return float(np.exp(optimize.brentq(lambda log: success(np.exp(log)) - wanted, 0.0, np.log(most), xtol=1e-6)))


def maxsense_success(
    U: int, w: int, epsilon: float, theta: float, alpha: np.ndarray, sizes: np.ndarray, b: np.ndarray,
    adjusted: bool = False,
) -> float:
    """P(every item right) of MaxSense, Gaussian; sensing probability θ/w. See `score_success`."""
    pi = released(maxsense_means(w, theta / w, sizes, b), epsilon)
    return score_success(U, theta / w, alpha, pi, sizes, 1, adjusted)


def multi_success(
    U: int, w: int, epsilon: float, theta: float, Q: int, alpha: np.ndarray, sizes: np.ndarray, b: np.ndarray,
    adjusted: bool = False,
) -> float:
    """P(every item right) of Multi-MaxSense, Gaussian: Q disjoint sets of round(Nθ/w) items, ε/Q each."""
    N = int(np.sum(sizes))
    sensed = max(1, round(N * theta / w))
    pi = released(multi_means(w, sensed, sizes, b), epsilon / Q)
    return score_success(U, sensed / N, alpha, pi, sizes, Q, adjusted)


# --------------------------------------------------------------------------------------------------- pairs of items


def pair_means(rated: tuple[float, float], alpha: np.ndarray, b: np.ndarray, reading: str = "agree") -> np.ndarray:
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
    return {"agree": both * (positive + negative), "positive": both * positive,
            "equal": both * (positive + negative) + lone + (1 - both - 2 * one)}[reading]


def rated_chances(N: int, w: int, rated_set: str = "private") -> tuple[float, float]:
    """Chances that both items of the pair are rated, and that a given one only; (1, 0) if rated sets are `public`."""
    return (1.0, 0.0) if rated_set == "public" else (w * (w - 1) / (N * (N - 1)), w * (N - w) / (N * (N - 1)))


def pair_signal(
    U: float, epsilon: float, sizes: np.ndarray, chances: np.ndarray, adjusted: bool = False
) -> tuple[np.ndarray, np.ndarray, float]:
    """Eigenvalues (Lc,) of E Â, largest first; profiles (Lc, Lc) of clusters, λ_r·x_r(i); noise of one coordinate.

    Each user probes one of the N(N−1)/2 pairs, Â_ij ~ Binomial(U, 2π_ij/(N(N−1))); Â_ii is set to the mean of the
    others. Exact but for the noise, whose variance is averaged over entries; adjusted: π(1 − π) for π. The noise has
    spectral norm 2√N times that of an entry.
    """
    sizes = np.asarray(sizes, float)
    N, pi = sizes.sum(), released(chances, epsilon)
    each = 2 * U / (N * (N - 1))
    weight = np.sqrt(np.outer(sizes, sizes))
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    values, vectors = np.linalg.eigh(each * (weight * pi + np.diag((pairs * pi).sum() / pairs.sum() - np.diag(pi))))
    values, vectors = values[::-1], vectors[:, ::-1]
    mean = (pairs * (pi * (1 - pi) if adjusted else pi)).sum() / pairs.sum()
    return values, values * vectors / np.sqrt(sizes)[:, None], float(np.sqrt(each * mean))


def pair_threshold(U: float, epsilon: float, sizes: np.ndarray, chances: np.ndarray, adjusted: bool = False) -> float:
    """Least |λ_r|/(√N noise) over the eigenvalues that tell clusters apart: below 1 noise hides that eigenvector.

    Source: the threshold of Baik, Ben Arous and Péché for one eigenvalue beside a Wigner matrix.
    """
    values, profiles, noise = pair_signal(U, epsilon, sizes, chances, adjusted)
    telling = np.ptp(profiles, axis=0) > 1e-9 * np.abs(profiles).max()
    return float(np.abs(values[telling]).min() / (np.sqrt(np.sum(sizes)) * noise)) if telling.any() else 0.0


def pair_success(U: float, epsilon: float, sizes: np.ndarray, chances: np.ndarray, adjusted: bool = False) -> float:
    """P(every item right) of spectral clustering of pairs, Gaussian.

    Items are points λ_r x_r(i) with independent noise; an item errs past the middle to another cluster's point.
    Coordinate r is shortened by √(1 − 1/R_r), R_r = (λ_r/(√N noise))², the overlap of estimated and true eigenvector,
    and lost where R_r ≤ 1. Valid for large N, rare errors and 2U ≫ N(N − 1)·(few/N): many released ones a row.
    """
    values, profiles, noise = pair_signal(U, epsilon, sizes, chances, adjusted)
    with np.errstate(divide="ignore"):
        overlap = np.maximum(1 - np.sum(sizes) * noise**2 / values**2, 0)
    points = profiles * np.sqrt(overlap)
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)) / (2 * noise)
    wrong = stats.norm.sf(apart)
    np.fill_diagonal(wrong, 0)
    with np.errstate(divide="ignore"):
        return float(np.exp((np.asarray(sizes) * np.log1p(-np.minimum(wrong.sum(axis=1), 1))).sum()))
