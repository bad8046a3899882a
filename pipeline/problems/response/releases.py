"""What mechanisms release: noisy counts of pairs of items, or responses, flipped or not."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import numpy as np

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.bootstrap import AnyEstimate, RedrawnRelease
from pipeline.problems.common.sampling import bernoulli
from pipeline.study.abstract import Abstract
from pipeline.study.arrays import Array, Booleans, Floats, Integers

from .redrawing import answered_again, persons_of
from .sampling.pair_counts import differences_of, pairs_of
from .sampling.pattern_counts import PatternCounts
from .theory.connectivity import connected


class Inclusion(NamedTuple):
    """Chances that a person answers both items of a pair, and all three of a triple."""

    pair: float
    triple: float


class ItemCounts(NamedTuple):
    """right: answers that are right, (reps, m), or their unbiased number, any reals.

    answered: (reps, m), all answers that are observed.
    """

    right: Floats
    answered: Floats


class RightPairs(NamedTuple):
    """Persons by their answers to two items, (reps, m, m) each; on the diagonal, to one.

    right: who have both right. first: who have the first right, of those who answered both.
    answered: who answered both.
    """

    right: Floats
    first: Floats
    answered: Floats


def item_counts_of(answers: Booleans, observed: Booleans | None) -> ItemCounts:
    """Counts of each item over persons. answers, observed: (reps, n, m); None is all observed."""
    right = answers.sum(axis=1).astype(float)
    if observed is None:
        return ItemCounts(right, np.full(right.shape, float(answers.shape[1])))
    return ItemCounts(right, observed.sum(axis=1).astype(float))


def unflipped(counts: ItemCounts, epsilon: float) -> ItemCounts:
    """Unbiased numbers of right answers, each of which was flipped at budget ε."""
    flip = float(flip_probability(epsilon))
    if flip == 0:
        return counts
    right = (counts.right - flip * counts.answered) / np.tanh(epsilon / 2)
    return ItemCounts(right, counts.answered)


class PairwiseRelease(Abstract):
    """A release that gives pairwise differential measurements.

    Most estimators need to know no more of it. persons: n. edges:
    (reps or 1, m, m), symmetric, pairs of which something was
    released; None is all.
    """

    if TYPE_CHECKING:  # fields of some releases, computed by others

        @property
        def persons(self) -> int: ...

        @property
        def edges(self) -> Booleans | None: ...

    @abstractmethod
    def differences(self, debiased: bool = False) -> Array:
        """Measurements of Y, any reals, (reps, m, m).

        They mean nothing on the diagonal and off the edges.
        """

    def identifies(self) -> Booleans | bool:
        """Whether edges link all items, (reps or 1,).

        If not, difficulties of some items cannot be compared with
        others'.
        """
        if self.edges is None:
            return True
        return connected(self.edges)


class ItemRelease(Abstract):
    """A release that gives how many have each item right."""

    @abstractmethod
    def item_counts(self, debiased: bool = False) -> ItemCounts:
        """Right answers to each item as they are, or, debiased, their unbiased number; and all."""


@dataclass(frozen=True)
class Differences(PairwiseRelease, RedrawnRelease):
    """Pairwise differential measurements with noise on every released entry.

    counts: (reps, m, m), integers or reals. persons: n. variance:
    (reps,), of the noise of one entry. edges: of a public graph, (reps
    or 1, m, m), symmetric; None is the complete graph. linked: (reps,),
    whether persons who answered both items of an edge link all items;
    None where they must, or where that is not known. inclusion:
    chances that a person answers a pair and a triple of items; None
    where nobody knows them. fourth: (reps,), fourth cumulant of the
    noise of one entry; None of normal noise.

    The noise protects who answered what, too: `linked` and
    `inclusion` are no part of what is published. A simulation lends
    them, for the status and the errors of an estimate alone; what
    `release` publishes has the chances of the questionnaire.
    """

    counts: Annotated[Array, "reps", "m", "m"]
    persons: int
    variance: Annotated[Floats, "reps"]
    edges: Annotated[Booleans | None, "reps", "m", "m"] = None
    linked: Annotated[Booleans | None, "reps"] = None
    inclusion: Inclusion | None = None
    fourth: Annotated[Floats | None, "reps"] = None

    def differences(self, debiased: bool = False) -> Array:
        """The counts, (reps, m, m), which are unbiased as they are."""
        return self.counts

    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> "Differences | None":
        """Counts of persons of the estimated difficulties, with normal noise of the same variance.

        None where nobody knows how many persons answer what.
        """
        if self.inclusion is None or not self.persons:
            return None
        theta = estimate.theta[row]
        m = len(theta)
        variances = np.broadcast_to(np.asarray(self.variance, float), len(self.counts))
        variance = float(variances[row])
        edges = None
        if self.edges is not None:
            edges = self.edges[min(row, len(self.edges) - 1)][None]
        pair, triple = self.inclusion
        people = persons_of(theta, self.counts[row], self.persons * pair, variance)
        answers = people.answers(times, self.persons, rng)
        observed = answered_again(pair, triple, (times, self.persons, m), rng)
        if observed is not None:
            answers &= observed
        noise = np.sqrt(variance) * rng.standard_normal((times, m, m))
        counts = differences_of(answers, observed) + noise
        if edges is not None:
            counts *= edges
        np.einsum("rii->ri", counts)[...] = 0
        return Differences(
            counts, self.persons, np.full(times, variance), edges, None, self.inclusion
        )

    def identifies(self) -> Booleans | bool:
        """Whether edges link all items, and persons do as far as that is known, (reps or 1,)."""
        if self.linked is None:
            return super().identifies()
        return super().identifies() & self.linked


@dataclass(frozen=True)
class FlippedItemCounts(ItemRelease, RedrawnRelease):
    """How many anonymous messages on each item say right, each flipped with chance 1/(1 + e^ε).

    right, answered: (reps, m). epsilon: of one message.
    """

    right: Annotated[Floats, "reps", "m"]
    answered: Annotated[Floats, "reps", "m"]
    epsilon: float

    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> "FlippedItemCounts":
        """Independent messages that say right as often as these do, whatever the estimate."""
        flip = float(flip_probability(self.epsilon))
        answered = np.broadcast_to(self.answered[row], (times, self.answered.shape[1]))
        share = self.right[row] / np.maximum(self.answered[row], 1)
        right = rng.binomial(answered.astype(int), np.clip(share, flip, 1 - flip))
        return FlippedItemCounts(right.astype(float), answered, self.epsilon)

    def item_counts(self, debiased: bool = False) -> ItemCounts:
        """Right answers to each item as they are, or, debiased, their unbiased number; and all."""
        counts = ItemCounts(self.right, self.answered)
        if not debiased:
            return counts
        return unflipped(counts, self.epsilon)


@dataclass(frozen=True)
class FlippedResponses(PairwiseRelease, ItemRelease, RedrawnRelease):
    """Responses after randomized response: each is flipped with probability f = 1/(1 + e^ε).

    answers: (reps, n, m). observed: (reps, n, m), or None for
    all; who answered what is public. epsilon: per response.
    """

    answers: Annotated[Booleans, "reps", "n", "m"]
    observed: Annotated[Booleans | None, "reps", "n", "m"]
    epsilon: float

    @property
    def persons(self) -> int:
        """Number of persons n."""
        return int(self.answers.shape[1])

    @cached_property
    def pairs(self) -> Floats:
        """Persons who answered both items, B_ij; (reps, m, m)."""
        return pairs_of(self.answers, self.observed)

    @property
    def edges(self) -> Booleans | None:
        """Pairs that somebody answered, (reps, m, m); None where all are observed."""
        if self.observed is None:
            return None
        return self.pairs > 0

    def differences(self, debiased: bool = False) -> Floats:
        """Ỹ of the flipped responses as they are, or, debiased, Ŷ with E[Ŷ | X] = Y.

        (reps, m, m), Ŷ with a zero diagonal. With x̂ = (x̃ − f)/(1 − 2f), flips
        being independent over items, Σ_l A_li A_lj x̂_li (1 − x̂_lj) is
        Ŷ_ij = [(1 − f) Ỹ_ij + f Ỹ_ji − f(1 − f) B_ij]/(1 − 2f)², unbiased for
        i ≠ j. O(reps · n · m²).
        """
        counts = self._counted_differences
        flip = float(flip_probability(self.epsilon))
        if not debiased or flip == 0:
            return counts.copy()
        both_flipped = flip * (1 - flip) * self.pairs
        counts = (1 - flip) * counts + flip * counts.swapaxes(1, 2) - both_flipped
        counts /= np.tanh(self.epsilon / 2) ** 2
        np.einsum("rii->ri", counts)[...] = 0
        return counts

    def drawn_again(
        self, estimate: AnyEstimate, row: int, times: int, rng: np.random.Generator
    ) -> "FlippedResponses":
        """Responses of as many persons, who answer the same items, flipped as these are.

        Their abilities are normal, with the mean and spread that fit these responses.
        """
        flip = float(flip_probability(self.epsilon))
        release = FlippedResponses(
            self.answers[row : row + 1],
            None if self.observed is None else self.observed[row : row + 1],
            self.epsilon,
        )
        pairs = release.pairs[0]
        m = len(pairs)
        answered = float(pairs[np.triu_indices(m, 1)].mean())
        people = persons_of(estimate.theta[row], release.differences(True)[0], answered, 0.0)
        answers = people.answers(times, self.persons, rng)
        if flip > 0:
            answers ^= bernoulli(flip, answers.shape, rng)
        observed = None
        if release.observed is not None:
            answers &= release.observed
            observed = np.broadcast_to(release.observed, answers.shape)
        return FlippedResponses(answers, observed, self.epsilon)

    @cached_property
    def _counted_differences(self) -> Floats:
        """Ỹ, which a fit and its standard errors share, as counting costs more than either."""
        return self._flipped_differences()

    def _flipped_differences(self) -> Floats:
        """Ỹ of the flipped responses as they are; a new array."""
        return differences_of(self.answers, self.observed)

    def item_counts(self, debiased: bool = False) -> ItemCounts:
        """Right answers to each item as they are, or, debiased, their unbiased number; and all."""
        counts = self._flipped_item_counts()
        if not debiased:
            return counts
        return unflipped(counts, self.epsilon)

    def right_pairs(self) -> RightPairs:
        """Persons who have two items right, as released; O(reps · n · m²), 64 persons at a time."""
        if self.observed is None:
            right = pairs_of(self.answers, self.answers)
            alone = np.einsum("rii->ri", right)
            first = np.repeat(alone[:, :, None], alone.shape[1], axis=2)
            return RightPairs(right, first, self.pairs)
        right = pairs_of(self.answers, self.answers & self.observed)
        return RightPairs(right, right + self._counted_differences, self.pairs)

    def _flipped_item_counts(self) -> ItemCounts:
        return item_counts_of(self.answers, self.observed)


class CountedResponses(FlippedResponses):
    """Flipped responses of persons who answer one item or two each, as counts.

    `answers` and `observed` are there as well, made when they are
    asked for.
    """

    patterns: PatternCounts | None = None  # none in a changed copy, which has arrays of its own

    @classmethod
    def of(cls, patterns: PatternCounts, epsilon: float) -> "CountedResponses":
        """The release of persons counted by their flipped answers."""
        release = cls.__new__(cls)
        vars(release).update(patterns=patterns, epsilon=epsilon)
        return release

    @cached_property
    def _rows(self) -> tuple[Booleans, Booleans]:
        return cast(PatternCounts, self.patterns).rows()

    @cached_property
    def answers(self) -> Booleans:
        """X̃, (reps, n, m)."""
        return self._rows[0]

    @cached_property
    def observed(self) -> Booleans | None:
        """A, (reps, n, m)."""
        return self._rows[1]

    @property
    def persons(self) -> int:
        """Number of persons n."""
        if self.patterns is None:
            return super().persons
        return self.patterns.persons

    @cached_property
    def pairs(self) -> Floats:
        """Persons who answered both items, (reps, m, m)."""
        if self.patterns is None:
            return pairs_of(self.answers, self.observed)
        return self.patterns.pairs().astype(float)

    @property
    def edges(self) -> Booleans | None:
        """Pairs that somebody answered, (reps, m, m)."""
        return self.pairs > 0

    def _flipped_differences(self) -> Floats:
        if self.patterns is None:
            return super()._flipped_differences()
        return self.patterns.differences().astype(float)

    def right_pairs(self) -> RightPairs:
        """The same of persons who are counted; O(reps · m²)."""
        if self.patterns is None:
            return super().right_pairs()
        right = self.patterns.right_pairs().astype(float)
        return RightPairs(right, right + self._counted_differences, self.pairs)

    def _flipped_item_counts(self) -> ItemCounts:
        if self.patterns is None:
            return super()._flipped_item_counts()
        return ItemCounts(self.patterns.right.astype(float), self.patterns.answered.astype(float))


@dataclass(frozen=True)
class OpenResponses(FlippedResponses):
    """Responses released as they are: no privacy."""

    epsilon: float = np.inf


@dataclass(frozen=True)
class Published:
    """What is published of real people's responses, and what it costs them.

    counts: (m, m), noisy Y, 0 off the edges. edges: (m, m), pairs
    released. noise: parameter of its law, variance σ² of the
    discrete Gaussian or scale of the discrete Laplace. charged:
    the sensitivity that the noise is made for, squared L2 for the
    Gaussian and L1 for the Laplace. sensitivity: the exact ones.
    spent: budgets of all responses of a person.
    """

    counts: Integers
    edges: Booleans
    noise: dict[str, float]
    charged: int
    sensitivity: Sensitivity
    spent: dict[str, float]
