"""The law of a block model as a config writes it: lists `beta: 0.5, 0.5` and matrices `b: 0.9, 0.1; 0.2, 0.8`."""

import math
from typing import NamedTuple

import numpy as np

from pipeline.problems.common.rounding import largest_remainder
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput


class BlockLaw(NamedTuple):
    """alpha: (K,) shares of user classes. beta: (Lc,) shares of clusters. b: (K, Lc) chances of a positive rating."""

    alpha: Floats
    beta: Floats
    b: Floats


def block_law(alpha: str, beta: str, b: str) -> BlockLaw:
    """The law in three texts; InvalidInput naming the first that is wrong."""
    users, items = proportions("alpha", alpha), proportions("beta", beta)
    return BlockLaw(users, items, rating_probabilities(b, len(users), len(items)))


def proportions(key: str, text: str) -> Floats:
    """(parts,): shares > 0 that add up to 1, given as "0.5, 0.5"; InvalidInput naming `key` otherwise."""
    shares = _numbers(text)
    if (
        shares is None
        or not all(0 < share <= 1 for share in shares)
        or not math.isclose(sum(shares), 1, abs_tol=1e-9)
    ):
        raise InvalidInput(key, text, 'must be shares "0.5, 0.5", each > 0, adding up to 1')
    return np.array(shares) / sum(shares)


def rating_probabilities(text: str, classes: int, clusters: int) -> Floats:
    """(K, Lc): b_kl, given as "0.9, 0.1; 0.2, 0.8", a row for each class of users; InvalidInput otherwise."""
    rows = [_numbers(row) for row in text.split(";")]
    probabilities = [row for row in rows if row is not None and all(0 <= p <= 1 for p in row)]
    if len(probabilities) < len(rows):
        raise InvalidInput(
            "b",
            text,
            'must be probabilities "0.9, 0.1; 0.2, 0.8" from 0 to 1, a row for each class of '
            "users, a column for each cluster of items",
        )
    if len(rows) != classes or {len(row) for row in probabilities} != {clusters}:
        raise InvalidInput(
            "b",
            text,
            f"must have {classes} row(s), one for each share in alpha, of {clusters} "
            "number(s), one for each share in beta",
        )
    return np.array(probabilities)


def sizes(key: str, text: str, total: int) -> Integers:
    """(parts,): whole sizes near share · total that add up to it, by largest remainder; InvalidInput if one is 0."""
    whole = largest_remainder(proportions(key, text) * total, total)
    if (whole == 0).any():
        raise InvalidInput(
            key, text, f"a part is empty when {total:,} are shared out; raise its share"
        )
    return whole


def _numbers(text: str) -> list[float] | None:
    """Numbers between commas; None if one of them is none."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None
