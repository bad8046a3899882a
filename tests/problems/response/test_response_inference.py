"""How sure difficulties are: covariances by enumeration, slopes by differences, coverage by simulation."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from pipeline.problems.common import inference
from pipeline.problems.response.estimators.likelihood import JointLikelihood, PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral, SpectralDebiased
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences, Inclusion
from pipeline.problems.response.theory import inference as theory

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
    law = theory.Abilities(abilities[None], weights)
    single = theory._flow(counts, weight) * (weight + weight.mT)
    shared = theory._shared_covariance(THETA, weight, law, None)
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
def test_degrees_of_freedom_are_those_of_finite_differences(is_spectral: bool) -> None:
    """∂s²/∂(Y_ij + Y_ji) by changed counts, each count changed by half; two items a person.

    Without the noise degrees of freedom are many more: that would be seen.
    """
    model = Rasch(n=900, m=4, questions=2)
    mechanism = CuratorDifferences(m=4, person=2.0, person_delta=1e-6, questions=2)
    truth = model.truth(np.random.default_rng(1), 1, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    release = mechanism.release(data, np.random.default_rng(3))
    law = theory.NoisyCountLaw(release)
    fitted = truth.theta
    rows = slice(0, 1)
    got = theory.difficulties(fitted, law, is_spectral).freedom[0]

    def variances(counts: np.ndarray) -> np.ndarray:
        changed = theory.NoisyCountLaw(replace(release, counts=counts))
        step = theory._step(fitted, changed, is_spectral, rows)
        return np.diag(step.covariance[0])

    base = np.asarray(release.counts, float)
    spread = np.zeros(4)
    for i in range(4):
        for j in range(i):
            change = np.zeros((1, 4, 4))
            change[0, i, j] = change[0, j, i] = 0.05
            slope = (variances(base + change) - variances(base - change)) / 0.2
            total = base[0, i, j] + base[0, j, i]
            spread += slope**2 * (2 * float(release.variance[0]) + total)
    expected = 2 * variances(base) ** 2 / spread
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    exact = theory.NoisyCountLaw(replace(release, variance=np.zeros(1)))
    assert (theory.difficulties(fitted, exact, is_spectral).freedom[0] > 1.5 * got).all()
    interval = theory.difficulties(fitted, law, is_spectral).interval(0.95)
    half = (interval.high - interval.low)[0] / 2
    errors = theory.difficulties(fitted, law, is_spectral).errors[0]
    np.testing.assert_allclose(half / errors, stats.t.ppf(0.975, got), rtol=1e-9)
