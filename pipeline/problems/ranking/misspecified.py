"""Comparisons outside the model: some by a fair coin, some missing not at random."""

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import parameter

from .model import BTL, AskedComparisons, Comparisons, Preferences, divided
from .sampling.binomial import binomial
from .theory.rates import win_probability


@dataclass(frozen=True)
class SilencedPreferences(Preferences):
    """Truth of the model.

    silent: (reps, m), s, chance that a comparison which the item lost is
    left out.
    """

    silent: Annotated[Floats, "reps", "m"]


class PartialComparisons(Comparisons):
    """Comparisons that go missing independently of each other.

    Given how many are there, wins are binomial. presence: (reps, pairs),
    chance that one is there. probability: (reps, pairs), P(i beat j) of one
    that is there.
    """

    def __init__(
        self,
        presence: Floats,
        probability: Floats,
        users: int,
        items: int,
        rng: np.random.Generator,
    ):
        super().__init__(probability, users, items, rng)
        self._presence = presence
        self._stream = rng.spawn(1)[0]

    @cached_property
    def _trials(self) -> Integers:
        return binomial(self._rng, self.users, self._presence)

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): comparisons in which i beat j."""
        assert self.probability is not None
        return binomial(self._rng, self._trials, self.probability)

    def compared(self, sizes: Integers) -> Integers:
        """(reps, groups, pairs): comparisons that are there within groups of these sizes."""
        absent = self.users - self._trials
        users = [np.asarray(size) for size in sizes[:-1]]
        return divided(self._trials, absent, users, copy.deepcopy(self._stream))

    def split(self, sizes: Integers, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): wins within the groups of `compared`, hypergeometric."""
        compared = self.compared(sizes)
        losses = self._trials - self.wins
        trials = list(compared.swapaxes(0, 1)[:-1])
        return divided(self.wins, losses, trials, rng)


@dataclass(frozen=True)
class MisspecifiedBTL(BTL):
    """`btl` whose comparisons are partly random, and missing not at random.

    It shows how much a decision depends on the model. A comparison is a
    fair coin's with probability g, so that P(i beats j) = (1 − g) σ(θ_i −
    θ_j) + g/2. Users keep a comparison to themselves that item i lost with
    probability s_i, uniform on [0, left_out] and anew in every replication.
    At g = 0 the comparisons that are left follow a BTL model again, of the
    wrong scores θ_i − log(1 − s_i). Missing data: Rubin, Biometrika 63
    (1976).
    """

    at_random: float = parameter(
        "probability g that a comparison is a fair coin's", default=0.0, low=0, high=1
    )
    left_out: float = parameter(
        "greatest probability that a comparison which an item lost is left out",
        default=0.0,
        low=0,
        high=0.99,
    )

    by_replication: ClassVar[bool] = False  # comparisons left out have a stream of their own

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> SilencedPreferences:
        """θ* of `btl`, and s, both (reps, m)."""
        theta = super().truth(rng, reps, population).theta
        return SilencedPreferences(theta, rng.uniform(0, self.left_out, theta.shape))

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · m²), whatever L."""
        won = (1 - self.at_random) * win_probability(truth.theta) + self.at_random / 2
        survey = self.survey
        if not isinstance(truth, SilencedPreferences) or self.left_out == 0:
            if survey is None:
                return Comparisons(won, self.L, self.m, rng)
            return AskedComparisons(won, self.L, self.m, survey, rng)
        first, second = np.triu_indices(self.m, 1)
        won_and_there = won * (1 - truth.silent[:, second])
        presence = won_and_there + (1 - won) * (1 - truth.silent[:, first])
        won_if_there = won_and_there / presence
        if survey is None:
            return PartialComparisons(presence, won_if_there, self.L, self.m, rng)
        return AskedComparisons(won_if_there, self.L, self.m, survey, rng, presence)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond.

        Of fits too, if their pairs have weights.
        """
        of_weighted_fits = 350 * self.m**2 if self.left_out else 0
        return super().cost() + of_weighted_fits
