"""How sure clusterings are: moments by enumeration of one user, coverage by simulation, and what is not known."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from pipeline.problems.clustering.estimators.clustering import ClusteringEstimate
from pipeline.problems.clustering.estimators.score_clustering import (
    ScoreClustering,
    ScoreClusteringAdjusted,
)
from pipeline.problems.clustering.estimators.seen_clustering import SeenClustering
from pipeline.problems.clustering.estimators.spectral_clustering import SpectralClustering
from pipeline.problems.clustering.mechanisms.adaptive_one_bit import AdaptiveOneBit
from pipeline.problems.clustering.mechanisms.curator import NoisyCoOccurrences
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.mechanisms.one_bit_sketch import OneBitSketch
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.clustering.model import BlockModel, BlockTruth, numbered
from pipeline.problems.clustering.theory.inference import ItemAnswers, SetLaw
from pipeline.problems.clustering.theory.sensed_sets import (
    FixedSets,
    GuessedSets,
    IndependentSets,
    SensedSets,
)
from pipeline.problems.common import inference

CLUSTERS = np.array([0, 0, 1, 1, 1])
LIKES = np.array([0.3, 0.8])
RATED = 2
KEEP = 0.7


def rng(seed: int) -> np.random.Generator:
    """A generator."""
    return np.random.default_rng(seed)


def sets_of(kind: str) -> list[tuple[tuple[int, ...], float]]:
    """Every sensed set of five items, as zeros and ones, with its chance."""
    if kind == "fixed":
        chosen = list(combinations(range(5), 3))
        return [(tuple(int(i in one) for i in range(5)), 1 / len(chosen)) for one in chosen]
    chance = 0.4 if kind == "independent" else 0.5
    return [
        (one, float(np.prod(np.where(one, chance, 1 - chance))))
        for one in product((0, 1), repeat=5)
    ]


def chance_of_sketch(kind: str, sensed: tuple[int, ...], record: dict[int, int]) -> float:
    """P(sketch = 1) of a user with this record: rated item -> whether it is liked."""
    if kind == "guessed":
        right = [sensed[item] == liked for item, liked in record.items()]
        return float(np.mean(right))
    return float(any(sensed[item] and liked for item, liked in record.items()))


def records() -> list[tuple[dict[int, int], float]]:
    """Every record of two ratings, with its chance."""
    every = []
    pairs = list(combinations(range(5), RATED))
    for pair in pairs:
        for ratings in product((0, 1), repeat=RATED):
            likes = LIKES[CLUSTERS[list(pair)]]
            chance = float(np.prod(np.where(ratings, likes, 1 - likes)))
            every.append((dict(zip(pair, ratings, strict=True)), chance / len(pairs)))
    return every


LAWS: dict[str, tuple[SensedSets, float]] = {
    "independent": (IndependentSets(5, RATED, 0.4), 0.4),
    "fixed": (FixedSets(5, RATED, 3), 0.6),
    "guessed": (GuessedSets(5), 0.5),
}


@pytest.mark.parametrize("kind", LAWS)
def test_moments_of_one_user_by_enumeration(kind: str) -> None:
    """All sets, records and flips: rates, Cov r = E ψψᵀ over squares, and the b that is solved."""
    sets, sensing = LAWS[kind]
    member = CLUSTERS[:, None] == np.arange(2)
    moments: dict[tuple[int, ...], float] = {}
    for (sensed, chance_of_set), (record, chance_of_record) in product(sets_of(kind), records()):
        sketch = chance_of_sketch(kind, sensed, record)
        one = KEEP * sketch + (1 - KEEP) * (1 - sketch)
        for bit, chance in ((1, one), (0, 1 - one)):
            key = (*sensed, bit)
            moments[key] = moments.get(key, 0) + chance * chance_of_set * chance_of_record
    ones = np.zeros(5)
    for (*sensed, bit), chance in moments.items():
        ones += chance * bit * np.array(sensed)
    rates = (ones / sensing) @ member / member.sum(axis=0)
    expected = np.zeros((2, 2))
    for (*sensed, bit), chance in moments.items():
        part = (np.array(sensed) @ member) * (bit - rates)
        expected += chance * np.outer(part, part)
    users = 10**6
    answers = ItemAnswers(users * ones[None], np.full((1, 5), users * sensing), CLUSTERS[None], 2)
    law = SetLaw(answers, KEEP, users, 1, sets, adjusted=False)
    np.testing.assert_allclose(law.estimated[0], LIKES, atol=1e-8)
    asked = users * sensing * member.sum(axis=0)
    np.testing.assert_allclose(
        law.rate_covariance[0], users * expected / np.outer(asked, asked), rtol=1e-9
    )
    moved = 1e-4 * np.array([1.0, -2.0])
    other = ItemAnswers(
        users * (ones + sensing * moved[CLUSTERS])[None], answers.answers, answers.clusters, 2
    )
    change = replace(law, answers=other).estimated[0] - LIKES
    slopes = law._slopes(law.estimated)[0] * (2 * KEEP - 1)
    np.testing.assert_allclose(slopes @ change, moved, rtol=6e-3)
    np.testing.assert_allclose(
        slopes @ law.covariance[0] @ slopes.T, law.rate_covariance[0], rtol=1e-8
    )


BLOCKS: dict[str, Any] = {"N": 20, "b": "0.8, 0.2"}
CASES: dict[str, tuple[BlockModel, Any, Any]] = {
    "ratings": (BlockModel(U=20_000, w=3, **BLOCKS), None, SeenClustering()),
    "MaxSense": (
        BlockModel(U=400_000, w=3, **BLOCKS),
        MaxSense(N=20, w=3, epsilon=1.0),
        ScoreClusteringAdjusted(N=20),
    ),
    "Multi-MaxSense": (
        BlockModel(U=50_000, w=3, **BLOCKS),
        MultiMaxSense(N=20, w=3, epsilon=4.0, Q=2),
        ScoreClusteringAdjusted(N=20),
    ),
    "one bit": (
        BlockModel(U=200_000, w=1, **BLOCKS),
        OneBitSketch(N=20),
        ScoreClusteringAdjusted(N=20),
    ),
    "pairs, two classes": (
        BlockModel(U=300_000, N=12, w=6, alpha="0.5, 0.5", b="0.9, 0.1; 0.1, 0.9"),
        PairwisePreference(N=12, epsilon=1.0),
        SpectralClustering(N=12),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover(name: str) -> None:
    """n = 400, α = 1e-6; where a release does not tell of flips intervals cover less than half."""
    model, mechanism, estimator = CASES[name]
    reps = 400
    truth = model.truth(rng(5), reps, rng(0))
    data = model.simulate(truth, rng(6))
    release = mechanism.release(data, rng(7)) if mechanism else data.release_plainly()
    estimate = estimator.fit(release, rng(8))
    values = inference.coverage()(truth, release, estimate)
    band = 4.9 * values.std() / np.sqrt(reps)
    ratio = inference.error_ratio_squared()(truth, release, estimate).mean()
    print(f"{name}: n={reps}, {values.mean():.4f} in .95 ± {band:.4f}; ratio² {ratio:.3f}")
    assert abs(values.mean() - 0.95) <= band
    assert abs(ratio - 1) < 0.35
    if not mechanism or release.keep == 1:
        return
    untold = estimator.fit(replace(release, keep=1.0), rng(8))
    wrong = np.nan_to_num(inference.coverage()(truth, release, untold))
    print(f"flips not told: {wrong.mean():.4f}")
    assert wrong.mean() < 0.5


def test_what_is_not_known_is_not_available() -> None:
    """Below the transition, of several bits of a user, of sums, of verdicts, of sizes."""
    model = BlockModel(U=3000, N=20, w=3, b="0.8, 0.2")
    data = model.simulate(model.truth(rng(1), 3, rng(0)), rng(2))
    few = MaxSense(N=20, w=3, epsilon=1.0).release(data, rng(3))
    below = ScoreClustering(N=20).fit(few, rng(4))
    assert np.isnan(below.errors).all() and np.isnan(below.interval(0.95).low).all()
    several = MaxSense(N=20, w=3, epsilon=6.0, Q=2, U=3000).release(data, rng(3))
    assert np.isnan(ScoreClustering(N=20).fit(several, rng(4)).errors).all()
    sums = NoisyCoOccurrences(N=20, w=3, person=5.0, U=3000).release(data, rng(3))
    assert np.isnan(SpectralClustering(N=20).fit(sums, rng(4)).errors).all()
    assert np.isnan(SpectralClustering(N=20, bootstrap=20).fit(sums, rng(4)).errors).all()
    single = BlockModel(U=3000, N=20, w=1, b="0.8, 0.2")
    people = single.simulate(single.truth(rng(1), 3, rng(0)), rng(2))
    verdicts = AdaptiveOneBit(N=20, w=1, epsilon=1.0).release(people, rng(3))
    assert np.isnan(SeenClustering().fit(verdicts, rng(4)).errors).all()
    seen = SeenClustering(about="sizes").fit(data.release_plainly(), rng(4))
    assert np.isnan(seen.errors).all() and seen.ordered_sizes.sum() == 60
    own = ClusteringEstimate(np.array([[0, 1, 1]]), np.array([True]))
    assert np.isnan(own.errors).all()
    certain = BlockModel(U=3000, N=20, w=3, b="1, 0")
    plain = certain.simulate(certain.truth(rng(1), 1, rng(0)), rng(2)).release_plainly()
    assert np.isnan(SeenClustering().fit(plain, rng(4)).errors).all()


def test_the_bootstrap_agrees_with_the_limit_law() -> None:
    """Errors of b of 200 releases: relative error 1/√400, α = 1e-6 for both."""
    model, mechanism, estimator = CASES["MaxSense"]
    data = model.simulate(model.truth(rng(1), 1, rng(0)), rng(2))
    release = mechanism.release(data, rng(3))
    law = estimator.fit(release, rng(4))
    drawn = replace(estimator, bootstrap=200).fit(release, rng(5))
    np.testing.assert_allclose(drawn.errors, law.errors, rtol=5 / np.sqrt(400))
    assert np.abs(drawn.corrected.theta - law.chances).max() < law.errors.max()


@pytest.mark.parametrize("name", ["MaxSense", "pairs"])
def test_sizes_by_the_bootstrap(name: str) -> None:
    """A few items are in the wrong cluster: n = 40 intervals of sizes, α = 1e-6 below .6."""
    if name == "pairs":
        model = BlockModel(U=7_000, N=24, w=12, b="0.8, 0.2", beta="0.4, 0.6")
        mechanism: Any = PairwisePreference(N=24, epsilon=3.0)
        estimator: Any = SpectralClustering(N=24, about="sizes", bootstrap=20)
    else:
        model = BlockModel(U=60_000, N=60, w=3, b="0.8, 0.2", beta="0.4, 0.6")
        mechanism = MaxSense(N=60, w=3, epsilon=2.0)
        estimator = ScoreClusteringAdjusted(N=60, about="sizes", bootstrap=30)
    truth = model.truth(rng(1), 40, rng(0))
    release = mechanism.release(model.simulate(truth, rng(2)), rng(3))
    estimate = estimator.fit(release, rng(4))
    values = inference.coverage()(truth, release, estimate)
    wrong = np.abs(getattr(estimate, estimate.quantity) - getattr(truth, estimate.quantity))
    print(f"n=40, covered {values.mean():.3f}, off by {wrong.mean():.2f} items")
    assert wrong.mean() > 0.3
    assert values.mean() > 0.6


def test_quantities_of_the_truth_by_hand() -> None:
    """Least liked first; cluster of the first item first; pairs of 2 + 3 items."""
    law = BlockModel(U=4, N=5, w=2, alpha="0.5, 0.5", beta="0.4, 0.6", b="0.9, 0.1; 0.5, 0.3").law
    truth = BlockTruth(np.array([[1, 0, 1, 0, 1]]), 2, law)
    np.testing.assert_allclose(truth.chances, [[0.2, 0.7]])
    assert truth.ordered_sizes.tolist() == [[3, 2]]
    assert truth.numbered_sizes.tolist() == [[3, 2]]
    assert numbered(np.array([[1, 0, 1]])).tolist() == [[0, 1, 0]]
    of_first = (0.9**2 + 0.1**2 + 0.5**2 + 0.5**2) / 2
    of_second = (0.1**2 + 0.9**2 + 0.3**2 + 0.7**2) / 2
    between = (0.9 * 0.1 + 0.1 * 0.9 + 0.5 * 0.3 + 0.5 * 0.7) / 2
    within = (1 * of_first + 3 * of_second) / 4
    np.testing.assert_allclose(truth.alike, [[within, between]])
    assert np.isnan(BlockTruth(truth.clusters, 2).chances).all()
