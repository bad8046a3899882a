"""The spectral algorithm: against a literal transcription, between its solvers, and on what noise makes of counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.stationary import stationary
from pipeline.problems.response.estimators import spectral as rasch_spectral
from pipeline.problems.response.estimators.spectral import Spectral, SpectralDebiased
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences, FlippedResponses, OpenResponses
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import mean_agrees
from tests.helpers.reference import elimination

RAW = dict(pseudo_count=0.0, floor=0.0)


def rng(seed):
    return np.random.default_rng(seed)


def simulated(seed, n=60, m=5, reps=4, p=1.0, **more):
    model = Rasch(n=n, m=m, p=p, **more)
    truth = model.truth(rng(seed), reps, rng(0))
    data = model.simulate(truth, rng(seed + 1))
    return truth, OpenResponses(data.answers, data.observed)


def algorithm_1(responses):
    """Nguyen and Zhang, Algorithm 1, word for word; responses (n, m) of 0, 1 and None."""
    n, m = len(responses), len(responses[0])
    Y = [[0] * m for _ in range(m)]
    for i in range(m):
        for j in range(m):
            for person in range(n):
                x, y = responses[person][i], responses[person][j]
                if i != j and x is not None and y is not None:
                    Y[i][j] += x * (1 - y)
    d = max(sum(row) for row in Y) + 1
    M = [
        [
            Y[i][j] / d if i != j else 1 - sum(Y[i][k] / d for k in range(m) if k != i)
            for j in range(m)
        ]
        for i in range(m)
    ]
    pi = [1 / m] * m
    while True:
        step = [sum(pi[i] * M[i][j] for i in range(m)) for j in range(m)]
        step = [value / sum(step) for value in step]
        if max(abs(a - b) for a, b in zip(pi, step, strict=True)) < 1e-15:
            break
        pi = step
    beta = np.log(np.array(pi) / d)
    return beta - beta.mean()


@pytest.mark.parametrize("p", [1.0, 0.7])
@pytest.mark.parametrize("solver", ["direct", "power"])
def test_it_is_algorithm_1(p, solver):
    _, release = simulated(1, p=p)
    found = Spectral(m=5, solver=solver, **RAW).fit(release, rng(0))
    assert found.converged.all()
    for r in range(4):
        seen = np.ones((60, 5), bool) if release.observed is None else release.observed[r]
        responses = [
            [int(x) if a else None for x, a in zip(*row, strict=True)]
            for row in zip(release.answers[r], seen, strict=True)
        ]
        assert found.theta[r] == pytest.approx(algorithm_1(responses), abs=1e-10)
    control = Spectral(m=5, pseudo_count=1.0, floor=0.0).fit(release, rng(0))
    assert np.abs(control.theta - found.theta).max() > 1e-3


def plain_elimination(rates):
    """Grassmann, Taksar and Heyman's algorithm as they print it, one state at a time."""
    law = np.ones(rates.shape[:2])
    for chain, pi in zip(rates, law, strict=True):
        for k in range(len(chain) - 1, 0, -1):
            chain[:k, k] /= chain[k, :k].sum()
            chain[:k, :k] += np.outer(chain[:k, k], chain[k, :k])
        for k in range(1, len(chain)):
            pi[k] = pi[:k] @ chain[:k, k]
    return law


@pytest.mark.parametrize("m", [2, 3, 17, 18, 33, 70])
def test_elimination_of_several_states_at_a_time_is_elimination(m):
    """As printed, and as NumPy does it in halves."""
    rates = np.exp(3 * rng(m).normal(size=(3, m, m))) * (1 - np.eye(m))
    ours = stationary(rates.copy())
    for other in (plain_elimination(rates.copy()), elimination.stationary(rates.copy())):
        assert np.log(ours / ours[:, :1]) == pytest.approx(np.log(other / other[:, :1]), abs=1e-12)
    flow = ours[:, :, None] * rates
    assert flow.sum(axis=1) == pytest.approx(flow.sum(axis=2), rel=1e-12)


def test_every_entry_of_the_law_has_a_small_relative_error():
    """A birth-and-death chain whose law spans 190 powers of ten, in closed form."""
    m = 20
    rates = np.zeros((1, m, m))
    up, down = 10.0 ** rng(1).integers(-12, 0, m - 1), np.full(m - 1, 1e-2)
    for k in range(m - 1):
        rates[0, k, k + 1], rates[0, k + 1, k] = up[k], down[k]
    law = stationary(rates)[0]
    assert np.diff(np.log(law)) == pytest.approx(np.log(up / down), rel=1e-13)


@pytest.mark.parametrize("up, down", [(1e9, 1.0), (1.0, 1e9)])
def test_laws_beyond_the_range_of_doubles_are_right_within_it(up, down):
    """A birth-and-death chain whose law spans 711 powers of ten: π(k + 1)/π(k) = up/down, by detailed balance."""
    m, k = 80, np.arange(79)
    rates = np.zeros((1, m, m))
    rates[0, k, k + 1] = up
    rates[0, k + 1, k] = down
    with np.errstate(all="ignore"):
        law = np.log(stationary(rates)[0])
    law = law[np.isfinite(law)]
    assert law.size > 30 and np.diff(law) == pytest.approx(np.log(up / down), rel=1e-9)


@pytest.mark.parametrize("m, n", [(4, 50), (30, 400)])
def test_solvers_agree(m, n):
    _, release = simulated(3, n=n, m=m, p=0.8)
    counts = release.differences() + rng(5).normal(0, 20, (4, m, m)).round()
    for given_release in (release, Differences(counts, n, 400.0)):
        direct, power = (
            Spectral(m=m, solver=s).fit(given_release, rng(0)) for s in ("direct", "power")
        )
        assert direct.converged.all() and power.converged.all()
        assert direct.theta == pytest.approx(power.theta, abs=1e-10)


def graph(m, edges):
    found = np.zeros((1, m, m), bool)
    for i, j in edges:
        found[0, i, j] = found[0, j, i] = True
    return found


@pytest.mark.parametrize("solver", ["direct", "power"])
def test_what_does_not_connect_has_no_estimate(solver):
    counts = np.full((4, 4, 4), 5.0)
    counts[1, :2, 2:] = counts[1, 2:, :2] = 0  # two components
    counts[2, 0, 1:] = 0  # nobody had item 0 right where another was wrong: no way out
    counts[3, 1, 2] = np.nan
    found = Spectral(m=4, solver=solver, **RAW).fit(Differences(counts, 9, 0.0), rng(0))
    assert (
        found.converged.tolist() == [True, False, False, False] and np.isnan(found.theta[1:]).all()
    )
    assert found.theta[0] == pytest.approx(np.zeros(4), abs=1e-12)
    assert Spectral(m=4, solver=solver).fit(Differences(counts[:3], 9, 0.0), rng(0)).converged.all()
    split = Differences(counts[:1], 9, 0.0, graph(4, [(0, 1), (2, 3)]))
    assert not Spectral(m=4, solver=solver).fit(split, rng(0)).converged.any()


def test_only_edges_of_the_public_graph_count():
    edges, counts = graph(4, [(0, 1), (1, 2), (2, 3)]), rng(1).integers(2, 40, (3, 4, 4))
    first = Spectral(m=4, **RAW).fit(Differences(counts, 50, 0.0, edges), rng(0)).theta
    for k in range(3):  # along a path the law is in closed form
        assert first[:, k + 1] - first[:, k] == pytest.approx(
            np.log(counts[:, k, k + 1] / counts[:, k + 1, k])
        )
    other = np.where(edges, counts, -999)
    assert (
        Spectral(m=4, **RAW).fit(Differences(other, 50, 0.0, edges), rng(0)).theta == first
    ).all()


def test_counts_are_cut_at_the_floor_then_raised():
    counts = np.array([[[7.0, -3.0, 2.5], [0.2, 7.0, 9.0], [4.0, 0.0, 7.0]]])
    found = Spectral(m=3, pseudo_count=2.0, floor=0.5).counts(Differences(counts, 9, 1.0))
    assert found[0].tolist() == [[0, 2.5, 4.5], [2.5, 0, 11], [6, 2.5, 0]]
    assert counts[0, 0, 1] == -3 and counts[0, 0, 0] == 7, "the release is left alone"


@given(st.integers(0, 10**6), st.permutations(range(5)), st.sampled_from(["direct", "power"]))
def test_renaming_items_renames_estimates_and_persons_do_not_matter(seed, order, solver):
    _, release = simulated(seed, n=30, reps=2)
    estimator = Spectral(m=5, solver=solver)
    first = estimator.fit(release, rng(0)).theta
    order, people = list(order), rng(seed).permutation(30)
    again = estimator.fit(
        OpenResponses(release.answers[:, people][:, :, order], None), rng(0)
    ).theta
    assert again == pytest.approx(first[:, order], abs=1e-10) and first.sum(
        axis=1
    ) == pytest.approx([0, 0], abs=1e-12)
    mirrored = estimator.fit(OpenResponses(~release.answers, None), rng(0)).theta
    assert mirrored.shape == first.shape
    plus, minus = (
        Spectral(m=5).counts(OpenResponses(x, None)) for x in (release.answers, ~release.answers)
    )
    assert (plus == minus.swapaxes(1, 2)).all()  # right for wrong turns the chain round


@pytest.mark.parametrize("solver", ["direct", "power"])
@pytest.mark.parametrize("p", [1.0, 0.6])
def test_a_replication_does_not_depend_on_its_batch(solver, p, monkeypatch):
    _, release = simulated(7, n=40, m=6, reps=9, p=p)
    estimator = Spectral(m=6, solver=solver)
    whole = estimator.fit(release, rng(0)).theta
    for rows in (slice(0, 1), slice(3, 8)):
        part = OpenResponses(
            release.answers[rows], None if release.observed is None else release.observed[rows]
        )
        assert (estimator.fit(part, rng(0)).theta == whole[rows]).all()
    monkeypatch.setattr(rasch_spectral, "SLICE_BYTES", 1)
    assert (estimator.fit(release, rng(0)).theta == whole).all()


def flipped(release, epsilon, seed):
    flips = rng(seed).random(release.answers.shape) < flip_probability(epsilon)
    return FlippedResponses(release.answers ^ flips, release.observed, epsilon)


def test_debiasing_is_consistent_and_its_lack_is_not():
    truth, release = simulated(
        11, n=200_000, m=4, reps=12, items="fixed", item_law="uniform", item_spread=1.5
    )
    release = flipped(release, 1.0, 3)
    found = SpectralDebiased(m=4).fit(release, rng(0))
    assert found.converged.all()
    easiest = truth.theta[0].argmin()
    assert mean_agrees(found.theta[:, easiest], truth.theta[0, easiest], "debiased")
    control = Spectral(m=4).fit(release, rng(0))
    assert not mean_agrees(
        control.theta[:, easiest], truth.theta[0, easiest], "control: flipped counts as they are"
    )


def test_without_flips_debiasing_changes_nothing():
    _, release = simulated(2)
    assert (
        SpectralDebiased(m=5).fit(release, rng(0)).theta == Spectral(m=5).fit(release, rng(0)).theta
    ).all()


@pytest.mark.parametrize("p", [1.0, 0.5])
def test_the_error_falls_with_persons_at_fixed_m(p):
    """Consistent without m growing (supplement, Theorem 1.7); the control forgets half of the right answers."""
    truth, release = simulated(5, n=100_000, m=3, reps=16, p=p, items="fixed")
    found = Spectral(m=3).fit(release, rng(0)).theta
    for item in range(3):
        assert mean_agrees(found[:, item], truth.theta[0, item], f"β{item}")
    forgetful = OpenResponses(
        release.answers & (rng(1).random(release.answers.shape) < 0.5), release.observed
    )
    hardest = truth.theta[0].argmax()
    assert not mean_agrees(
        Spectral(m=3).fit(forgetful, rng(0)).theta[:, hardest], truth.theta[0, hardest], "control"
    )


@pytest.mark.parametrize("kind", [Spectral, SpectralDebiased])
def test_poor_data_break_nothing(kind):
    answers = np.zeros((5, 6, 3), bool)
    answers[1] = True
    answers[2, :3] = True  # everybody all or nothing
    answers[3, :, 0] = True
    observed = np.ones((5, 6, 3), bool)
    observed[3, :, 1] = False  # nobody answered item 1
    observed[4] = False  # nobody answered anything
    for options in (RAW, {}):
        for release in (OpenResponses(answers, observed), OpenResponses(answers[:3], None)):
            found = kind(m=3, **options).fit(release, rng(0))
            assert found.theta.shape == (len(release.answers), 3)
            assert (np.isnan(found.theta).all(axis=1) == ~found.converged).all()
    assert (
        kind(m=3).fit(OpenResponses(answers, observed), rng(0)).converged.tolist()
        == [True] * 3 + [False] * 2
    )


@pytest.mark.parametrize(
    "name, value", [("pseudo_count", -1), ("floor", -0.1), ("floor", np.inf), ("solver", "lu")]
)
def test_bad_parameters(name, value):
    with pytest.raises(InvalidInput, match=name):
        build(Spectral, {"m": 3, name: value})
