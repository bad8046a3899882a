"""How sure scores of rankings are: standard errors, intervals, ranks.

The oracle of standard errors is the delta method by finite differences: the estimate is fitted anew to
wins that are changed a little, and the variances of wins are written down again from the mechanisms'
laws.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import pipeline as pl
from pipeline.problems.common import inference
from pipeline.problems.common.ranks import rank_intervals
from pipeline.problems.ranking.estimators.errors import MeanScores
from pipeline.problems.ranking.estimators.likelihood import Likelihood
from pipeline.problems.ranking.estimators.moments import (
    Debiased,
    PlugIn,
    PreferenceEstimate,
    Weighted,
)
from pipeline.problems.ranking.estimators.spectral import RankCentrality
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.mechanisms.shuffled import ShuffledResponse
from pipeline.problems.ranking.model import BTL, Preferences
from pipeline.problems.ranking.releases import FlippedWins, LaplaceWins, NoisyWins, ReleasedWins
from pipeline.problems.ranking.theory.inference import ScoreLaw
from pipeline.problems.ranking.theory.risk import sandwich_covariance
from pipeline.study.intervals import Interval
from pipeline.study.protocols import Estimator

M = 5
USERS = 600
MECHANISMS: dict[str, Any] = {
    "flips": (RandomizedResponse, {"epsilon": 1.0}),
    "groups": (RandomizedResponse, {"epsilon": 1.0, "profile": "0.5:0.6,0.5:2"}),
    "laplace": (Laplace, {"epsilon": 1.5}),
    "counts": (NoisyCounts, {"person": 1.0}),
    "gaussian counts": (NoisyCounts, {"person": 1.0, "person_delta": 1e-6}),
    "scores": (NoisyScores, {"person": 1.0}),
}


@dataclass(frozen=True)
class World:
    """People's truth and what was released of them."""

    truth: Preferences
    release: ReleasedWins


def world(
    mechanism: str, questions: int | None = None, reps: int = 1, seed: int = 3, m: int = M
) -> World:
    """Simulated people, and a release of their comparisons."""
    model = BTL(m=m, L=USERS, spread=1.0, questions=questions, design="random")
    truth = model.truth(np.random.default_rng(seed), reps, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(seed + 1))
    part, settings = MECHANISMS[mechanism]
    private = part(m=m, L=USERS, questions=questions, **settings)
    return World(truth, private.release(data, np.random.default_rng(seed + 2)))


def fitted(estimator: Estimator, release: ReleasedWins) -> PreferenceEstimate:
    """The estimate; estimators of rankings draw nothing."""
    return estimator.fit(release, np.random.default_rng(0))


def wins_variance(release: ReleasedWins, theta: np.ndarray) -> np.ndarray:
    """(groups, pairs): variance of released wins of the first replication, without the scores'."""
    first, second = np.triu_indices(release.items, 1)
    chance = expit(theta[first] - theta[second])
    trials = np.broadcast_to(release.trials, release.wins.shape)[0]
    epsilon = release.epsilon[:, None]
    if isinstance(release, FlippedWins):
        released = (1 + chance * np.expm1(epsilon)) / (1 + np.exp(epsilon))
        return trials * released * (1 - released)
    own = trials * chance * (1 - chance)
    if isinstance(release, LaplaceWins):
        return own + trials * 2 / epsilon**2
    assert isinstance(release, NoisyWins)
    return own + release.variance


def derivatives(estimator: Estimator, release: ReleasedWins, step: float = 0.5) -> np.ndarray:
    """(groups, pairs, m): ∂θ̂/∂(wins), by fits to 2 · groups · pairs changed releases."""
    groups, pairs = release.wins.shape[1:]
    number = groups * pairs
    changes = step * np.eye(number).reshape(number, groups, pairs)
    compared = release.compared
    if compared is not None:
        compared = np.repeat(compared, number, axis=0)
    fits = []
    for sign in (1, -1):
        changed = replace(release, wins=release.wins + sign * changes, compared=compared)
        fits.append(fitted(estimator, changed).theta)
    return ((fits[0] - fits[1]) / (2 * step)).reshape(groups, pairs, -1)


@pytest.mark.parametrize("questions", [None, 3])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("estimator", [Debiased, Weighted])
def test_errors_are_those_of_the_delta_method(
    estimator: type[Any], mechanism: str, questions: int | None
) -> None:
    release = world(mechanism, questions).release
    part = estimator(m=M)
    estimate = fitted(part, release)
    slopes = derivatives(part, release)
    variance = wins_variance(release, estimate.theta[0])
    expected = np.sqrt((slopes**2 * variance[:, :, None]).sum(axis=(0, 1)))
    assert estimate.converged.all()
    np.testing.assert_allclose(estimate.errors[0], expected, rtol=2e-4)


def test_noise_of_scores_is_that_of_the_scores() -> None:
    """Noise of variance σ² in the score of item k moves the wins of k over each other by 1/(2m)."""
    release = world("scores").release
    assert isinstance(release, NoisyWins)
    part = Debiased(m=M)
    estimate = fitted(part, release)
    slopes = derivatives(part, release)[0]
    first, second = np.triu_indices(M, 1)
    of_scores = 4 * M * release.variance
    own = wins_variance(replace(release, variance=0.0), estimate.theta[0])[0]
    variance = (slopes**2 * own[:, None]).sum(axis=0)
    for item in range(M):
        sign = (first == item).astype(float) - (second == item)
        variance += of_scores * (slopes * sign[:, None] / (2 * M)).sum(axis=0) ** 2
    np.testing.assert_allclose(estimate.errors[0], np.sqrt(variance), rtol=2e-4)


def test_the_correction_is_a_newton_step_to_the_minimum_without_a_ridge() -> None:
    """K by second differences of the loss itself; θ̃ is closer to the fit without a ridge."""
    release = world("groups", 3).release
    estimate = fitted(Debiased(m=M, lambda_scale=10.0), release)
    free = fitted(Debiased(m=M, lambda_scale=0.0), release)
    theta = estimate.theta[0]
    first, second = np.triu_indices(M, 1)
    trials = np.broadcast_to(release.trials, release.wins.shape)[0]
    share = trials.sum(axis=0) / release.users.sum()
    mean = release.debiased_mean()[0]

    def loss(x: np.ndarray) -> float:
        gap = x[first] - x[second]
        return float((share * (np.logaddexp(0, gap) - mean * gap)).sum())

    step = 1e-4
    unit = step * np.eye(M)
    hessian = np.empty((M, M))
    for i in range(M):
        for j in range(M):
            rise = loss(theta + unit[i] + unit[j]) - loss(theta + unit[i] - unit[j])
            fall = loss(theta - unit[i] + unit[j]) - loss(theta - unit[i] - unit[j])
            hessian[i, j] = (rise - fall) / (4 * step**2)
    expected = theta + 2 * estimate.ridge * np.linalg.pinv(hessian, rcond=1e-5) @ theta
    np.testing.assert_allclose(estimate.corrected.theta[0], expected, atol=1e-5)
    before = np.abs(theta - free.theta[0]).max()
    after = np.abs(estimate.corrected.theta[0] - free.theta[0]).max()
    assert after < before / 4


def test_the_complete_graph_is_the_closed_form() -> None:
    release = world("groups", reps=3).release
    for part in (Debiased(m=M), Weighted(m=M)):
        estimate = fitted(part, release)
        closed = sandwich_covariance(
            estimate.theta, release.epsilon, release.users, estimate.ridge, estimate.weights
        )
        expected = np.sqrt(np.einsum("rii->ri", closed))
        np.testing.assert_allclose(estimate.errors, expected, rtol=1e-10)


@pytest.mark.parametrize("m", [2, 3, 11, 30])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_kernel_is_the_general_formula(m: int, ridge: float) -> None:
    """Replications that fill no vector, and one beyond the reach of double precision."""
    theta = np.random.default_rng(m).standard_normal((7, m))
    theta[3, 0] = 90
    theta -= theta.mean(axis=1, keepdims=True)
    release = FlippedWins(np.zeros((7, 2, 1)), np.array([10, 30]), np.array([0.5, 2.0]), m)
    law = MeanScores(release, np.array([1.0, 3.0]))
    compiled = law.variances(theta, ridge)
    general = ScoreLaw.variances(law, theta, ridge)
    reached = np.arange(7) != 3
    np.testing.assert_allclose(compiled.variance[reached], general.variance[reached], rtol=1e-9)
    np.testing.assert_allclose(compiled.image[reached], general.image[reached], atol=1e-9)
    if ridge == 0 and m > 2:
        assert np.isnan(compiled.variance[3]).all()
        assert np.isnan(general.variance[3]).all()


@dataclass(frozen=True)
class Enumerated:
    """All outcomes of released wins, with their probabilities."""

    truth: Preferences
    release: FlippedWins
    chance: np.ndarray


def enumerated(theta: list[float], users: int, epsilon: float) -> Enumerated:
    """Every outcome of all pairs' wins after randomized response."""
    m = len(theta)
    first, second = np.triu_indices(m, 1)
    truth = np.array(theta) - np.mean(theta)
    chance = expit(truth[first] - truth[second])
    released = (1 + chance * np.expm1(epsilon)) / (1 + np.exp(epsilon))
    axes = np.meshgrid(*[np.arange(users + 1)] * len(first), indexing="ij")
    wins = np.stack([axis.ravel() for axis in axes], axis=1)
    probability = binom.pmf(wins, users, released).prod(axis=1)
    is_possible = probability > 1e-12
    release = FlippedWins(wins[is_possible, None], np.array([users]), np.array([epsilon]), m)
    return Enumerated(Preferences(truth[None]), release, probability[is_possible])


@pytest.mark.parametrize(
    ("theta", "users", "epsilon"), [([0.4, 0.0], 800, 1.0), ([0.6, 0.0, -0.2], 60, 2.0)]
)
def test_coverage_by_exact_enumeration(theta: list[float], users: int, epsilon: float) -> None:
    """No Monte Carlo error: coverage, bias and standard errors over all outcomes of m = 2, 3."""
    outcomes = enumerated(theta, users, epsilon)
    estimate = fitted(Debiased(m=len(theta)), outcomes.release)
    naive = fitted(PlugIn(m=len(theta)), outcomes.release)
    chance = outcomes.chance

    def mean(values: np.ndarray) -> float:
        return float(chance @ values)

    coverage = mean(inference.coverage()(outcomes.truth, outcomes.release, estimate))
    ratio = mean(inference.error_ratio_squared()(outcomes.truth, outcomes.release, estimate))
    ignoring = mean(inference.coverage()(outcomes.truth, outcomes.release, naive))
    centre = chance @ estimate.corrected.theta - outcomes.truth.theta[0]
    uncorrected = chance @ estimate.theta - outcomes.truth.theta[0]
    print(f"coverage {coverage:.4f}, ratio² {ratio:.4f}, naive {ignoring:.4f}, bias {centre}")
    assert chance.sum() == pytest.approx(1, abs=1e-6)
    assert 0.94 <= coverage <= 0.96
    assert 0.9 <= ratio <= 1.1
    assert ignoring < 0.9
    assert np.abs(centre).max() < np.abs(uncorrected).max()


CASES: dict[str, Any] = {
    "flips": (Debiased, "flips", None),
    "groups": (Debiased, "groups", None),
    "weighted groups": (Weighted, "groups", 4),
    "laplace": (Debiased, "laplace", 4),
    "counts": (Debiased, "counts", None),
    "scores": (Debiased, "scores", 4),
    "likelihood": (Likelihood, "groups", 4),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover(case: str) -> None:
    """95 % intervals cover 94 to 96 %, n = 1,500 replications, α = 1e-6; without noise they do not."""
    estimator, mechanism, questions = CASES[case]
    part = estimator(m=M)
    people = world(mechanism, questions, reps=1500, seed=11)
    estimate = fitted(part, people.release)
    values = inference.coverage()(people.truth, people.release, estimate)
    ranks = inference.rank_coverage()(people.truth, people.release, estimate)
    band = 4.9 * values.std() / np.sqrt(len(values))
    no_privacy = np.full(len(people.release.users), np.inf)
    plain = FlippedWins(
        people.release.wins, people.release.users, no_privacy, M, people.release.compared
    )
    careless = replace(estimate, law=MeanScores(plain, estimate.weights))
    ignoring = inference.coverage()(people.truth, people.release, careless).mean()
    print(
        f"{case}: n=1500, {values.mean():.4f} in [.94, .96] ± {band:.4f}; ranks {ranks.mean():.4f};"
        f" without the noise {ignoring:.4f}"
    )
    assert 0.94 - band <= values.mean() <= 0.96 + band
    assert ranks.mean() >= 0.95 - 4.9 * np.sqrt(0.05 * 0.95 / 1500)
    assert ignoring < 0.93 - band


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
def test_intervals_cover_of_few_shuffled_questions(draw: str) -> None:
    """Messages of a balanced survey, two of a user, n = 1,000 replications, α = 1e-6.

    Said to be flipped half as strongly, they cover less.
    """
    reps = 1000
    survey: dict[str, Any] = {"questions": 2, "design": "balanced"}
    model = BTL(m=4, L=600, spread=1.0, **survey)
    truth = model.truth(np.random.default_rng(1), reps, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    mechanism = ShuffledResponse(m=4, L=600, person=1.0, draw=draw, **survey)
    release = mechanism.release(data, np.random.default_rng(3))
    values = inference.coverage()(truth, release, fitted(Debiased(m=4), release))
    wrong = replace(release, epsilon=2 * release.epsilon)
    ignoring = inference.coverage()(truth, wrong, fitted(Debiased(m=4), wrong)).mean()
    band = 4.9 * values.std() / np.sqrt(reps)
    print(f"{draw}: n={reps}, {values.mean():.4f} in .95 ± {band:.4f}; wrong {ignoring:.4f}")
    assert abs(values.mean() - 0.95) <= band
    assert ignoring < 0.95 - band


def test_intervals_of_ranks_by_hand() -> None:
    scores = np.array([[3.0, 0.0, 0.2, -3.0]])
    covariance = 0.01 * np.eye(4)[None]
    ranks = rank_intervals(scores, covariance, 0.95)
    assert ranks.low.tolist() == [[1, 2, 2, 4]]
    assert ranks.high.tolist() == [[1, 3, 3, 4]]
    assert ranks.possible_top(2).tolist() == [[True, True, True, False]]
    assert ranks.certain_top(2).tolist() == [[True, False, False, False]]
    only = rank_intervals(np.zeros((1, 1)), np.ones((1, 1, 1)), 0.95)
    assert only.low.tolist() == only.high.tolist() == [[1]]
    unknown = rank_intervals(np.full((1, 4), np.nan), covariance, 0.95)
    assert unknown.low.tolist() == [[1, 1, 1, 1]]
    assert unknown.high.tolist() == [[4, 4, 4, 4]]


def test_one_data_set_at_a_prompt() -> None:
    """One release gives what its block does, without the dimension of replications."""
    people = pl.simulate_data(pl.ranking.BTL(m=4, L=300), seed=1)
    mechanism = pl.ranking.RandomizedResponse(m=4, L=300, epsilon=1.0)
    release = pl.simulate_release(mechanism, people, seed=2)
    single = pl.ranking.Debiased(m=4).fit(release)
    block = fitted(Debiased(m=4), replace(release, wins=np.asarray(release.wins)[None]))
    np.testing.assert_array_equal(single.interval(0.9).low, block.interval(0.9).low[0])
    np.testing.assert_array_equal(single.errors, block.errors[0])
    np.testing.assert_array_equal(single.ranks(0.9).high, block.ranks(0.9).high[0])
    assert single.corrected.differences(0.9).low.shape == (4, 4)
    with pytest.raises(pl.InvalidInput, match="level"):
        single.interval(95)


def test_what_is_not_known_is_not_available() -> None:
    people = world("flips", reps=4)
    estimate = replace(fitted(RankCentrality(m=M), people.release), law=None)
    assert np.isnan(estimate.errors).all()
    for name in ("coverage", "interval_width", "rank_coverage", "rank_width", "model_error"):
        values = getattr(inference, name)()(people.truth, people.release, estimate)
        assert values.shape == (4,)
        assert np.isnan(values).all()


@dataclass(frozen=True)
class Shares:
    """A person's own estimate, of another quantity, with intervals that are its own."""

    shares: np.ndarray
    converged: np.ndarray
    errors: np.ndarray
    quantity = "shares"

    def interval(self, level: float) -> Interval:
        """Twice the errors, whatever the level."""
        return Interval(self.shares - 2 * self.errors, self.shares + 2 * self.errors)


@dataclass(frozen=True)
class TrueShares:
    """What is to be learned."""

    shares: np.ndarray


def test_metrics_serve_a_persons_own_estimate() -> None:
    true = TrueShares(np.array([[0.5, 0.5]]))
    estimated = np.array([[0.6, 0.5], [0.5, 0.9]])
    estimate: Any = Shares(estimated, np.ones(2, bool), np.full((2, 2), 0.1))
    assert inference.coverage()(true, None, estimate).tolist() == [1.0, 0.5]
    assert inference.coverage_of_all()(true, None, estimate).tolist() == [1.0, 0.0]
    assert inference.interval_width()(true, None, estimate) == pytest.approx([0.4, 0.4])
    assert inference.bias(item=1)(true, None, estimate) == pytest.approx([0.0, 0.4])
    assert inference.relative_bias()(true, None, estimate) == pytest.approx([0.1, 0.4])
    assert np.isnan(inference.rank_width()(true, None, estimate)).all()
    with pytest.raises(pl.InvalidInput, match="item"):
        inference.bias(item=2)(true, None, estimate)
