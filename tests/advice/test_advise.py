"""Advice on a problem of one's own whose answer is known in closed form, and on those that ship."""

import dataclasses
import html as html_module
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.__main__ import main
from pipeline.advice import certificate, simulation
from pipeline.advice.answer import answer
from pipeline.advice.certificate import Certificate, measure
from pipeline.advice.question import read
from pipeline.advice.search import find, start
from pipeline.advice.simulation import Simulator
from pipeline.identity import registry
from pipeline.study.advice import Advice, Unknown
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from tests.helpers import toy_paper
from tests.helpers.engine import ROOT

N = 20
OWN = dataclasses.replace(
    toy_paper.PROBLEM,
    name="own_mean",
    derivations={},
    claims=(),
    advice=Advice(
        {
            "epsilon": Unknown("epsilon", "budget of an answer", 1e-2, 50, 1.0),
            "people": Unknown("n", "people", 2, 1e5, 100),
        },
        {"model": "answers", "mechanism": "laplace"},
        ("mean",),
        stress=lambda model: {"half of the people": {"n": model.n // 2}, "nobody": {"n": 0}},
    ),
)


@pytest.fixture
def own():
    """A problem of one's own, known to this process for the time of a test."""
    with registry.registered(OWN):
        yield


def truth(target):
    """ε at which the mean square error (1/12 + 2/ε²)/N is the target."""
    return math.sqrt(2 / (N * target - 1 / 12))


def asked(seed, target=0.1, **known):
    return {
        "problem": "own_mean",
        "target": f"error_squared<={target}",
        "n": N,
        "seed": seed,
        **known,
    }


@pytest.mark.parametrize(
    "level, problem, metric, people, given",
    [
        (0.6, "crowd", "label_error<=", 50, dict(m=60)),
        (0.8, "crowd", "label_recovered>=", 150, dict(m=30, answered=0.7)),
        (0.3, "response", "kendall<=", 1000, dict(m=20)),
        (2.0, "response", "error_l2<=", 1000, dict(m=10, mechanism="discrete_laplace")),
        (8.0, "response", "error_inf<=", 1000, dict(m=10, mechanism="randomized_response")),
        (0.6, "clustering", "misclassified<=", 10_000, dict(N=20, w=5, b="0.9, 0.1")),
        (
            1.0,
            "clustering",
            "recovered>=",
            250_000,
            dict(N=20, w=5, b="0.9, 0.1", mechanism="pairwise_preference"),
        ),
        (0.8, "ranking", "error_inf<=", 300, dict(m=10)),
    ],
)
def test_theory_says_where_to_begin(level, problem, metric, people, given):
    """Of the mean that is simulated at a level, theory finds that level up to a factor 2.

    Not for 16 times the people.
    """

    def asked_for(target, count):
        known = {"problem": problem, "unknown": "epsilon", "people": count, **given}
        return read({**known, "target": f"{metric}{target}"})

    mean = float(Simulator(asked_for(0.1, people)).sample([level], 400).values[0][0].mean())
    found, control = (start(asked_for(mean, count)) / level for count in (people, 16 * people))
    print(f"{metric}{mean:.3f}: {found:.2f} times the level; control {control:.2f}")
    assert 0.5 <= found <= 2 and not 0.5 <= control <= 2


def test_the_interval_of_the_least_budget_covers(own):
    """The whole search, from the bracket on, with other seeds.

    Errors are as large as the intervals let expect.
    """
    exact = math.log(truth(0.1))
    found = [find(Simulator(read(asked(seed)))) for seed in range(48)]
    inside = sum(one.low <= exact <= one.high for one in found)
    shifted = sum(one.low <= exact + 0.15 <= one.high for one in found)
    least = stats.binom.ppf(1e-6, len(found), 0.95)
    width = np.median([one.high - one.low for one in found])
    print(
        f"n={len(found)} statistic={inside} bound={least:g} alpha=1e-6, wrong by 15 %: {shifted}; "
        f"width {width:.3f}"
    )
    assert inside >= least > shifted and width < 0.15
    squares = sum(
        (2 * stats.norm.isf(0.025) * (one.value - exact) / (one.high - one.low)) ** 2
        for one in found
    )
    few, many = (stats.chi2.ppf(end, len(found)) for end in (5e-7, 1 - 5e-7))
    print(
        f"squared errors: n={len(found)} statistic={squares:.1f} bounds={few:.1f} to {many:.1f} "
        "alpha=1e-6"
    )
    assert few <= squares <= many and squares / 9 < few  # control: intervals three times as wide


def test_what_is_certified_is_true_and_near_the_least(own):
    for seed in range(5):
        found = answer(asked(seed))
        assert found.certified and truth(0.1) <= found.value <= 1.15 * truth(0.1)


def test_a_certificate_is_rarely_given_where_the_mean_is_the_target(own):
    """At the border itself it errs at most as often as it says.

    A mean compared as it is errs every other time.
    """
    target = (1 / 12 + 2) / N  # at ε = 1
    simulator = Simulator(read(asked(1, repr(target))))
    tried = [measure(simulator, 1.0, 400, 0.05) for _ in range(120)]
    given, naive = (
        sum(one)
        for one in zip(
            *((c.targets_shown, c.measured[0].mean <= target) for c in tried), strict=True
        )
    )
    most = stats.binom.isf(1e-6, len(tried), 0.05)
    print(
        f"n={len(tried)} statistic={given} bound={most:g} alpha=1e-6; without an interval: {naive}"
    )
    assert given <= most < naive


@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("factor, given", [(1.02, True), (0.98, False)])
def test_all_targets_of_a_certificate_share_its_error(targets, factor, given):
    """Values that lie on both sides of 0 alike: bounds are one-sided t bounds, at alpha over the
    number of targets.
    """
    reps, alpha = 400, 0.05
    z = stats.norm.ppf((np.arange(reps) + 0.5) / reps)
    bound = stats.t.isf(alpha / targets, reps - 1) * z.std(ddof=1) / reps**0.5
    target = SimpleNamespace(
        sign=1, value=factor * bound, worst=math.inf, least=-math.inf, most=math.inf
    )
    sample = SimpleNamespace(values=[z[None]] * targets, status=np.ones((1, reps), np.int8))
    simulator = SimpleNamespace(
        question=SimpleNamespace(targets=[target] * targets), sample=lambda *_: sample
    )
    assert measure(simulator, 1.0, reps, alpha).targets_shown == given


def test_all_attempts_at_a_certificate_together_err_as_often_as_is_said(monkeypatch):
    spent = []

    def never(simulator, level, reps, alpha):
        spent.append(alpha)
        return Certificate(level, (SimpleNamespace(shown=False),), reps, 0.0)

    monkeypatch.setattr(certificate, "measure", never)
    monkeypatch.setattr(certificate, "replications", lambda *_: 100)
    monkeypatch.setattr(certificate, "recommended", lambda *_: 0.0)
    monkeypatch.setattr(certificate, "_updated", lambda found, _: found)
    axis = SimpleNamespace(
        advisable=lambda x: round(x, 2), position=float, after=lambda x: x + 0.01
    )
    simulator = SimpleNamespace(affordable=lambda level, share: 10**6)
    certificate.certify(simulator, SimpleNamespace(axis=axis, value=-0.1, numbers=()))
    assert len(spent) == certificate.ATTEMPTS and sum(spent) <= certificate.ERROR


def test_people_are_whole_and_enough(own):
    found = answer({"problem": "own_mean", "target": "error_squared<=0.05", "epsilon": 1.0})
    needed = (1 / 12 + 2) / 0.05
    assert (
        found.certified
        and isinstance(found.value, int)
        and needed <= found.value <= 1.15 * needed + 1
    )
    assert found.low <= needed <= found.high and found.better == "more"


def test_an_answer_says_what_it_means_for_a_person_and_what_would_be_beside(own):
    """A problem of one's own says nothing of attacks.

    One that ships says all, of the mechanism that needs least.
    """
    mine = answer(asked(3)).record()
    assert (
        mine["in_a_persons_terms"] == {"answer": None, "person": None}
        and mine["guarantee"]["answer_epsilon"] is None
    )
    (half,) = mine["beside"]["half_the_budget"]
    exact = (1 / 12 + 2 / (mine["value"] / 2) ** 2) / N
    assert (
        half["low"] < exact < half["high"]
        and not half["met"]
        and "without_privacy" not in mine["beside"]
    )
    (more,) = mine["beside"]["twice_the_people"]
    assert more["low"] < (1 / 12 + 2 / mine["value"] ** 2) / (2 * N) < more["high"] and more["met"]

    half, nobody = mine["stress"]
    (one,), exact = half["measured"], 2 * (1 / 12 + 2 / mine["value"] ** 2) / N
    assert half["changes"] == {"n": N // 2} and one["low"] < exact < one["high"] and not one["met"]
    assert one["missed_by"] == pytest.approx(one["mean"] - 0.1) and one["low"] > 0.1
    assert nobody["measured"] == [] and "n=0: must be a whole number" in nobody["why"]

    found = answer(
        {"problem": "ranking", "m": 5, "L": 100, "unknown": "epsilon", "target": "kendall<=0.2"}
    ).record()
    rows = {one["mechanism"]: one for one in found["mechanisms"]}
    assert (
        set(rows) == {"randomized_response", "laplace"}
        and found["given"]["mechanism"] == "randomized_response"
    )
    assert rows["randomized_response"]["high"] < rows["laplace"]["low"]
    assert found["guarantee"]["answer_epsilon"] == found["value"] and found["guarantee"][
        "epsilon"
    ] == pytest.approx(10 * found["value"])
    (alarm, _) = found["in_a_persons_terms"]["answer"]["attacker"]
    assert alarm == {
        "false_alarms": 0.01,
        "true_alarms": pytest.approx(0.01 * math.exp(found["value"])),
    }
    (plain,) = found["beside"]["without_privacy"]
    assert plain["high"] < found["measured"][0]["low"]


def test_what_takes_too_long_to_simulate_is_not_called_out_of_reach(own, monkeypatch):
    """More people would reach it, and theory knows; only this search may not go on."""
    monkeypatch.setattr(simulation, "STEPS", 3000 * 5.5e4)  # for some 500 people
    with pytest.raises(InvalidInput) as caught:
        answer({"problem": "own_mean", "target": "error_squared<=0.001", "epsilon": 1.0})
    said = str(caught.value)
    assert (
        "is not reached at any number of people that can be simulated" in said
        and "takes too long" in said
    ), said
    assert "out of reach" not in said and "\n" not in said


def test_every_entry_of_an_answer_is_documented(own, capsys):
    """The table of docs/advise.md, against the certified answer.

    The library returns what the command prints.
    """
    text = (
        (ROOT / "docs/advise.md")
        .read_text("utf-8")
        .partition("## What the answer says")[2]
        .partition("\n## ")[0]
    )
    said = {
        name
        for line in text.splitlines()
        if line.startswith("| `")
        for name in re.findall("`([a-z_]+)`", line.split("|")[1])
    }
    assert (
        main(["task=advise", *(f"{name}={value!r}" for name, value in asked(0).items()), "--json"])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert said == {*printed} and "certified" in said
    question = asked(0)
    returned = pl.advise(question.pop("problem"), question.pop("target"), **question)
    assert json.loads(json.dumps(returned.record())) == printed
    promise = {field.name for field in dataclasses.fields(returned.promise)}
    assert [name for name in printed.keys() - promise if not hasattr(returned, name)] == []
    assert all(hasattr(returned.promise, name) for name in promise & printed.keys())
    assert repr(returned).startswith(returned.in_words[0])
    html = returned._repr_html_()
    assert html_module.escape(returned.in_words[0]) in html and "<script" not in html


def test_the_command_prints_one_object_and_the_same_again(capsys):
    words = [
        "task=advise",
        "problem=ranking",
        "m=4",
        "L=200",
        "unknown=epsilon",
        "target='kendall<=0.2'",
        "mechanism=laplace",
        "--json",
    ]
    assert main(words) == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert main(words) == 0 and capsys.readouterr().out == first
    assert found["unknown"] == "epsilon" and found["certified"] and found["low"] < found["value"]
    assert main(words[:-1]) == 0
    lines = capsys.readouterr().out
    assert f"epsilon at least {found['value']:g}" in lines and "one answer" in lines
    assert all(case["case"] in lines for case in found["stress"])
    assert "misses its target by" in lines


@pytest.mark.parametrize(
    "request_",
    [
        {
            "problem": "response",
            "m": 5,
            "n": 200,
            "epsilon": 20,
            "unknown": "missing",
            "mechanism": "discrete_laplace",
            "target": "kendall<=0.25",
        },
        {
            "problem": "crowd",
            "people": 20,
            "items": 30,
            "unknown": "epsilon",
            "target": "label_error<=0.1",
        },
        {
            "problem": "clustering",
            "N": 10,
            "U": 3000,
            "w": 5,
            "unknown": "epsilon",
            "b": "0.9, 0.1",
            "mechanism": "max_sense",
            "target": "misclassified<=0.1",
        },
        {
            "problem": "ranking",
            "m": 6,
            "L": 90,
            "unknown": "epsilon",
            "mechanism": "laplace",
            "target": "kendall<=0.15, error_inf<=2",
        },
        {
            "problem": "ranking",
            "L": 30,
            "epsilon": 1.0,
            "mechanism": "randomized_response",
            "target": "kendall<=0.12",
        },
    ],
)
def test_every_problem_is_answered(request_):
    found = answer(request_)
    assert found.certified and all(
        one.mean <= one.target.value for one in found.certificate.measured
    )
    assert (found.value >= found.low) if found.better == "more" else (found.value <= found.high)
    cases = {case.case: case for case in found.stress}
    assert len(cases) >= 4 and not any(case.why for case in cases.values())
    assert any(not row.met for case in cases.values() for row in case.measured)
    target, level = found.question.targets[0], found.certificate.level
    values = {**found.question.values, found.question.parameter: level}

    def apart(case, changes):
        """Standard errors between what is said of a case and what a study of its own finds after
        the changes.
        """
        given = {**values, **changes}
        study = Study(
            "direct",
            found.question.problem.name,
            seed=7,
            replications=400,
            block=400,
            parameters=given,
            grid={"model": [given.pop("model")]},
            metrics=(target.metric,),
        )
        direct, row = study.simulate(next(iter(study.grid)), 0)[target.metric], case.measured[0]
        error = math.hypot(direct.std() / math.sqrt(400), (row.high - row.low) / 3.9)
        return abs(direct.mean() - row.mean) / error

    greatest = max(apart(case, case.changes) for case in cases.values())
    control = max(apart(case, {}) for case in cases.values())
    bound = stats.norm.isf(1e-6 / 2 / len(cases))
    print(
        f"{len(cases)} cases: n=400 statistic={greatest:.2f} bound={bound:.2f} alpha=1e-6; "
        f"unchanged: {control:.2f}"
    )
    assert greatest <= bound < control


def test_a_second_certificate_is_nearer_where_the_search_was_far_off(own, monkeypatch):
    """What the first says of the crossing counts by its precision: a search that is sure stays,
    another moves.
    """

    def ratio(error):
        simulator = Simulator(read(asked(5)))
        found = find(simulator)
        (one,) = found.crossings
        off = dataclasses.replace(
            found, crossings=[one._replace(value=one.value + 0.12, error=error)]
        )
        given = certificate.certify(simulator, off)
        assert given.targets_shown
        return given.level / truth(0.1)

    sure, unsure = ratio(1e-6), ratio(0.012)
    monkeypatch.setattr(certificate, "FAR_OFF", math.inf)
    once = ratio(0.012)
    print(
        f"over the least: {unsure:.3f}, sure of what is wrong {sure:.3f}, one certificate "
        f"{once:.3f}"
    )
    assert 1 <= unsure < 1.2 < sure < once
