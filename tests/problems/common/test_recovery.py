"""Ranking metrics against brute force, against SciPy, and by hand."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from pipeline.problems.common.recovery import (
    ExactTopK,
    HammingTopK,
    Lemma4Bound,
    error_inf,
    error_l2,
    kendall,
    levels,
)
from pipeline.study.parameters import InvalidInput


def of(theta):
    return SimpleNamespace(theta=np.atleast_2d(np.asarray(theta, float)))


def measure(metric, truth, estimate):
    return metric(of(truth), None, of(estimate))


@st.composite
def rankings(draw, ties=True):
    """(truth, estimate), (3, m) each: truth without ties, estimate with some."""
    m = draw(st.integers(2, 9))
    truth = np.array([draw(st.permutations(range(m))) for _ in range(3)], float)
    if ties:
        return truth, draw(arrays(float, (3, m), elements=st.integers(-3, 3).map(float)))
    return truth, np.array([draw(st.permutations(range(m))) for _ in range(3)], float) - 2.5


def kendall_by_force(truth, estimate):
    pairs = list(itertools.combinations(range(len(truth)), 2))
    product = [np.sign(truth[i] - truth[j]) * np.sign(estimate[i] - estimate[j]) for i, j in pairs]
    return sum((1 - p) / 2 for p in product) / len(pairs)


@given(rankings())
def test_kendall_against_brute_force(ranking):
    truth, estimate = ranking
    force = [kendall_by_force(t, e) for t, e in zip(truth, estimate, strict=True)]
    assert measure(kendall(), truth, estimate) == pytest.approx(force)


@given(rankings(ties=False))
def test_kendall_against_scipy(ranking):
    truth, estimate = ranking
    tau = [stats.kendalltau(t, e).statistic for t, e in zip(truth, estimate, strict=True)]
    assert measure(kendall(), truth, estimate) == pytest.approx((1 - np.array(tau)) / 2)


def test_kendall_by_hand():
    assert measure(kendall(), [3, 2, 1], [9, 8, 7]).tolist() == [0]
    assert measure(kendall(), [3, 2, 1], [7, 8, 9]).tolist() == [1]
    assert measure(kendall(), [3, 2, 1], [0, 0, 0]).tolist() == [0.5]
    assert measure(kendall(), [3, 2, 1], [2, 2, 1]) == pytest.approx([0.5 / 3])
    assert measure(kendall(), [3, 2, 1, 0], [3, 1, 2, 0]) == pytest.approx([1 / 6])


def hamming_by_force(truth, estimate, K):
    """The paper's 1/(2K) sum over items that are in one top set and not in the other."""
    top, chosen = (set(np.argsort(-x)[:K].tolist()) for x in (truth, estimate))
    return len(top ^ chosen) / (2 * K)


@given(rankings(ties=False), st.data())
def test_hamming_against_brute_force(ranking, data):
    truth, estimate = ranking
    m = truth.shape[1]
    K = data.draw(st.integers(1, m - 1) | st.none())
    force = [hamming_by_force(t, e, K or m // 2) for t, e in zip(truth, estimate, strict=True)]
    assert measure(HammingTopK(m, K), truth, estimate) == pytest.approx(force)


def test_hamming_by_hand():
    assert measure(HammingTopK(4), [4, 3, 2, 1], [1, 2, 3, 4]).tolist() == [1]
    assert measure(HammingTopK(4), [4, 3, 2, 1], [4, 2, 3, 1]).tolist() == [0.5]
    assert measure(HammingTopK(4, K=1), [4, 3, 2, 1], [4, 1, 2, 3]).tolist() == [0]
    assert measure(HammingTopK(4, K=3), [4, 3, 2, 1], [1, 2, 3, 4]) == pytest.approx([1 / 3])


@pytest.mark.parametrize("metric", [HammingTopK, ExactTopK, Lemma4Bound])
@pytest.mark.parametrize("K", [4, 5, 100])
def test_the_top_set_is_smaller_than_all(metric, K):
    with pytest.raises(InvalidInput, match="m=4"):
        metric(4, K)


@given(rankings(), st.data())
def test_exact_recovery_against_sets(ranking, data):
    """Ties are resolved by the item's number: the K largest by (estimate, −number)."""
    truth, estimate = ranking
    m = truth.shape[1]
    K = data.draw(st.integers(1, m - 1) | st.none())
    force = []
    for rows in zip(truth, estimate, strict=True):
        sets = [
            set(sorted(range(m), key=lambda i, row=row: (-row[i], i))[: K or m // 2])
            for row in rows
        ]
        force.append(sets[0] == sets[1])
    found = measure(ExactTopK(m, K), truth, estimate)
    assert found.dtype == float and found.tolist() == force
    assert found.tolist() == (measure(HammingTopK(m, K), truth, estimate) == 0).tolist()


def lemma_4_by_force(truth, estimate, K):
    ordered = sorted(truth, reverse=True)
    middle = (ordered[K - 1] + ordered[K]) / 2
    top = [t >= ordered[K - 1] for t in truth]
    return (
        sum(
            (e <= middle) if inside else (e >= middle)
            for e, inside in zip(estimate, top, strict=True)
        )
        / K
    )


@given(rankings(), st.data())
def test_lemma_4_in_every_replication(ranking, data):
    truth, estimate = ranking
    m = truth.shape[1]
    K = data.draw(st.integers(1, m - 1) | st.none())
    estimate = estimate * data.draw(st.sampled_from([0.0, 1e-6, 0.3, 1.0, 100.0])) + data.draw(
        st.floats(-9, 9)
    )
    force = [lemma_4_by_force(t, e, K or m // 2) for t, e in zip(truth, estimate, strict=True)]
    bound = measure(Lemma4Bound(m, K), truth, estimate)
    assert (
        bound >= np.array(force) - 1e-12
    ).all()  # ties with the middle, found equal or nearly so, count twice
    if np.abs(estimate[..., None] - np.arange(2 * m) / 2).min() > 1e-6:
        assert bound == pytest.approx(force)
    assert (measure(HammingTopK(m, K), truth, estimate) <= bound).all()


def test_lemma_4_allows_for_no_rounding():
    for wrong in range(11):  # 1 − 7/10 > 3/10 in double precision
        estimate = np.arange(20.0)[::-1].copy()
        estimate[:wrong], estimate[10 : 10 + wrong] = 0, 30
        hamming, bound = (
            measure(metric(20), np.arange(20.0)[::-1], estimate)
            for metric in (HammingTopK, Lemma4Bound)
        )
        assert hamming == wrong / 10 and hamming <= bound


def test_lemma_4_by_hand():
    truth = [[4.0, 3.0, 2.0, 1.0]] * 4
    estimate = [
        [4.0, 3.0, 2.0, 1.0],
        [2.0, 3.0, 2.4, 1.0],
        [1.0, 2.0, 3.0, 4.0],
        [2.5, 2.5, 2.5, 2.5],
    ]
    assert measure(Lemma4Bound(4), truth, estimate).tolist() == [0, 0.5, 2, 2]
    assert measure(Lemma4Bound(4, K=1), truth, estimate).tolist() == [0, 1, 2, 1]
    # Whichever side a tie is on, H_K stays below: estimates equal but for rounding, all at the middle.
    estimate = 2.5 + 1e-16 * np.array(
        [[1, 1, -1, -1], [-1, -1, 1, 1], [1, -1, 1, -1], [0, 0, 0, 1]]
    )
    hamming, bound = (measure(metric(4), truth, estimate) for metric in (HammingTopK, Lemma4Bound))
    assert (hamming <= bound).all() and (bound == 2).all()


@given(rankings(), st.integers(0, 2**32), st.floats(-12, 12))
def test_rounding_by_a_solver_changes_no_ranking(ranking, seed, log_scale):
    """Estimates that are equal but for the solver's error are ties, whatever the estimates' scale."""
    truth, estimate = ranking
    estimate = estimate * 10.0 ** min(log_scale, 6)
    noise = np.random.default_rng(seed).uniform(-1, 1, estimate.shape)
    noisy = estimate + noise * (1e-9 * np.ptp(estimate, axis=1, keepdims=True) + 1e-15)
    assert levels(noisy).tolist() == levels(estimate).tolist()
    for metric in (kendall(), HammingTopK(truth.shape[1]), ExactTopK(truth.shape[1])):
        assert measure(metric, truth, noisy).tolist() == measure(metric, truth, estimate).tolist()


@given(arrays(float, (3, 6), elements=st.integers(-3, 3).map(float)))
def test_levels_are_dense_ranks(theta):
    assert levels(theta).tolist() == [(stats.rankdata(row, "dense") - 1).tolist() for row in theta]


def test_different_estimates_do_not_tie():
    assert levels(
        np.array([[0.0, 1.0, 1.0 + 1e-6], [0.0, 6e-6, 2e-7], [0.0, 1e-12, 2e-12]])
    ).tolist() == [[0, 1, 2], [0, 2, 1], [0, 1, 2]]


def test_norms_by_hand():
    assert measure(error_inf(), [[0, 0], [1, -1]], [[3, -4], [1, -1]]).tolist() == [4, 0]
    assert measure(error_l2(), [[0, 0], [1, -1]], [[3, -4], [1, -1]]) == pytest.approx(
        [np.sqrt(12.5), 0]
    )
    truth, estimate = np.random.default_rng(1).normal(size=(2, 5, 7))
    error = estimate - truth
    assert measure(error_inf(), truth, estimate) == pytest.approx(
        np.linalg.norm(error, np.inf, axis=1)
    )
    assert measure(error_l2(), truth, estimate) == pytest.approx(
        np.linalg.norm(error, axis=1) / np.sqrt(7)
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "metric", [error_inf(), error_l2(), kendall(), HammingTopK(3), Lemma4Bound(3)]
)
def test_an_estimate_that_is_not_finite_is_never_a_good_one(metric, bad):
    truth = [[3.0, 2.0, 1.0]] * 2
    whole, broken = measure(metric, truth, [[3.0, 2.0, 1.0], [3.0, 2.0, bad]])
    assert whole == 0
    assert np.isnan(broken) or (np.isinf(bad) and broken == np.inf)
    exact = measure(ExactTopK(3), truth, [[3.0, 2.0, 1.0], [3.0, 2.0, bad]])
    assert exact[0] == 1 and np.isnan(exact[1])


METRICS = [
    error_inf(),
    error_l2(),
    kendall(),
    HammingTopK(6),
    HammingTopK(6, K=1),
    Lemma4Bound(6),
    ExactTopK(6),
]


@given(st.integers(0, 2**32), st.permutations(range(6)))
def test_names_of_items_and_order_of_replications_do_not_matter(seed, order):
    truth, estimate = np.random.default_rng(seed).normal(size=(2, 4, 6))
    for metric in METRICS:
        values = measure(metric, truth, estimate)
        assert values.shape == (4,)
        assert measure(metric, truth[:, order], estimate[:, order]) == pytest.approx(values)
        assert measure(metric, truth[::-1], estimate[::-1]).tolist() == values[::-1].tolist()
        least, most = getattr(metric, "least", -np.inf), getattr(metric, "most", np.inf)
        assert (least <= values).all() and (values <= most).all()
        assert (measure(metric, truth, truth) == isinstance(metric, ExactTopK)).all()


@given(st.integers(0, 2**32))
def test_rankings_ignore_scale_and_norms_scale(seed):
    truth, estimate = np.random.default_rng(seed).normal(size=(2, 3, 5))
    for metric in (kendall(), HammingTopK(5)):
        assert (
            measure(metric, truth, estimate).tolist()
            == measure(metric, truth, 7 * estimate + 1).tolist()
        )
        assert measure(metric, truth, -truth).min() >= 0.5
    for metric in (error_inf(), error_l2()):
        assert measure(metric, 3 * truth, 3 * estimate) == pytest.approx(
            3 * measure(metric, truth, estimate)
        )
        assert measure(metric, truth, estimate) == pytest.approx(measure(metric, estimate, truth))


def test_inputs_are_left_alone():
    truth, estimate = np.random.default_rng(1).normal(size=(2, 3, 6))
    copies = truth.copy(), estimate.copy()
    for array in (truth, estimate):
        array.setflags(write=False)
    for metric in METRICS:
        measure(metric, truth, estimate)
    assert (truth == copies[0]).all() and (estimate == copies[1]).all()
