"""Who rates what, and what an answer is about: the law of a block model as a config writes it.

Lists are written `beta: 0.5, 0.5`, matrices `b: 0.9, 0.1; 0.2, 0.8`.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pipeline.problems.common.rounding import largest_remainder
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput


class BlockLaw(NamedTuple):
    """Classes of users, clusters of items, and what users like.

    alpha: (K,) shares of user classes. beta: (Lc,) shares of clusters. b:
    (K, Lc) chances of a positive rating.
    """

    alpha: Floats
    beta: Floats
    b: Floats


@dataclass(frozen=True)
class Design:
    """What decides how many users are needed, but for the mechanism and the estimator.

    N: items. w: items that each user has rated. epsilon: privacy budget of
    a user's record, nats. alpha, beta, b: texts as in the model. theta: θ,
    sensing probability of an item times w. Q: questions to a user.
    """

    N: int
    w: int
    epsilon: float
    alpha: str
    beta: str
    b: str
    theta: float = 1.0
    Q: int = 1

    @cached_property
    def law(self) -> BlockLaw:
        """Shares and chances as numbers; InvalidInput naming the first text that is wrong."""
        return block_law(self.alpha, self.beta, self.b)

    @cached_property
    def sizes(self) -> Integers:
        """(Lc,): items in each cluster."""
        return sizes("beta", self.beta, self.N)

    @property
    def sensing(self) -> float:
        """θ/w, the chance that an item is in a set of MaxSense."""
        return self.theta / self.w

    @property
    def set_size(self) -> int:
        """N·θ/w in whole items, at least 1: the size of a set of Multi-MaxSense."""
        return max(1, round(self.N * self.theta / self.w))


def block_law(alpha: str, beta: str, b: str) -> BlockLaw:
    """The law in three texts; InvalidInput naming the first that is wrong."""
    users = proportions("alpha", alpha)
    items = proportions("beta", beta)
    return BlockLaw(users, items, rating_probabilities(b, len(users), len(items)))


def proportions(key: str, text: str) -> Floats:
    """(parts,): shares > 0 that add up to 1, such as "0.5, 0.5"; else InvalidInput naming `key`."""
    shares = _numbers(text)
    if not _are_shares(shares):
        raise InvalidInput(key, text, 'must be shares "0.5, 0.5", each > 0, adding up to 1')
    return np.array(shares) / sum(shares)


def _are_shares(numbers: list[float]) -> bool:
    """Whether there are numbers, all of them above 0, that add up to 1."""
    are_positive = all(0 < number <= 1 for number in numbers)
    return bool(numbers) and are_positive and math.isclose(sum(numbers), 1, abs_tol=1e-9)


def rating_probabilities(text: str, classes: int, clusters: int) -> Floats:
    """(K, Lc): b_kl of a text "0.9, 0.1; 0.2, 0.8", a row for each class; else InvalidInput."""
    rows = [_numbers(row) for row in text.split(";")]
    if not all(_are_probabilities(row) for row in rows):
        allowed = (
            'must be probabilities "0.9, 0.1; 0.2, 0.8" from 0 to 1, a row for each class of '
            "users, a column for each cluster of items"
        )
        raise InvalidInput("b", text, allowed)
    if len(rows) != classes or any(len(row) != clusters for row in rows):
        allowed = (
            f"must have {classes} row(s), one for each share in alpha, of {clusters} "
            "number(s), one for each share in beta"
        )
        raise InvalidInput("b", text, allowed)
    return np.array(rows)


def _are_probabilities(numbers: list[float]) -> bool:
    return bool(numbers) and all(0 <= number <= 1 for number in numbers)


def sizes(key: str, text: str, total: int) -> Integers:
    """(parts,): whole sizes near share · total that add up to it, by largest remainder.

    Raises InvalidInput if one is 0.
    """
    whole = largest_remainder(proportions(key, text) * total, total)
    if (whole == 0).any():
        allowed = f"a part is empty when {total:,} are shared out; raise its share"
        raise InvalidInput(key, text, allowed)
    return whole


def _numbers(text: str) -> list[float]:
    """Numbers between commas; none if one of them is no number."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return []
