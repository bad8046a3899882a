"""Tilted draws: their weights are exact, bounds from them hold, and they find rare leaks."""

import math

import numpy as np
import pytest
from scipy import stats

from pipeline.auditing import looks, rare, tilted
from pipeline.auditing.promise import Promise
from pipeline.auditing.rare import Tilts
from pipeline.auditing.samples import Pair, Plan
from pipeline.auditing.subject import Subject

SAMPLES = 100_000
STOP = 0.4  # of the geometric numbers
LEAK = 2.3e-4
MARK = 1e6
PAIR = Pair("one more", 0, 1)


def drawn(value, samples, rng):
    """Numbers of all laws that are tilted, and of one that is not."""
    uniform = rng.random((samples, 2))
    later = rng.geometric(STOP, samples)
    whole = rng.integers(1, 1 << 20, samples, endpoint=True)
    plain = rng.normal(size=samples)
    return np.column_stack([uniform, later, whole, plain]) + value


def leaking(value, samples, rng):
    """Noise on a grid; with a small chance the output tells the value."""
    total = value + rng.laplace(size=samples)
    noisy = np.round(total * 64) / 64
    return np.where(rng.random(samples) < LEAK, MARK + value, noisy)


EVENTS = [
    ("a uniform number near 0", lambda x: x[:, 0] < 2e-6, 2e-6),
    ("one near 1", lambda x: x[:, 1] > 1 - 2.0**-18, 2.0**-18),
    ("a late geometric number", lambda x: x[:, 2] > 25, (1 - STOP) ** 25),
    ("the last integer", lambda x: x[:, 3] == 1 << 20, 2.0**-20),
    ("what is not tilted", lambda x: x[:, 4] > 2, stats.norm.sf(2)),
    ("two at once", lambda x: (x[:, 0] < 1e-3) & (x[:, 4] > 0), 5e-4),
    ("anything", lambda x: x[:, 0] >= 0, 1.0),
]


@pytest.fixture(scope="module")
def weighted():
    """Tilted samples and their weights."""
    subject = Subject.of(drawn)
    layout = tilted.layout_of(subject, 0)
    assert len(layout.places) == 2 * 2 + 1 + 2
    return tilted.sampled(subject, 0, layout, SAMPLES, [1])


@pytest.mark.parametrize(("happened", "chance"), [case[1:] for case in EVENTS])
def test_weights_give_the_chance_of_every_event(weighted, happened, chance):
    outputs, weights = weighted
    values = weights * happened(outputs)
    deviation = (values.mean() - chance) / (values.std() / math.sqrt(SAMPLES))
    print(f"n = {SAMPLES}, mean {values.mean():.4g}, chance {chance:.4g}, z = {deviation:.2f}")
    assert abs(deviation) < 5.5  # alpha 4e-8
    assert weights.max() <= 1 / tilted.PLAIN


def test_without_weights_chances_are_wrong(weighted):
    outputs, _ = weighted
    for name, happened, chance in EVENTS[:4]:
        seen = happened(outputs).sum()
        assert stats.binom.sf(seen, SAMPLES, chance) < 1e-100, name


def test_the_bound_of_a_mean_holds():
    rng = np.random.default_rng(3)
    error = 0.1
    runs = 200
    wrong = 0
    above = 0
    for _ in range(runs):
        values = rng.binomial(1, 0.05, 200) * rng.choice([0.1, 1.0, 2.0], 200)
        mean = 0.05 * 3.1 / 3
        wrong += tilted.mean_at_least(values, error) > mean
        above += values.mean() > mean
    print(f"runs {runs}, wrong {wrong}, by the mean itself {above}")
    assert stats.binom.sf(wrong - 1, runs, error) > 1e-6
    assert stats.binom.sf(above - 1, runs, error) < 1e-20  # the control


def test_a_rare_leak_is_found_by_tilted_draws_alone(monkeypatch):
    plan = Plan(rare.LEAST, 1e-3, 0)
    finding = looks.audited(Subject.of(leaking), PAIR, Promise(1.0), plan)
    assert finding.violates and "tilted draws" in finding.event
    assert finding.bounded.hit < LEAK
    monkeypatch.setattr(Tilts, "of", lambda *arguments: None)
    assert not looks.audited(Subject.of(leaking), PAIR, Promise(1.0), plan).violates


def test_a_leak_within_the_promised_delta_is_no_violation():
    plan = Plan(rare.LEAST, 1e-3, 0)
    promise = Promise(1.0, delta=1.01 * LEAK)
    assert not looks.audited(Subject.of(leaking), PAIR, promise, plan).violates


def until_all_are_small(value, samples, rng):
    """Rejection: how much is drawn depends on what was drawn."""
    numbers = rng.random(samples)
    while (numbers > 0.9).any():
        again = numbers > 0.9
        numbers[again] = rng.random(int(again.sum()))
    return numbers + value


def without_generator(value, samples):
    return np.random.default_rng().random(samples) + value


def many_numbers(value, samples, rng):
    return rng.random((samples, 500)) + value


@pytest.mark.parametrize("mechanism", [until_all_are_small, without_generator, many_numbers])
def test_nothing_is_tilted_where_weights_are_not_known(mechanism):
    with pytest.raises(tilted.NotTilted):
        tilted.layout_of(Subject.of(mechanism), 0)
    assert Tilts.of(Subject.of(mechanism), PAIR, rare.LEAST) is None
