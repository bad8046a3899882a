"""Level 1 for integer noise: exact sensitivities, and what the stated noise spends on them.

The shift of a pair is the difference of outputs on equal random numbers, the same in all samples.
Samples must agree with the stated law of the noise, and with its independence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.auditing.promise import Promise
from pipeline.auditing.replay import replayed
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject
from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf
from pipeline.study.arrays import Floats
from pipeline.study.audits import StatedNoise

GAUSSIAN = "gaussian"
REACH = 12.0  # standard deviations, beyond which the noise has no chance that a double can show
CHECKED = 20_000  # samples whose law must be the stated one
ERROR = 1e-9  # of that check
LONGEST = 1 << 22


@dataclass(frozen=True)
class Shifted:
    """What the noise spends on the pair that is shifted most. epsilon: at the promise's δ.

    rho: None for Laplace noise. shift: (numbers,).
    """

    pair: Pair
    shift: Floats
    epsilon: float
    rho: float | None
    violates: bool
    event: str


def shifted(
    subject: Subject, pairs: Sequence[Pair], promise: Promise, noise: StatedNoise, seed: int
) -> Shifted | None:
    """The pair on which the noise spends most; None where it is not only added, or has another law
    than stated.
    """
    strongest: Shifted | None = None
    for pair in pairs:
        shift = replayed(subject, pair, promise, seed).shift
        if shift is None:
            return None
        spent = _spent(pair, shift, promise, noise)
        if strongest is None or spent.epsilon > strongest.epsilon:
            strongest = spent
    if strongest is None or not _has_law(subject, strongest, noise, seed):
        return None
    return strongest


def _spent(pair: Pair, shift: Floats, promise: Promise, noise: StatedNoise) -> Shifted:
    changed = int(np.abs(shift).sum())
    square = float((shift**2).sum())
    event = f"{np.count_nonzero(shift)} numbers change, by {changed} in all, {square:g} squared"
    event = f"{event}; discrete {noise.law} noise of width {noise.width:.6g}"
    if noise.law == GAUSSIAN:
        rho: float | None = square / (2 * noise.width)
        epsilon = gaussian_epsilon(shift, noise.width, promise.delta)
    else:
        rho = None
        epsilon = changed / noise.width
    violates = promise.epsilon is not None and epsilon > promise.epsilon * (1 + 1e-7)
    violates |= promise.rho is not None and rho is not None and rho > promise.rho * (1 + 1e-7)
    return Shifted(pair, shift, epsilon, rho, bool(violates), event)


def gaussian_epsilon(shift: Floats, variance: float, delta: float) -> float:
    """Exact ε at δ of integers that differ by a shift, with discrete Gaussian noise z each.

    The privacy loss is (2 Σ Δz + Σ Δ²)/(2σ²), so the law of one integer, Σ Δz, decides. Infinite at
    δ = 0.

    >>> round(gaussian_epsilon(np.array([1.0]), 4.0, 1e-5), 4)
    2.0113
    """
    changes = np.abs(shift[shift != 0]).astype(int)
    if not changes.size:
        return 0.0
    if delta == 0:
        return math.inf
    square = float((changes.astype(float) ** 2).sum())
    half = math.ceil(REACH * math.sqrt(variance * square)) + int(changes.max())
    if 2 * half + 1 > LONGEST:
        return math.nan
    law = _law_of_sum(changes, variance, half)
    losses = (2 * np.arange(-half, half + 1) + square) / (2 * variance)
    low = 0.0
    high = float(losses[-1])
    for _ in range(100):
        middle = (low + high) / 2
        excess = -np.expm1(np.minimum(middle - losses, 0))
        if float((law * excess).sum()) > delta:
            low = middle
        else:
            high = middle
    return high


def _law_of_sum(changes: np.ndarray, variance: float, half: int) -> Floats:
    """Law of Σ Δz from −half to half, by Fourier transforms of the lattice laws of each Δz."""
    size = 2 * half + 1
    transform = np.ones(size // 2 + 1, complex)
    for change, times in zip(*np.unique(changes, return_counts=True), strict=True):
        reach = min(math.ceil(REACH * math.sqrt(variance)) + 1, half // int(change))
        noise = np.arange(-reach, reach + 1)
        lattice = np.zeros(size)
        lattice[noise * int(change)] = gaussian_pmf(noise, variance)  # around 0, cyclic
        transform *= np.fft.rfft(lattice) ** int(times)
    law = np.fft.irfft(transform, size)
    return np.maximum(np.roll(law, half), 0.0)


def _has_law(subject: Subject, strongest: Shifted, noise: StatedNoise, seed: int) -> bool:
    """Whether samples of the numbers that change have the stated law, by the bound of Dvoretzky,
    Kiefer and Wolfowitz.
    """
    columns = np.flatnonzero(strongest.shift)
    if not columns.size:
        return True
    outputs = subject.sample(strongest.pair.first, CHECKED, [seed, 11])[:, columns]
    middle = np.round(np.median(outputs, axis=0))
    error = ERROR / len(columns)
    most = math.sqrt(math.log(2 / error) / (2 * CHECKED))
    for column, centre in enumerate(middle):
        distance = min(
            _distance(outputs[:, column] - centre - offset, noise) for offset in (-1, 0, 1)
        )
        if distance > most:
            return False
    return True


def _distance(values: Floats, noise: StatedNoise) -> float:
    """Largest distance of the distribution function of samples from that of the noise."""
    reach = int(np.abs(values).max()) + 1
    support = np.arange(-reach, reach + 1)
    pmf = gaussian_pmf if noise.law == GAUSSIAN else laplace_pmf
    stated = np.cumsum(pmf(support, noise.width))
    ordered = np.sort(values)
    seen = np.searchsorted(ordered, support, side="right") / len(values)
    return float(np.abs(stated - seen).max())
