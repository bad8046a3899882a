"""Synthetic responses in the place of people's when no file is given."""

import numpy as np

PERSONS, MOST_ITEMS = 1000, 1000


def difficulties(items: int) -> np.ndarray:
    """(items,): β of the stand-in, not centred; the first ones are the same for every number of items."""
    return _normal(1960, items)


def answers(items: int) -> np.ndarray:
    """(1000, items) bool: complete answers under the Rasch model, the same on every machine; prefixes as above.

    Abilities and difficulties are sums of twelve uniforms, normal but for their tails; fixed seeds of Philox.
    """
    draws = np.random.Generator(np.random.Philox(1962)).random((items, PERSONS)).T
    return draws < 1 / (1 + np.exp(difficulties(items) - _normal(1961, PERSONS)[:, None]))


def _normal(seed, size):
    rng = np.random.Generator(np.random.Philox(seed))
    return rng.integers(0, 1 << 16, (size, 12)).sum(axis=1) / 65536 - 6
