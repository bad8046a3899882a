"""Estimators of the Bradley–Terry–Luce model from released wins."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped, BootstrapScores
from pipeline.problems.common.normal_scores import NormalScores
from pipeline.problems.common.pairwise_newton import Logistic, minimise_pairs
from pipeline.problems.common.ranks import RankIntervals
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.intervals import Interval
from pipeline.study.parameters import parameter

from ..releases import FlippedWins, ReleasedWins
from ..theory.inference import Corrected, ScoreLaw, corrected, standard_errors
from ..theory.links import LINKS, Link
from .errors import MeanScores
from .newton import minimise, scores


@dataclass(frozen=True)
class PreferenceEstimate:
    """Estimated scores of the items, and how sure they are.

    theta: (reps, m), rows sum to 0. converged: (reps,). ridge: the λ of eq.
    (3) that was used, or its equivalent. weights: (groups,), how much a
    user's debiased comparisons counted; None is all alike. law: how the
    gradient of the loss varies; None where that is not known, and errors
    and intervals are NaN. They are computed when they are asked for.
    drawn: errors of the bootstrap, where that was wanted. link: the law of a
    comparison that was fitted.
    """

    quantity: ClassVar[str] = "theta"

    theta: Annotated[Floats, "reps", "m"]
    converged: Annotated[Booleans, "reps"]
    ridge: float
    weights: Annotated[Floats | None, "groups"] = None
    law: ScoreLaw | None = None
    drawn: BootstrapScores | None = None
    link: Link = LINKS["logistic"]

    @cached_property
    def errors(self) -> Floats:
        """(reps, m): standard errors of theta, logits; O(reps · m³).

        Roots of the diagonal of J⁺VJ⁺, with privacy's noise in V and the
        ridge in J (`theory.inference`), or the bootstrap's.
        """
        if self.drawn is not None:
            return self.drawn.like(self.theta).errors
        if self.law is None:
            return np.full(self.theta.shape, np.nan)
        block = np.atleast_2d(self.theta)
        return standard_errors(block, self.law, self.ridge).reshape(self.theta.shape)

    @cached_property
    def corrected(self) -> NormalScores:
        """The scores without the ridge's bias, to first order, and how they vary; O(reps · m³).

        Intervals and ranks are made of them. Source: `theory.inference`, or
        `problems.common.bootstrap`.
        """
        if self.drawn is not None:
            return self.drawn.like(self.theta)
        if self.law is None:
            unknown = np.full(self.theta.shape, np.nan)
            return Corrected(unknown, unknown, self.theta, None)
        block = corrected(np.atleast_2d(self.theta), self.law, self.ridge)
        shape = self.theta.shape
        errors = block.errors.reshape(shape)
        return Corrected(block.theta.reshape(shape), errors, self.theta, self.law)

    def interval(self, level: float = 0.95) -> Interval:
        """An interval for each score, which covers it with probability `level`; logits.

        Privacy's noise is taken into account, and the ridge's bias taken
        off: the centre is not theta. Source: `theory.inference`.

        >>> import pipeline as pl
        >>> people = pl.simulate_data(pl.ranking.BTL(m=3, L=1000, spread=0), seed=1)
        >>> mechanism = pl.ranking.RandomizedResponse(m=3, L=1000, epsilon=1.0)
        >>> release = pl.simulate_release(mechanism, people, seed=2)
        >>> interval = pl.ranking.Debiased(m=3).fit(release).interval(0.95)
        >>> bool((interval.low < 0).all() and (interval.high > 0).all())
        True
        """
        return self.corrected.interval(level)

    def ranks(self, level: float = 0.95) -> RankIntervals:
        """Intervals of the ranks of all items, which cover all at once with probability `level`.

        Source: `pipeline.problems.common.ranks`.
        """
        return self.corrected.ranks(level)


@dataclass(frozen=True)
class Debiased(Bootstrapped):
    """Regularised M-estimator on the debiased means z̄: argmin of eq. (3) with λ = c G(ε)/L.

    Not converged where comparisons do not link all items: gaps between
    those that they leave apart are the ridge's. Source: Xu, Sun and Cheng,
    eq. (3). The text prints λ ≍ L⁻¹(e^ε+1)²/(e^ε−1); Theorem 1 needs the
    square of the denominator as well, which is G(ε)/L.
    """

    m: int = parameter("items", unit="items", low=2)
    lambda_scale: float = parameter("c in λ = c·G(ε)/L", default=1.0, low=0)
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = ReleasedWins
    by_replication: ClassVar[bool] = True

    def weights(self, release: ReleasedWins) -> Floats | None:
        """(groups,): weights v of users; None is all alike."""
        return None

    def mean(self, release: ReleasedWins) -> Floats:
        """(reps, pairs): the comparisons that enter eq. (3)."""
        return release.debiased_mean(self.weights(release))

    def law(self, release: ReleasedWins) -> ScoreLaw:
        """How the gradient of eq. (3) varies."""
        return MeanScores(release, self.weights(release))

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; non-convergence is a value, not an error.

        Where users skipped comparisons, the pair's term in eq. (3) is
        weighted by n_ij/L, the (weighted) number of its comparisons over
        the (weighted) number of users. O(reps · m²) an iteration, O(reps ·
        m³) then.
        """
        weights = self.weights(release)
        ridge = ridge_of(self.lambda_scale, release, weights)
        mean = self.mean(release)
        if release.compared is None:
            minimum = minimise(scores(mean, release.items), ridge)
        else:
            loss = Logistic(mean, shares(release, weights))
            start = np.zeros((len(mean), release.items))
            minimum = minimise_pairs(loss, start, ridge)
        is_valid = minimum.converged & release.linked
        law = self.law(release)
        estimate = PreferenceEstimate(minimum.theta, is_valid, ridge, weights, law)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 10 * self.m**2


class PlugIn(Debiased):
    """The same estimator on released comparisons as if they were raw: the inconsistent baseline.

    A released bit counts t(ε_l) of a debiased one: where budgets differ
    that is said as the users' weights. Its errors are those of raw
    comparisons, too: a negative control of intervals.
    """

    by_replication: ClassVar[bool] = True

    def fit(self, release: ReleasedWins, rng: np.random.Generator) -> PreferenceEstimate:
        """Estimate of a block; O(reps · m²) an iteration."""
        estimate = super().fit(release, rng)
        if len(release.epsilon) == 1 or not isinstance(release, FlippedWins):
            return estimate
        return replace(estimate, weights=attenuation(release.epsilon))

    def mean(self, release: ReleasedWins) -> Floats:
        """(reps, pairs): mean released comparison."""
        return release.raw_mean()

    def law(self, release: ReleasedWins) -> ScoreLaw:
        """That of comparisons without privacy."""
        no_privacy = np.full(len(release.users), np.inf)
        items = release.items
        raw = FlippedWins(release.wins, release.users, no_privacy, items, release.compared)
        return MeanScores(raw)


class Weighted(Debiased):
    """The debiased estimator with users weighted by their information, v_l = 1/gain.

    That is t(ε_l)² for randomized response. λ = c/Σ_l v_l, which is c·G/L
    for one common budget: then it is the debiased estimator. With several
    budgets the plain mean's variance is mean(a²)/L, as in Theorem 2 of Xu,
    Sun and Cheng; this one's is 1/Σ t², as in their Theorem 3, for equal
    items, and no weights make that smaller.
    """

    by_replication: ClassVar[bool] = True

    def weights(self, release: ReleasedWins) -> Floats:
        """(groups,): 1/gain."""
        return 1 / release.gain


def ridge_of(lambda_scale: float, release: ReleasedWins, weights: Floats | None = None) -> float:
    """λ = c Σ_l v_l² gain_l/(Σ_l v_l)²: c times the variance of z̄ for equal items, in units of ¼.

    c·G/L if all users weigh the same, G(ε) the mean `gain`; c/Σ_l v_l if v
    = 1/gain. weights v: (groups,), None is all alike. Source: Xu, Sun and
    Cheng, Theorem 1.
    """
    v = np.ones(len(release.users)) if weights is None else weights
    variance = (release.users * v**2 * release.gain).sum()
    total = (release.users * v).sum()
    return float(lambda_scale * variance / total**2)


def shares(release: ReleasedWins, weights: Floats | None = None) -> Floats:
    """(reps, pairs): share of the users, weighted by v (groups,), who compared a pair.

    Needs `compared`.
    """
    v = np.ones(len(release.users)) if weights is None else weights
    if release.compared is None:
        raise ValueError("all users compared all pairs")
    share: Floats = np.matvec(release.compared.swapaxes(1, 2), v) / (release.users @ v)
    return share
