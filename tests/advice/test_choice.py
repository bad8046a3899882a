"""Which mechanism, and which level: the better one in both directions, within the range, and
refusals that are true.
"""

import dataclasses
import math
import re

import numpy as np
import pytest

from pipeline.advice import atlas, certificate, solve
from pipeline.advice.answer import answer
from pipeline.advice.axis import Axis
from pipeline.advice.certificate import Certificate, certify
from pipeline.advice.first import first
from pipeline.advice.question import read
from pipeline.advice.search import Reached, find
from pipeline.advice.simulation import Simulator
from pipeline.advice.words import far_beyond
from pipeline.analysis.paired_crossing import Crossing
from pipeline.identity import registry
from pipeline.study.advice import Advice, AtlasGrid, Unknown
from pipeline.study.parameters import InvalidInput
from tests.advice.test_advise import OWN
from tests.helpers import toy_paper


class LouderNoise(toy_paper.LaplaceNoise):
    """Laplace noise of twice the scale: the mean square error is (1/12 + 8/ε²)/n."""

    def release(self, data, rng):
        """Noisy answers of a block."""
        return toy_paper.Released(
            data.values + rng.laplace(scale=2 / self.epsilon, size=data.values.shape)
        )


def exact(mechanism, target, epsilon=1.0):
    """People at which the mean square error is the target."""
    return (1 / 12 + {"laplace": 2, "louder": 8}[mechanism] / epsilon**2) / target


TWO = dataclasses.replace(
    toy_paper.PROBLEM,
    name="own_two",
    derivations={},
    claims=(),
    package=__name__,
    mechanisms={
        "laplace": "tests.helpers.toy_paper:LaplaceNoise",
        "louder": f"{__name__}:LouderNoise",
    },
    advice=Advice(
        {
            "epsilon": Unknown("epsilon", "budget of an answer", 0.1, 2.0, 1.0),
            "people": Unknown("n", "people", 2, 500, 100, helps=None),
        },
        {"model": "answers", "mechanism": "laplace"},
        ("mean",),
        atlas=AtlasGrid(
            {"n": (10, 40, 160, 500), "epsilon": (0.25, 0.5, 1, 2)},
            ("laplace", "louder"),
            ("error_squared",),
        ),
    ),
)


@pytest.fixture(autouse=True)
def known():
    """Problems of one's own, known to this process for the time of a test."""
    with registry.registered(TWO, OWN):
        yield


@pytest.fixture
def cells(monkeypatch, tmp_path):
    """An atlas of the problem with two mechanisms."""
    for module in (atlas, solve):
        monkeypatch.setattr(
            module, "path", lambda problem, unit=atlas.ANSWER: tmp_path / atlas.FILES[unit]
        )
    assert solve.main(["own_two"]) == 0


def question(relation, target, **known):
    return read({"problem": "own_two", "target": f"error_squared{relation}{target}", **known})


@pytest.mark.parametrize(
    "relation, target, best, better",
    [("<=", 0.05, "laplace", "more"), (">=", 0.05, "louder", "less")],
)
def test_the_better_mechanism_is_the_better_one_in_both_directions(
    relation, target, best, better, cells
):
    """Where fewer people are better, that which allows more of them.

    In the answer, and in the first one.
    """
    found = answer(question(relation, target, epsilon=1.0))
    rows = {row.mechanism: row.boundary for row in found.mechanisms}
    assert found.question.values["mechanism"] == best and found.better == better and found.certified
    limit = exact(best, target)
    assert (
        limit <= found.value <= 1.15 * limit
        if better == "more"
        else limit / 1.15 <= found.value <= limit
    )
    assert all(
        rows[name] == pytest.approx(exact(name, target), rel=0.1) for name in ("laplace", "louder")
    )
    early = first(question(relation, target, epsilon=1.0))
    assert early.question.values["mechanism"] == best and early.record()["better"] == better
    assert early.boundary == pytest.approx(limit, rel=0.15)


def test_mechanisms_whose_directions_differ_are_compared_by_how_far_they_reach():
    axis, other = (Axis(question("<=", 0.05, epsilon=1.0), better) for better in (1, -1))
    assert axis.reach(axis.position(20)) == pytest.approx(math.log(25))
    assert other.reach(other.position(20)) == pytest.approx(math.log(10))


def test_what_one_mechanism_meets_everywhere_is_refused_by_its_name():
    """Whichever comes first; another that meets it somewhere is no better."""
    with pytest.raises(
        InvalidInput,
        match="is met at every number of people that was tried: .* at people = 500 with "
        "mechanism=louder; give a harder target",
    ):
        answer(question(">=", 0.008, epsilon=1.0))


@pytest.mark.parametrize("share", [0.97, 0.995, 1.0, 1.01, 1.03])
def test_answers_stay_in_the_range(share):
    """Crossings just inside and just outside of the last ε: a level of the range, with its
    interval, or none.
    """
    target = (1 / 12 + 2 / (2.0 * share) ** 2) / 20
    try:
        found = answer(question("<=", repr(target), n=20, mechanism="laplace"))
    except InvalidInput as error:
        assert share > 0.98 and "at epsilon = 2" in str(error), error
    else:
        assert 0.1 <= found.low <= found.boundary <= found.high <= 2 and found.value <= 2
        assert share < 1.03 and (found.certified or share > 0.98)


def test_a_hint_of_a_refusal_is_true():
    """The number of people reaches the target by the closed form, and is at most twice as many as
    needed.
    """
    target, epsilon = 0.003, 50.0
    needed = (1 / 12 + 2 / epsilon**2) / target
    hints = []
    for seed in range(6):
        with pytest.raises(InvalidInput) as caught:
            answer(
                {"problem": "own_mean", "target": f"error_squared<={target}", "n": 20, "seed": seed}
            )
        match = re.search(r"at epsilon = 50; n=(\d+) people reach it there$", str(caught.value))
        hints.append(int(match[1]))
    print(f"n={len(hints)} needed={needed:.1f} hints {sorted(hints)}")
    assert min(hints) >= needed and max(hints) <= 2 * needed


def test_no_hint_is_given_where_nothing_is_shown(monkeypatch):
    """The negative control: numbers of people that no replications confirm are not said."""
    from pipeline.advice import refusal

    real = refusal.measure

    def never(simulator, level, reps, alpha=0.05):
        result = real(simulator, level, reps, alpha)
        doubtful = tuple(one._replace(shown=False) for one in result.measured)
        return result._replace(measured=doubtful)

    monkeypatch.setattr(refusal, "measure", never)
    with pytest.raises(InvalidInput) as caught:
        answer({"problem": "own_mean", "target": "error_squared<=0.003", "n": 20})
    told = str(caught.value)
    assert "out of reach" in told and not re.search(r"; n=[\d,]+ people reach it there$", told)
    assert re.search(
        r"; simulations with up to n=[\d,]+ people do not show whether they reach it there$", told
    )


def test_a_refusal_says_how_well_its_numbers_are_known():
    """A mean that lies on neither side of its target for sure comes with its interval."""
    target = (1 / 12 + 2 / 2.0**2) / 20
    with pytest.raises(InvalidInput) as caught:
        answer(question("<=", repr(target * 0.999), n=20, mechanism="laplace", seed=2))
    assert re.search(
        r"error_squared = [\d.]+( \[[\d.]+, [\d.]+\])? at epsilon = 2", str(caught.value)
    ), caught.value


@pytest.mark.parametrize("start", [2, 3, 7, 60])
def test_attempts_in_whole_numbers_are_at_levels_that_differ(start, monkeypatch):
    """All of them are made, each at more people than the one before, however few people there are."""
    levels = []
    asked = read({"problem": "own_mean", "target": "error_squared<=0.05", "epsilon": 1.0})

    def never(simulator, level, reps, alpha):
        levels.append(level)
        measured = SHOWN._replace(target=asked.targets[0], mean=0.06)
        return Certificate(level, (measured,), reps, 0.0)

    monkeypatch.setattr(certificate, "measure", never)
    position = math.log(start)
    crossing = Crossing(position, position - 0.02, position + 0.02, 0.0001, -0.05)
    found = Reached(Axis(asked, 1), [crossing], [0.07], (position - 0.1, position + 0.1))
    certify(Simulator(asked), found)
    print(levels)
    assert len(levels) == certificate.ATTEMPTS and all(np.diff(levels) >= 1)


SHOWN = certificate.Measured(None, 0.0, 0.0, 0.0, 0.5, False, 0)


def test_the_first_certificate_that_is_given_far_off_is_followed_by_nearer_ones():
    """As on a flat curve: attempts go on while what is learned says that much less would do."""
    asked = read(
        {"problem": "own_mean", "target": "error_squared<=0.05", "epsilon": 1.0, "seed": 4}
    )
    simulator = Simulator(asked)
    found = find(simulator)
    far = dataclasses.replace(
        found, crossings=[found.crossings[0]._replace(value=found.value + 0.5, error=0.2)]
    )
    level = certify(simulator, far).level
    needed = (1 / 12 + 2) / 0.05
    print(f"needed {needed:.1f}, advised {level}, first attempt beyond {math.exp(far.value):.1f}")
    assert needed <= level <= 1.2 * needed < math.exp(far.value)


def test_a_value_far_beyond_its_boundary_says_so():
    """From 1.3 times on, also where less is advised; nearer ones say nothing."""
    asked = question("<=", 0.05, n=20)
    assert far_beyond(asked, 1.29, 1000) is None and "1.8 times the boundary" in far_beyond(
        asked, 1.8, 1000
    )
    assert "few whole numbers" in far_beyond(question("<=", 0.05, epsilon=1.0), 2.0, 1000)
