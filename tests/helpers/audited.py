"""Mechanisms that are known to be right or wrong, for audits: (dataset, samples, rng) -> array.

Each wrong one is a mistake that was published or released: see `KNOWN`. ε = 1 unless said.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

EPSILON = 1.0
FLIP = 1 / (1 + math.exp(EPSILON))
DELTA = 1e-4


def randomized_response(bits, samples, rng):
    """Every bit is flipped; neighbours differ in one."""
    bits = np.asarray(bits, bool)
    return (rng.random((samples, bits.size)) < FLIP) ^ bits


def one_plain_bit(bits, samples, rng):
    """The last bit is released as it is."""
    released = randomized_response(bits, samples, rng)
    released[:, -1] = bits[-1]
    return released


def geometric(value, samples, rng):
    """Discrete Laplace noise on a count."""
    stop = 1 - math.exp(-EPSILON)
    return value + rng.geometric(stop, samples) - rng.geometric(stop, samples)


def laplace_in_floats(value, samples, rng):
    """Laplace noise in floating-point arithmetic, by inversion of a uniform number.

    Source: Mironov (2012).
    """
    uniform = rng.random(samples) - 0.5
    return value - np.sign(uniform) * np.log(1 - 2 * np.abs(uniform)) / EPSILON


def laplace_on_a_grid(value, samples, rng):
    """The same, rounded to multiples of 1/64, of which values are multiples as well."""
    return np.round(laplace_in_floats(0.0, samples, rng) * 64) / 64 + value


def exponential(qualities, samples, rng, budget=EPSILON):
    """The exponential mechanism for qualities that change by 1 at most."""
    weights = np.exp(budget * np.asarray(qualities, float) / 2)
    return rng.choice(weights.size, samples, p=weights / weights.sum())


def exponential_of_half_sensitivity(qualities, samples, rng):
    """As if qualities changed by ½."""
    return exponential(qualities, samples, rng, 2 * EPSILON)


def noisy_maximum(counts, samples, rng, scale=2 / EPSILON):
    """Which count is largest after Laplace noise; counts change by 1 at most, in any direction."""
    counts = np.asarray(counts, float)
    return np.argmax(counts + rng.laplace(scale=scale, size=(samples, counts.size)), axis=1)


def noisy_maximum_with_wrong_constant(counts, samples, rng):
    """Half of the noise, which is enough only where all counts change in one direction."""
    return noisy_maximum(counts, samples, rng, 1 / EPSILON)


def noisy_maximum_itself(counts, samples, rng):
    """The largest noisy count is released, and not which one it is.

    Source: Ding et al. (2018).
    """
    counts = np.asarray(counts, float)
    noisy = counts + rng.laplace(scale=2 / EPSILON, size=(samples, counts.size))
    return np.round(noisy.max(axis=1) * 64) / 64


def _above(counts, samples, rng, noise, most):
    """0 below and 1 above a noisy threshold of 0; after `most` counts above, 2."""
    counts = np.asarray(counts, float)
    threshold = rng.laplace(scale=2 / EPSILON, size=(samples, 1))
    noisy = counts + (rng.laplace(scale=noise, size=(samples, counts.size)) if noise else 0)
    is_above = noisy >= threshold
    ended = np.cumsum(is_above, axis=1) - is_above >= most
    return np.where(ended, 2, is_above.astype(int))


def sparse_vector(counts, samples, rng):
    """One answer above the threshold, counts that change by 1. Source: Lyu, Su and Li (2017)."""
    return _above(counts, samples, rng, 4 / EPSILON, 1)


def sparse_vector_without_noise(counts, samples, rng):
    """Noise on the threshold only: variant 5 of Lyu, Su and Li."""
    return _above(counts, samples, rng, 0, len(counts))


def sparse_vector_without_end(counts, samples, rng):
    """Any number of answers above the threshold: variant 6 of Lyu, Su and Li."""
    return _above(counts, samples, rng, 2 / EPSILON, len(counts))


def _counts_of_pairs(answers):
    """Y_ij, persons who have item i right and j wrong."""
    answers = np.asarray(answers, int)
    return answers.T @ (1 - answers)


def rasch_of_every_count(answers, samples, rng):
    """Discrete Laplace noise on every count of pairs; Δ₁ = 2⌊m²/4⌋."""
    counts = _counts_of_pairs(answers)
    off = ~np.eye(len(counts), dtype=bool)
    stop = 1 - math.exp(-EPSILON / (2 * (len(counts) ** 2 // 4)))
    size = (samples, int(off.sum()))
    return counts[off] + rng.geometric(stop, size) - rng.geometric(stop, size)


def rasch_as_published(answers, samples, rng):
    """The same, but noise only where a count is not 0. Source: Nguyen and Zhang, their code."""
    counts = _counts_of_pairs(answers)[~np.eye(np.shape(answers)[1], dtype=bool)]
    noisy = rasch_of_every_count(answers, samples, rng)
    return np.where(counts > 0, noisy, 0)


def gaussian_on_a_grid(values, samples, rng):
    """Normal noise of μ = 1 for a change of 1, rounded to multiples of 1/64."""
    values = np.asarray(values, float)
    return np.round(rng.normal(size=(samples, values.size)) * 64) / 64 + values


def noisy_count(bits, samples, rng):
    """A count with Laplace noise on a coarse grid, whose law samples must find."""
    return np.floor((np.sum(bits) + rng.laplace(scale=1 / EPSILON, size=samples)) * 4) / 4


def half_noise(bits, samples, rng):
    """The same with half of the noise."""
    return np.floor((np.sum(bits) + rng.laplace(scale=0.5 / EPSILON, size=samples)) * 4) / 4


@dataclass(frozen=True)
class Known:
    """A mechanism, a pair of neighbours, what it promises, and whether that is broken."""

    mechanism: Callable[..., Any]
    pair: tuple[Any, Any]
    right: bool
    samples: int = 100_000
    promise: tuple[tuple[str, float], ...] = (("epsilon", EPSILON),)


SPARSE = ([0, 0, 0, 0, 5, 5, 5, 5], [1, 1, 1, 1, 4, 4, 4, 4])
MAXIMUM = ([1, 0, 0, 0, 0], [0, 1, 1, 1, 1])
ANSWERS = ([[1, 1, 1], [1, 0, 1]], [[1, 1, 1], [1, 1, 1]])
KNOWN = [
    Known(randomized_response, ([0, 1, 1], [0, 1, 0]), right=True),
    Known(one_plain_bit, ([0, 1, 1], [0, 1, 0]), right=False),
    Known(geometric, (3, 4), right=True),
    Known(laplace_on_a_grid, (0.0, 1.0), right=True),
    Known(laplace_in_floats, (0.0, 1.0), right=False),
    Known(exponential, ([1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]), right=True),
    Known(exponential_of_half_sensitivity, ([1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]), right=False),
    Known(noisy_maximum, MAXIMUM, right=True),
    Known(noisy_maximum_with_wrong_constant, MAXIMUM, right=False, samples=400_000),
    Known(noisy_maximum_itself, ([0] * 5, [1] * 5), right=False),
    Known(sparse_vector, SPARSE, right=True),
    Known(sparse_vector_without_noise, ([0, 1], [1, 0]), right=False),
    Known(sparse_vector_without_end, SPARSE, right=False),
    Known(rasch_of_every_count, ANSWERS, right=True),
    Known(rasch_as_published, ANSWERS, right=False),
    Known(gaussian_on_a_grid, ([0.0], [1.0]), right=True, promise=(("mu", 1.0),)),
    Known(
        gaussian_on_a_grid,
        ([0.0], [1.0]),
        right=True,
        promise=(("epsilon", 4.3772), ("delta", 1e-5)),
    ),
]
