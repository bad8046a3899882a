"""Rare errors of a ranking by tilted comparisons: against exact tails, enumeration and plain replications."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import signal, stats
from scipy.special import expit

from pipeline.problems.common.recovery import ExactTopK, HammingTopK, kendall
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics.rare import (
    HammingTopKWeighted,
    TopKMissedWeighted,
    kendall_weighted,
    log_weights,
    wins_dispersion,
)
from pipeline.problems.ranking.model import BTL
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.ranking.theory import tails
from pipeline.problems.ranking.tilted import TiltedBTL, TiltedPreferences, score_counts
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees


def simulated(reps, model=TiltedBTL, mechanism=RandomizedResponse, seed=1, **values):
    """Truth, release and estimate of a block, as a study makes them."""
    values = dict(theta="spaced", draw="marginal") | values
    btl, (truth_rng, data_rng, noise_rng) = (
        build(model, values),
        np.random.default_rng(seed).spawn(3),
    )
    truth = btl.truth(truth_rng, reps, truth_rng)
    release = build(mechanism, values).release(btl.simulate(truth, data_rng), noise_rng)
    return truth, release, build(Debiased, values).fit(release, noise_rng)


@pytest.mark.parametrize(
    "values",
    [
        dict(L=401, spacing=1.4, epsilon=1.0),  # 6·10⁻⁹
        dict(L=1201, spacing=1.7, epsilon=0.7, draw="conditional"),  # 3·10⁻¹⁴
        dict(
            L=401, spacing=0.6, epsilon=0.5, profile="0.7:1,0.3:2.5"
        ),  # weights are exact for mixed budgets, too
        dict(L=2000, spacing=0.6, epsilon=0.5, profile="0.5:1,0.5:4"),  # 8·10⁻⁶
        dict(L=4000, spacing=0.6, epsilon=0.5, profile="0.9:1,0.1:8", draw="conditional"),  # 10⁻⁶
        dict(L=401, spacing=1.0, epsilon=1.0, tilt=0.5),
    ],
    ids=str,
)
def test_two_items_have_the_exact_tail(values):
    found = simulated(20_000, m=2, **values)
    budgets = build(RandomizedResponse, dict(m=2) | values)
    exact = math.exp(-tails.inversion_surprisal(values["spacing"], budgets.budgets, budgets.users))
    weighted = kendall_weighted()(*found)
    print(
        f"exact {exact:.3g}, relative error {weighted.std() / weighted.mean() / len(weighted) ** 0.5:.3f}"
    )
    assert mean_agrees(weighted, exact, "weighted inversions")
    assert not mean_agrees(kendall()(*found), exact, "control: no weights")


def test_three_groups_by_convolution():
    """The mean comparison of two items, exactly, from the laws of three groups."""
    values = dict(m=2, L=600, spacing=1.0, epsilon=0.5, profile="0.2:1,0.3:2,0.5:4")
    budgets = build(RandomizedResponse, values)
    total, step = (
        np.ones(1),
        1e-4,
    )  # z̄ on a grid that divides no group's step: rounding is far below a comparison
    for n, epsilon in zip(budgets.users, budgets.budgets, strict=True):
        t = math.tanh(epsilon / 2)
        wins = np.arange(n + 1)
        place = np.rint((wins - n / 2) / t / step).astype(int)
        law = np.zeros(2 * abs(place[0]) + 1)
        law[place + abs(place[0])] = stats.binom.pmf(wins, n, 0.5 + (expit(1.0) - 0.5) * t)
        total = signal.oaconvolve(total, law)
    middle = len(total) // 2
    exact = total[:middle].sum() + total[middle] / 2
    weighted = kendall_weighted()(*simulated(20_000, **values))
    print(f"exact {exact:.3g}")
    assert exact < 1e-5 and mean_agrees(weighted, exact, "three groups")


def test_groups_that_no_comparisons_can_tilt_are_refused_and_others_groups_have_no_weights():
    with pytest.raises(
        InvalidInput, match=r"profile=0\.9:8,0\.1:1: a group of users has 6\.\d+ times"
    ):
        simulated(10, m=2, L=400, spacing=0.6, epsilon=0.5, profile="0.9:8,0.1:1")
    values = dict(m=2, L=400, spacing=0.2, epsilon=0.5)
    truth, _, _ = simulated(200, **values, profile="0.5:1,0.5:4")
    _, release, estimate = simulated(200, **values)
    weighted = kendall_weighted()(truth, release, estimate)
    assert np.isnan(weighted[kendall()(truth, release, estimate) > 0]).all()
    model = build(TiltedBTL, values | dict(theta="spaced", profile="0.5:1,0.5:4"))
    data = model.simulate(truth, np.random.default_rng(1))
    assert np.array_equal(data.split(np.array([200, 200]), None).sum(axis=1), data.wins)
    with pytest.raises(InvalidInput, match="groups of"):
        data.split(np.array([100, 300]), None)


def three_items(L, spacing, epsilon):
    """Law of the wins of three evenly spaced items, (pairs, L + 1), and what the scores of all outcomes are."""
    flip = 1 / (1 + math.exp(epsilon))
    chances = [
        flip + (1 - 2 * flip) * expit(spacing * gap) for gap in (1, 2, 1)
    ]  # of 0 over 1, 0 over 2, 1 over 2
    laws = [stats.binom.pmf(np.arange(L + 1), L, p) for p in chances]
    first, second, third = np.ogrid[: L + 1, : L + 1, : L + 1]
    scores = np.stack(
        [
            first + second + 0 * third,
            L - first + third + 0 * second,
            2 * L - second - third + 0 * first,
        ]
    )
    return np.multiply.outer(np.multiply.outer(laws[0], laws[1]), laws[2]), scores


def test_three_items_by_enumeration():
    """All three errors, from exact sums over all outcomes; with more items than two a mixture of laws is drawn from."""
    values = dict(m=3, L=71, spacing=1.3, epsilon=2.0)
    law, scores = three_items(71, 1.3, 2.0)
    wrong = (
        sum(
            (scores[a] < scores[b]) + 0.5 * (scores[a] == scores[b])
            for a, b in ((0, 1), (0, 2), (1, 2))
        )
        / 3
    )
    missed = (law * ((scores[0] < scores[1]) | (scores[0] < scores[2]))).sum()
    tie = (
        law * (scores[0] == np.maximum(scores[1], scores[2]))
    ).sum()  # resolved by a number: a random order
    found = simulated(20_000, **values)
    for metric, least, most in (
        (kendall_weighted(), (law * wrong).sum(), (law * wrong).sum()),
        (HammingTopKWeighted(m=3), missed, missed + tie),
        (TopKMissedWeighted(m=3), missed, missed + tie),
    ):
        values = metric(*found)
        print(f"exact {least:.3g} to {most:.3g}")
        assert most < 5e-5
        assert mean_agrees(values, np.clip(values.mean(), least, most), metric.long_name)
    assert not mean_agrees(kendall()(*found), (law * wrong).sum(), "control: no weights")


def test_many_items_against_plain_replications():
    values = dict(m=6, L=101, spacing=0.4, epsilon=2.0)
    plain, found = simulated(8_000, BTL, seed=2, **values), simulated(4_000, seed=3, **values)
    for weighted, metric in (
        (kendall_weighted(), kendall()),
        (HammingTopKWeighted(m=6), HammingTopK(m=6)),
        (TopKMissedWeighted(m=6), lambda *x: 1 - ExactTopK(m=6)(*x)),
    ):
        ours, theirs = weighted(*found), metric(*plain)
        error = math.hypot(ours.std() / len(ours) ** 0.5, theirs.std() / len(theirs) ** 0.5)
        print(
            f"plain {theirs.mean():.3g}, tilted {ours.mean():.3g}, z={(ours.mean() - theirs.mean()) / error:.2f}, "
            "bound 4.9, alpha=1e-6"
        )
        assert abs(ours.mean() - theirs.mean()) < 4.9 * error
        assert abs(metric(*found).mean() - theirs.mean()) > 10 * error  # control: no weights
        assert (weighted(*plain) == theirs).all()  # a model that tilts nothing has weights of 1


@pytest.mark.parametrize("L, size", [(6_000, 2e-5), (12_000, 1e-8)])
def test_theorems_4_to_6_of_ten_items_where_errors_are_rare(L, size):
    """Hoeffding's inequality on scores, summed over pairs: see docs/papers.md, X9. Control: twice the exponent."""
    m, top, spacing, reps = 10, 5, 0.1, 4000
    signal = m * L * spacing**2 * math.tanh(0.5) ** 2
    one_pair = math.exp(-tails.ordering_exponent(signal, math.exp(spacing * (m - 1))))
    found = simulated(reps, m=m, L=L, spacing=spacing, epsilon=1.0, seed=5)
    for metric, pairs in (
        (kendall_weighted(), 2 / m),
        (HammingTopKWeighted(m=m), m - top),
        (TopKMissedWeighted(m=m), top * (m - top)),
    ):
        values = metric(*found)
        bound = stats.t.isf(1e-6, reps - 1) * values.std() / math.sqrt(reps)
        print(
            f"{metric.long_name}: n={reps} statistic={values.mean():.3g} bound={pairs * one_pair:.3g} alpha=1e-06"
        )
        assert values.mean() + bound < pairs * one_pair
        if pairs < 1:  # the Kendall distance
            assert pairs * one_pair**2 < values.mean() - bound < values.mean() < size


def test_weights_by_enumeration():
    """Law of a release under the mixture, times its weight, is its true law; items in any order."""
    theta, order = np.array([[-0.5, 0.9, -0.4]]), np.array([[1, 2, 0]])
    proposals, flip, L = np.array([[[[0.5, 0.6, 0.55], [0.8, 0.7, 0.5]]]]), 1 / (1 + math.e), 2
    truth = TiltedPreferences(theta, order, np.array([0]), proposals)
    total = 0.0
    for wins in itertools.product(range(L + 1), repeat=3):
        release = FlippedWins(np.array(wins)[None, None], np.array([L]), np.array([1.0]), 3)

        def law(chance, wins=wins):
            return math.prod(
                stats.binom.pmf(w, L, flip + (1 - 2 * flip) * chance(i, j))
                for w, (i, j) in zip(wins, ((0, 1), (0, 2), (1, 2)), strict=True)
            )

        def tilted(c):
            table = dict(
                zip(((1, 2), (1, 0), (2, 0)), proposals[0, 0, c], strict=True)
            )  # pairs of items, better first
            return lambda i, j: table[i, j] if (i, j) in table else 1 - table[j, i]

        mixture = (law(tilted(0)) + law(tilted(1))) / 2
        weight = math.exp(log_weights(truth, release)[0])
        assert mixture * weight == pytest.approx(
            law(lambda i, j: expit(theta[0, i] - theta[0, j])), rel=1e-10
        )
        total += mixture * weight
    assert total == pytest.approx(1, rel=1e-10)


def test_tilts_make_neighbours_equal_and_no_tilt_is_the_plain_model():
    model = build(TiltedBTL, dict(m=5, L=10, epsilon=1.0))
    ranked = -np.sort(-np.random.default_rng(1).uniform(-1, 1, (4, 5)), axis=1)
    kept = math.tanh(0.5)
    lean = kept * (2 * model.tilted(ranked)[:, 0] - 1)
    assert np.abs((score_counts(5) * lean).sum(axis=2)).max() < 1e-3
    none = build(TiltedBTL, dict(m=5, L=10, epsilon=1.0, tilt=0.0)).tilted(ranked)[:, 0]
    first, second = np.triu_indices(5, 1)
    assert np.allclose(none, expit(ranked[:, first] - ranked[:, second])[:, None], atol=1e-12)


def test_redrawn_preferences_and_other_releases():
    """θ* anew in every replication: every replication has its own proposals. Laplace noise has no such weights."""
    values = dict(m=4, L=101, epsilon=2.0, theta="redrawn")
    ours, plain = (
        kendall_weighted()(*simulated(3_000, **values)),
        kendall()(*simulated(6_000, BTL, seed=4, **values)),
    )
    error = math.hypot(ours.std() / len(ours) ** 0.5, plain.std() / len(plain) ** 0.5)
    print(
        f"plain {plain.mean():.3g}, tilted {ours.mean():.3g}, z={(ours.mean() - plain.mean()) / error:.2f}"
    )
    assert abs(ours.mean() - plain.mean()) < 4.9 * error
    found = simulated(50, mechanism=Laplace, **values)
    weighted, unweighted = kendall_weighted()(*found), kendall()(*found)
    assert np.isnan(weighted[unweighted > 0]).all()


@pytest.mark.parametrize(
    "model, values",
    [
        (TiltedBTL, dict(m=2, L=400, spacing=0.6, epsilon=0.5)),
        (TiltedBTL, dict(m=5, L=400, spacing=0.3, epsilon=0.5, profile="0.5:1,0.5:4")),
        (BTL, dict(m=5, L=400, spacing=0.3, epsilon=0.5)),
    ],
    ids=str,
)
def test_released_wins_vary_as_the_law_by_which_they_are_weighted_says(model, values):
    truth, release, estimate = simulated(4000, model=model, **values)
    assert mean_agrees(wins_dispersion()(truth, release, estimate), 1, "dispersion")
    unflipped = replace(release, epsilon=np.full(len(release.epsilon), 700.0))
    wrong = wins_dispersion()(truth, unflipped, estimate)
    assert values["m"] == 2 or not mean_agrees(
        wrong, 1, "control: as if no answer had been flipped"
    )


def test_other_releases_have_no_dispersion():
    truth, release, estimate = simulated(
        10, model=BTL, mechanism=Laplace, m=3, L=40, spacing=0.3, epsilon=0.5
    )
    assert np.isnan(wins_dispersion()(truth, release, estimate)).all()
