"""Each level of an audit by itself: exact laws, replays, searches for the worst pair."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import pipeline as pl
from pipeline.auditing import forms, looks
from pipeline.auditing.enumeration import law_of
from pipeline.auditing.laws import enumerated
from pipeline.auditing.promise import Promise
from pipeline.auditing.recorder import DRAWS, Recorder
from pipeline.auditing.replay import replayed
from pipeline.auditing.samples import Pair, Plan
from pipeline.auditing.subject import NotFinite, Subject
from pipeline.problems.common.sampling import bernoulli
from pipeline.problems.response.mechanisms.randomized_response import draw_flips

FLIP = 0.3
PAIRS = ((0, 1), (0, 2), (1, 2))


def added_laplace(values, samples, rng):
    return values + rng.laplace(scale=2.0, size=(samples, len(values)))


def scale_by_data(values, samples, rng):
    return rng.laplace(scale=1 + sum(values), size=samples)


def number_by_data(values, samples, rng):
    for _ in range(int(sum(values))):
        rng.normal()
    return rng.normal(size=samples)


# --- law


@pytest.mark.parametrize(
    "flips",
    [
        lambda rng: rng.random(3) < FLIP,
        lambda rng: np.greater(FLIP, rng.random(3)),
        lambda rng: ~(rng.random(3) >= FLIP),
        lambda rng: rng.binomial(1, FLIP, 3).astype(bool),
        lambda rng: rng.choice([True, False], 3, p=[FLIP, 1 - FLIP]),
        lambda rng: draw_flips((3,), FLIP, rng),
        lambda rng: bernoulli(FLIP, (3,), rng),
    ],
    ids=["random", "reflected", "at least", "binomial", "choice", "bytes", "words"],
)
def test_the_law_of_three_flips_by_any_draw(flips):
    law = law_of(lambda rng: np.asarray(flips(rng), float))
    for outcome in itertools.product((0.0, 1.0), repeat=3):
        chance = math.prod(FLIP if bit else 1 - FLIP for bit in outcome)
        assert law[outcome] == pytest.approx(chance, rel=1e-9)
    assert len(law) == 8


def test_what_is_drawn_twice_is_known_the_second_time():
    def run(rng):
        uniform = rng.random()
        return np.array([uniform < 0.5, uniform < 0.25], float)

    law = law_of(run)
    assert law == {(1.0, 1.0): 0.25, (1.0, 0.0): 0.25, (0.0, 0.0): 0.5}


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(),
        lambda rng: rng.random() * 2,
        lambda rng: float(rng.random()),
        lambda rng: rng.bit_generator.random_raw(),
        lambda rng: rng.random(2)[0] < rng.random(2)[1],
        lambda rng: rng.permutation(3),
        lambda rng: np.random.default_rng(rng.spawn(1)[0]).random(),
    ],
)
def test_what_cannot_be_enumerated_is_not(draw):
    with pytest.raises(NotFinite):
        law_of(lambda rng: np.atleast_1d(draw(rng)))


def test_random_numbers_from_elsewhere_are_noticed():
    """Paths would say that the output is certain, or has the chances of one path's draw."""

    def two_sources(bit, samples, rng):
        return (rng.random(samples) < 0.9) ^ (np.random.default_rng().random(samples) < 0.3)

    with pytest.raises(NotFinite, match="samples have"):
        enumerated(Subject.of(two_sources))(0)


def test_a_law_that_the_mechanism_states_is_taken():
    class Coin:
        def __call__(self, bit, samples):
            return np.random.default_rng().random(samples) < 0.5

        def law(self, bit):
            return {1: 0.5 + 0.1 * bit, 0: 0.5 - 0.1 * bit}

    audited = pl.audit(Coin(), (0, 1), epsilon=1.0, repeats=0)
    assert audited.level == "law" and audited.epsilon_lower == pytest.approx(math.log(0.5 / 0.4))


# --- replay


@pytest.mark.parametrize("kind", ["normal", "laplace", "integers", "permutation", "binomial"])
def test_a_recorder_draws_what_a_generator_does(kind):
    arguments = {"integers": (10,), "permutation": (5,), "binomial": (9, 0.2)}.get(kind, ())
    assert kind in DRAWS
    recorder = Recorder(3, [])
    drawn = getattr(recorder, kind)(*arguments)
    assert np.array_equal(drawn, getattr(np.random.default_rng(3), kind)(*arguments))
    (draw,) = recorder.draws
    assert draw.kind == kind and draw.line.startswith("test_levels.py:")


def replay(mechanism, first, second, promise=None, **options):
    pair = Pair("a pair", first, second)
    return replayed(Subject.of(mechanism), pair, promise or Promise(1.0), 0, **options)


def test_added_noise_is_accounted_for_exactly():
    found = replay(added_laplace, np.zeros(3), np.array([1.0, -1.0, 0.0]))
    assert found.epsilon == pytest.approx(1.0) and not found.violates and not found.notes
    found = replay(added_laplace, np.zeros(3), np.array([1.0, -1.0, 0.5]))
    assert found.epsilon == pytest.approx(1.25) and found.violates


def test_normal_noise_has_the_epsilon_of_its_own_law():
    def added_normal(values, samples, rng):
        return values + 3 * rng.standard_normal((samples, len(values)))

    found = replay(added_normal, np.zeros(2), np.array([3.0, 0.0]), Promise(4.3772, 1e-5))
    assert found.mu == pytest.approx(1.0) and found.rho == pytest.approx(0.5)
    assert found.epsilon == pytest.approx(4.3772, abs=1e-3)
    assert replay(added_normal, np.zeros(2), np.ones(2), Promise(1.0)).epsilon == math.inf


@pytest.mark.parametrize(
    "mechanism, note",
    [
        (scale_by_data, "parameters of laplace depend on the data"),
        (number_by_data, "1 or 2 draws are made, by the data"),
    ],
)
def test_a_draw_that_depends_on_the_data_is_named_with_its_line(mechanism, note):
    found = replay(mechanism, [0.0], [1.0])
    assert any(note in line and line.startswith("test_levels.py:") for line in found.notes)


def test_zeros_that_tell_are_named():
    def published(counts, samples, rng):
        noisy = counts + rng.normal(size=(samples, len(counts)))
        return np.where(np.array(counts) > 0, noisy, 0)

    found = replay(published, [0, 1], [1, 1])
    assert "number 1 is always 0 on one data set only" in found.notes


def test_a_change_beyond_the_declared_sensitivity_is_named():
    found = replay(added_laplace, np.zeros(1), np.array([3.0]), Promise(2.0), sensitivity=1.0)
    assert "changes by 3, its declared sensitivity is 1" in found.notes[0]


def test_a_stream_that_is_not_the_audits_is_not_replayed():
    own = np.random.default_rng(5)

    def elsewhere(value, samples):
        return value + own.normal(size=samples)

    assert "not replayed" in replay(elsewhere, 0.0, 1.0).notes[0]


# --- form


def test_a_data_set_is_looked_at_once_in_whatever_pairs_it_is():
    """One call shows whether it runs, six its form, three of a first one whether it has noise."""
    calls = Counter()

    def counting(bit, samples, rng):
        calls[bit] += 1
        return bit + rng.normal(size=samples)

    every = [Pair(f"{first} and {second}", first, second) for first, second in PAIRS]
    assert forms.broken(Subject.of(counting), every, Promise(1.0), Plan(1_000, 0.001, 0)) is None
    assert calls == {0: 10, 1: 10, 2: 7}, "2 is first in no pair"


def test_the_pair_whose_forms_differ_is_named_among_others():
    every = [Pair(f"{first} and {second}", first, second) for first, second in PAIRS]

    def shape_of_two(bit, samples, rng):
        return rng.normal(size=(samples, 1 + bit // 2))

    finding = forms.broken(Subject.of(shape_of_two), every, Promise(1.0), Plan(1_000, 0.001, 0))
    assert finding.violates and finding.pair is every[1]


# --- worst pair


def test_the_worst_pair_is_found_among_neighbours():
    """Only people who say yes to both questions are told apart by more than ε."""

    def joint(answers, samples, rng):
        both = int(np.asarray(answers)[:, :].all(axis=1).sum())
        return both + rng.laplace(scale=0.5, size=samples).round(2)

    neighbours = pl.Neighbours(people=2, answers=2)
    audited = pl.audit(joint, neighbours, epsilon=1.0, samples=20_000, repeats=0)
    assert audited.violates and audited.pair


def test_climbing_finds_what_no_extreme_shows():
    """A leak for exactly one row of 16, near which outputs move a little."""

    def leaks(answers, samples, rng):
        row = tuple(np.asarray(answers)[-1].astype(int))
        told = 1.0 if row == (1, 1, 0, 1) else 0.0
        partly = sum(a == b for a, b in zip(row, (1, 1, 0, 1), strict=True)) / 8
        return rng.normal(size=samples).round(1) + partly + 6 * told

    neighbours = pl.Neighbours(people=1, answers=4)
    audited = pl.audit(leaks, neighbours, mu=1.5, samples=4_000, repeats=0)
    assert audited.violates and "climbing" in audited.pair


@pytest.mark.parametrize("relation", ["replace_one", "add_remove", "one_answer"])
def test_neighbours_differ_as_their_relation_says(relation):
    neighbours = pl.Neighbours(people=3, answers=2, relation=relation)
    rng = np.random.default_rng(0)
    pairs = list(neighbours.starts())
    for _ in range(50):
        pairs.append(neighbours.moved(pairs[-1], rng))
    for pair in pairs:
        if relation == "add_remove":
            assert np.array_equal(pair.first[:-1], pair.second)
            continue
        changed = (pair.first != pair.second).sum(axis=1)
        assert (changed[:-1] == 0).all()
        assert changed[-1] <= (1 if relation == "one_answer" else 2)


def shared_sign(bit, samples, rng):
    """Normal numbers, of which two have equal signs or not: only together they tell the bit."""
    numbers = np.round(rng.normal(size=(samples, 4)) * 64) / 64 + 1 / 128
    flipped = rng.random(samples) < 1 / (1 + np.e**2)
    signs = np.where(flipped ^ bool(bit), 1, -1) * np.sign(numbers[:, 0])
    numbers[:, 1] = np.abs(numbers[:, 1]) * signs
    return numbers


def test_boosted_trees_see_numbers_that_tell_only_together(monkeypatch):
    pytest.importorskip("sklearn")
    plan = Plan(20_000, 1e-3, 0)
    subject = Subject.of(shared_sign)
    pair = Pair("a bit", 0, 1)
    finding = looks.audited(subject, pair, Promise(1.0), plan)
    assert finding.violates and "boosted trees" in finding.event
    assert 1.5 < finding.bounded.epsilon(0.0) < 2.0
    monkeypatch.setattr("pipeline.auditing.boosted.find_spec", lambda name: None)
    assert not looks.audited(subject, pair, Promise(1.0), plan).violates


class OnAWave:
    """A number, and its wave with Laplace noise; with a density that is offered."""

    def __call__(self, value, samples, rng):
        places = rng.random(samples) * 100
        heights = 20 * np.sin(20 * places) + value + rng.laplace(scale=0.7, size=samples)
        return np.round(np.column_stack([places, heights]) * 2**20) / 2**20

    def log_density(self, outputs, value):
        return -np.abs(outputs[:, 1] - 20 * np.sin(20 * outputs[:, 0]) - value) / 0.7


def test_an_offered_log_density_is_a_score():
    answer = pl.audit(OnAWave(), (0, 1), epsilon=1.0, samples=4_000, repeats=0)
    assert answer.violates and "log-density that is offered" in answer.event


@pytest.mark.parametrize(
    ("log_density", "why"),
    [
        (3, "must be a function"),
        (lambda outputs, value: 1 / 0, "fails: ZeroDivisionError"),
        (lambda outputs, value: np.zeros(2), "must give an array of shape"),
    ],
)
def test_a_wrong_log_density_is_one_line(log_density, why):
    mechanism = OnAWave()
    mechanism.log_density = log_density
    with pytest.raises(pl.InvalidInput, match=why):
        pl.audit(mechanism, (0, 1), epsilon=1.0, samples=1_000, repeats=0)
