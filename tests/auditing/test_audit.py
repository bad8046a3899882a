"""Audits as people call them: verdicts, power, bad input, the mechanisms that ship."""

import json
import os
import time

import numpy as np
import pytest

import pipeline as pl
from pipeline.auditing.faults import FAULTS
from pipeline.auditing.promise import Promise
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput
from tests.helpers.audited import geometric, randomized_response

PAIR = ([0, 1], [1, 1])


def test_every_kind_of_fault_is_found_where_outputs_are_few():
    audited = pl.audit(randomized_response, PAIR, epsilon=1.0, repeats=1, samples=2_000)
    print(audited)
    assert audited.verdict == "not refuted" and audited.exact
    assert set(audited.power) == set(FAULTS)
    assert all(power.found == power.planted for power in audited.power.values())
    assert audited.power["rounding of floating-point numbers"].planted == 0


def test_faults_in_integer_noise_are_counted():
    """All but the leak, which needs millions of samples: that it is missed is said."""
    audited = pl.audit(geometric, (0, 1), epsilon=1.0, repeats=1, samples=100_000)
    print(audited)
    missed = [name for name, power in audited.power.items() if power.found < power.planted]
    assert missed == ["a leak of δ = 3e-05"]
    assert "leak of δ = 3e-05: 0 of 1" in str(audited)


def test_the_same_call_gives_the_same_numbers():
    options = dict(epsilon=1.0, repeats=0, samples=5_000, seed=3)
    first, again = (pl.audit(geometric, (0, 1), **options) for _ in range(2))
    assert first == again
    assert pl.audit(geometric, (0, 1), **{**options, "seed": 4}) != first


def test_the_record_is_one_object_of_json():
    audited = pl.audit(randomized_response, PAIR, epsilon=0.5, repeats=0)
    record = json.loads(json.dumps(audited.record(), allow_nan=False))
    assert record["verdict"] == "violates" and record["level"] == "law"
    wanted = (
        "verdict epsilon_lower delta mu_lower confidence level pair event power guarantee command"
    )
    assert set(wanted.split()) <= set(record)
    assert "pl.audit(randomized_response" in record["command"]


@pytest.mark.parametrize(
    "guarantee",
    [
        1.0,
        Guarantee(
            trust="nobody",
            unit="person",
            protects="a bit",
            neighbours="another bit",
            budget="pure",
            epsilon=1.0,
        ),
    ],
    ids=["a number", "a guarantee"],
)
def test_a_promise_in_each_form(guarantee):
    assert not pl.audit(randomized_response, PAIR, guarantee, repeats=0).violates


def self_seeded(value, samples):
    return value + np.random.default_rng(7).normal(size=samples)


def raises_for_ones(value, samples):
    if value:
        raise ValueError("a one")
    return np.random.default_rng().normal(size=samples)


def shape_by_data(value, samples):
    return np.random.default_rng().normal(size=(samples, 1 + value))


def kind_by_data(value, samples):
    bits = np.random.default_rng().random(samples) < 0.5
    return bits if value else bits.astype(int)


@pytest.mark.parametrize("mechanism", [self_seeded, raises_for_ones, shape_by_data, kind_by_data])
def test_what_must_not_depend_on_the_data(mechanism):
    audited = pl.audit(mechanism, (0, 1), epsilon=2.0, repeats=0)
    print(audited)
    assert audited.violates and audited.level == "form"


def ends(value, samples):
    os._exit(3)


def sleeps(value, samples):
    time.sleep(30)


def one_noise(value, samples, rng):
    return np.full(samples, value + rng.normal())


def ragged(value, samples):
    return [[0.0], [1.0, 2.0]]


def too_few(value, samples):
    return np.zeros(3)


def no_numbers(value, samples):
    return np.zeros((samples, 0))


def always_raises(value, samples):
    raise KeyError("always")


@pytest.mark.parametrize(
    "mechanism, message",
    [
        (3, "mechanism=3: must be callable"),
        (ends, "ended its process .exit code 3."),
        (sleeps, "one call took longer than 1 s"),
        (one_noise, "gives equal samples in one call"),
        (ragged, "its samples have several shapes"),
        (too_few, "must return an array with 1 samples"),
        (no_numbers, "must return at least one number a sample"),
        (always_raises, "fails on both data sets: KeyError"),
    ],
)
def test_a_mechanism_that_gives_no_samples_is_one_line(mechanism, message):
    with pytest.raises(InvalidInput, match=message):
        pl.audit(mechanism, (0, 1), epsilon=1.0, call_seconds=1.0)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"pair": PAIR}, "epsilon=null: is needed"),
        ({"epsilon": 1.0}, "pair=null: is needed"),
        ({"epsilon": 1.0, "pair": []}, "has no neighbours"),
        ({"epsilon": 1.0, "pair": 5}, "must be a tuple of two data sets"),
        ({"epsilon": 1.0, "pair": (PAIR[0], PAIR[0])}, "must be two data sets that differ"),
        ({"epsilon": 1.0, "pair": pl.Neighbours}, "pair=Neighbours: is a class"),
        ({"epsilon": 1.0, "pair": PAIR, "sampels": 5}, "did you mean 'samples'"),
        ({"epsilon": 1.0, "pair": PAIR, "samples": 5}, "samples=5"),
        ({"epsilon": 1.0, "guarantee": 2.0, "pair": PAIR}, "is a second promise"),
        ({"delta": 0.1, "guarantee": Promise(1.0), "pair": PAIR}, "delta=0.1: is a second promise"),
    ],
)
def test_bad_input_is_one_line(arguments, message):
    with pytest.raises(InvalidInput, match=message) as error:
        pl.audit(randomized_response, **arguments)
    assert "\n" not in str(error.value)


def test_pairs_of_ones_own_are_not_dropped_where_a_problem_has_them():
    with pytest.raises(InvalidInput, match="is for callables: a problem's mechanism has"):
        pl.audit(pl.crowd.RandomizedResponse(n=1, m=2, epsilon=0.5), PAIR)


def test_data_sets_with_rows_of_several_lengths_may_be_compared():
    def count(rows, samples, rng):
        return sum(map(len, rows)) + rng.geometric(0.5, samples)

    assert pl.audit(count, ([[0], [1, 1]], [[0], [1]]), epsilon=1.0, repeats=0).violates


SHIP = {
    "ranking": pl.ranking.RandomizedResponse(m=2, L=1, epsilon=1.0),
    "ranking counts": pl.ranking.NoisyCounts(m=2, L=2, person=1.0),
    "response": pl.response.RandomizedResponse(n=1, m=2, epsilon_user=1.0),
    "discrete Gaussian": pl.response.DiscreteGaussian(m=3, epsilon_user=1.0, conversion="exact"),
    "discrete Laplace": pl.response.DiscreteLaplace(m=3, epsilon_user=1.0),
    "clustering": pl.clustering.MaxSense(N=3, w=3, epsilon=1.0),
    "crowd": pl.crowd.RandomizedResponse(n=1, m=2, epsilon=0.5),
    "two of three tasks": pl.crowd.RandomizedResponse(n=1, m=3, person=1.0, questions=2),
    "shuffled crowd": pl.crowd.ShuffledResponse(n=2, m=1, person=1.0),
    "net votes": pl.crowd.NoisyVotes(n=2, m=3, person=1.0, questions=2, votes="net"),
    "net votes, there or not": pl.crowd.NoisyVotes(
        n=2, m=2, person=1.0, votes="net", neighbours_are="add_remove"
    ),
    "public comparisons": pl.ranking.NoisyCounts(m=3, L=2, person=1.0, compared_are="public"),
    "two of three items": pl.response.RandomizedResponse(n=1, m=3, person=1.0, questions=2),
    "differences of two items": pl.response.CuratorDifferences(m=3, person=1.0, questions=2),
    "shuffled items": pl.response.ShuffledResponse(n=2, m=2, person=1.0),
}
EXACT = {  # whose laws are exact -> what they spend
    "response": {"epsilon": 1.0},
    "discrete Gaussian": {"epsilon": 1.0, "delta": 1e-4},
    "discrete Laplace": {"epsilon": 1.0},
    "crowd": {"epsilon": 1.0},
    "two of three tasks": {"epsilon": 1.0},
    "shuffled crowd": {"epsilon": 1.0, "delta": 1e-6},
    "net votes": {"epsilon": 1.0},
    "net votes, there or not": {"epsilon": 1.0},
    "public comparisons": {"epsilon": 1.0},
    "two of three items": {"epsilon": 1.0},
    "differences of two items": {"epsilon": 1.0},
    "shuffled items": {"epsilon": 1.0, "delta": 1e-6},
}


@pytest.mark.parametrize("name", SHIP)
def test_what_ships_keeps_its_promise(name):
    audited = pl.audit(SHIP[name], samples=5_000, repeats=0)
    print(audited)
    assert not audited.violates
    if name in EXACT:
        assert audited.exact
        assert audited.epsilon_lower == pytest.approx(EXACT[name]["epsilon"], rel=1e-3)


@pytest.mark.parametrize("name", EXACT)
def test_less_than_it_spends_is_refuted(name):
    """The negative control: 99 % of the budget."""
    budgets = {**EXACT[name], "epsilon": 0.99 * EXACT[name]["epsilon"]}
    audited = pl.audit(SHIP[name], samples=5_000, repeats=0, **budgets)
    assert audited.violates and audited.level == "law"


def test_a_shape_that_changes_by_chance_is_one_line_and_no_finding():
    def padded_at_random(bits, samples, rng):
        return rng.normal(size=(samples, int(rng.integers(1, 4))))

    with pytest.raises(pl.InvalidInput, match="by chance; let all outputs have one shape"):
        pl.audit(padded_at_random, ([0], [1]), epsilon=1.0, samples=2_000, repeats=0)
