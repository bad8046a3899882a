"""Comparisons drawn from a tilted law: rare errors of a ranking are seen often and weighed.

In Theorems 4 to 6 of Xu, Sun and Cheng errors of the ranking fall as exp(−C
mLΔ²/G): at 10⁻⁹ plain replications show none. Estimates order items as
their scores do, so a ranking errs where two neighbours in θ* change ranks.
Here one pair of neighbours is chosen at random, and all users compare as if
these two had equal scores on average; the mechanism is as it is. A release
x then has the weight P(x | σ)/mean_c P(x | q_c) over the m − 1 laws q_c
that were mixed, and the mean of weight · error is the error's mean, exactly
(`metrics.rare`). Source: importance sampling by exponential tilting,
Siegmund, Annals of Statistics 4 (1976); mixtures: Owen and Zhou, Journal of
the American Statistical Association 95 (2000).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from pipeline.privacy.randomized_response_laws import amplification, attenuation
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput, parameter

from .design import Budgets
from .model import BTL, Comparisons, Preferences
from .sampling.binomial import binomial
from .theory.rates import win_probability

HALVINGS = 16  # of the interval of a tilt; any tilt is right, a better one has less variance
# Share of a chance that stays at least, so that nothing that can happen becomes
# impossible.
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class TiltedPreferences(Preferences):
    """Truth of the tilted model.

    order: (reps, m), items from the best on. chosen: (reps,), rank of the
    better item of the chosen pair. proposals: (reps or 1, groups, m − 1,
    pairs), P(a beats b) of ranks a < b in a group of users where the
    neighbours c and c + 1 are tilted.
    """

    order: Annotated[Integers, "reps", "m"]
    chosen: Annotated[Integers, "reps"]
    proposals: Floats

    @cached_property
    def chances(self) -> Floats:
        """(reps, groups, pairs): P(i beats j), i < j, from which comparisons are drawn."""
        reps, m = self.theta.shape
        proposals = np.broadcast_to(self.proposals, (reps, *self.proposals.shape[1:]))
        drawn = proposals[np.arange(reps), :, self.chosen]
        first, second = np.triu_indices(m, 1)
        ranked = np.full((reps, drawn.shape[1], m, m), 0.5)
        ranked[..., first, second] = drawn
        ranked[..., second, first] = 1 - drawn
        rank = np.argsort(self.order, axis=1)
        replications = np.arange(reps)[:, None]
        by_pair = ranked[replications, :, rank[:, first], rank[:, second]]
        chances: Floats = by_pair.swapaxes(1, 2)
        return chances


@dataclass(frozen=True)
class TiltedBTL(BTL):
    """`btl` with comparisons from a law in which two neighbours in θ* change ranks half the time.

    The neighbours are chosen at random. In half log-odds of released
    comparisons, h = artanh(2p̃ − 1), the tilt is h' = h − tilt·s·k·a, where
    k is how often a comparison counts in the difference of the two scores
    (1, −1, or 2 between the two themselves), a = coth(ε/2) how much it
    counts in a group of users with its budget, and s makes the mean
    difference of debiased scores 0. A group whose comparisons would have to
    err more often than always is refused. The mean of weight · error is
    right for every estimator, but is known soon only for those that rank by
    these scores: `debiased`, and with one budget all others. Raises
    InvalidInput.
    """

    tilt: float = parameter(
        "how far the law is tilted: 0 not at all, 1 until the two neighbours are equal",
        default=1.0,
        low=0,
        high=2,
    )
    epsilon: float | None = parameter(
        "privacy budget of one comparison, which the tilt reckons with; null is no privacy",
        unit="nats",
        default=None,
        above=0,
    )
    profile: str = parameter("groups of users, share:multiple of epsilon", default="1:1")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.survey is not None:
            allowed = "model=tilted has all users compare all pairs; must be left out"
            raise InvalidInput("questions", self.questions, allowed)
        users, budgets = self.groups
        noise = amplification(budgets) ** 2
        share = float(noise.max() * users.sum() / (users @ noise))
        gap = self.spacing if self.theta == "spaced" else 2 * self.spread
        # A lean 2p − 1 of neighbours becomes (2p − 1)(1 − share).
        most = 1 + 1 / np.tanh(gap / 2) if gap else np.inf
        if share > most:
            raise InvalidInput(
                "profile",
                self.profile,
                f"a group of users has {share:.3g} times the mean coth²(ε/2); "
                f"tilted comparisons need at most {most:.3g} for these gaps: bring budgets "
                "together",
            )

    @cached_property
    def groups(self) -> tuple[Integers, Floats]:
        """Users in each group and their budgets, as mechanisms have them.

        Without privacy all are one group.
        """
        if self.epsilon is None:
            return np.array([self.L]), np.array([np.inf])
        design = Budgets(self.m, self.L, self.epsilon, self.profile)
        return design.users, design.budgets

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> TiltedPreferences:
        """θ* (reps, m) of a block, and the laws drawn from in its place.

        O(m³) for each θ* up to the order of items.
        """
        theta = super().truth(rng, reps, population).theta
        order = np.argsort(-theta, axis=1, kind="stable")
        ranked = np.take_along_axis(theta, order, axis=1)
        if (ranked == ranked[:1]).all():
            ranked = ranked[:1]
        chosen = rng.integers(self.m - 1, size=reps)
        return TiltedPreferences(theta, order, chosen, self.tilted(ranked))

    def tilted(self, ranked: Floats) -> Floats:
        """(reps, groups, m − 1, pairs): P(a beats b), ranks a < b, for each pair of neighbours.

        ranked: (reps, m), θ* from the best item on.
        """
        users, budgets = self.groups
        plain = win_probability(ranked)[:, None, None]
        attenuations = attenuation(budgets)[:, None, None]
        with np.errstate(divide="ignore"):
            half_odds = np.arctanh(attenuations * (2 * plain - 1))
        weight = (amplification(budgets) / amplification(budgets.min()))[:, None, None]
        shift = score_counts(self.m) * weight
        tilts = _tilts(half_odds, shift, users[:, None, None], attenuations)
        tilted_odds = half_odds - self.tilt * tilts[:, None, :, None] * shift
        lean = np.tanh(tilted_odds) / attenuations
        least = LEAST_SHARE * plain
        most = 1 - LEAST_SHARE * (1 - plain)
        proposals: Floats = np.clip((1 + lean) / 2, least, most)
        return proposals

    def simulate(self, truth: Preferences, rng: np.random.Generator) -> Comparisons:
        """Comparisons of L users; cost O(reps · groups · m²), whatever L."""
        if not isinstance(truth, TiltedPreferences):
            return super().simulate(truth, rng)
        chances = truth.chances
        if chances.shape[1] == 1:
            return Comparisons(chances[:, 0], self.L, self.m, rng)
        return GroupedComparisons(chances, self.groups[0], self.m, rng)


class GroupedComparisons(Comparisons):
    """Comparisons of groups of users, each with its own law.

    chances: (reps, groups, pairs). sizes: (groups,).
    """

    def __init__(self, chances: Floats, sizes: Integers, items: int, rng: np.random.Generator):
        super().__init__(None, int(sizes.sum()), items, rng)
        self.chances = chances
        self.sizes = sizes

    @cached_property
    def parts(self) -> Integers:
        """(reps, groups, pairs): wins in each group."""
        return binomial(self._rng, self.sizes[:, None], self.chances)

    @cached_property
    def wins(self) -> Integers:
        """(reps, pairs): wins of all users."""
        total: Integers = self.parts.sum(axis=1)
        return total

    def split(self, sizes: Integers, rng: np.random.Generator) -> Integers:
        """(reps, groups, pairs): wins in groups of these sizes, which must be its own.

        Raises InvalidInput.
        """
        if not np.array_equal(sizes, self.sizes):
            allowed = f"the tilted model has groups of {self.sizes.tolist()}"
            raise InvalidInput("profile", [*map(int, sizes)], allowed)
        return self.parts


def score_counts(m: int) -> Integers:
    """(m − 1, pairs): how often P(a beats b) counts in the difference of the scores of c and c + 1.

    a < b, c are ranks.
    """
    first, second = np.triu_indices(m, 1)
    better = np.arange(m - 1)[:, None]
    in_better: Integers = (first == better).astype(int) - (second == better)
    in_worse: Integers = (first == better + 1).astype(int) - (second == better + 1)
    return in_better - in_worse


def _tilts(half_odds: Floats, shift: Floats, users: Integers, attenuations: Floats) -> Floats:
    """(reps, m − 1): s ≥ 0 with Σ n·k·a·tanh(h − s·k·a) = 0 over groups and pairs, by bisection.

    half_odds: (reps, groups, 1, pairs), shift k·a: (groups, m − 1, pairs).
    users, attenuations: (groups, 1, 1); flipped comparisons have tanh(h)
    within ± attenuation.
    """
    low = np.zeros((len(half_odds), shift.shape[1]))
    least = np.abs(shift).max(axis=(1, 2))[:, None, None] / np.abs(shift).max()
    reach = np.where(np.isfinite(half_odds), half_odds / least, 0.0)
    high = low + reach.max(axis=(1, 3))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        odds = half_odds - middle[:, None, :, None] * shift
        lean = np.clip(np.tanh(odds), -attenuations, attenuations)
        is_ahead = (users * shift * lean).sum(axis=(1, 3)) > 0
        low = np.where(is_ahead, middle, low)
        high = np.where(is_ahead, high, middle)
    return low
