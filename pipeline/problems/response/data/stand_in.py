"""Synthetic responses for studies of recorded responses when no file is given."""

import numpy as np

from pipeline.study.arrays import Booleans, Floats

PERSONS = 1000
MOST_ITEMS = 1000


def difficulties(items: int) -> Floats:
    """β of the stand-in, (items,), logits, not centred.

    A larger number of items begins with the same.
    """
    return _normal(1960, items)


def answers(items: int) -> Booleans:
    """Complete answers under the Rasch model, (1000, items), the same on every machine.

    A larger number of items begins with the same columns. Abilities and
    difficulties are sums of twelve uniforms, normal but for their tails;
    fixed seeds of Philox.
    """
    draws = np.random.Generator(np.random.Philox(1962)).random((items, PERSONS)).T
    ability = _normal(1961, PERSONS)[:, None]
    return draws < 1 / (1 + np.exp(difficulties(items) - ability))


def _normal(seed: int, size: int) -> Floats:
    rng = np.random.Generator(np.random.Philox(seed))
    sums: Floats = rng.integers(0, 1 << 16, (size, 12)).sum(axis=1) / 65536 - 6
    return sums
