"""Draws that several problems share, exact in law."""

import math

import numpy as np


def whole_words(size: int) -> int:
    """Replications of so many draws each by `bernoulli` after which no random word is left over."""
    return 8 // math.gcd(8, size)


def bernoulli(
    probability: np.ndarray | float, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    """Bernoulli draws, bool of a shape that the probability broadcasts to; exact to 2⁻⁵².

    A random byte decides all but one in 256, a further uniform these.
    """
    # Whole parts are bytes, also at probability 1.
    bound = np.asarray(probability, float) * (256 - 2**-44)
    whole = bound.astype(np.uint8)
    size = int(np.prod(shape))
    words = rng.integers(0, 1 << 64, math.ceil(size / 8), np.uint64)
    byte = words.astype("<u8", copy=False).view(np.uint8)[:size].reshape(shape)
    drawn = byte < whole
    tie = np.flatnonzero(byte == whole)
    rest = np.broadcast_to(bound - whole, shape)[np.unravel_index(tie, shape)]
    drawn.reshape(-1)[tie] = rng.random(tie.size) < rest
    return drawn
