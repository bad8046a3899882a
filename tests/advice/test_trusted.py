"""Advice for a promise to a person: ways of trust, numbers of questions, risks, certificates."""

import json
import math
import re
from dataclasses import replace

import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.advice import risk as risks
from pipeline.advice import search, trusted, ways
from pipeline.advice.both import Both
from pipeline.advice.question import read
from pipeline.advice.risk_budgets import largest_budget, power
from pipeline.advice.simulation import Simulator
from pipeline.advice.text import three_digits
from pipeline.privacy.attacks import FlippedBits
from pipeline.workflow.promise_page import save_promise

SMALL = {"problem": "ranking", "m": 4, "target": "kendall<=0.25"}
FEW = dict(unknown="people", person=1.0)


def question(**changes):
    return read({**SMALL, **changes})


@pytest.fixture(scope="module", autouse=True)
def few_replications():
    """An eighth of the replications for intervals three times as wide; a certificate errs as seldom
    as ever, with a larger margin.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WINDOW", "CERTIFICATE", "FLAT"):
            patch.setattr(search, name, getattr(search, name) // 8)
        patch.setattr(search, "PRECISION", search.PRECISION * 3)
        yield


@pytest.fixture(scope="module")
def answer():
    """What a person's budget of one nat needs, by whom one trusts."""
    return trusted.answer_by_trust(question(**FEW))


def test_every_trust_has_a_certified_row_and_the_cheapest_comes_first(answer):
    found = {row.way.plan.trust: row for row in answer.rows}
    assert set(found) == {plan.trust for plan in question(**FEW).advice.plans}
    assert all(row.certificate.targets_shown for row in answer.rows) and answer.certified
    values = [row.value for row in answer.rows]
    assert values == sorted(values) and answer.value == answer.best.value == values[0]
    curator = found["curator"]
    nobody = found["nobody"]
    assert nobody.way.questions == 1, "one nat is best spent on one question"
    assert curator.way.questions == 6, "a curator's error falls with the number of questions"
    assert curator.value < nobody.value
    # sinh y = 2y: per person k·tanh²(E/2k) counts, which one question has most of.
    lost = 6 * math.tanh(1 / 12) ** 2 / math.tanh(1 / 2) ** 2
    all_pairs = nobody.all_questions.boundary
    assert 0.6 < nobody.way.boundary / all_pairs / lost < 1.6, (nobody.way.boundary, all_pairs)


def test_what_is_certified_is_met_and_near_the_best_of_a_grid(answer):
    """On fresh replications, and beside every number of questions and budget of a grid."""
    for row in answer.rows:
        simulator = Simulator(row.question, drawn=10**6)
        (excess,) = simulator.excess([row.level], 2000)
        error = excess.std() / math.sqrt(len(excess))
        assert excess.mean() < 4.9 * error, f"n=2000, mean {excess.mean():.4f}, α=1e-6"
        (far,) = simulator.excess([max(1, round(row.level / 2))], 2000)
        assert far.mean() > 4.9 * far.std() / math.sqrt(len(far)), "half the people are too few"


def test_the_page_of_the_promise_says_what_every_trust_needs(answer, tmp_path):
    """Each cell of the table stands on the page, in its row; of one trust alone there is none."""
    page = tmp_path / "promise.html"
    save_promise(page, answer)
    _, *rows = answer.cells()
    assert len(rows) == len(answer.rows) > 1
    content = page.read_text("utf-8")
    found = re.findall(r"<tr>(.*?)</tr>", content.partition("by who is trusted</h2>")[2], re.S)
    shown = [re.findall(r"<t[dh][^>]*>([^<]*)<", row) for row in found[1:]]
    assert shown == rows
    save_promise(page, replace(answer, rows=answer.rows[:1]))
    assert "by who is trusted" not in page.read_text("utf-8")


def test_the_table_says_people_questions_and_what_all_pairs_need(answer):
    text = repr(answer)
    assert text.startswith("How many people are needed")
    assert "number of people  questions each  mechanism" in text
    assert "If nobody is trusted: each of" in text and "Every line is certified" in text
    record = json.loads(json.dumps(answer.record()))
    assert [way["trust"] for way in record["ways"]] == [row.way.plan.trust for row in answer.rows]
    assert record["ways"][-1]["questions"] == 1 and record["certified"]
    assert record["best"]["value"] == record["ways"][0]["value"]
    assert "<pre>" in answer._repr_html_()


@pytest.mark.parametrize("false_alarms", [0.01, 0.2, 0.5])
def test_the_budget_of_one_bit_that_keeps_a_risk(false_alarms):
    for most in (0.03, 0.3, 0.55, 0.9):
        if most <= false_alarms:
            continue  # no risk
        risk = risks.Risk(false_alarms, most)
        budget = risk.single_budget()
        assert FlippedBits(budget, 1).power(false_alarms) == pytest.approx(most), most
        assert FlippedBits(budget * 1.01, 1).power(false_alarms) > most


def test_the_largest_budget_of_several_answers_keeps_a_risk_exactly():
    asked = question(unknown="people", person=1.0, mechanism="randomized_response", questions=4)
    risk = risks.read_risk("attacker@0.05<=0.2")
    largest = largest_budget(asked, risk)
    assert FlippedBits(largest / 4, 4).power(0.05) == pytest.approx(0.2, rel=1e-3)
    assert FlippedBits(largest / 4, 4).power(0.05) <= 0.2 < power(asked, risk, largest * 1.01)
    assert largest == float(f"{largest:.5g}"), "what is printed may be typed"
    assert largest > risk.single_budget(), "several answers tell less than one of all the budget"


def test_no_budget_does_both_and_how_many_more_people_would():
    one_way = dict(trust="nobody", mechanism="randomized_response", questions=1)
    asked = question(L=15, unknown="person", risk="attacker@0.01<=0.03", **one_way)
    (both,) = trusted.answer_by_trust(asked).both
    assert both.largest == pytest.approx(math.log(3), rel=1e-3) and not both.possible
    assert "no budget does both" in str(both) and 1 < both.people < 4
    assert "every budget from 0.5 to 1 nats does both" in str(Both("nobody", 0.5, 1.0))


@pytest.mark.parametrize(
    "words, message",
    [
        ({"person": 1.0, "trust": "nobdy"}, "trust=nobdy: did you mean 'nobody'"),
        ({"person": 1.0, "risk": "attacker<=0.03"}, "must be such as attacker@0.01<=0.03"),
        ({"person": 1.0, "risk": "attacker@0.1<=0.03"}, "the second above the first"),
        ({"L": 100, "unknown": "epsilon", "trust": "nobody"}, "is for budgets of persons"),
        ({"person": 1.0, "trust": ["nobody"]}, "trust=['nobody']: "),
        ({"risk": "attacker@0.01<=1"}, "risk=attacker@0.01<=1: the rates"),
        (
            {"person": 1.0, "mechanism": "noisy_counts", "trust": "nobody"},
            "trust=nobody: mechanism=noisy_counts is for trust=curator; leave out one of both",
        ),
        (
            {
                "L": 50,
                "unknown": "questions",
                "person": 5.0,
                "risk": "attacker@0.01<=0.03",
                "trust": "nobody",
            },
            "true alarms with questions=1; person may be 1.0986 at most",
        ),
        ({"person": 5.0, "risk": "attacker@0.01<=0.03", "trust": "nobody"}, "the best attack has"),
        (
            {"L": 2, "mechanism": "noisy_counts", "target": "kendall<=1e-9"},
            "at any budget of a person",
        ),
    ],
)
def test_what_has_no_answer_is_one_line(words, message):
    with pytest.raises(pl.InvalidInput) as error:
        asked = question(**words)
        assert trusted.is_about_a_person(asked)
        trusted.answer_by_trust(asked)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_mechanism_of_no_plan_is_answered_by_itself():
    """Nobody is told that an estimator, which was not chosen, does not fit."""
    words = {
        "problem": "response",
        "m": 4,
        "person": 1.0,
        "mechanism": "discrete_laplace",
        "target": "kendall<=0.25",
    }
    assert not trusted.is_about_a_person(read(words))
    with pytest.raises(pl.InvalidInput, match="does not go with mechanism=discrete_laplace"):
        trusted.is_about_a_person(read({**words, "trust": "curator"}))


def test_the_whole_answer_is_named_after_the_trust_that_it_is_of(answer):
    """Also below a way that meets the targets everywhere, and is first for that."""
    first = answer.rows[0].way
    nowhere = ways.Nowhere(True, 1.0)
    everywhere = replace(answer.rows[-1].way, nowhere=nowhere, why="meets the targets everywhere")
    text = repr(replace(answer, rows=[everywhere, *answer.rows[:-1]]))
    assert f"\nWhere {trusted.WHOM[first.plan.trust]} is trusted:\n" in text


def test_rows_are_in_the_order_of_what_is_certified(answer):
    """Not of where the targets are just met: certificates take more of some ways."""
    first, second, *_ = answer.rows
    level = math.ceil(second.level) + 1
    raised = replace(first, certificate=first.certificate._replace(level=level))
    assert first.reach > second.reach > raised.reach and raised.way.reach > second.way.reach


def test_all_questions_of_more_items_are_tried(monkeypatch):
    """All pairs are more where there are more items; no number stands for them."""
    tried = []

    def nowhere(simulator):
        tried.append(simulator.question.values.get("questions"))
        raise ways.Nowhere(False, 3.0)

    monkeypatch.setattr(ways, "roughly", nowhere)
    asked = read(
        {**SMALL, "m": None, "L": 100, "unknown": "items", "person": 1.0, "trust": "curator"}
    )
    with pytest.raises(pl.InvalidInput, match="at any number of items"):
        trusted.answer_by_trust(asked)
    assert tried.count(None) == 2, "of both mechanisms of a curator"


def test_numbers_of_people_have_all_their_digits():
    assert three_digits(1_234_567.0) == "1,230,000" and three_digits(41.95) == "42.0"
    few = Both("nobody", 2.0, 1.0, people=123.4)
    assert "123 times the people would" in str(few)
    other = Both("nobody", 2.0, 1.0, people=0.9)
    assert "with other questions as many people do both" in str(other)


def test_one_way_is_answered_as_before():
    """A mechanism with its number of questions is no choice any more."""
    assert not trusted.is_about_a_person(
        question(**FEW, mechanism="randomized_response", questions=1)
    )
    assert not trusted.is_about_a_person(question(L=100, unknown="epsilon"))
    assert trusted.is_about_a_person(question(**FEW, mechanism="randomized_response"))


def test_the_command_prints_the_table_and_takes_a_risk_as_typed(capsys):
    words = ["advise", "problem=ranking", "m=3", "target=kendall<=0.25"]
    assert main([*words, "risk=attacker@0.05<=0.2", "trust=curator", "--json"]) == 0
    (way,) = json.loads(capsys.readouterr().out)["ways"]
    assert way["trust"] == "curator" and way["certified"]
    assert math.exp(way["person"]) * 0.05 <= 0.2 * 1.001


def test_what_is_asked_is_the_budget_of_a_person_where_people_are_known():
    """Of an answer only where that is asked for, or where nobody knows of persons."""
    assert question(L=40).word == "person" and trusted.is_about_a_person(question(L=40))
    assert question(L=40, unknown="epsilon").word == "epsilon"
    assert question(L=40, mechanism="laplace").word == "person"
    assert question(epsilon=1.0).word == question(person=1.0).word == "people"
    own = {"problem": "crowd", "m": 5, "n": 9, "target": "label_error<=0.1"}
    assert read(own).word == "person"
    asked = question(L=40, risk="attacker@0.05<=0.2")
    assert asked.word == "person" and not asked.person_from_risk


def test_what_a_mechanism_does_not_take_is_said():
    """A curator adds noise to the sums of all, whatever the budgets of groups."""
    mixed = question(**FEW, profile="0.5:1, 0.5:2", trust="curator", seed=3)
    answer = trusted.answer_by_trust(mixed)
    (line,) = [line for line in answer.lines() if line.startswith("If a curator")]
    (way,) = answer.record()["ways"]
    assert f"profile=0.5:1, 0.5:2 is left out: {way['mechanism']} does not take it." in line
    assert way["left_out"] == {"profile": "0.5:1, 0.5:2"}
    assert all(row.left_out == way["left_out"] for row in answer.best.mechanisms)
    kept = ways.with_plan(mixed, question(**FEW).advice.plans[0], 1)
    assert mixed.left_out(kept) == {} and kept.values["profile"] == "0.5:1, 0.5:2"


def test_a_risk_narrows_the_unknown_to_where_the_budget_keeps_it():
    """Exactly: more questions tell less of each; the attack at one number fewer breaks the risk."""
    risk = risks.read_risk("attacker@0.05<=0.2")
    asked = question(L=50, unknown="questions", person=1.8, risk=str(risk), trust="nobody")
    plan = asked.advice.plans[0]
    narrowed = ways.with_plan(asked, plan, None)
    low = narrowed.limits.low
    assert 1 < low <= narrowed.limits.high == 6
    assert power(narrowed, risk, 1.8, low) <= risk.most < power(narrowed, risk, 1.8, low - 1)
    assert ways.budget_remark(narrowed) == ""
    free = question(L=50, unknown="questions", risk=str(risk), trust="nobody")
    planned = ways.with_plan(free, plan, None)
    remark = ways.budget_remark(planned)
    assert "1.3862 nats is the largest that keeps the risk with questions=1, the fewest" in remark


def test_no_rough_estimate_is_advised(monkeypatch, answer):
    """The best of many is too good: where a longer look says so, the next one is looked at."""
    way = answer.rows[-1].way
    axis = way.reached.axis
    crossing = way.reached.crossings[0]
    anywhere = (axis.position(1), axis.position(10**6))
    rough = {1: 30.0, 2: 40.0, 3: 31.0}  # people that each number of questions seems to need
    true = {1: 50.0, 2: 41.0, 3: 45.0}

    def reached(people):
        at = crossing._replace(value=axis.position(people))
        return replace(way.reached, crossings=[at], window=anywhere)

    search = ways._Search(question(**FEW), way.plan, 1.0)
    for questions, people in rough.items():
        search.tried[questions] = replace(
            way,
            questions=questions,
            simulator=replace(way.simulator, drawn=questions),
            rough=way.rough._replace(reached=reached(people)),
            precise=None,
        )
    monkeypatch.setattr(ways, "precisely", lambda simulator, _: reached(true[simulator.drawn]))
    search.look_closer()
    assert search.best().questions == 2 and not search.best().is_rough

    def nowhere(*_):
        raise ways.Nowhere(False, 1.0)

    search.tried[2] = replace(search.tried[2], precise=None)
    monkeypatch.setattr(ways, "precisely", nowhere)
    search.look_closer()
    assert search.best().questions == 3, "a longer look may find that it is nowhere"
    assert search.tried[2].why == "meets the targets at no number of people"
