"""The page of a promise: it says what the guarantee says and what attacks attain, and nothing of anybody's answers."""

import json
import re
from dataclasses import replace

import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.advice.answer import answer
from pipeline.identity import registry
from pipeline.privacy.attacks import Bound, FlippedBits
from pipeline.problems.common.disclosed import disclosure
from pipeline.study.disclosure import LEVELS, promised_trade_off
from pipeline.workflow.promise_page import page_of_release, promise_of_answer
from tests.advice.test_advise import OWN
from tests.advice.test_answer_page import ASKED, WORDS, text_of

ACCOUNT = {
    "unit": "all answers of one person",
    "neighbours": "these answers replaced by others",
    "public": "names of the items",
    "spent": {"epsilon": 1.5},
    "mechanism": "noisy_counts",
    "noise": {"scale": 4.0},
    "noise_law": "discrete Laplace",
    "program": "program 1.0",
    "sampler": "OpenDP",
    "date": "2026-01-02",
    "votes.csv": "answers to a task, plus noise",
    "rows left out": "rows that cannot be read",
    "not released": "the number of persons",
}


def released(attack=None, whose="person", **changes):
    return disclosure(ACCOUNT | changes, whose, "replace_one", attack)


def test_the_page_says_what_the_account_and_the_guarantee_say(tmp_path):
    content = page_of_release(released(FlippedBits(0.25, 6)))
    (tmp_path / "page.html").write_text(content, "utf-8")
    text = text_of(tmp_path / "page.html")
    for part in (
        "ε = 1.5 for a person; a curator has to be trusted",
        *(ACCOUNT[key] for key in ("unit", "neighbours", "public", "not released", "noise_law")),
        "votes.csv: answers to a task, plus noise",
        "scale = 4",
        "2026-01-02",
        f"suspects rightly in {100 * FlippedBits(0.25, 6).power(0.05):.3g} %",
        f"at most {100 * Bound(1.5).power(0.05):.3g} %",
        "4.482",  # e^1.5
        "81.8 % sure",
        "unit of privacy",
        "trust model",
        "privacy loss budget",
        "composition",
    ):
        assert part in text, part
    assert content == page_of_release(released(FlippedBits(0.25, 6)))
    assert "<script" not in content and "default-src 'none'" in content
    assert not re.search(r"(src|href)=.http|url\(", content)


def test_the_figure_is_the_power_of_the_attack():
    """Every point of both lines; the corner of what the budget allows is one of them."""
    attack = FlippedBits(0.25, 6)
    content = page_of_release(released(attack))
    drawn = re.findall(r'<polyline class="(\w+)" points="([^"]+)"', content)
    assert [style for style, _ in drawn] == ["first", "second"]
    for (_, points), best in zip(drawn, (attack, Bound(1.5)), strict=True):
        places = [tuple(map(float, point.split(","))) for point in points.split()]
        assert len(places) == len(LEVELS) + 1
        for along, up in places:
            assert 1 - up / 200 == pytest.approx(best.power(along / 200), abs=3e-4)


@pytest.mark.parametrize("epsilon, delta", [(0.1, 0.0), (1.0, 1e-6), (12.0, 0.01), (1e4, 0.0)])
def test_what_a_budget_allows_is_the_bound_of_all_attacks(epsilon, delta):
    curve = promised_trade_off(epsilon, delta, "anything")
    bound = [Bound(epsilon, delta).power(level) for level in curve.false_alarms]
    assert curve.true_alarms == pytest.approx(bound, abs=1e-12) and not curve.exact


def test_what_stands_in_an_account_is_text():
    content = page_of_release(
        released(whose="answer", mechanism="<script>a</script>", public='"<b>')
    )
    assert "<script" not in content and "&lt;script&gt;a" in content and "&lt;b&gt;" in content
    assert "this protects one answer, not a person who gives several" in content


def test_much_and_delta_are_told():
    page = page_of_release(released(spent={"rho": 3.0, "delta": 1e-3, "epsilon": 11.0}))
    assert "(ε = 11, δ = 0.001) for a person" in page and "δ = 0.001," in page
    assert "WARNING: more than 10 nats" in page and "ρ = 3" in page
    assert "WARNING" not in page_of_release(released())


@pytest.fixture
def own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with registry.registered(OWN):
        yield


@pytest.mark.usefixtures("own")
def test_advice_writes_the_page_that_its_guarantee_and_attacks_make(tmp_path, capsys):
    assert main(["task=advise", *WORDS, "save=promise.html", "--json"]) == 0
    printed = capsys.readouterr()
    guarantee = json.loads(printed.out)["guarantee"]
    assert "promise.html: what is promised to people, as one page" in printed.err
    text = text_of(tmp_path / "promise.html")
    for part in (guarantee["budget"], guarantee["protects"], guarantee["neighbours"]):
        assert part in text, part
    known = {**ASKED}
    pl.advise(known.pop("problem"), known.pop("target"), **known, save="promise_2.html")
    pages = [(tmp_path / name).read_bytes() for name in ("promise.html", "promise_2.html")]
    assert pages[0] == pages[1]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("words", [[*WORDS, "quick=true"], []])
def test_no_page_of_a_promise_without_a_certified_answer(tmp_path, capsys, words):
    assert main(["task=advise", *words, "save=promise.html"]) == 2
    assert "is the page of a certified answer's promise" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("own")
def test_a_mechanism_that_protects_nothing_promises_nothing():
    """The negative control of all that is said of attackers."""
    found = answer({**ASKED, "seed": 3})
    unprotected = replace(found.promise, guarantee=pl.unprotected("ε = ∞"))
    patched = type(found).promise
    try:
        type(found).promise = property(lambda _: unprotected)
        page = promise_of_answer(found)
    finally:
        type(found).promise = patched
    assert page.warning == "WARNING: nothing is protected." and not page.trade_offs
    assert page.learned == ["Everybody who sees the release learns every answer."]
