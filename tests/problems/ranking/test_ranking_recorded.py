"""Recorded comparisons: rules against a loop over people, sub-sampling and coins by enumeration, groups, shares."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.identity.registry import lookup
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.ranking.data import recorded, stand_in
from pipeline.problems.ranking.data.recorded import Recorded
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics.recorded import (
    ShareCoinFlips,
    ShareOneRating,
    ShareTwoRatings,
)
from pipeline.problems.ranking.theory.rates import win_probability
from pipeline.study.grid import Grid
from pipeline.study.parameters import DataFile
from pipeline.study.study import Study, build
from tests.helpers.checks import counts_agree, mean_agrees

RULES = ("paper", "decided", "rated")
REPS = 60_000
# Five users, three items, 0 is not rated: ties, both unrated, one unrated and unequal ratings all occur.
TINY = np.array([[4, 4, 0], [5, 3, 1], [0, 0, 2], [0, 3.5, 3.5], [1, 0, 4.5]])


def rng(seed):
    return np.random.default_rng(seed)


def rated(folder, stars):
    """A file of ratings, (users, items), 0 where there is none."""
    path = folder / "ratings.csv"
    rows = [f"{u},{i},{s},0" for u, row in enumerate(stars) for i, s in enumerate(row) if s]
    path.write_text("userId,movieId,rating,timestamp\n" + "\n".join(rows) + "\n")
    return DataFile.at(str(path), "data_path")


def by_hand(stars, rule):
    """For each user and pair 1, 0 (who wins), "coin" or None (not compared), one person at a time."""
    answers = []
    for row in stars:
        answers.append([])
        for i, j in itertools.combinations(range(len(row)), 2):
            a, b = row[i], row[j]
            if a and b and a != b:
                answers[-1].append(int(a > b))
            elif bool(a) != bool(b) and rule != "rated":
                answers[-1].append(int(bool(a)))
            else:
                answers[-1].append("coin" if rule == "paper" else None)
    return answers


def random_stars(seed, users=30, items=5):
    stars = (
        rng(seed).integers(1, 11, (users, items)) / 2 * (rng(seed + 1).random((users, items)) < 0.5)
    )
    stars[:, 0] = np.where(
        stars.any(axis=1), stars[:, 0], 3
    )  # a user without a rating would not be in the file
    return stars


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", [1, 2])
def test_everybody_is_counted_as_by_hand(tmp_path, rule, seed):
    stars = random_stars(seed)
    model = Recorded(m=5, L=30, rule=rule, data_path=rated(tmp_path, stars), other_ratings=True)
    truth = model.truth(rng(1), 4, rng(2))
    data = model.simulate(truth, rng(3))
    answers = by_hand(stars, rule)
    won, coins, made = (
        [sum(test(user[k]) for user in answers) for k in range(10)]
        for test in (lambda a: a == 1, lambda a: a == "coin", lambda a: a is not None)
    )
    assert (data.wins >= won).all() and (data.wins <= np.add(won, coins)).all()
    if rule == "paper":
        assert data.compared(np.array([30])) is None and len(np.unique(data.wins, axis=0)) == 4
    else:
        assert (data.wins == won).all() and (data.compared(np.array([30])) == made).all()
    paper, own = by_hand(stars, "paper"), by_hand(stars, "rated")
    flips = np.mean([a == "coin" for user in paper for a in user])
    two = np.mean([a is not None for user in own for a in user])
    for metric, share in (
        (ShareCoinFlips, flips),
        (ShareTwoRatings, two),
        (ShareOneRating, 1 - flips - two),
    ):
        assert metric(model="recorded")(truth, None, None) == pytest.approx(np.full(4, share))


def law_of_wins(stars, rule, L, head=0.5, replace=False):
    """Law of the wins of all pairs: over all samples of L users, then over all coins; {wins: probability}."""
    answers, law = by_hand(stars, rule), {}
    people = range(len(stars))
    samples = list(
        itertools.product(people, repeat=L) if replace else itertools.combinations(people, L)
    )
    for sample in samples:
        per_pair = []
        for k in range(len(answers[0])):
            said = [answers[u][k] for u in sample]
            coins = said.count("coin")
            per_pair.append(
                [(said.count(1) + h, stats.binom.pmf(h, coins, head)) for h in range(coins + 1)]
            )
        for outcome in itertools.product(*per_pair):
            wins = tuple(w for w, _ in outcome)
            law[wins] = law.get(wins, 0.0) + np.prod([p for _, p in outcome]) / len(samples)
    return law


def agrees(wins, law, L, what):
    """Chi-square of the joint wins of all pairs; outcomes outside the law fail."""
    shape = [L + 1] * wins.shape[1]
    cells, probabilities = np.ravel_multi_index(wins.T, shape), np.zeros(np.prod(shape))
    for key, weight in law.items():
        probabilities[np.ravel_multi_index(key, shape)] = weight
    counts = np.bincount(cells, minlength=probabilities.size)
    return counts[probabilities == 0].sum() == 0 and counts_agree(counts, probabilities, what)


@pytest.mark.parametrize("rule", RULES)
def test_wins_have_the_law_of_samples_and_coins(tmp_path, rule):
    model = Recorded(m=3, L=3, rule=rule, data_path=rated(tmp_path, TINY), other_ratings=True)
    wins = model.simulate(model.truth(rng(1), REPS, rng(2)), rng(4)).wins
    assert wins.shape == (REPS, 3)
    assert agrees(wins, law_of_wins(TINY, rule, 3), 3, rule)
    assert not agrees(
        wins, law_of_wins(TINY, rule, 3, replace=True), 3, "control: with replacement"
    )
    if rule == "paper":
        assert not agrees(wins, law_of_wins(TINY, rule, 3, head=0.6), 3, "control: coins of 0.6")


@pytest.mark.parametrize("rule", ["paper", "decided"])
def test_groups_are_samples_of_users_with_their_own_coins(tmp_path, rule):
    """Each group alone is a sample of its size; its coins, drawn given the total, are fair and independent of it."""
    model = Recorded(m=3, L=4, rule=rule, data_path=rated(tmp_path, TINY), other_ratings=True)
    data = model.simulate(model.truth(rng(1), REPS, rng(2)), rng(5))
    sizes = np.array([1, 2, 1])
    parts = data.split(sizes, rng(6))
    for k, size in enumerate(sizes):
        assert agrees(parts[:, k], law_of_wins(TINY, rule, size), size, f"{rule}, group {k}")
    if rule == "paper":
        assert not agrees(
            parts[:, 1], law_of_wins(TINY, rule, 2, head=0.6), 2, "control: coins of 0.6"
        )
        control = np.minimum(parts[:, 1], 1) + np.minimum(parts[:, 2], 1)
        assert not agrees(control, law_of_wins(TINY, rule, 2), 2, "control: a win cut off")
    both = parts[:, 0] + parts[:, 1]  # jointly: two groups are one larger sample
    assert agrees(both, law_of_wins(TINY, rule, 3), 3, f"{rule}, groups 0 and 1")


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(RULES),
    st.lists(st.integers(1, 90), min_size=1, max_size=5),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_a_split_adds_up_and_is_the_same_when_asked_again(rule, sizes, seed, wins_first):
    model = Recorded(m=6, L=sum(sizes), rule=rule)
    truth = model.truth(rng(1), 7, rng(2))
    data, again = model.simulate(truth, rng(seed)), model.simulate(truth, rng(seed))
    if wins_first:
        assert data.wins.shape == (7, 15)
    parts = data.split(np.array(sizes), rng(3))
    assert (parts.sum(axis=1) == data.wins).all() and parts.shape == (7, len(sizes), 15)
    again.split(np.array([model.L]), rng(4))
    assert (again.wins == data.wins).all() and (again.split(np.array(sizes), rng(5)) == parts).all()
    made = data.compared(np.array(sizes))
    assert (parts >= 0).all() and (
        parts <= (np.array(sizes)[:, None] if made is None else made)
    ).all()
    assert (made is None) == (rule == "paper")
    if made is not None:
        assert (made.sum(axis=1) == data.compared(np.array([model.L]))[:, 0]).all()


def test_slices_do_not_change_a_number(monkeypatch):
    def numbers():
        model = Recorded(m=10, L=250, rule="paper")
        data = model.simulate(model.truth(rng(1), 23, rng(2)), rng(3))
        return data.wins, data.split(np.array([50, 200]), rng(4))

    whole = numbers()
    monkeypatch.setattr(recorded, "SLICE_BYTES", 4 * 610 * 7)
    assert all((a == b).all() for a, b in zip(whole, numbers(), strict=True))


@pytest.mark.parametrize("rule", RULES)
def test_all_users_without_privacy_find_the_truth(rule):
    """Without coins exactly, as the fit to everybody is the truth; with coins but for these."""
    model = Recorded(m=12, L=stand_in.USERS, rule=rule)
    truth = model.truth(rng(1), 400, rng(2))
    release = NoPrivacy().release(model.simulate(truth, rng(3)), rng(4))
    fit = Debiased(m=12).fit(release, rng(5))
    assert fit.converged.all() and abs(truth.theta.sum(axis=1)).max() < 1e-9
    if rule == "paper":
        for item in range(12):
            assert mean_agrees(fit.theta[:, item], truth.theta[0, item], f"item {item}")
        assert not mean_agrees(
            fit.theta[:, 0], truth.theta[0, 0] + 0.01, "control: truth off by 0.01"
        )
    else:
        assert np.abs(fit.theta - truth.theta).max() < 1e-7


def test_own_comparisons_have_no_coins(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("user,winner,loser\nu,a,b\nu,b,c\nv,c,a\nw,x,a\n")
    found = {}
    for rule in RULES:
        model = Recorded(m=4, L=3, rule=rule, data_path=DataFile.at(str(path), "data_path"))
        truth = model.truth(rng(1), 2, rng(2))
        data = model.simulate(truth, rng(3))
        found[rule] = data.wins, data.compared(np.array([1, 2])), truth.theta
        assert truth.coin_flips == truth.one_rating == 0 and truth.two_ratings == pytest.approx(
            4 / 18
        )
    for rule in RULES[1:]:
        assert all((a == b).all() for a, b in zip(found["paper"], found[rule], strict=True))
    assert found["paper"][0].tolist() == [[1, 0, 0, 1, 0, 0]] * 2  # ab, ac, ax, bc, bx, cx


def test_all_mechanisms_see_the_same_people():
    study = Study(
        "t",
        "ranking",
        5,
        4,
        4,
        Grid.of({"rule": list(RULES), "mechanism": ["none", "randomized_response", "laplace"]}),
        dict(
            model="recorded", m=8, L=300, epsilon=50.0, estimator="debiased", profile="0.3:1,0.7:2"
        ),
        ("kendall", "share_coin_flips"),
    )
    memo = {}
    for labels in study.grid:
        values = study.simulate(labels, 0, memo)
        assert all(
            (values[name] == alone).all() for name, alone in study.simulate(labels, 0).items()
        )
        exact = study.simulate({**labels, "mechanism": "none"}, 0)
        if labels["mechanism"] != "laplace":  # at ε = 50 nothing is flipped
            assert (values["kendall"] == exact["kendall"]).all()


@pytest.mark.parametrize("mechanism", [RandomizedResponse, Laplace])
@pytest.mark.parametrize("rule", RULES)
def test_debiased_releases_are_unbiased(mechanism, rule):
    model = Recorded(m=4, L=200, rule=rule)
    data = model.simulate(model.truth(rng(1), 4000, rng(2)), rng(3))
    release = mechanism(m=4, L=200, epsilon=0.7, profile="0.5:1,0.5:3").release(data, rng(4))
    raw = NoPrivacy().release(data, rng(5))
    assert mean_agrees(release.debiased_mean() - raw.debiased_mean(), 0, f"{rule}, noise")
    assert not mean_agrees(
        release.debiased_mean() - raw.debiased_mean() + 0.02, 0, "control: biased by 0.02"
    )


def test_the_stand_in_is_what_it_says_and_resembles_the_ratings():
    found = stand_in.ratings()
    content = b"".join(a.astype("<f8").tobytes() for a in (found.user, found.item, found.stars))
    assert hashlib.sha256(content).hexdigest()[:16] == "503e3c4399db7a7d"
    assert (
        found.users == 610 and len(found.names) == 40 and set(found.stars * 2) <= set(range(1, 11))
    )
    assert abs(found.popularity.min() - 161) < 20 and abs(found.popularity.max() - 329) < 20
    model = Recorded(m=40, L=600)
    truth = model.truth(rng(1), 3, rng(2))
    assert truth.theta.shape == (3, 40) and (truth.theta == truth.theta[0]).all()
    shares = truth.coin_flips, truth.two_ratings, truth.one_rating
    assert shares == pytest.approx((0.544, 0.124, 0.332), abs=0.02) and sum(
        shares
    ) == pytest.approx(1)
    assert (
        "stand-in" in model.source and "not MovieLens: give data.path=ratings.csv" in model.source
    )
    assert lookup("ranking", "model", "recorded") is Recorded and model.cost() > 0


def test_independent_comparisons_have_the_models_law():
    """The same θ*, but comparisons that do not hang together: Binomial(L, σ(θ_i − θ_j)), as users' own do not have."""
    reps = 4000
    own, free = (
        build(Recorded, {"m": 5, "L": 200, "comparisons": kind})
        for kind in ("users", "independent")
    )
    truth = free.truth(np.random.default_rng(0), reps, np.random.default_rng(0))
    assert (
        truth.theta == own.truth(np.random.default_rng(0), reps, np.random.default_rng(0)).theta
    ).all()
    probability = win_probability(truth.theta[:1])[0]
    data = free.simulate(truth, np.random.default_rng(1))
    assert data.compared(np.array([200])) is None
    for pair, expected in enumerate(probability):
        counts = np.bincount(data.wins[:, pair], minlength=201)
        assert counts_agree(
            counts, stats.binom.pmf(np.arange(201), 200, expected), f"independent, pair {pair}"
        )
    wins = own.simulate(truth, np.random.default_rng(1)).wins
    assert not counts_agree(
        np.bincount(wins[:, 0], minlength=201),
        stats.binom.pmf(np.arange(201), 200, probability[0]),
        "users' own, pair 0",
    )
