"""What privacy does to each item of a person's own data.

Metrics of one item, by its name, or of all on average. Truth and estimate
hold `theta`, (reps, m), and the truth `names`, (m,): θ* is the fit to the
same data without privacy.
"""

import math
from collections.abc import Callable
from typing import Annotated, Protocol, cast

import numpy as np

from pipeline.privacy.composition import answer_budget
from pipeline.privacy.shuffling import shuffled_answer_budget
from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import InvalidInput, parameter

from .recovery import Scores, levels

ALL = "all items"
ITEM = parameter("items in their order without privacy", default=ALL)
FIRST = parameter("items at the top whose ranks are to be kept", unit="items", default=3, low=1)


class NamedScores(Scores, Protocol):
    """A truth of scores of named items."""

    @property
    def names(self) -> tuple[str, ...]:
        """(m,) names of the items, in their order."""


def ranks(theta: Floats) -> Floats:
    """Ranks by descending θ, 1 is the highest; items that tie share the mean of their ranks.

    (…, m) both.

    >>> ranks(np.array([[0.0, 2.0, -1.0]])).tolist()
    [[2.0, 1.0, 3.0]]
    """
    level = levels(theta)
    above = (level[..., None, :] > level[..., :, None]).sum(axis=-1)
    tied = (level[..., None, :] == level[..., :, None]).sum(axis=-1)
    mean_ranks: Floats = 1 + above + (tied - 1) / 2
    return mean_ranks


def position(item: str, names: tuple[str, ...]) -> int:
    """Index of an item by its name; InvalidInput if there is none."""
    if item not in names:
        allowed = "there is no such item in the data; names are case-sensitive"
        raise InvalidInput("item", item, allowed)
    return names.index(item)


def of_item(item: str, names: tuple[str, ...], values: Array) -> float:
    """The value of an item, by its name, or the mean of all. names, values: (m,)."""
    if item != ALL:
        return _without_rounding(float(values[position(item, names)]))
    return _without_rounding(float(np.mean(values)))


def _without_rounding(value: float) -> float:
    """The value, 0 where it is 0 but for rounding.

    Centred scores have the mean 0, not −4e−17.
    """
    return value if abs(value) > 1e-9 else 0.0


def with_all(names: tuple[str, ...]) -> tuple[str, ...]:
    """Levels of an axis of items: all on average, then each.

    InvalidInput where an item is called so.
    """
    if ALL in names:
        allowed = "is the name of an item, and of the mean of all here; rename the item"
        raise InvalidInput("data_path", ALL, allowed)
    return ALL, *names


def epsilon_person(
    epsilon: float, given: int
) -> Annotated[float, "privacy budget of all answers of the person who answered most", "nats"]:
    """ε times the answers of a person, by basic composition, which is attained."""
    return epsilon * given


def leaving_budget(
    person: float, person_delta: float, questions: int, messages: int, mechanism: str
) -> float:
    """ε₀ of one of the answers of a person as it leaves that person, in nats; else NaN.

    All answers, `questions` of them, keep the promise of `person` nats at person_delta: by
    themselves with mechanism=randomized_response, with shuffled_response among `messages` on
    one question.
    """
    if mechanism == "randomized_response":
        return answer_budget(person, questions, person_delta)
    if mechanism == "shuffled_response":
        return shuffled_answer_budget(person, questions, person_delta, messages)
    return math.nan


@metric("chance that an item keeps its rank", units="probability", least=0.0, most=1.0)
def rank_kept(truth: NamedScores, estimate: Scores, *, item: str = ITEM) -> Floats:
    """1 where the item has the rank that it has without privacy, else 0.

    The mean says how often it keeps its rank.
    """

    def is_kept(theta: Floats, estimated: Floats) -> Floats:
        same_rank: Floats = (ranks(estimated) == ranks(theta)).astype(float)
        return same_rank

    return _of_item(is_kept, truth, estimate, item)


@metric("chance that the first items keep their ranks", units="probability", least=0.0, most=1.0)
def first_kept(truth: NamedScores, estimate: Scores, *, first: int = FIRST) -> Floats:
    """1 where each of the first items has the rank that it has without privacy, else 0.

    The mean says how often they do. Where there are fewer items, all of them are meant.
    """

    def are_kept(theta: Floats, estimated: Floats) -> Floats:
        rank = ranks(theta)
        is_kept = (ranks(estimated) == rank) | (rank > first)
        all_kept: Floats = is_kept.all(axis=1, keepdims=True).astype(float)
        return all_kept

    return _of_item(are_kept, truth, estimate, ALL)


@metric("ranks that an item moves", units="ranks", least=0.0)
def ranks_moved(truth: NamedScores, estimate: Scores, *, item: str = ITEM) -> Floats:
    """By how many ranks the item moves from that without privacy, up or down."""

    def moves(theta: Floats, estimated: Floats) -> Floats:
        distance: Floats = np.abs(ranks(estimated) - ranks(theta))
        return distance

    return _of_item(moves, truth, estimate, item)


@metric("share of other items on the wrong side", units="share of pairs", least=0.0, most=1.0)
def pairs_reversed(truth: NamedScores, estimate: Scores, *, item: str = ITEM) -> Floats:
    """Share of the other items whose order with the item is reversed by privacy.

    A tie counts one half. The mean over all items is the Kendall distance
    of the two rankings, where neither has ties.
    """
    return _of_item(_reversed, truth, estimate, item)


def _reversed(theta: Floats, estimated: Floats) -> Floats:
    ranked = levels(estimated)
    known = levels(theta)
    total: Floats = np.zeros(theta.shape)
    for other in range(theta.shape[1]):
        side = np.sign(ranked - ranked[:, other, None])
        true_side = np.sign(known - known[:, other, None])
        total += np.abs(side - true_side) / 2
    total /= theta.shape[1] - 1
    return total


@metric("distance of an item's score from that without privacy", units="logits", least=0.0)
def score_moved(truth: NamedScores, estimate: Scores, *, item: str = ITEM) -> Floats:
    """Distance |θ̂ − θ*| of the item's score from that without privacy."""

    def distance(theta: Floats, estimated: Floats) -> Floats:
        moved: Floats = np.abs(estimated - theta)
        return moved

    return _of_item(distance, truth, estimate, item)


def _of_item(
    of_each: Callable[[Floats, Floats], Floats], truth: NamedScores, estimate: Scores, item: str
) -> Floats:
    """(reps,): the value of an item, or the mean of all; NaN where the estimate is not finite.

    O(reps · m²). of_each: from θ* and θ̂, (reps, m), the value of every
    item.
    """
    is_finite = cast(Booleans, np.isfinite(estimate.theta).all(axis=1))
    values = of_each(truth.theta, np.where(is_finite[:, None], estimate.theta, 0))
    if item == ALL:
        chosen = values.mean(axis=1)
    else:
        chosen = values[:, position(item, truth.names)]
    return np.where(is_finite, chosen, np.nan)
