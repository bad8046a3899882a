"""The Rasch model: laws of the truth and of the responses, their counts by hand, and what debiasing promises."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from pipeline.identity.registry import problem
from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.common.sampling import bernoulli
from pipeline.problems.response.model import ItemParameters, Rasch, Responses
from pipeline.problems.response.releases import Differences, FlippedResponses, OpenResponses
from pipeline.problems.response.sampling import pair_counts
from pipeline.problems.response.sampling.answers import draw_answers
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree, mean_agrees

REPS = 200_000


def rng(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("law, spread", [("normal", 0.7), ("uniform", 2.0)])
def test_laws_of_difficulties_and_abilities(law, spread):
    model = Rasch(n=2, m=3, item_law=law, item_spread=spread, person_law=law, person_spread=spread)
    truth = model.truth(rng(1), 60_000, rng(2))
    assert truth.theta.shape == (60_000, 3) and truth.ability.shape == (60_000, 2)
    assert np.abs(truth.theta.sum(axis=1)).max() < 1e-12
    edges = np.linspace(-3, 3, 25) * spread
    for wide, fine in ((1, True), (1.05, False)):
        if law == "normal":
            gap, own = stats.norm(0, wide * spread * 2**0.5), stats.norm(0, wide * spread)
        else:
            gap = stats.triang(0.5, -2 * wide * spread, 4 * wide * spread)
            own = stats.uniform(-wide * spread, 2 * wide * spread)
        for values, kind in (
            (truth.theta[:, 0] - truth.theta[:, 2], gap),
            (truth.ability[:, 1], own),
        ):
            counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
            cdf = kind.cdf(edges)
            cdf[0], cdf[-1] = 0, 1
            assert fine == counts_agree(
                counts, np.diff(cdf), f"{law}, as if spread {wide * spread}"
            )


def test_spaced_items_have_equal_gaps_in_every_order():
    theta = Rasch(n=1, m=3, item_law="spaced", spacing=0.4).truth(rng(1), 6000, rng(2)).theta
    assert np.sort(theta, axis=1) == pytest.approx(np.tile([-0.4, 0, 0.4], (6000, 1)))
    assert counts_agree(
        np.unique(theta.round(3), axis=0, return_counts=True)[1], np.full(6, 1 / 6), "orders"
    )


@pytest.mark.parametrize("law", ["normal", "uniform", "spaced"])
def test_fixed_items_come_from_the_population_alone(law):
    model = Rasch(n=3, m=4, items="fixed", item_law=law)
    first, second = (model.truth(rng(seed), 3, rng(9)) for seed in (1, 2))
    assert (first.theta == second.theta).all() and (first.theta == first.theta[0]).all()
    assert not np.isin(first.ability, second.ability).any()


def drawn(n=2, p=1.0, reps=REPS, theta=(1.5, -0.3, -1.2), ability=(0.4, -2.0)):
    truth = ItemParameters(np.tile(theta, (reps, 1)), np.tile(ability[:n], (reps, 1)))
    return Rasch(n=n, m=len(theta), p=p).simulate(truth, rng(5))


def test_responses_follow_the_model_jointly():
    data, chance = drawn(), expit(np.subtract.outer([0.4, -2.0], [1.5, -0.3, -1.2])).ravel()
    assert data.observed is None and data.answers.dtype == bool
    patterns = np.array(list(itertools.product((0, 1), repeat=6)))
    seen = np.bincount(data.answers.reshape(REPS, 6) @ (1 << np.arange(5, -1, -1)), minlength=64)
    assert counts_agree(seen, np.where(patterns, chance, 1 - chance).prod(axis=1), "six responses")
    assert not counts_agree(
        seen, np.where(patterns, 1 - chance, chance).prod(axis=1), "control: wrong is right"
    )


def test_missing_responses_are_missing_at_random():
    data, chance = drawn(n=1, p=0.3), expit(0.4 - np.array([1.5, -0.3, -1.2]))
    state = (data.observed.astype(int) + data.answers)[:, 0]  # 0 missing, 1 wrong, 2 right
    law = np.stack([np.full(3, 0.7), 0.3 * (1 - chance), 0.3 * chance], axis=1)
    joint = np.einsum("a,b,c->abc", *law).ravel()
    seen = np.bincount(state @ [9, 3, 1], minlength=27)
    assert counts_agree(seen, joint, "three states")
    assert (
        not counts_agree(seen, np.roll(joint, 1), "control")
        and not data.answers[~data.observed].any()
    )


@pytest.mark.parametrize("probability", [0.0, 2**-13, 0.3, 255.5 / 256, 1 - 2**-13, 1.0])
def test_bernoulli_draws_have_their_probability(probability):
    """Down to sixteenths of what a byte can tell."""
    n = 4_000_000
    hits = int(bernoulli(probability, (n,), rng(3)).sum())
    law = stats.binom(n, probability)
    assert law.ppf(5e-7) <= hits <= law.ppf(1 - 5e-7)
    if 0 < probability < 1:
        control = stats.binom(n, np.floor(256 * probability) / 256)  # eight bits only
        assert not control.ppf(5e-7) <= hits <= control.ppf(1 - 5e-7)


def test_extreme_parameters_do_not_overflow():
    theta = np.array([[-2000.0, 0, 2000]])
    data = Responses(np.zeros((1, 50)), theta, 1.0, rng(1))
    assert data.answers[0, :, 0].all() and not data.answers[0, :, 2].any()


def test_asking_again_gives_the_same_numbers():
    data = drawn(p=0.5, reps=20)
    pairs, answers = data.pairs(), data.answers.copy()
    first = data.differences()
    assert (data.answers == answers).all() and (data.pairs() == pairs).all()
    assert data.differences() is first and not first.flags.writeable  # shared by mechanisms


def by_hand(answers, observed):
    n, m = answers.shape
    counts, pairs = np.zeros((2, m, m), int)
    for i, j in itertools.product(range(m), repeat=2):
        for person in range(n):
            both = observed[person, i] * observed[person, j]
            pairs[i, j] += both
            counts[i, j] += both * answers[person, i] * (1 - answers[person, j])
    return counts, pairs


@given(
    st.integers(1, 9),
    st.integers(2, 6),
    st.sampled_from([1.0, 0.6, 0.1]),
    st.integers(0, 99),
    st.integers(1, 40),
)
def test_counts_are_those_of_loops(n, m, p, seed, cells):
    before, pair_counts.SLICE_CELLS = (
        pair_counts.SLICE_CELLS,
        cells,
    )  # one person at a time, up to several replications
    try:
        model = Rasch(n=n, m=m, p=p)
        data = model.simulate(model.truth(rng(seed), 3, rng(0)), rng(seed))
        for r in range(3):
            seen = np.ones((n, m), bool) if data.observed is None else data.observed[r]
            counts, pairs = by_hand(data.answers[r].astype(int), seen.astype(int))
            assert (data.differences()[r] == counts).all() and (data.pairs()[r] == pairs).all()
            release = OpenResponses(data.answers, data.observed)
            assert all(
                (release.differences(debiased)[r] == counts).all() for debiased in (False, True)
            )
            if data.observed is not None:
                assert (release.edges[r] == (pairs > 0)).all()
    finally:
        pair_counts.SLICE_CELLS = before
    assert release.persons == n and data.differences().dtype == np.int64


@pytest.mark.parametrize("n, m", [(1, 2), (63, 5), (65, 8), (2049, 3), (4100, 13), (70, 1030)])
def test_counts_are_those_of_products(n, m):
    """On either side of a word of persons, of the words and of the items that are counted at a time."""
    answers, observed = rng(n).random((2, n, m)) < 0.4, rng(m).random((2, n, m)) < 0.7
    for seen in (None, observed):
        given = np.ones(answers.shape) if seen is None else seen.astype(float)
        right, wrong = answers * given, ~answers * given
        assert (pair_counts.differences_of(answers, seen) == right.swapaxes(1, 2) @ wrong).all()
        assert (pair_counts.pairs_of(answers, seen) == given.swapaxes(1, 2) @ given).all()


def all_flips(answers, observed, epsilon):
    """Every release of one person's answers, and its probability."""
    flips = np.array(list(itertools.product((False, True), repeat=answers.size)))
    f = flip_probability(epsilon)
    release = FlippedResponses(
        (answers ^ flips)[:, None], np.broadcast_to(observed, flips.shape)[:, None], epsilon
    )
    return release, np.where(flips, f, 1 - f).prod(axis=1)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_debiased_counts_are_unbiased_by_enumeration(epsilon):
    """Over all flips, for every row of answers and every pattern of missing ones of four items."""
    for answers, observed in itertools.product(
        itertools.product((False, True), repeat=4), repeat=2
    ):
        answers, observed = np.array(answers), np.array(observed)
        release, weight = all_flips(answers, observed, epsilon)
        expected = np.einsum("r,rij->ij", weight, release.differences(debiased=True))
        wanted = np.outer(answers & observed, ~answers & observed).astype(float)
        assert expected == pytest.approx(wanted, abs=1e-10 / np.tanh(epsilon / 2) ** 2)
        if wanted.any():
            biased = np.einsum("r,rij->ij", weight, release.differences())
            assert biased != pytest.approx(wanted, abs=1e-3), "control: counted as they are"


def test_debiased_counts_are_products_of_debiased_responses():
    """Literally Σ_l A_li A_lj x̂_li (1 − x̂_lj), with and without missing responses."""
    for observed in (None, rng(1).random((3, 20, 5)) < 0.7):
        release = FlippedResponses(rng(2).random((3, 20, 5)) < 0.5, observed, 0.8)
        seen, f = np.ones((3, 20, 5)) if observed is None else observed, flip_probability(0.8)
        x = (release.answers - f) / (1 - 2 * f)
        literal = np.einsum("rli,rlj->rij", seen * x, seen * (1 - x)) * (1 - np.eye(5))
        assert release.differences(debiased=True) == pytest.approx(literal, abs=1e-10)


def test_noisy_counts_are_released_as_they_are():
    counts = rng(1).normal(size=(2, 4, 4))
    release = Differences(counts, 30, 2.5)
    assert release.differences() is counts and release.differences(debiased=True) is counts
    assert (release.persons, release.variance, release.edges) == (30, 2.5, None)


def test_expected_differences():
    """E[Y_ij] e^β_i = E[Y_ji] e^β_j, on which the spectral algorithm rests."""
    theta = np.array([0.8, -0.8])
    counts = drawn(n=1, theta=theta).differences()
    share = counts[:, 0, 1][(counts[:, 0, 1] + counts[:, 1, 0]) == 1]
    assert mean_agrees(share, expit(theta[1] - theta[0]), "0 right, given one of two")
    assert not mean_agrees(share, expit(theta[0] - theta[1]), "control: the easier is the harder")


@pytest.mark.parametrize(
    "name, value",
    [
        ("n", 0),
        ("n", 1.5),
        ("m", 1),
        ("p", 0),
        ("p", 1.01),
        ("item_law", "cauchy"),
        ("item_spread", -1),
        ("person_law", "spaced"),
        ("person_spread", np.inf),
        ("spacing", 0),
        ("items", "both"),
    ],
)
def test_bad_parameters(name, value):
    with pytest.raises(InvalidInput, match=name):
        build(Rasch, {"n": 5, "m": 3, name: value})


@pytest.mark.parametrize(
    "reps, n, m", [(1, 1, 2), (3, 7, 3), (2, 50, 64), (1, 20, 65), (2, 30, 200), (1, 700, 10)]
)
def test_answers_are_those_of_bernoulli(reps, n, m):
    """The same answers from the same random numbers, also of persons and items that decide everything."""
    skill, difficulty = (
        np.exp(rng(n).normal(0, 3, (reps, n))),
        np.exp(rng(m).normal(0, 3, (reps, m))),
    )
    difficulty[:, 0], difficulty[:, 1] = 0, np.inf
    skill[:, ::7] *= 1e-44  # beyond single precision
    difficulty[:, 2:3] *= 1e-44
    difficulty[:, 3:4] *= 1e44
    skill[:, 1::7], difficulty[:, 4:5] = np.exp(84.5), np.exp(84)  # beyond it when counted in bytes
    difficulty[:, 5:6] = np.exp(-84.5)
    for seed in range(20):
        one, other, answers = rng(seed), rng(seed), np.empty((reps, n, m), bool)
        draw_answers(skill, difficulty, one, answers)
        probability = skill[:, :, None] / (skill[:, :, None] + difficulty[:, None])
        assert (answers == bernoulli(probability, probability.shape, other)).all()
        assert one.random() == other.random()


@pytest.mark.parametrize("p", [1.0, 0.6])
@pytest.mark.parametrize("kind", [dict(model="rasch"), dict(model="misspecified", at_random=0.2)])
def test_counts_of_parts_are_those_of_all(p, kind, monkeypatch):
    """Also if responses are asked for before or after them; and the generator goes on as if nothing was drawn again."""
    kind = dict(kind)
    model = build(
        problem("response").part("model", kind.pop("model")), dict(n=5000, m=31, p=p, **kind)
    )
    truth, found = model.truth(rng(1), 2, rng(2)), []
    for kept, first in ((1 << 24, "answers"), (0, "answers"), (0, "differences"), (0, "pairs")):
        monkeypatch.setattr("pipeline.problems.response.model.KEPT", kept)
        generator = rng(3)
        data = model.simulate(truth, generator)
        if first == "answers":
            assert data.answers.any()
        else:
            assert getattr(data, first)().any()
        release, number = data.release_plainly(), generator.random()
        found.append(
            (
                release.differences(),
                release.pairs,
                release.edges,
                release.persons,
                release.answers,
                release.observed,
                number,
            )
        )
        assert data.complete == (p == 1) and generator.random() != number
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))
    changed = dataclasses.replace(release, answers=release.answers[:1], observed=None)
    assert (changed.differences() == OpenResponses(release.answers[:1], None).differences()).all()
    assert (
        changed.edges is None
        and (changed.pairs == changed.persons).all()
        and changed.persons == 5000
    )
    listed = OpenResponses(found[0][4], found[0][5])
    assert (listed.differences() == found[0][0]).all() and (listed.pairs == found[0][1]).all()
