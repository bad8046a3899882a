"""The law of abilities as points with weights, so that means over persons are sums."""

import math
from functools import lru_cache

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.frozen import read_only

REACH = 8.5  # standard deviations of a normal law: beyond are 2e-17 of it
STEP = 0.5  # of the trapezoidal rule, logits or standard deviations
DIGITS = 36.0  # −log of what is neglected
POLE = math.pi  # distance from the real line to where chances have no value


@lru_cache(maxsize=64)
@read_only
def ability_points(law: str, spread: float) -> tuple[Floats, Floats]:
    """Abilities θ and their weights, which sum to 1; (points,) both.

    law, spread: of `Rasch`, logits. Sums over them of products of
    a person's chances σ(θ − β) are means over the law, to 1e-14:
    such functions have poles at a distance of π only. Normal: the
    trapezoidal rule. Uniform: Gauss and Legendre's.
    Source: Trefethen and Weideman, SIAM Review 56 (2014) 385.

    >>> points, weights = ability_points("normal", 1.0)
    >>> round(float(weights @ points**2), 12)
    1.0
    """
    if spread == 0:
        return np.zeros(1), np.ones(1)
    if law == "uniform":
        needed = math.ceil(DIGITS / (2 * math.asinh(POLE / spread))) + 2
        places, shares = np.polynomial.legendre.leggauss(needed)
        return spread * places, shares / shares.sum()
    step = STEP * min(1.0, spread)
    half = math.ceil(REACH * spread / step)
    points = np.asarray(step * np.arange(-half, half + 1), float)
    weights = np.exp(-np.square(points / spread) / 2)
    return points, weights / weights.sum()
