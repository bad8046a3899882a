"""Where clustering succeeds: Gaussian predictions of P(every item right).

For each mechanism and its estimator. Shapes: alpha (K,) shares of user
classes; sizes (Lc,) items per cluster, sum N; b (K, Lc) chances of a
positive rating; pi (K, Lc) chances π that a released bit is 1, see
`sketch_means`. Classes have exactly α_k U users.
"""

from collections.abc import Callable

import numpy as np
import scipy
from scipy import special

from pipeline.study.arrays import Array, Floats

from ..design import BlockLaw, Design
from .sketch_means import maxsense_means, multi_means, released

EQUAL = 1e-12  # difference of means, relative, that is rounding
EQUAL_VALUES = 1e-9  # the same of eigenvalues


def users_of_success(
    success: Callable[[float], float], wanted: float = 0.5, most: float = 1e18
) -> float:
    """Real U at which success(U), which rises with U, is `wanted`.

    Infinite if it is lower at `most`.
    Brent's method in log U.
    """
    if not success(most) > wanted:
        return np.inf

    def excess(log: float) -> float:
        return success(np.exp(log)) - wanted

    return float(np.exp(scipy.optimize.brentq(excess, 0.0, np.log(most), xtol=1e-6)))


# ------------------------------------------------------------------------ scores of sets


def score_mean(U: float, p: float, alpha: Array, pi: Array, Q: int = 1) -> Floats:
    """(Lc,): E B_i = U Q p Σ_k α_k π_kℓ of a cluster's items, exact; Q disjoint sketches a user."""
    mean: Floats = U * Q * p * (np.asarray(alpha) @ pi)
    return mean


def score_variance(U: float, p: float, alpha: Array, pi: Array, Q: int = 1) -> Floats:
    """(Lc,): Var B_i = U Σ_k α_k c π_kℓ (1 − c π_kℓ), c = Q p, exact: each user adds 0 or 1."""
    each = Q * p * np.asarray(pi)
    variance: Floats = U * (np.asarray(alpha) @ (each * (1 - each)))
    return variance


def score_noise(
    U: float, p: float, alpha: Array, pi: Array, Q: int = 1, adjusted: bool = False
) -> Floats:
    """(Lc,): half the variance of B_i − B_j, i and j of one cluster.

    What all scores have in common moves no item. U c π [1 − p − (c − p) π],
    c = Q p, π averaged over classes. adjusted: U c π (1 − π)(1 − p), of
    scores less the mean bit times the number of times that the item was
    sensed; at ε → 0 half the noise. To first order in w/N.
    """
    cover = Q * p
    mean = np.asarray(alpha) @ pi
    if adjusted:
        adjusted_noise: Floats = U * cover * mean * ((1 - mean) * (1 - p))
        return adjusted_noise
    noise: Floats = U * cover * mean * (1 - p - (cover - p) * mean)
    return noise


def score_success(
    U: float, p: float, alpha: Array, pi: Array, sizes: Array, Q: int = 1, adjusted: bool = False
) -> float:
    """P(every item right), Gaussian: an item errs past the middle to the next cluster's mean.

    Items are independent. Valid where errors are rare, N large and U p w/N
    ≫ 1; the cluster means of k-means are taken as known.
    """
    means = score_mean(U, p, alpha, pi, Q)
    noise = np.sqrt(score_noise(U, p, alpha, pi, Q, adjusted))
    order = np.argsort(means)
    half = np.diff(means[order]) / 2
    half[half < EQUAL * means.max()] = 0  # as where every item is sensed, theta = w
    noise = noise[order]
    items = np.asarray(sizes)[order]
    wrong = np.zeros(len(items))
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong[:-1] += special.ndtr(-half / noise[:-1])
        wrong[1:] += special.ndtr(-half / noise[1:])
        wrong = np.minimum(np.nan_to_num(wrong, nan=1), 1)
        return float(np.exp((items * np.log1p(-wrong)).sum()))


def maxsense_success(U: float, design: Design, adjusted: bool = False) -> float:
    """P(every item right) of MaxSense, Gaussian; sensing probability θ/w. See `score_success`."""
    law = design.law
    means = maxsense_means(design.w, design.sensing, design.sizes, law.b)
    pi = released(means, design.epsilon)
    return score_success(U, design.sensing, law.alpha, pi, design.sizes, 1, adjusted)


def multi_success(U: float, design: Design, adjusted: bool = False) -> float:
    """P(every item right) of Multi-MaxSense, Gaussian.

    Q disjoint sets of round(Nθ/w) items, a bit of budget ε/Q about each.
    """
    law = design.law
    means = multi_means(design.w, design.set_size, design.sizes, law.b)
    pi = released(means, design.epsilon / design.Q)
    sensing = design.set_size / design.N
    return score_success(U, sensing, law.alpha, pi, design.sizes, design.Q, adjusted)


# ------------------------------------------------------------------- ratings, one by one


def seen_success(U: float, w: int, alpha: Array, sizes: Array, b: Array) -> float:
    """P(every item right) from ratings that are seen as they are; U is rounded.

    An item is seen Binomial(U, w/N) times, errs where its share of positive
    ratings is past the middle to the next cluster's chance, by half where
    it is there, and by 1 − 1/Lc where it was not seen; items independently.
    The middle is taken as known.
    """
    likes = np.asarray(alpha) @ np.asarray(b, float)
    order = np.argsort(likes)
    likes = likes[order]
    items = np.asarray(sizes)[order]
    law = scipy.stats.binom(max(1, round(U)), w / items.sum())
    seen = np.arange(max(1, law.ppf(1e-12)), law.isf(1e-12) + 1)
    middle = (likes[1:] + likes[:-1])[:, None] / 2 * seen
    wrong = np.zeros((len(likes), len(seen)))
    wrong[:-1] += 1 - _below(middle, seen, likes[:-1, None])
    wrong[1:] += _below(middle, seen, likes[1:, None])
    wrong = wrong @ law.pmf(seen) + (1 - 1 / len(likes)) * law.pmf(0)
    return float(np.exp((items * np.log1p(-np.minimum(wrong, 1 - 1e-12))).sum()))


def _below(middle: Floats, seen: Array, likes: Floats) -> Floats:
    """P(positive < middle) + ½P(positive = middle) of Binomial(seen, likes)."""
    middle = np.round(middle, 9)
    law = scipy.stats.binom.cdf
    below: Floats = law(np.ceil(middle) - 1, seen, likes) + law(np.floor(middle), seen, likes)
    return below / 2


def one_bit_success(U: float, alpha: Array, sizes: Array, b: Array) -> float:
    """P(every item right) of the one-bit sketch without privacy, Gaussian.

    Scores Σ H_ui S_u: expectations of two items differ by (b̄_i − b̄_j)
    U/(2N), and half the variance of their difference is U/8. Valid for
    large N.
    """
    likes = np.asarray(alpha) @ np.asarray(b, float)
    items = np.asarray(sizes)[np.argsort(likes)]
    half = np.diff(np.sort(likes)) * U / (4 * items.sum()) / np.sqrt(U / 8)
    wrong = np.zeros(len(items))
    wrong[:-1] += special.ndtr(-half)
    wrong[1:] += special.ndtr(-half)
    return float(np.exp((items * np.log1p(-wrong)).sum()))


# ------------------------------------------------------------------------ pairs of items


def pair_signal(
    U: float, epsilon: float, sizes: Array, chances: Array, adjusted: bool = False
) -> tuple[Floats, Floats, float]:
    """Eigenvalues of E Â, profiles of the clusters, and the noise of one coordinate.

    Eigenvalues: (Lc,), largest first. Profiles: (Lc, Lc), λ_r·x_r(i). Each
    user probes one of the N(N−1)/2 pairs, Â_ij ~ Binomial(U,
    2π_ij/(N(N−1))); Â_ii is set to the mean of the others. Exact but for
    the noise, whose variance is averaged over entries; adjusted: π(1 − π)
    for π. The noise has spectral norm 2√N times that of an entry.
    """
    sizes = np.asarray(sizes, float)
    N = sizes.sum()
    pi = released(chances, epsilon)
    each = 2 * U / (N * (N - 1))
    weight = np.sqrt(np.outer(sizes, sizes))
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    diagonal = np.diag((pairs * pi).sum() / pairs.sum() - np.diag(pi))
    values, vectors = np.linalg.eigh(each * (weight * pi + diagonal))
    values = values[::-1]
    profiles = values * vectors[:, ::-1] / np.sqrt(sizes)[:, None]
    variance = pi
    if adjusted:
        variance = pi * (1 - pi)
    mean = (pairs * variance).sum() / pairs.sum()
    return values, profiles, float(np.sqrt(each * mean))


def pair_threshold(
    U: float, epsilon: float, sizes: Array, chances: Array, adjusted: bool = False
) -> float:
    """Least |λ_r|/(√N noise) over the eigenvalues whose vectors distinguish clusters.

    Below 1 noise hides one of them. Source: the threshold of Baik, Ben
    Arous and Péché for one eigenvalue beside a Wigner matrix.
    """
    values, profiles, noise = pair_signal(U, epsilon, sizes, chances, adjusted)
    informative = np.ptp(profiles, axis=0) > 1e-9 * np.abs(profiles).max()
    if not informative.any():
        return 0.0
    return float(np.abs(values[informative]).min() / (np.sqrt(np.sum(sizes)) * noise))


def pair_success(
    U: float, epsilon: float, sizes: Array, chances: Array, adjusted: bool = False
) -> float:
    """P(every item right) of spectral clustering of pairs, Gaussian.

    Items are points λ_r x_r(i) with independent noise; an item errs past
    the middle to another cluster's point. Coordinate r is shortened by √(1
    − 1/R_r), R_r = (λ_r/(√N noise))², the overlap of estimated and true
    eigenvector, and lost where R_r ≤ 1. Valid for large N, rare errors and
    2U ≫ N(N − 1)·(few/N): many released ones a row.
    """
    return _spectral_success(sizes, *pair_signal(U, epsilon, sizes, chances, adjusted))


def co_occurrence_success(
    U: float, w: int, sizes: Array, law: BlockLaw, variance: float, is_signed: bool
) -> float:
    """The same of a curator's sums over records, with noise of this variance in every entry.

    Each of U users rates both items of a pair with chance ρ = w(w − 1)/(N(N − 1)), and adds 1 if
    alike; else −1 if is_signed, or 0. Entries are taken as independent.
    """
    sizes = np.asarray(sizes, float)
    N = sizes.sum()
    both = U * w * (w - 1) / (N * (N - 1))
    positive = (law.alpha[:, None] * law.b).T @ law.b
    mixed = law.alpha @ law.b
    alike = 1 - mixed[:, None] - mixed + 2 * positive
    mean = both * alike
    spread = both * alike
    if is_signed:
        mean = both * (2 * alike - 1)
        spread = np.full_like(alike, both)
    weight = np.sqrt(np.outer(sizes, sizes))
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    diagonal = np.diag((pairs * mean).sum() / pairs.sum() - np.diag(mean))
    values, vectors = np.linalg.eigh(weight * mean + diagonal)
    profiles = values * vectors / np.sqrt(sizes)[:, None]
    noise = np.sqrt((pairs * spread).sum() / pairs.sum() + variance)
    return _spectral_success(sizes, values, profiles, float(noise))


def _spectral_success(sizes: Array, values: Floats, profiles: Floats, noise: float) -> float:
    """P(every item right) of spectral clustering, see `pair_success`, given `pair_signal`."""
    with np.errstate(divide="ignore"):
        overlap = np.maximum(1 - np.sum(sizes) * noise**2 / values**2, 0)
    points = profiles * np.sqrt(overlap)
    apart = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2)) / (2 * noise)
    wrong = special.ndtr(-apart)
    np.fill_diagonal(wrong, 0)
    wrong_item = np.minimum(wrong.sum(axis=1), 1)
    with np.errstate(divide="ignore"):
        return float(np.exp((np.asarray(sizes) * np.log1p(-wrong_item)).sum()))


TURNS = 180  # angles within a quarter turn, over which signs of equal eigenvalues are averaged


def sign_success(U: float, epsilon: float, sizes: Array, chances: Array) -> float:
    """P(every item right) of four clusters by the signs of the second and third vectors, Gaussian.

    An item errs where noise takes one of its two coordinates past 0. Where both eigenvalues are
    equal, the plane's axes are turned by a uniform angle: near an eighth of a turn clusters lie on
    an axis, and no number of users helps. Points, noise and validity as in `pair_success`.
    """
    sizes = np.asarray(sizes, float)
    values, profiles, noise = pair_signal(U, epsilon, sizes, chances)
    second = values[1]
    third = values[2]
    with np.errstate(divide="ignore"):
        overlap = np.maximum(1 - sizes.sum() * noise**2 / values[1:3] ** 2, 0)
    points = profiles[:, 1:3] * np.sqrt(overlap)
    angles: Floats = np.zeros(1)
    if np.isclose(second, third, rtol=EQUAL_VALUES):
        angles = np.arange(0.5, TURNS) * (np.pi / 2 / TURNS)
    first_axis = np.outer(points[:, 0], np.cos(angles)) - np.outer(points[:, 1], np.sin(angles))
    second_axis = np.outer(points[:, 0], np.sin(angles)) + np.outer(points[:, 1], np.cos(angles))
    log_right = special.log_ndtr(np.abs(first_axis) / noise)
    log_right = log_right + special.log_ndtr(np.abs(second_axis) / noise)
    quadrants = 2 * (first_axis > 0) + (second_axis > 0)
    are_apart = (np.diff(np.sort(quadrants, axis=0), axis=0) > 0).all(axis=0)
    return float((are_apart * np.exp(sizes @ log_right)).mean())
