"""Persons who answer some of the items: exact joint laws by enumeration, budgets, and what is refused."""

import collections
import itertools
import math

import numpy as np
import pytest

import pipeline as pl
from pipeline.privacy.composition import answer_budget
from pipeline.problems.response.advice import error_l2, survey
from pipeline.problems.response.metrics.cramer_rao import item_bound
from pipeline.problems.response.metrics.noise_risk import noise_drawn, noise_risk
from pipeline.problems.response.model import Asked, Responses
from pipeline.problems.response.sampling.pair_counts import differences_of, pairs_of
from pipeline.problems.response.sampling.pattern_counts import PatternCounts
from pipeline.problems.response.sampling.surveys import Survey, _turns, thinned
from pipeline.problems.response.theory.abilities import ability_points
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import counts_agree

BETA = np.array([-1.2, 0.3, 0.9])
GRID = np.linspace(-9, 9, 4001)  # of abilities, for the enumeration
WEIGHTS = np.exp(-(GRID**2) / 2) / np.exp(-(GRID**2) / 2).sum()


def chance_of(items, answers, beta=BETA):
    """Of answers to some items by one person, whose ability is standard normal."""
    chance = np.ones(len(GRID))
    for item, answer in zip(items, answers, strict=True):
        right = 1 / (1 + np.exp(beta[item] - GRID))
        chance = chance * (right if answer else 1 - right)
    return float(chance @ WEIGHTS)


def law_of_differences(sets_of_persons):
    """Exact law of Y by enumeration. sets_of_persons: {sets of all persons: chance}."""
    law = collections.Counter()
    for sets, chance in sets_of_persons.items():
        answers_of_each = [itertools.product((0, 1), repeat=len(items)) for items in sets]
        for answers in itertools.product(*map(list, answers_of_each)):
            total = np.zeros((3, 3), int)
            weight = chance
            for items, given in zip(sets, answers, strict=True):
                weight *= chance_of(items, given)
                for (i, x), (j, y) in itertools.permutations(zip(items, given, strict=True), 2):
                    total[i, j] += x and not y
            law[tuple(total.ravel())] += weight
    return law


def two_persons(design):
    """Sets of two items of three that two persons are asked, with chances."""
    pairs = list(itertools.combinations(range(3), 2))
    if design == "random":
        return dict.fromkeys(itertools.product(pairs, repeat=2), 1 / 9)
    return dict.fromkeys(itertools.permutations(pairs, 2), 1 / 6)


def fixed(reps, **changes):
    """Data of a model with BETA as truth."""
    model = pl.response.Rasch(**(dict(n=2, m=3, questions=2) | changes))
    truth = model.truth(np.random.default_rng(0), 1, np.random.default_rng(0))
    truth = type(truth)(np.tile(BETA, (reps, 1)), np.empty((reps, 0)))
    return model.simulate(truth, np.random.default_rng(7))


def agree(drawn, law, what):
    """Whether rows follow a law; False where some are impossible."""
    seen = collections.Counter(map(tuple, drawn.reshape(len(drawn), -1).tolist()))
    if not set(seen) <= set(law):
        return False
    keys = sorted(law)
    return counts_agree([seen[key] for key in keys], [law[key] for key in keys], what)


@pytest.mark.parametrize("design", ["balanced", "random"])
def test_counts_of_pairs_have_their_joint_law(design):
    """m = 3, n = 2, k = 2, counted and drawn one by one; the control has answers of one ability."""
    reps = 20_000
    law = law_of_differences(two_persons(design))
    assert abs(sum(law.values()) - 1) < 1e-12
    counted = fixed(reps, design=design).differences()
    assert agree(counted, law, f"{design}, counted")
    theta = np.tile(BETA, (reps, 1))
    nobody = np.empty((reps, 0))
    survey = Survey(2, design)
    singly = Responses(
        nobody, theta, 1.0, np.random.default_rng(3), Asked(2, survey, "normal", 1.0)
    )
    assert agree(singly.differences(), law, f"{design}, one by one")
    alike = fixed(reps, design=design, person_spread=0.0).differences()
    assert not agree(alike, law, "control: abilities all the same")
    other = law_of_differences(two_persons("random" if design == "balanced" else "balanced"))
    assert not agree(counted, other, "control: the other design")


def test_one_answer_each_has_its_law():
    """m = 3, n = 2, k = 1: which items are answered, and how many rightly."""
    reps = 20_000
    data = fixed(reps, questions=1, design="random")
    counts = data.item_counts()
    law = collections.Counter()
    for items in itertools.product(range(3), repeat=2):
        for given in itertools.product((0, 1), repeat=2):
            total = np.zeros((2, 3), int)
            for item, x in zip(items, given, strict=True):
                total[0, item] += x
                total[1, item] += 1
            weight = math.prod(chance_of([item], [x]) for item, x in zip(items, given, strict=True))
            law[tuple(total.ravel())] += weight / 9
    drawn = np.stack([counts.right, counts.answered], axis=1).astype(int)
    assert agree(drawn, law, "one answer each")
    assert not agree(drawn, law_with(law, 0.2), "control: a fifth by a coin")
    assert not data.differences().any() and not data.linked().any()


def law_with(law, moved):
    """The law with some of its likeliest value moved to the next."""
    first, second = [key for key, _ in law.most_common(2)]
    changed = dict(law)
    changed[first] -= moved * law[first]
    changed[second] += moved * law[first]
    return changed


@pytest.mark.parametrize("design", ["balanced", "random"])
def test_three_of_four_items_have_their_joint_law(design):
    """n = 2, drawn one by one: who misses which item, and what the first one answers."""
    reps = 20_000
    beta = np.array([-1.2, 0.3, 0.9, 0.0])
    theta = np.tile(beta, (reps, 1))
    people = Asked(2, Survey(3, design), "normal", 1.0)
    data = Responses(np.empty((reps, 0)), theta, 1.0, np.random.default_rng(5), people)
    assert (data.observed.sum(axis=2) == 3).all()
    missed = np.argmin(data.observed, axis=2)
    equal = 1 / 16 if design == "random" else 1 / 12
    pairs = itertools.product(range(4), repeat=2)
    law = {pair: equal for pair in pairs if design == "random" or pair[0] != pair[1]}
    assert agree(missed, law, "items missed")
    code = missed[:, 0] * 16 + (data.answers[:, 0] << np.arange(4)).sum(axis=1)
    of_first = np.zeros(64)
    for item in range(4):
        rest = [k for k in range(4) if k != item]
        for given in itertools.product((0, 1), repeat=3):
            bits = sum(x << k for k, x in zip(rest, given, strict=True))
            of_first[16 * item + bits] = chance_of(rest, given, beta) / 4
    assert counts_agree(np.bincount(code, minlength=64), of_first, "answers of the first")
    shuffled = np.random.default_rng(1).permuted(code)  # kept, but of other abilities
    low = (shuffled & 3) | (code & ~3)
    assert not counts_agree(np.bincount(low, minlength=64), of_first, "control: mixed persons")


@pytest.mark.parametrize("m", [3, 4, 7, 8])
def test_balanced_designs_are_equal_up_to_one(m):
    turns = _turns(m)
    assert len({tuple(sorted(pair)) for pair in turns.tolist()}) == len(turns) == m * (m - 1) // 2
    rng = np.random.default_rng(m)
    for k in range(1, m):
        survey = Survey(k, "balanced")
        asked = survey.items(rng, 20, 13, m)
        assert (asked.sum(axis=2) == k).all() and (np.ptp(asked.sum(axis=1), axis=1) <= 1).all()
        slices = list(survey.slices(2, 10**6, m))
        assert all(people.start % survey.persons_of_a_round(m) == 0 for _, people in slices)
    for n in (1, 5, 13, 10**6):
        for k in (1, 2):
            data = fixed(20, n=n, m=3, questions=k)
            answered = data.item_counts().answered
            assert (np.ptp(answered, axis=1) <= 1).all() and (answered.sum(axis=1) == k * n).all()
        times = Survey(2, "balanced").times(rng, 20, n, m)
        assert (np.ptp(times, axis=1) <= 1).all() and (times.sum(axis=1) == n).all()


def test_answers_that_count_are_any_of_those_there():
    present = np.tile(np.array([1, 0, 1, 1, 1], bool), (30_000, 1))
    chosen = thinned(np.random.default_rng(1), present, 2)
    code = (chosen << np.arange(5)).sum(axis=1)
    subsets = [(1 << a) + (1 << b) for a, b in itertools.combinations((0, 2, 3, 4), 2)]
    law = np.isin(np.arange(32), subsets) / 6
    assert counts_agree(np.bincount(code, minlength=32), law, "subsets of two")
    assert not counts_agree(np.bincount(code & 31 | 1, minlength=32), law, "control")
    assert (thinned(np.random.default_rng(1), present, 4) == present).all()
    assert (thinned(np.random.default_rng(1), present, 3).sum(axis=1) == 3).all()


@pytest.mark.parametrize("law, spread", [("normal", 0.3), ("normal", 4.0), ("uniform", 9.0)])
def test_means_over_abilities_are_exact(law, spread):
    points, weights = ability_points(law, spread)
    fine = np.linspace(-1, 1, 400_001) * spread * (10 if law == "normal" else 1)
    density = np.exp(-((fine / spread) ** 2) / 2) if law == "normal" else np.ones_like(fine)
    shift = 2.5

    def both(theta):
        return 1 / (1 + np.exp(shift - theta)) / (1 + np.exp(theta + shift))

    exact = np.trapezoid(both(fine) * density, fine) / np.trapezoid(density, fine)
    assert abs(both(points) @ weights / exact - 1) < 1e-9


def test_rows_say_what_counts_say():
    for k, p in itertools.product((1, 2), (1.0, 0.7)):
        data = fixed(5, n=40, questions=k, p=p)
        answers, observed = data.answers, data.observed
        assert (data.differences() == differences_of(answers, observed)).all()
        assert (data.pairs() == pairs_of(answers, observed)).all()
        right, answered = data.item_counts()
        assert (right == answers.sum(axis=1)).all() and (answered == observed.sum(axis=1)).all()
        plain = data.release_plainly()
        assert plain.persons == 40 and (plain.item_counts().right == right).all()
        flipped = data.release_flipped(np.random.default_rng(2), 0.3, math.log(7 / 3))
        assert (flipped.observed.sum(axis=1) == answered).all()
        assert (flipped.pairs == data.pairs()).all() and flipped.persons == 40
        raw = flipped.differences()
        assert (raw == differences_of(flipped.answers, flipped.observed)).all()


def test_flips_of_counted_persons_have_their_law():
    """One person with two answers, right and wrong: each is flipped on its own."""
    reps = 20_000
    counts = np.zeros((reps, 1, 2, 2), np.int64)
    counts[:, 0, 0, 1] = 1
    patterns = PatternCounts(counts, np.array([[0, 1]]), 2)
    flipped = patterns.flipped(np.random.default_rng(1), 0.3).counts.reshape(reps, 4)
    law = [0.7 * 0.3, 0.7 * 0.7, 0.3 * 0.3, 0.3 * 0.7]
    assert counts_agree(flipped.sum(axis=0), law, "flips")
    together = [0.3, 0.4, 0.0, 0.3]
    assert not counts_agree(flipped.sum(axis=0), together, "control: both at once")


def test_debiased_counts_are_unbiased():
    reps = 3000
    for k in (2, 3):
        model = pl.response.Rasch(n=60, m=4, questions=k)
        data = pl.simulate_data(model, seed=1, replications=reps)
        mechanism = pl.response.RandomizedResponse(n=60, m=4, questions=k, person=3.0)
        release = pl.simulate_release(mechanism, data, seed=2)
        error = release.differences(debiased=True) - data.data.differences()
        shares = release.item_counts(debiased=True).right - data.data.item_counts().right
        for what, off in (("pairs", error[:, 0, 1]), ("items", shares[:, 2])):
            statistic = abs(off.mean()) / off.std() * math.sqrt(reps)
            print(f"{what}, k={k}: n={reps}, |z|={statistic:.2f}, bound 4.9, α=1e-6")
            assert statistic < 4.9
        biased = release.differences() - data.data.differences()
        statistic = abs(biased[:, 0, 1].mean()) / biased[:, 0, 1].std() * math.sqrt(reps)
        assert statistic > 4.9  # the control: as they are


def test_a_person_spends_what_was_promised():
    mechanism = pl.response.RandomizedResponse(n=9, m=5, questions=2, person=2.0)
    assert mechanism.answer_epsilon == 1.0
    assert mechanism.spent() == {"all responses of a person": 2.0, "one response": 1.0}
    everything = pl.response.RandomizedResponse(n=9, m=5, person=2.0)
    same = pl.response.RandomizedResponse(n=9, m=5, epsilon_user=2.0)
    assert everything.answer_epsilon == same.answer_epsilon == 0.4
    at_delta = pl.response.RandomizedResponse(n=9, m=50, person=2.0, person_delta=1e-6)
    assert at_delta.answer_epsilon == answer_budget(2.0, 50, 1e-6) > 0.04
    curator = pl.response.CuratorDifferences(m=5, questions=3, person=2.0)
    assert curator.spent() == {"all responses of a person": 2.0}
    gaussian = pl.response.CuratorDifferences(m=5, questions=3, person=2.0, person_delta=1e-6)
    assert next(iter(gaussian.spent().values())) == pytest.approx(2.0, rel=1e-6)


def test_one_answer_each_needs_the_fewest_people_without_trust():
    """m = 10, one nat a person, 5,000 people: local error least with one answer, central with all."""
    m, n, reps = 10, 5000, 150

    def error(k, mechanism, estimator):
        data = pl.simulate_data(pl.response.Rasch(n=n, m=m, questions=k), seed=1, replications=reps)
        estimate = estimator.fit(pl.simulate_release(mechanism, data, seed=2))
        return math.sqrt(np.nanmean((estimate.theta - data.truth.theta) ** 2))

    local = {}
    central = {}
    for k in (1, 2, 5):
        flips = pl.response.RandomizedResponse(n=n, m=m, questions=k, person=1.0)
        local[k] = error(k, flips, pl.response.ItemShares(m=m))
    for k in (2, 5, None):
        noise = pl.response.CuratorDifferences(m=m, questions=k, person=1.0)
        central[k] = error(k, noise, pl.response.PairwiseLikelihood(m=m, questions=k))
    print(f"n={reps}, local {local}, central {central}")
    assert local[1] < 0.8 * local[2] < 0.64 * local[5]
    assert central[None] < 0.9 * central[5] < 0.8 * central[2]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({}, "each of 90 people answers all 8 items"),
        ({"questions": 1}, "answers one of the 8 items, so that every item is answered equally"),
        ({"questions": 3, "design": "random"}, "answers 3 of the 8 items, drawn at random for"),
        ({"questions": 2, "p": 0.5}, "answers 2 of the 8 items, each with probability 0.5, so"),
    ],
)
def test_advice_says_who_answers_what(changes, words):
    model = pl.response.Rasch(n=90, m=8, **changes)
    assert words in survey(model, pl.response.RandomizedResponse(n=90, m=8, epsilon_user=1.0))


@pytest.mark.parametrize(
    "mechanism, estimator, questions, measured",
    [  # root mean square errors of 200 replications at n = 5,000, m = 10, one nat a person
        ("randomized_response", "item_shares", 1, 0.283),
        ("randomized_response", "item_shares", 2, 0.400),
        ("randomized_response", "spectral_debiased", 2, 0.596),
        ("noisy_differences", "pairwise_likelihood", 2, 0.143),
        ("noisy_differences", "pairwise_likelihood", None, 0.060),
    ],
)
def test_advice_begins_near_the_answer(mechanism, estimator, questions, measured):
    predicted = error_l2(mechanism, estimator, 5000, 10, person=1.0, questions=questions)
    print(f"{mechanism}, {estimator}, {questions}: predicted {predicted:.3f}, measured {measured}")
    assert 0.6 < predicted / measured < 1.3
    same = error_l2(mechanism, estimator, 5000, 10, epsilon_user=1.0, questions=questions)
    assert same == predicted
    with pytest.raises(ValueError, match="is needed"):
        error_l2(mechanism, estimator, 5000, 10)


def test_what_needs_abilities_is_not_a_number_where_persons_are_counted():
    model = pl.response.Rasch(n=90, m=4, questions=2)
    people = pl.simulate_data(model, seed=1, replications=3)
    noise = pl.response.CuratorDifferences(m=4, questions=2, person=1.0)
    release = pl.simulate_release(noise, people, seed=2)
    for metric in (noise_drawn(), noise_risk(estimator="spectral"), item_bound()):
        assert np.isnan(metric(people.truth, release, None)).all()


def test_of_recorded_answers_some_count():
    model = pl.response.RecordedResponses(n=500, m=6, questions=2)
    data = pl.simulate_data(model, seed=1, replications=2).data
    assert (data.observed.sum(axis=2) == 2).all() and not (data.answers & ~data.observed).any()
    everything = pl.response.RecordedResponses(n=500, m=6, questions=6)
    assert pl.simulate_data(everything, seed=1).data.observed is None


@pytest.mark.parametrize(
    "make, key, text",
    [
        (lambda: pl.response.Rasch(n=9, m=4, questions=5), "questions", "must be 1 to 4"),
        (
            lambda: pl.response.CuratorDifferences(m=4, person=1.0, questions=1),
            "questions",
            "both answers of a person to a pair of items: must be 2 to 4",
        ),
        (lambda: pl.response.Spectral(m=4, questions=1), "questions", "estimator=item_shares"),
        (
            lambda: pl.response.JointLikelihood(n=9, m=4, questions=1),
            "questions",
            "joint likelihood needs both answers",
        ),
        (lambda: pl.response.RandomizedResponse(n=9, m=4), "epsilon_user", "or person"),
        (
            lambda: pl.response.DiscreteLaplace(m=4, epsilon_user=1.0, person=2.0),
            "epsilon_user",
            "leave out one of both",
        ),
        (
            lambda: pl.response.RandomizedResponse(
                n=9, m=4, person=2.0, person_delta=0.1, shuffled=True
            ),
            "person_delta",
            "give delta instead",
        ),
        (
            lambda: pl.response.CuratorDifferences(m=4, person=1e-300),
            "person",
            "must be larger",
        ),
    ],
)
def test_what_cannot_be_is_one_line(make, key, text):
    with pytest.raises(InvalidInput, match=text) as error:
        make()
    assert error.value.key == key


@pytest.mark.parametrize("answered", [3, None])
@pytest.mark.parametrize(
    "mechanism",
    [
        pl.response.RandomizedResponse(n=50, m=4, questions=2, person=1.0),
        pl.response.CuratorDifferences(m=4, questions=2, person=1.0),
    ],
)
def test_nobody_is_charged_for_fewer_answers_than_he_gives(mechanism, answered):
    people = pl.simulate_data(pl.response.Rasch(n=50, m=4, questions=answered), seed=1)
    with pytest.raises(InvalidInput, match=f"was asked {answered or 4} items"):
        pl.simulate_release(mechanism, people)


def test_shuffling_amplifies_nothing_where_items_differ():
    mechanism = pl.response.RandomizedResponse(n=10**6, m=4, questions=2, person=0.5, shuffled=True)
    assert mechanism.local_epsilon == 0.5
    assert "items of their own" in mechanism.remark(None)
