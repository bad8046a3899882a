"""Likelihood estimators of the Rasch model: pairwise, which is consistent, and joint."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.problems.common.bootstrap import BOOTSTRAP, Bootstrapped
from pipeline.problems.common.pairwise_newton import Logistic, minimise_pairs
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import parameter

from ..questions import QUESTIONS, check_pairs
from ..releases import FlippedResponses, PairwiseRelease
from ..theory.connectivity import strongly_connected
from .pair_count_estimator import ItemEstimate, PairCountEstimator

SLICE_CELLS = 1 << 16  # responses processed at a time, about what the L2 cache holds
TOLERANCE = 1e-10  # logits, longest step of joint maximum likelihood at convergence
ITERATIONS = 500
INFORMED = 1e-6  # least Fisher information of an item: with less, β̂ is infinite but for rounding


@dataclass(frozen=True)
class PairwiseLikelihood(PairCountEstimator):
    """Maximum of Σ_{i<j} [Y_ij log σ(β_j − β_i) + Y_ji log σ(β_i − β_j)] − c‖β‖².

    Each term is the likelihood of a pair given that a person had
    exactly one of the two right, which does not depend on the
    person's ability: consistent as n → ∞ at fixed m. In β it is a
    Bradley–Terry–Luce fit in which i wins Y_ji of Y_ij + Y_ji.
    Not converged, NaN, where the pairs released, or known to be
    answered, do not connect the items, whatever c, and where
    counts leave some difficulty undetermined or infinite, which c
    > 0 prevents.
    Source: Zwinderman (1995), with ridge.
    """

    ridge: float = parameter("c, weight of ‖β‖²", default=0.01, low=0)

    by_replication: ClassVar[bool] = True

    def fit(self, release: PairwiseRelease, rng: np.random.Generator) -> ItemEstimate:
        """Estimate of a block. O(reps · m³) an iteration; fewer than ten are usual."""
        first, second = np.triu_indices(self.m, 1)
        counts = self.counts(release)
        right = counts[:, first, second]
        wrong = counts[:, second, first]
        both = right + wrong
        mean = np.divide(wrong, both, out=np.full(both.shape, 0.5), where=both != 0)
        loss = Logistic(mean, both / release.persons)
        start = np.zeros((len(counts), self.m))
        minimum = minimise_pairs(loss, start, self.ridge / release.persons)
        estimate = ItemEstimate.of(minimum.theta, minimum.converged & release.identifies())
        estimate = replace(estimate, law=self.law(release))
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        return 200 * self.m**2 + self.m**3


@dataclass(frozen=True)
class JointLikelihood(Bootstrapped):
    """Joint maximum likelihood of β and of all persons' θ, responses taken as they are.

    Persons with no or only right answers have no finite θ̂ and
    say nothing about β: they are left out. Where all responses
    are observed, persons with the same score share a θ̂.
    Inconsistent at fixed m: β̂ tends to about m/(m−1) · β*,
    exactly 2 β* for m = 2. Not converged, NaN, where no maximum
    exists or it is not unique: unless the pairs of items of which
    somebody has the first right and the second wrong lead from
    every item to every other (Fischer, 1981).
    Source: Andersen (1973); Nguyen and Zhang, §3.1.
    """

    m: int = parameter("items", unit="items", low=2)
    n: int = parameter("persons", unit="persons", low=1)
    p: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)

    questions: int | None = QUESTIONS
    bootstrap: int = BOOTSTRAP

    accepts: ClassVar[type] = FlippedResponses
    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pairs(self.questions, self.m, "joint likelihood")

    def fit(self, release: FlippedResponses, rng: np.random.Generator) -> ItemEstimate:
        """Estimate of a block.

        O(reps · m²) an iteration, O(reps · n · m) if p < 1; ten
        to thirty are usual.
        """
        reps, n, m = release.answers.shape
        theta = np.zeros((reps, m))
        converged = np.zeros(reps, bool)
        groups = n
        if release.observed is None:
            groups = m - 1
        length = max(1, SLICE_CELLS // (max(groups, 1) * m))
        for start in range(0, reps, length):
            rows = slice(start, start + length)
            answers = release.answers[rows]
            if release.observed is None:
                tables = by_score(answers)
            else:
                tables = by_person(answers, release.observed[rows])
            theta[rows], converged[rows] = joint(*tables)
        converged &= strongly_connected(release.differences() > 0)
        estimate = ItemEstimate.of(theta, converged)
        return self.with_bootstrap(release, estimate, rng)

    def cost(self) -> float:
        """Predicted cost of one replication, in steps of about a nanosecond."""
        if self.p == 1 and self.questions in (None, self.m):
            return self.n * self.m + 100 * self.m * self.m
        return self.n * self.m + 100 * self.m * self.n

    def memory(self) -> float:
        """Bytes of one replication: counts, and which are positive."""
        return 10 * self.m**2


def by_score(answers: Booleans) -> tuple[Floats, Floats, Floats]:
    """Sufficient statistics for `joint` of persons grouped by raw score 1, …, m − 1.

    All responses are observed. answers: (reps, n, m). Returns the
    persons of each score (reps, m−1, 1), the right answers of
    each score (reps, m−1), and the right answers to each item
    (reps, m).
    """
    reps, _, m = answers.shape
    score = answers.sum(axis=2)
    cells = score + (m + 1) * np.arange(reps)[:, None]
    sizes = np.bincount(cells.ravel(), minlength=reps * (m + 1)).reshape(reps, m + 1).astype(float)
    items = answers.sum(axis=1) - sizes[:, -1:]
    return sizes[:, 1:m, None], sizes[:, 1:m] * np.arange(1, m), items


def by_person(answers: Booleans, observed: Booleans) -> tuple[Floats, Floats, Floats]:
    """Sufficient statistics for `joint` with every person a group of one.

    answers, observed: (reps, n, m). Returns weights (reps, n, m),
    0 for responses not observed and for persons whose answers are
    all right or all wrong; right answers of each person (reps,
    n); and to each item (reps, m).
    """
    answers = answers & observed
    score = answers.sum(axis=2)
    is_mixed = (score > 0) & (score < observed.sum(axis=2))
    items = np.vecmat(is_mixed.astype(float), answers.astype(float))
    weights = observed * is_mixed[:, :, None] * 1.0
    return weights, np.where(is_mixed, score, 0).astype(float), items


def joint(weight: Floats, persons: Floats, items: Floats) -> tuple[Floats, Booleans]:
    """Maximum of Σ_g θ_g S_g − Σ_i β_i s_i − Σ_gi w_gi log(1 + e^{θ_g−β_i}).

    Returns β̂, (reps, m), centred, and converged, (reps,). weight
    w: (reps, G, m) or (reps, G, 1), ≥ 0. persons S: (reps, G),
    right answers of group g. items s: (reps, m), right answers to
    item i. Newton steps in θ and in β in turn, each a set of
    problems in one variable, cut to one logit: since |ℓ'''| ≤ ℓ''
    these always ascend. Ten to thirty rounds are enough, O(reps ·
    G · m) each. Converged: no step above 1e-10, and every item
    has information left, else its β̂ is at infinity.
    """
    reps, m = items.shape
    beta = np.zeros((reps, m))
    converged = np.zeros(reps, bool)
    left = np.flatnonzero((persons > 0).any(axis=1))
    weight = weight[left]
    persons = persons[left]
    items = items[left]
    theta = np.zeros(persons.shape)
    now = beta[left]
    for _ in range(ITERATIONS):
        if not left.size:
            break
        right, slope = _expected(weight, theta, now)
        along = _step(persons - right.sum(axis=2), slope.sum(axis=2))
        theta = theta + along
        right, slope = _expected(weight, theta, now)
        information = slope.sum(axis=1)
        across = _step(right.sum(axis=1) - items, information)
        shift = (now + across).mean(axis=1, keepdims=True)
        before = now
        now = now + across - shift
        theta = theta - shift
        change = np.maximum(np.abs(now - before).max(axis=1), np.abs(along).max(axis=1))
        done = (change <= TOLERANCE) & (information > INFORMED).all(axis=1)
        beta[left] = now
        converged[left[done]] = True
        if done.any():
            left = left[~done]
            weight = weight[~done]
            persons = persons[~done]
            items = items[~done]
            theta = theta[~done]
            now = now[~done]
    return beta, converged


def _expected(weight: Floats, theta: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Expected right answers and their variance, (reps, G, m) both."""
    chance = 1 / (1 + np.exp(beta[:, None] - theta[:, :, None]))
    right = weight * chance
    return right, right * (1 - chance)


def _step(gradient: Floats, information: Floats) -> Floats:
    """Newton step, at most one logit; 0 where there is no information."""
    none = np.zeros_like(gradient)
    step = np.divide(gradient, information, out=none, where=information > 0)
    return np.clip(step, -1, 1)
