"""How sure difficulties are: covariances by enumeration, slopes by differences, coverage by simulation."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from pipeline.problems.common import inference, normal_scores
from pipeline.problems.response import releases
from pipeline.problems.response.estimators.likelihood import JointLikelihood, PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral, SpectralDebiased
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import (
    CountedResponses,
    Differences,
    FlippedResponses,
    Inclusion,
)
from pipeline.problems.response.sampling.pair_counts import differences_of
from pipeline.problems.response.theory import inference as theory
from pipeline.problems.response.theory.fitted_abilities import (
    Abilities,
    PairShares,
    fitted_abilities,
)
from pipeline.problems.response.theory.person_influences import influence_variances
from pipeline.problems.response.theory.person_scores import score_covariance
from pipeline.problems.response.theory.share_inference import PersonShares

THETA = np.array([[0.8, 0.1, -0.9]])


def rng(seed: int) -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(seed)


def part_of(pattern: tuple[int, ...], weight: np.ndarray, seen: tuple[int, ...]) -> np.ndarray:
    """ψ of one person, written down from its definition."""
    part = np.zeros(3)
    for i, j in product(range(3), repeat=2):
        if i == j or not (seen[i] and seen[j]):
            continue
        part[i] += weight[j, i] * pattern[j] * (1 - pattern[i])
        part[i] -= weight[i, j] * pattern[i] * (1 - pattern[j])
    return part


@pytest.mark.parametrize("is_spectral", [True, False])
@pytest.mark.parametrize("chance", [1.0, 0.6])
def test_a_persons_covariance_by_enumeration(is_spectral: bool, chance: float) -> None:
    """All 64 patterns of answers and of what is answered, of persons with three abilities."""
    abilities = np.array([-1.0, 0.3, 1.2])
    weights = np.array([0.2, 0.5, 0.3])
    weight = theory._weights(THETA, is_spectral)
    expected = np.zeros((3, 3))
    counts = np.zeros((1, 3, 3))
    for ability, share in zip(abilities, weights, strict=True):
        right = expit(ability - THETA[0])
        mean = np.zeros(3)
        for pattern in product((0, 1), repeat=3):
            likely = np.prod(np.where(pattern, right, 1 - right))
            for seen in product((0, 1), repeat=3):
                probability = likely * np.prod(np.where(seen, chance, 1 - chance))
                part = part_of(pattern, weight[0], seen)
                expected += share * probability * np.outer(part, part)
                mean += probability * part
                there = np.array(pattern) * seen
                not_there = (1 - np.array(pattern)) * seen
                counts[0] += share * probability * np.outer(there, not_there)
        np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.einsum("rii->ri", counts)[...] = 0
    law = Abilities(abilities[None], weights)
    single = theory._flow(counts, weight) * (weight + weight.mT)
    shared = theory.shared_covariance(THETA, weight, law, None)
    computed = theory.laplacian_of(single) + chance**3 * shared
    np.testing.assert_allclose(computed[0], expected, atol=1e-12)


@pytest.mark.parametrize("estimator", [Spectral, PairwiseLikelihood])
def test_slopes_are_those_of_the_estimate(estimator: type[Any]) -> None:
    """Expected counts and 0.01 more of each in turn: the step is what the estimate moves by."""
    people = 1000.0
    points, shares = np.polynomial.hermite_e.hermegauss(15)
    right = expit(points[:, None] - THETA)
    counts = people * np.einsum("q,qi,qj->ij", shares / shares.sum(), right, 1 - right)
    np.einsum("ii->i", counts)[...] = 0
    settings: dict[str, Any] = {"m": 3, "pseudo_count": 0.0, "floor": 0.0}
    if estimator is PairwiseLikelihood:
        settings["ridge"] = 0.0
    part = estimator(**settings)
    release = Differences(counts[None], 1000, np.zeros(1), inclusion=Inclusion(1, 1))
    base = part.fit(release, rng(0))
    np.testing.assert_allclose(base.theta, THETA - THETA.mean(), atol=1e-9)
    np.testing.assert_allclose(base.corrected.theta, base.theta, atol=1e-9)
    for i, j in ((0, 1), (1, 0), (2, 0), (1, 2)):
        changed = counts.copy()
        changed[i, j] += 0.01
        moved = part.fit(replace(release, counts=changed[None]), rng(0)).theta - base.theta
        other = replace(base, law=theory.NoisyCountLaw(replace(release, counts=changed[None])))
        stepped = other.corrected.theta - base.theta
        np.testing.assert_allclose(stepped, moved, rtol=2e-3, atol=1e-9)


def test_the_step_takes_pseudo_counts_and_ridges_off() -> None:
    """Estimators with any of them give nearly the same interval."""
    model = Rasch(n=3000, m=3)
    truth = model.truth(rng(1), 1, rng(0))
    data = model.simulate(truth, rng(2))
    release = CuratorDifferences(m=3, person=2.0, person_delta=1e-6).release(data, rng(3))
    plain = PairwiseLikelihood(m=3, ridge=0.0, pseudo_count=0.0).fit(release, rng(0))
    heavy = PairwiseLikelihood(m=3, ridge=30.0, pseudo_count=30.0).fit(release, rng(0))
    before = np.abs(heavy.theta - plain.theta).max()
    after = np.abs(heavy.corrected.theta - plain.corrected.theta).max()
    print(f"before {before:.5f}, after {after:.5f}")
    assert after < before / 10


@dataclass(frozen=True)
class Case:
    """Persons, what is released of them, who estimates from it, and who ignores the mechanism."""

    model: Rasch
    mechanism: Any
    estimator: Any


CASES = {
    "noisy counts": Case(
        Rasch(n=2000, m=4),
        CuratorDifferences(m=4, person=1.0, person_delta=1e-6),
        Spectral(m=4),
    ),
    "three questions": Case(
        Rasch(n=3000, m=4, questions=3),
        CuratorDifferences(m=4, person=1.0, person_delta=1e-6, questions=3),
        PairwiseLikelihood(m=4, questions=3),
    ),
    "two questions": Case(
        Rasch(n=8000, m=4, questions=2),
        CuratorDifferences(m=4, person=0.4, person_delta=1e-6, questions=2),
        PairwiseLikelihood(m=4, questions=2),
    ),
    "flips": Case(
        Rasch(n=800, m=4),
        RandomizedResponse(n=800, m=4, person=8.0),
        SpectralDebiased(m=4),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover(name: str) -> None:
    """95 % intervals cover 94 to 96 %, n = 600 replications, α = 1e-6; without noise they do not."""
    case = CASES[name]
    reps = 600
    truth = case.model.truth(rng(5), reps, rng(0))
    data = case.model.simulate(truth, rng(6))
    release = case.mechanism.release(data, rng(7))
    estimate = case.estimator.fit(release, rng(0))
    values = inference.coverage()(truth, release, estimate)
    ranks = inference.rank_coverage()(truth, release, estimate)
    if isinstance(release, Differences):
        exact = replace(release, variance=np.zeros(reps))
        careless = replace(estimate, law=theory.NoisyCountLaw(exact))
    else:
        careless = Spectral(m=4).fit(release, rng(0))
    ignoring = inference.coverage()(truth, release, careless).mean()
    band = 4.9 * values.std() / np.sqrt(reps)
    print(f"{name}: n={reps}, {values.mean():.4f} in [.94, .96] ± {band:.4f}; naive {ignoring:.4f}")
    assert 0.94 - band <= values.mean() <= 0.96 + band
    assert ranks.mean() >= 0.95 - 4.9 * np.sqrt(0.05 * 0.95 / reps)
    assert ignoring < 0.93 - band


def test_what_is_not_known_is_not_available() -> None:
    """Joint likelihood is inconsistent; who answers what may be nobody's business."""
    model = Rasch(n=300, m=3)
    truth = model.truth(rng(1), 2, rng(0))
    data = model.simulate(truth, rng(2))
    joint = JointLikelihood(m=3, n=300).fit(data.release_plainly(), rng(0))
    assert np.isnan(joint.errors).all()
    assert np.isnan(joint.interval(0.95).low).all()
    assert joint.ranks(0.95).low.tolist() == [[1, 1, 1], [1, 1, 1]]
    unknown = Differences(data.differences(), 300, np.ones(2))
    assert np.isnan(Spectral(m=3).fit(unknown, rng(0)).errors).all()
    drowned = Differences(-data.differences(), 300, np.ones(2), inclusion=Inclusion(1, 1))
    assert np.isnan(Spectral(m=3).fit(drowned, rng(0)).errors).all()


@pytest.mark.parametrize("is_spectral", [True, False])
def test_what_noisy_slopes_add_is_that_of_finite_differences(is_spectral: bool) -> None:
    """u = K⁺_t· by changed counts, and the part of Ψ that has no covariance with u·Ψ."""
    model = Rasch(n=900, m=4, questions=2)
    mechanism = CuratorDifferences(m=4, person=2.0, person_delta=1e-6, questions=2)
    truth = model.truth(np.random.default_rng(1), 1, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    release = mechanism.release(data, np.random.default_rng(3))
    law = theory.NoisyCountLaw(release)
    rows = slice(0, 1)
    got = theory._Pivot.at(truth.theta, law, is_spectral, rows).inflation[0]
    counts = np.asarray(release.counts, float)
    weight = theory._weights(truth.theta, is_spectral)
    score_covariance = law.covariance(truth.theta, weight, rows)[0]

    def inverse(changed: np.ndarray) -> np.ndarray:
        other = theory.NoisyCountLaw(replace(release, counts=changed))
        return theory._step(truth.theta, other, is_spectral, rows).inverse[0]

    along = inverse(counts)
    expected = np.ones(4)
    for i in range(4):
        for j in range(i):
            change = np.zeros((1, 4, 4))
            change[0, i, j] = change[0, j, i] = 0.05
            slope = (inverse(counts + change) - inverse(counts - change)) / 0.2
            spread = 2 * float(release.variance[0]) + counts[0, i, j] + counts[0, j, i]
            for item, (u, du) in enumerate(zip(along, slope, strict=True)):
                variance = u @ score_covariance @ u
                across = du @ score_covariance @ u
                other_part = du @ score_covariance @ du - across**2 / variance
                expected[item] += other_part * spread / variance
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    assert (got > 1.001).all()


def test_two_items_have_one_combination_only() -> None:
    """However their slope varies, nothing is added."""
    release = Differences(
        np.array([[[0, 60], [45, 0]]]), 400, np.array([300.0]), inclusion=Inclusion(1, 1)
    )
    fitted = np.array([[0.1, -0.1]])
    pivot = theory._Pivot.at(fitted, theory.NoisyCountLaw(release), False, slice(0, 1))
    np.testing.assert_allclose(pivot.inflation, 1, atol=1e-12)


def test_intervals_cover_where_noise_is_not_small_beside_counts() -> None:
    """n = 2,500, α = 1e-6, as drawn in a benchmark; β̃ ± z s covers too rarely there."""
    reps = 2500
    model = Rasch(n=609, m=6, questions=2)
    mechanism = CuratorDifferences(m=6, person=1.6, person_delta=1e-6, questions=2)
    truth = model.truth(rng(5), reps, rng(0))
    release = mechanism.release(model.simulate(truth, rng(6)), rng(7))
    estimate = PairwiseLikelihood(m=6, questions=2).fit(release, rng(0))
    values = inference.coverage()(truth, release, estimate)
    scores = estimate.corrected
    z = (scores.theta - truth.theta) / scores.errors
    symmetric = (np.abs(z) < 1.96).mean()
    band = 4.9 * values.std() / np.sqrt(reps)
    print(f"n={reps}, {values.mean():.4f} in .95 ± {band:.4f}; symmetric {symmetric:.4f}")
    assert abs(values.mean() - 0.95) <= band
    assert symmetric < 0.95 - band


@pytest.mark.parametrize("flip", [0.0, 0.3])
def test_sums_over_persons_are_those_of_their_definition(flip: float) -> None:
    """Seven persons, three of whose answers are not known."""
    draws = rng(1)
    answers = draws.random((2, 7, 3)) < 0.6
    observed = np.ones((2, 7, 3), bool)
    observed[0, 1, 2] = observed[0, 4, 0] = observed[1, 0, 1] = False
    weight = draws.random((2, 3, 3))
    right = (answers - flip) / (1 - 2 * flip) * observed
    wrong = (1 - (answers - flip) / (1 - 2 * flip)) * observed
    part = wrong * (right @ weight) - right * (wrong @ weight.mT)
    computed = score_covariance(answers, observed, weight, flip)
    np.testing.assert_allclose(computed, part.mT @ part, rtol=1e-12)


@pytest.mark.parametrize("flip", [0.0, 0.3])
@pytest.mark.parametrize(("n", "m"), [(1, 2), (9, 4), (40, 5), (31, 9), (50, 15), (20, 37)])
def test_what_persons_move_is_the_diagonal_of_the_sandwich(n: int, m: int, flip: float) -> None:
    """Sums of squares by tables of patterns, against products of matrices, of some and of all."""
    generator = rng(n + m)
    answers = generator.random((3, n, m)) < 0.6
    observed = generator.random((3, n, m)) < 0.7
    weight = generator.random((3, m)) + 0.1
    half = generator.standard_normal((3, m, m))
    inverse = half + half.mT
    for present in (None, observed):
        scores = score_covariance(answers, present, np.repeat(weight[:, :, None], m, axis=2), flip)
        expected = np.einsum("rii->ri", inverse @ scores @ inverse)
        computed = influence_variances(answers, present, weight, inverse, flip)
        largest = np.abs(expected).max()
        np.testing.assert_allclose(computed, expected, rtol=1e-11, atol=1e-12 * largest)
    alike = influence_variances(answers, np.ones_like(answers), weight, inverse, flip)
    every = influence_variances(answers, None, weight, inverse, flip)
    np.testing.assert_allclose(alike, every, rtol=1e-11, atol=1e-12 * every.max())


@pytest.mark.parametrize("questions", [None, 1, 2, 3])
def test_shares_vary_as_the_sum_over_persons(questions: int | None) -> None:
    """From counts of pairs, against ψ_li = A_li (x̂_li − s_i)/n_i written down."""
    asked: dict[str, Any] = {} if questions is None else {"questions": questions}
    model = Rasch(n=200, m=4, **asked)
    mechanism = RandomizedResponse(n=200, m=4, person=3.0, **asked)
    truth = model.truth(rng(1), 3, rng(0))
    release = mechanism.release(model.simulate(truth, rng(2)), rng(3))
    assert isinstance(release, FlippedResponses)
    counts = release.item_counts(debiased=True)
    flip = 1 / (1 + np.exp(release.epsilon))
    right = (release.answers - flip) / (1 - 2 * flip)
    present = np.ones(right.shape) if release.observed is None else release.observed
    share = counts.right / counts.answered
    part = present * (right - share[:, None]) / counts.answered[:, None]
    expected = part.mT @ part
    computed = PersonShares(release).covariance(slice(None))
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-12 * expected.max())


@pytest.mark.parametrize("estimator", [Spectral, SpectralDebiased])
def test_persons_who_are_counted_vary_as_the_same_persons_one_by_one(estimator: type[Any]) -> None:
    """Two items each: the sum over persons from counts of pairs alone."""
    model = Rasch(n=300, m=4, questions=2)
    mechanism = RandomizedResponse(n=300, m=4, person=3.0, questions=2)
    truth = model.truth(rng(1), 5, rng(0))
    counted = mechanism.release(model.simulate(truth, rng(2)), rng(3))
    assert isinstance(counted, CountedResponses) and counted.patterns is not None
    each = FlippedResponses(counted.answers, counted.observed, counted.epsilon)
    rows = slice(1, 5)
    theta = truth.theta[rows]
    weight = theory._weights(theta, True)
    matrices = []
    for release in (counted, each):
        law = theory.ResponseLaw(release, estimator.debiased)
        matrices.append(law.covariance(theta, weight, rows))
    np.testing.assert_allclose(*matrices, rtol=1e-11, atol=1e-11 * np.abs(matrices[0]).max())


def test_a_fit_and_its_errors_count_pairs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many slices of replications the errors are computed in."""
    counted = []

    def counting(*arrays: np.ndarray) -> np.ndarray:
        counted.append(len(arrays[0]))
        return differences_of(*arrays)

    monkeypatch.setattr(releases, "differences_of", counting)
    monkeypatch.setattr(normal_scores, "SLICE_BYTES", 400)
    model = Rasch(n=40, m=5)
    truth = model.truth(rng(1), 6, rng(0))
    mechanism = RandomizedResponse(n=40, m=5, person=50.0)
    release = mechanism.release(model.simulate(truth, rng(2)), rng(3))
    estimate = SpectralDebiased(m=5).fit(release, rng(0))
    assert np.isfinite(estimate.errors).all() and estimate.ranks(0.95).low.min() == 1
    assert counted == [6]


@pytest.mark.parametrize(("mean", "spread"), [(0.0, 1.0), (0.7, 0.5), (-0.4, 1.8)])
def test_a_law_of_abilities_is_found_again(mean: float, spread: float) -> None:
    """From expected counts of very many persons; of nobody's, N(0, 1)."""
    theta = np.array([[-1.2, -0.3, 0.1, 1.4]])
    points, shares = np.polynomial.hermite_e.hermegauss(15)
    shares = shares / shares.sum()
    right = expit(mean + spread * points[:, None] - theta)
    counts = 1e9 * np.einsum("q,qi,qj->ij", shares, right, 1 - right)[None]
    np.einsum("rii->ri", counts)[...] = 0
    law = fitted_abilities(theta, PairShares(counts, 1e9, np.zeros(1), None))
    np.testing.assert_allclose(law.points[0], mean + spread * points, atol=2e-3)
    noise = fitted_abilities(theta, PairShares(counts * 1e-9, 1.0, np.full(1, 1e6), None))
    np.testing.assert_allclose(noise.points[0], points, atol=1e-3)
