"""Quantiles of errors that a curator's noise gives heavier tails than normal ones.

Noise of a pure budget is discrete Laplace. A score has it nearly alone where
privacy costs most, and 95 % of normal errors are then no more than 93.8 %:
P(|N| ≤ 1.96 √(2) b) = 1 − e^(−1.96 √2). An error Σ_k a_k N_k + G, G normal, has
the excess kurtosis κ = Σ_k a_k⁴ κ₄(N_k)/Var², and is taken as the sum of a normal
and of one Laplace variable of the same variance and kurtosis, of which the
second has the share √(κ/3) of the variance: exact for one N_k and for none.

Source: first principles; the law of such a sum is in Reed and Jorgensen (2004),
The double Pareto-lognormal distribution, §2 (there: normal-Laplace).
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy
from scipy import special

from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only
from pipeline.study.intervals import checked_level, normal_quantile

MOST = 3.0  # excess kurtosis of a Laplace variable
NODES = 65  # of shares, between which quantiles are interpolated


def heavy_quantile(level: float, excess: Floats) -> Floats:
    """z with P(|X| ≤ z) = level, X of variance 1 and of this excess kurtosis, in its shape.

    Below 0 it counts as 0, above 3 as 3; NaN stays. Interpolated, to 1e-4 of itself. Raises
    InvalidInput unless 0 < level < 1.

    >>> heavy_quantile(0.95, np.array([0.0, 3.0])).round(3).tolist()
    [1.96, 2.118]
    """
    share = np.sqrt(np.clip(excess, 0, MOST) / MOST)
    quantile: Floats = np.interp(share, _shares(), _quantiles(checked_level(level)))
    return np.where(np.isnan(excess), np.nan, quantile)


class NoiseParts(NamedTuple):
    """Some independent draws N_d of noise, and how much errors e_k = Σ_d b_kd N_d have of each.

    shares: b, (reps, k, draws). fourth: κ₄(N_d), (reps or 1, draws).
    """

    shares: Floats
    fourth: Floats


def fourth_cumulants(parts: Iterable[NoiseParts], of_differences: bool) -> Floats:
    """κ₄ of e_k, (reps, k), or of e_k − e_l, (reps, k, k), in all draws of all parts.

    Σ_d κ₄(N_d) (b_kd − b_ld)⁴ is written as products of matrices of powers, so that no array has
    more than k² or k · draws numbers. O(reps · k · draws), of differences O(reps · k² · draws).

    >>> parts = NoiseParts(np.array([[[1.0, 0.0], [0.0, 2.0]]]), np.array([[3.0, 3.0]]))
    >>> fourth_cumulants([parts], False).tolist(), fourth_cumulants([parts], True).tolist()
    ([[3.0, 48.0]], [[[0.0, 51.0], [51.0, 0.0]]])
    """
    return np.asarray(sum(_fourth(part, of_differences) for part in parts))


def pair_parts(inverse: Floats, fourth: Floats) -> Iterator[NoiseParts]:
    """Draws of pairs that move i and j by as much in opposite directions, before K⁺ = inverse.

    The error of item k has (K⁺_ki − K⁺_kj) N_ij. inverse: (reps, m, m). fourth: κ₄(N_ij),
    (reps or 1, m, m), symmetric. One part for each item, with those after it.
    """
    for item in range(inverse.shape[1] - 1):
        others = slice(item + 1, None)
        shares = inverse[:, :, item, None] - inverse[:, :, others]
        yield NoiseParts(shares, fourth[:, item, others])


def _fourth(part: NoiseParts, of_differences: bool) -> Floats:
    shares = part.shares
    square = shares**2
    weighted = square * part.fourth[:, None]
    single: Floats = (weighted * square).sum(axis=-1)
    if not of_differences:
        return single
    odd = (weighted * shares) @ shares.mT
    even = weighted @ square.mT
    total = single[:, :, None] + single[:, None] - 4 * (odd + odd.mT) + 6 * even
    return np.maximum(total, 0)


def excess_kurtosis(cumulants: Floats, variance: Floats) -> Floats:
    """κ₄/Var²; 0 where nothing varies, NaN where the variance is."""
    excess = np.zeros(cumulants.shape)
    np.divide(cumulants, np.square(variance), out=excess, where=variance > 0)
    return np.where(np.isnan(variance), np.nan, excess)


def chance_beyond(reach: float, share: float) -> float:
    """P(|X| > reach), X of variance 1, `share` of it that of a Laplace variable.

    >>> round(chance_beyond(1.959964, 0.0), 4), round(chance_beyond(1.959964, 1.0), 4)
    (0.05, 0.0625)
    """
    if share == 0:
        return float(special.erfc(reach / np.sqrt(2)))
    scale = np.sqrt(share / 2)  # b
    if share == 1:
        return float(np.exp(-reach / scale))
    spread = np.sqrt(1 - share)
    ratio = spread / scale
    standard = reach / spread
    inner = ratio**2 / 2 - reach / scale + special.log_ndtr(standard - ratio)
    outer = ratio**2 / 2 + reach / scale + special.log_ndtr(-standard - ratio)
    normal = special.ndtr(-standard)
    return float(2 * normal + np.exp(inner) - np.exp(outer))


def _shares() -> Floats:
    return np.linspace(0, 1, NODES)


@cache
@read_only
def _quantiles(level: float) -> Floats:
    """(NODES,): at the shares, by Brent's method."""
    quantiles = np.empty(NODES)
    widest = 10 * normal_quantile(level) + 10
    for node, share in enumerate(_shares().tolist()):
        quantiles[node] = scipy.optimize.brentq(_excess_chance, 0.0, widest, (share, level))
    return quantiles


def _excess_chance(reach: float, share: float, level: float) -> float:
    return chance_beyond(reach, share) - (1 - level)
