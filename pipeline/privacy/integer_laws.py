"""Exact laws of noise on the integers: the discrete Gaussian N_Z(0, σ²) and
Laplace.

N_Z(0, σ²): P(x) = exp(−x²/(2σ²))/Z, x ∈ ℤ. Discrete Laplace of scale t:
P(x) = tanh(1/(2t)) exp(−|x|/t). `variance` is the parameter σ², above the
variance of the noise, which is `gaussian_variance`. The theta function
Z(c) = Σ_x exp(−(x − c)²/(2σ²)) = √(2πσ²) Σ_y cos(2πcy) exp(−2π²σ²y²)
(Poisson summation) is summed on the side that converges faster, where the
sixth terms are below 1e-48: relative error about 1e-15 at worst, cost O(1).
All raise `InvalidInput` for a variance or scale that is not positive and
finite.
Sources: Canonne, Kamath and Steinke (2020), Definition 1 and Facts 17–23;
Ghosh, Roughgarden and Sundararajan (2009).
"""

import math

import numpy as np

from pipeline.study.arrays import Floats, Numbers
from pipeline.study.parameters import InvalidInput

_DUAL = 1 / (2 * math.pi)  # the variance at which both sums are the same
_Y = np.arange(1, 6)


def positive(key: str, value: object) -> Floats:
    """The value as floats, of its shape.

    InvalidInput naming `key` unless all are numbers > 0 and finite.
    """
    array = np.asarray(value)
    is_good = np.zeros(array.shape, bool)
    if array.dtype.kind in "iuf":
        is_good = (array > 0) & (array < math.inf)
    if not is_good.all():
        culprit = value if array.ndim == 0 else array[~is_good].flat[0]
        raise InvalidInput(key, culprit, "must be a number > 0, and finite")
    return array.astype(float)


def _number(key: str, value: object) -> float:
    """`positive` of one number, as a float."""
    return float(positive(key, value))


def _theta(variance: float, centre: float) -> tuple[float, float]:
    """Z(c) as the logarithm of a factor, so that it may be tiny, and a sum;
    c within ±½.
    """
    if variance < _DUAL:
        x = np.arange(-6, 7)
        rate = 0.5 / max(variance, 1e-300)
        return -rate * centre**2, float(np.exp(-rate * (x**2 - 2 * x * centre)).sum())
    waves = np.cos(2 * np.pi * centre * _Y) @ np.exp(-2 * np.pi**2 * variance * _Y**2)
    return 0.0, float(np.sqrt(2 * np.pi * variance) * (1 + 2 * waves))


def gaussian_normaliser(variance: float) -> float:
    """Z = Z(0) = Σ_x exp(−x²/(2σ²)) over the integers x; scalar."""
    return _theta(_number("variance", variance), 0.0)[1]


def gaussian_pmf(x: Numbers, variance: float) -> Floats:
    """P(X = x) of N_Z(0, σ²) at integers x; shape of x. Relative error
    about (1 + x²/2σ²)·1e-16.
    """
    normaliser = gaussian_normaliser(variance)
    scale = max(math.sqrt(variance), 1e-100)
    return np.exp(-0.5 * (np.asarray(x, float) / scale) ** 2) / normaliser


def gaussian_variance(variance: float) -> float:
    """Var X of N_Z(0, σ²), in (0, σ²); scalar.

    Falls short of σ² by 4π²σ⁴·2e^(−2π²σ²) or so: much for σ < ½. Below
    1/(2π) it is Σ x² P(x); above, σ²(1 − 4π²σ² Σ y² w_y/Σ w_y),
    w_y = exp(−2π²σ²y²).
    Source: Canonne, Kamath and Steinke (2020), Proposition 21.
    """
    variance = _number("variance", variance)
    if variance < _DUAL:
        return float(2 * _Y**2 @ gaussian_pmf(_Y, variance))
    weight = 2 * np.exp(-2 * np.pi**2 * variance * _Y**2)
    return float(variance * (1 - 4 * np.pi**2 * variance * (_Y**2 @ weight) / (1 + weight.sum())))


def gaussian_tail(k: Numbers, variance: float) -> Floats:
    """P(X ≥ k) of N_Z(0, σ²) for integers k; shape of k. Relative error
    about (1 + k²/2σ²)·1e-16.

    Summed from where a term is 1e-17 of the last one needed: time and
    memory O(max |k| + 9σ).
    """
    k = np.asarray(k, int)
    start = np.where(k > 0, k, 1 - k)  # P(X ≥ k) = 1 − P(X ≥ 1 − k)
    reach = 9 * math.sqrt(_number("variance", variance))
    end = math.ceil(math.hypot(start.max(initial=1), reach)) + 1
    above = np.cumsum(gaussian_pmf(np.arange(end, 0, -1), variance))[end - start]
    tail: Floats = np.where(k > 0, above, 1 - above)
    return tail


def gaussian_renyi(order: float, shift: int, variance: float) -> float:
    """D_α(N_Z(s, σ²) ‖ N_Z(0, σ²)) in nats, of order α > 1 and a whole
    shift s; scalar.

    Completing the square, αs²/(2σ²) + log(Z(αs)/Z(0))/(α − 1), where
    Z(c) ≤ Z(0): at most αs²/(2σ²), which is zCDP with ρ = s²/(2σ²), and
    equal where αs is whole. Raises `InvalidInput` for another order.
    Source: Canonne, Kamath and Steinke (2020), Theorem 4 and Proposition 5.
    """
    if not _number("order", order) > 1:
        raise InvalidInput("order", order, "must be > 1")
    variance = _number("variance", variance)
    centre = order * shift
    factor, whole = _theta(variance, centre - round(centre))
    lost = factor + math.log(whole / gaussian_normaliser(variance))
    return order * shift**2 / (2 * variance) + lost / (order - 1)


def laplace_pmf(x: Numbers, scale: float) -> Floats:
    """P(X = x) = tanh(1/(2t)) exp(−|x|/t) of the discrete Laplace at
    integers x; shape of x.
    """
    rate = min(1 / _number("scale", scale), 1e280)
    chance: Floats = np.exp(-rate * np.abs(np.asarray(x, float))) * math.tanh(rate / 2)
    return chance


def laplace_variance(scale: float) -> float:
    """Var X = 2α/(1 − α)², α = exp(−1/t), of the discrete Laplace; scalar."""
    rate = 1 / _number("scale", scale)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def laplace_tail(k: Numbers, scale: float) -> Floats:
    """P(X ≥ k) = α^k/(1 + α), α = exp(−1/t), for integers k > 0, and
    1 − P(X ≥ 1 − k) else.

    Shape of k.
    """
    rate = min(1 / _number("scale", scale), 1e280)
    k = np.asarray(k, int)
    above = np.exp(-rate * np.where(k > 0, k, 1 - k)) / (1 + math.exp(-rate))
    return np.where(k > 0, above, 1 - above)
