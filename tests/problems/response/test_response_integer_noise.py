"""Integer noise on counts of pairs: law of every released number, what is public, and privacy by enumeration.

The enumeration knows no formulas: it asks a mechanism which entries it adds noise to and how wide, for every row that a
person can have, and adds up exact divergences over all pairs of neighbours.
"""

import itertools
import math
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.privacy.integer_laws import (
    gaussian_pmf,
    gaussian_renyi,
    gaussian_variance,
    laplace_pmf,
    laplace_variance,
)
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.releases import Differences
from pipeline.problems.response.theory.sensitivity import noise_variance
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree, mean_agrees
from tests.helpers.known_responses import MISSING, REPS, Known, follows, of_rows, off_diagonal, rng

ALPHAS = [1.01, 1.5, 2.0, 8.0, 40.0]
NOISES = [DiscreteGaussian, DiscreteLaplace]
RELATIONS = ["replace_one", "add_remove"]


def same_for_all(reps=REPS):
    """Three persons and three items, in every replication; Y has ones, twos and zeros off the diagonal."""
    return Known(np.broadcast_to(np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0]], bool), (reps, 3, 3)))


def rho_of(epsilon, delta=1e-4):
    """The paper's shortcut, written out: a law of noise that needs none of the code that is tested."""
    return epsilon**2 / (4 * math.log(1 / delta))


def law_of(kind, epsilon, charge):
    """pmf and variance of the noise of one entry, by hand: σ² = Δ²/(2ρ), or scale Δ/ε."""
    if kind is DiscreteGaussian:
        variance = charge / (2 * rho_of(epsilon))
        return lambda x: gaussian_pmf(x, variance), gaussian_variance(variance)
    return lambda x: laplace_pmf(x, charge / epsilon), laplace_variance(charge / epsilon)


def mechanism(kind, **changes):
    return build(kind, dict(epsilon_user=4.0, conversion="paper") | changes)


# the noise


@dataclass(frozen=True)
class WhereNonZero(DiscreteGaussian):
    """A negative control, the published procedure: noise only where Y is not 0."""

    def release(self, data, rng):
        whole = super().release(data, rng)
        whole.counts[data.differences() == 0] = 0
        return whole


@dataclass(frozen=True)
class LastForgotten(DiscreteGaussian):
    """A negative control: the last entry goes out as it is."""

    def release(self, data, rng):
        whole = super().release(data, rng)
        whole.counts[:, -1, -2] = data.differences()[:, -1, -2]
        return whole


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("epsilon", [1.0, 12.0])
def test_law_of_the_noise_in_every_entry(kind, epsilon):
    """Δ² = 2⌊3²/4⌋ = 4. Entries of 0 are noised as all others are, and the diagonal is 0 by itself."""
    data = same_for_all()
    release = mechanism(kind, m=3, epsilon_user=epsilon).release(data, rng(2))
    noise = release.counts - data.differences()
    assert (
        type(release) is Differences
        and release.counts.dtype == np.int64
        and release.counts.shape == (REPS, 3, 3)
    )
    assert release.edges is None and release.persons == 3 and release.variance.shape == (REPS,)
    assert not noise[:, range(3), range(3)].any() and (data.differences()[0] == 0).sum() > 3
    (pmf, variance), (half, _) = (
        law_of(kind, epsilon, 4),
        law_of(kind, epsilon, 4 / math.sqrt(2) ** (2 if kind is DiscreteGaussian else 1)),
    )
    assert release.variance == pytest.approx(variance, rel=1e-12)
    for i, j in off_diagonal(3):
        assert follows(noise[:, i, j], pmf, f"entry {i, j}")
        assert not follows(noise[:, i, j], half, "negative control: half the variance")
    squared = noise[:, ~np.eye(3, dtype=bool)].astype(float) ** 2
    assert mean_agrees(squared, release.variance[0], "variance")
    assert not mean_agrees(squared, 0.95 * release.variance[0], "negative control: 5 % less")


def test_noise_forgotten_somewhere_is_found():
    data = same_for_all()
    zeros = data.differences()[0] == 0
    for kind in (DiscreteGaussian, WhereNonZero, LastForgotten):
        noise = (
            mechanism(kind, m=3, epsilon_user=1.0).release(data, rng(3)).counts - data.differences()
        )
        fine = {
            (i, j): follows(
                noise[:, i, j], law_of(DiscreteGaussian, 1.0, 4)[0], f"{kind.__name__}, {i, j}"
            )
            for i, j in off_diagonal(3)
        }
        forgotten = {(i, j) for i, j in fine if not fine[i, j]}
        assert (
            forgotten
            == {
                DiscreteGaussian: set(),
                WhereNonZero: {e for e in fine if zeros[e]},
                LastForgotten: {(2, 1)},
            }[kind]
        )


def test_noise_is_independent_across_entries():
    """Signs of three entries, (i, j) and (j, i) among them, jointly."""
    noise = (
        mechanism(DiscreteGaussian, m=3, epsilon_user=1.0).release(same_for_all(), rng(4)).counts
    )
    noise = noise - same_for_all().differences()
    tail = (1 - gaussian_pmf(0, 4 / (2 * rho_of(1.0)))) / 2
    joint = np.einsum("a,b,c->abc", *[[tail, 1 - tail]] * 3).ravel()
    below = [noise[:, i, j] >= 0 for i, j in ((0, 1), (1, 0), (2, 0))]
    assert counts_agree(
        np.bincount(np.array([4, 2, 1]) @ below, minlength=8), joint, "three entries"
    )
    below[1] = below[0]
    assert not counts_agree(
        np.bincount(np.array([4, 2, 1]) @ below, minlength=8), joint, "control: symmetric noise"
    )


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("p0", [1.0, 0.4])
def test_noise_and_graph_do_not_depend_on_the_data(kind, p0):
    """The same generator, other data, with missing responses or all alike: the same noise on the same graph."""
    released = []
    for data in (
        Known(rng(1).random((20, 30, 5)) < 0.5),
        Known(np.zeros((20, 4, 5), bool)),
        Known(np.zeros((20, 7, 5), bool), rng(2).random((20, 7, 5)) < 0.3),
    ):
        release = mechanism(kind, m=5, p0=p0).release(data, rng(5))
        kept = np.ones((20, 5, 5), bool) if release.edges is None else release.edges
        released.append((release.counts - data.differences() * kept, kept, release.variance))
    for other in released[1:]:
        assert all((a == b).all() for a, b in zip(released[0], other, strict=True))


# the public graph


def brute_cut(graph):
    return max(
        sum(graph[i, j] for i in range(len(graph)) for j in range(len(graph)) if s[i] > s[j])
        for s in itertools.product((0, 1), repeat=len(graph))
    )


def test_graphs_are_connected_erdos_renyi_and_symmetric():
    """Of three items the connected graphs are those with two edges or three; the negative control has another p0."""
    edges = mechanism(DiscreteGaussian, m=3, p0=0.3).release(same_for_all(), rng(6)).edges
    assert (
        edges.dtype == bool
        and (edges == edges.swapaxes(1, 2)).all()
        and not np.einsum("rii->ri", edges).any()
    )
    cells = np.bincount(edges[:, [0, 0, 1], [1, 2, 2]] @ [4, 2, 1], minlength=8)
    law = [
        np.einsum("a,b,c->abc", *[[1 - p, p]] * 3).ravel() * [0, 0, 0, 1, 0, 1, 1, 1]
        for p in (0.3, 0.32)
    ]
    law = [one / one.sum() for one in law]
    assert counts_agree(cells, law[0], "three edges") and not counts_agree(
        cells, law[1], "negative control: p0 = 0.32"
    )


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("calibration", ["tight", "paper"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_graph_is_charged_by_itself(kind, calibration, relation):
    data = Known(rng(1).random((300, 6, 6)) < 0.5)
    noisy = mechanism(kind, m=6, p0=0.4, calibration=calibration, neighbours_are=relation)
    release = noisy.release(data, rng(7))
    charges = [
        graph.sum()
        if calibration == "paper"
        else brute_cut(graph) * (1 + (relation == "replace_one"))
        for graph in release.edges
    ]
    wanted = [law_of(kind, 4.0, charge)[1] if charge else 0 for charge in charges]
    assert release.variance == pytest.approx(wanted, rel=1e-12) and len(set(charges)) > 4
    assert not release.counts[~release.edges].any()
    if kind is DiscreteGaussian:
        by_theory = [
            gaussian_variance(float(noise_variance(noisy.rho, calibration, 6, relation, graph)))
            for graph in release.edges
            if graph.any()
        ]
        assert release.variance[release.edges.any(axis=(1, 2))] == pytest.approx(
            by_theory, rel=1e-12
        )


@pytest.mark.parametrize("kind", NOISES)
def test_law_of_the_noise_on_a_graph(kind):
    """By number of edges of three connected items: largest cuts 2, 2. Zeros are noised too; the control charges all."""
    data = Known(np.zeros((REPS, 1, 3), bool))
    release = mechanism(kind, m=3, p0=0.5).release(data, rng(8))
    sizes = release.edges.sum(axis=(1, 2)) // 2
    for size, cut in ((2, 2), (3, 2)):
        rows = sizes == size
        noise = release.counts[rows][release.edges[rows]]
        assert follows(noise, law_of(kind, 4.0, 2 * cut)[0], f"{size} edges")
        assert not follows(
            noise,
            law_of(kind, 4.0, 6)[0],
            "negative control: as if the paper's charge for all pairs",
        )
        assert not follows(noise, law_of(kind, 4.0, 2)[0], "negative control: as if one edge")


def test_a_graph_without_edges_releases_nothing():
    """Where p0 is so small that no try connects the items."""
    data = Known(np.tile(np.array([1, 0, 1], bool), (400, 4, 1)))
    release = mechanism(DiscreteGaussian, m=3, p0=1e-9).release(data, rng(9))
    assert not (release.counts.any() or release.edges.any() or release.variance.any())
    some = mechanism(DiscreteLaplace, m=3, p0=0.01).release(data, rng(9))
    assert ((some.variance == 0) == ~some.edges.any(axis=(1, 2))).all() and 0 < (
        some.variance == 0
    ).sum() < 400


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(NOISES),
    st.integers(2, 18),
    st.sampled_from([1.0, 0.7, 0.1]),
    st.sampled_from(RELATIONS),
    st.sampled_from(["tight", "paper"]),
    st.floats(-3, 2),
    st.integers(0, 99),
    st.booleans(),
)
def test_any_release_is_whole_zero_off_its_graph_and_repeats(  # noqa: PLR0913 - a drawn case
    kind, m, p0, relation, calibration, power, seed, missing
):
    noisy = build(
        kind,
        dict(m=m, epsilon_user=10**power, p0=p0, neighbours_are=relation, calibration=calibration),
    )
    observed = rng(seed).random((3, 4, m)) < 0.5 if missing else None
    data = Known(np.ones((3, 4, m), bool) if observed is None else observed, observed)
    first, again = (noisy.release(data, rng(seed)) for _ in range(2))
    edges = (
        np.broadcast_to(~np.eye(m, dtype=bool), (3, m, m)) if first.edges is None else first.edges
    )
    assert (
        first.counts.dtype == np.int64
        and not first.counts[~edges].any()
        and first.counts.shape == (3, m, m)
    )
    assert (edges == edges.swapaxes(1, 2)).all() and (first.edges is None) == (p0 == 1)
    assert (
        (first.counts == again.counts).all() and first.persons == 4 and first.variance.shape == (3,)
    )
    assert ((first.variance > 0) == edges.any(axis=(1, 2))).all()
    assert (
        np.abs(first.counts - data.differences() * edges)
        <= 50 * np.sqrt(first.variance[:, None, None]) + 1
    ).all()
    assert 0 < noisy.used <= 1 and all(
        value > 0 or "ε at" in name for name, value in noisy.spent().items()
    )


# what is spent


def least_epsilon(rho, delta):
    """Canonne, Kamath and Steinke's conversion, on a grid of orders."""
    alpha = 1 + np.geomspace(1e-3, 1e5, 400_001)
    return (alpha * rho + np.log1p(-1 / alpha) - np.log(alpha * delta) / (alpha - 1)).min()


def test_conversions_give_the_budget_they_say():
    for epsilon, delta in ((0.5, 1e-4), (5.0, 1e-4), (2.0, 1e-6)):
        rho = {
            name: DiscreteGaussian(m=4, epsilon_user=epsilon, delta=delta, conversion=name).rho
            for name in ("paper", "bun_steinke", "tight")
        }
        log = math.log(1 / delta)
        assert rho["paper"] == pytest.approx(epsilon**2 / (4 * log))
        assert rho["bun_steinke"] + math.sqrt(4 * rho["bun_steinke"] * log) == pytest.approx(
            epsilon
        )
        assert least_epsilon(rho["tight"], delta) == pytest.approx(epsilon, rel=1e-6)
        assert rho["bun_steinke"] < min(rho["paper"], rho["tight"])


def test_what_nominal_five_costs():
    """The paper's shortcut spends 5.68 by the conversion that it names; hardly more than 5 by the tight one."""
    person = "all responses of a person, ε at δ = 0.0001"
    spent = DiscreteGaussian(m=4, epsilon_user=5.0, conversion="paper").spent()
    assert list(spent) == [
        person,
        f"{person}, by Bun and Steinke",
        "all responses of a person, zCDP ρ",
    ]
    assert list(spent.values()) == pytest.approx(
        [least_epsilon(rho_of(5.0), 1e-4), 5.678, rho_of(5.0)], abs=1e-3
    )
    assert 5 < spent[person] == pytest.approx(5.001, abs=1e-3)
    tight = DiscreteGaussian(m=4, epsilon_user=5.0).spent()
    assert (
        tight[person] == pytest.approx(5, rel=1e-9) and tight[f"{person}, by Bun and Steinke"] > 5.6
    )
    closed = DiscreteGaussian(m=4, epsilon_user=5.0, conversion="bun_steinke").spent()
    assert closed[person] < 4.5 and closed[f"{person}, by Bun and Steinke"] == pytest.approx(
        5, rel=1e-9
    )
    # The paper's charge for a row is 12, the row's 8: the shortcut and the charge together cost less than 5.
    both = DiscreteGaussian(m=4, epsilon_user=5.0, conversion="paper", calibration="paper").spent()
    assert (
        both["all responses of a person, zCDP ρ"] == pytest.approx(rho_of(5.0) * 8 / 12)
        and both[person] < 4.2
    )


def spied(kind):
    """The mechanism with noise of 1 in the place of its own, and the widths that it asked for."""
    widths = []

    def draw(noise, generator, width, size):
        widths.append(width)
        return np.ones(size, np.int64)

    def spied_noise(mechanism):
        noise = kind.noise.__get__(mechanism)
        law = type(f"Spied{type(noise).__name__}", (type(noise),), {"draw": draw})
        return law(**{field.name: getattr(noise, field.name) for field in fields(noise)})

    return type(f"Spied{kind.__name__}", (kind,), {"noise": property(spied_noise)}), widths


def audit(kind, m, relation, answers, graph_seed, **changes):
    """(budget used, width, graph): worst over all neighbours of the ρ that divergences imply, or of ε; exact.

    One-person data sets: every row over `answers`, and no answers at all, the row of one who is not there.
    """
    kind, widths = spied(kind)
    noisy = mechanism(kind, m=m, neighbours_are=relation, **changes)
    rows, counts, hidden = [*itertools.product(answers, repeat=m), (MISSING,) * m], [], []
    for row in rows:
        data = of_rows([row])
        release = noisy.release(data, rng(graph_seed))
        kept = np.ones((m, m), bool) if release.edges is None else release.edges[0]
        counts.append(data.differences()[0] * kept)
        hidden.append(release.counts[0] != counts[-1])
    (width,) = set(widths)
    counts, hidden = np.array(counts), np.array(hidden)
    first, second = (
        (counts[:, None], counts[None]) if relation == "replace_one" else (counts, counts[-1:])
    )
    shift, both = (
        first - second,
        hidden[:, None] & hidden if relation == "replace_one" else hidden & hidden[-1],
    )
    assert np.abs(shift).max() <= 1
    if (shift[~both] != 0).any():  # one release that cannot be of the other
        return math.inf, width, kept
    entries = np.abs(shift).sum(axis=(-1, -2)).max()
    one = (
        max(gaussian_renyi(alpha, 1, width) / alpha for alpha in ALPHAS)
        if issubclass(kind, DiscreteGaussian)
        else 1 / width
    )
    return entries * one, width, kept


CASES = [(m, answers) for m in (2, 3, 4) for answers in ((0, 1), (0, 1, MISSING))]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("m, answers", CASES)
def test_privacy_of_the_mechanisms_by_enumeration(m, answers, relation):
    """All pairs of rows: never above the budget; tight uses it up, the paper's charge what `used` says."""
    what = dict(m=m, relation=relation, answers=answers, graph_seed=1, epsilon_user=1.0)
    rho, used = rho_of(1.0), (1 + (relation == "replace_one")) * (m * m // 4) / (m * (m - 1))
    for calibration, share in (("tight", 1), ("paper", used)):
        gaussian, laplace = (audit(kind, calibration=calibration, **what)[0] for kind in NOISES)
        assert share * rho * (1 - 1e-3) < gaussian <= share * rho * (1 + 1e-12)
        assert laplace == pytest.approx(share)
        for kind, budget in ((DiscreteGaussian, gaussian), (DiscreteLaplace, laplace)):
            spent = mechanism(
                kind, m=m, epsilon_user=1.0, neighbours_are=relation, calibration=calibration
            )
            assert spent.used == pytest.approx(share)
            assert list(spent.spent().values())[-1] == pytest.approx(budget, rel=1e-3)
    for wrong in (WhereNonZero, LastForgotten):
        assert audit(wrong, **what)[0] == math.inf


def test_noise_for_rows_that_come_and_go_does_not_hide_rows_replaced():
    noisy, widths = spied(DiscreteGaussian)
    mechanism(noisy, m=4, epsilon_user=1.0, neighbours_are="add_remove").release(
        of_rows([(0, 0, 1, 1)]), rng()
    )
    worst = max(gaussian_renyi(alpha, 1, widths[0]) / alpha for alpha in ALPHAS) * 8
    assert worst == pytest.approx(2 * rho_of(1.0), rel=1e-3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_privacy_on_a_public_graph_by_enumeration(relation):
    """Whatever the graph: tight uses the budget up; the paper's charge uses at most `used` of it, and that on some."""
    shares, rho = [], rho_of(1.0)
    for seed in range(20, 32):
        what = dict(
            m=4, relation=relation, answers=(0, 1), graph_seed=seed, p0=0.5, epsilon_user=1.0
        )
        tight, _, graph = audit(DiscreteGaussian, **what)
        assert graph.any() and rho * (1 - 1e-3) < tight <= rho * (1 + 1e-12)
        assert audit(DiscreteLaplace, **what)[0] == pytest.approx(1)
        assert audit(WhereNonZero, **what)[0] == math.inf
        shares.append(audit(DiscreteGaussian, calibration="paper", **what)[0] / rho)
    used = mechanism(
        DiscreteGaussian, m=4, p0=0.5, calibration="paper", neighbours_are=relation
    ).used
    assert used == (1 if relation == "replace_one" else 0.5)
    assert max(shares) == pytest.approx(used, rel=1e-3) and min(shares) < 0.9 * used


@pytest.mark.parametrize("m", [2, 5, 25])
def test_calibrations(m):
    """The paper's squared sensitivity is m(m−1), whoever the neighbours are; the exact one half or a quarter of it."""
    for kind, power in ((DiscreteGaussian, 1), (DiscreteLaplace, 2)):
        variance = {
            (c, r): mechanism(kind, m=m, epsilon_user=0.1, calibration=c, neighbours_are=r)
            .release(Known(np.zeros((1, 1, m), bool)), rng())
            .variance[0]
            for c in ("paper", "tight")
            for r in RELATIONS
        }
        paper, half = m * (m - 1), 2 * (m * m // 4)
        assert variance["paper", "add_remove"] == variance["paper", "replace_one"]
        for relation, charge in (("replace_one", half), ("add_remove", half / 2)):
            assert variance["tight", relation] / variance["paper", relation] == pytest.approx(
                (charge / paper) ** power, rel=1e-3
            )


@pytest.mark.parametrize("kind", NOISES)
def test_a_budget_too_small_for_whole_numbers_is_refused_before_anything_runs(kind):
    for epsilon in (1e-300, 1e-12):
        with pytest.raises(InvalidInput, match="must be"):
            mechanism(kind, m=200, epsilon_user=epsilon)
    with pytest.raises(InvalidInput, match="^epsilon_user=1e-11: .*m=200"):
        mechanism(kind, m=200, epsilon_user=1e-11)
    for conversion, epsilon, way in (
        ("tight", 1e308, "no ρ .* must be smaller"),
        ("bun_steinke", 1e-200, "larger"),
        ("bun_steinke", 1e308, "no noise at all; must be smaller"),
    ):
        with pytest.raises(InvalidInput, match=f"^epsilon_user=.*{way}"):
            mechanism(DiscreteGaussian, m=4, epsilon_user=epsilon, conversion=conversion)
    for key, value in (
        ("epsilon_user", 0),
        ("epsilon_user", math.inf),
        ("p0", 0),
        ("p0", 1.1),
        ("m", 1),
        ("calibration", "exact"),
        ("neighbours_are", "swap"),
    ):
        with pytest.raises(InvalidInput, match=key):
            mechanism(kind, **{"m": 4, key: value})
    for key, value in (("delta", 1), ("delta", 0), ("conversion", "loose")):
        with pytest.raises(InvalidInput, match=key):
            mechanism(DiscreteGaussian, **{"m": 4, key: value})


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("p0", [1.0, 0.5])
def test_noise_is_drawn_with_exactly_the_width_that_the_budget_asks_for(kind, p0):
    """To the last digit: a width rounded to three digits, the negative control, is another number."""
    noisy, widths = spied(kind)
    one = mechanism(noisy, m=5, epsilon_user=1.2345678901234567, p0=p0)
    edges = one.release(Known(np.zeros((1, 1, 5), bool)), rng()).edges
    charge = 2 * (6 if edges is None else brute_cut(edges[0]))
    exact = charge / (2 * one.rho) if kind is DiscreteGaussian else charge / 1.2345678901234567
    assert widths == [exact] and widths != [float(f"{exact:.3g}")]


def test_the_exact_conversion_adds_less_noise_and_is_private_by_its_own_law():
    from pipeline.privacy.gaussian_account import discrete_gaussians_delta

    for m, epsilon in ((2, 1.0), (25, 7.5)):
        tight, exact = (
            DiscreteGaussian(m=m, epsilon_user=epsilon, conversion=name)
            for name in ("tight", "exact")
        )
        variance = [kind.noise.width(kind._charged()) for kind in (tight, exact)]
        assert 0.8 < variance[1] / variance[0] < 0.9
        entries = 2 * (m * m // 4)
        assert discrete_gaussians_delta(epsilon, entries, variance[1]) <= 1e-4
        assert (
            discrete_gaussians_delta(epsilon, entries, variance[1] / 1.05) > 1e-4
        )  # negative control
        assert next(iter(exact.spent().values())) == epsilon
    with pytest.raises(InvalidInput, match="conversion=exact"):
        DiscreteGaussian(m=2, epsilon_user=1e9, conversion="exact")


@pytest.mark.parametrize("kind", NOISES)
def test_the_attack_on_an_answer_is_on_all_counts_that_it_changes(kind):
    """Counted over all rows of a person, and each with its first response changed."""
    m = 5

    def counts(row):
        return np.array([[row[i] * (1 - row[j]) for j in range(m)] for i in range(m)])

    most = max(
        np.abs(counts(row) - counts((1 - row[0], *row[1:]))).sum()
        for row in itertools.product((0, 1), repeat=m)
    )
    attack = mechanism(kind, m=m).attacks()["answer"]
    assert (attack.entries if kind is DiscreteGaussian else attack.bits) == most
