"""Clusterings in audits: one user, who has rated w items, each as her class does."""

from collections.abc import Sequence

import numpy as np

from pipeline.study.audits import Audits, Neighbouring
from pipeline.study.guarantee import THERE_OR_NOT
from pipeline.study.parameters import InvalidInput

from .mechanisms.adaptive_one_bit import AdaptiveOneBit
from .mechanisms.curator import NoisyCoOccurrences
from .mechanisms.one_bit import OneBit
from .model import BlockTruth, Users

OTHERS = 1  # users, without whom a bit that is compared with the mean of all bits tells nothing


def pairs(mechanism: OneBit | NoisyCoOccurrences) -> Sequence[Neighbouring]:
    """Data sets of one user whose ratings are replaced: of all items, of one, of all others.

    The first item is a cluster of its own, all others are another one.
    """
    if mechanism.promise().relation == THERE_OR_NOT:
        allowed = "cannot be audited: the number of users is public, and differs"
        raise InvalidInput("neighbours_are", "add_remove", f"{allowed}; audit replace_one")
    rated = getattr(mechanism, "w", None) or mechanism.N
    others = OTHERS if isinstance(mechanism, AdaptiveOneBit) else 0
    both = {
        "all ratings": ((1.0, 1.0), (0.0, 0.0)),
        "the rating of the first item": ((1.0, 1.0), (0.0, 1.0)),
        "the only positive rating": ((1.0, 0.0), (0.0, 0.0)),
        "the ratings of all others": ((1.0, 1.0), (1.0, 0.0)),
        "the first rating against all others": ((1.0, 0.0), (0.0, 1.0)),
    }
    named = []
    for changes, (first, second) in both.items():
        datasets = [_users(row, mechanism.N, rated, 1, others) for row in (first, second)]
        named.append(Neighbouring(f"{changes} of a user replaced", *datasets))
    return named


def _users(ratings: Sequence[float], items: int, rated: int, reps: int, others: int) -> Users:
    """A user who likes each cluster or not, and others who like the first one only."""
    clusters = (np.arange(items) > 0).astype(int)
    truth = BlockTruth(np.tile(clusters, (reps, 1)), 2)
    likes = np.array([ratings, (1.0, 0.0)])
    classes = np.array([1, others])
    if not others:
        likes = likes[:1]
        classes = classes[:1]
    return Users(truth, classes, rated, likes, np.random.default_rng(reps))


def repeated(data: Users, reps: int) -> Users:
    """The same user in so many replications."""
    return _users(data.b[0].tolist(), data.items, data.w, reps, data.users - 1)


AUDITS = Audits(
    Users,
    pairs,
    repeated,
    parameters={"N": 3, "w": 1, "U": 1},
    particular={
        "adaptive_one_bit": {"rounds": 1, "N": 2},
        "max_sense": {"w": 3},
        "multi_max_sense": {"w": 3, "N": 3},
        "noisy_co_occurrences": {"w": 3},
        "pairwise_preference": {"w": 3},
    },
)
