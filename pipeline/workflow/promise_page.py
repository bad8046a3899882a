"""What is promised to people, as a page: of a certified answer, and beside every release."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pipeline.advice import words
from pipeline.advice.answer import Answer
from pipeline.advice.person import HIGH, certainty
from pipeline.advice.text import MOST_ODDS
from pipeline.advice.trusted import Trusted
from pipeline.advice.ways import Certified
from pipeline.reporting.promise_figure import percent
from pipeline.reporting.promise_page import Aspect, PromisePage, Risk, page
from pipeline.study.disclosure import LARGEST, Disclosure, TradeOff, promised_trade_off, trade_off
from pipeline.study.guarantee import (
    CURATOR,
    EVERYBODY,
    NOBODY,
    ONE_PERSON,
    SHUFFLER,
    TRUSTS,
    WHOM,
    Guarantee,
    amount,
)
from pipeline.study.untyped import ParameterValues
from pipeline.workflow.atlas_files import Saved, write

ATTACKED = {"person": "all answers of a person", "answer": "one answer"}
AGAINST = {
    NOBODY: "everybody: those who ask, those who see what people send, and those who see results; "
    "whatever else they know, and together",
    SHUFFLER: "everybody who sees the mixed messages or what is made of them, those who ask "
    "included, whatever else they know; not the shuffler",
    CURATOR: "everybody who sees what is released, whatever else they know, and together; not the "
    "curator, who sees all answers",
    EVERYBODY: "nobody",
}
RELEASED = {
    NOBODY: "what each person sends, which chance has changed before, and all that is made of it",
    SHUFFLER: "all messages in random order, and all that is made of them",
    CURATOR: "sums with noise, and all that is made of these",
    EVERYBODY: "the answers as they are",
}
NOT_RELEASED = {
    NOBODY: "true answers: they never leave their person",
    SHUFFLER: "true answers, and who sent which message",
    CURATOR: "any answer of a person, and any sum without noise",
    EVERYBODY: "",
}
NOT_PROTECTED = (
    "What is true of people in general can be learned, also about those who did not take part; "
    "that is what is asked for.",
    "What a person tells elsewhere, and what is public, is not protected by this.",
)
AGAIN = "whatever else is released of the same people adds to the budget"
AT_BEST = (
    "Nobody does better by knowing the answers of all other people, by more computing, or by "
    "working longer on what was released."
)


def save_promise(path: Path, certified: Answer | Trusted) -> Saved:
    """Write the page of a certified answer's promise; InvalidInput where it cannot be written.

    By trust it is that of the way that needs least, with what all others need beside it.
    """
    content = _by_trust(certified)
    write(path, page(content).encode())
    return Saved(path, "what is promised to people, as one page")


def _by_trust(certified: Answer | Trusted) -> PromisePage:
    """What the page says; of several kinds of trust also what each needs, in the words of the
    answer.
    """
    if isinstance(certified, Answer):
        return promise_of_answer(certified)
    content = promise_of_answer(certified.best)
    rows = [row for row in certified.rows if isinstance(row, Certified)]
    if len(rows) < 2:
        return content
    return replace(content, by_trust=certified.cells())


def promise_of_answer(answer: Answer) -> PromisePage:
    """What the page says of the promise of an answer."""
    question = answer.question
    mechanism = question.parts(answer.level).mechanism
    guarantee = answer.promise.guarantee
    trade_offs = []
    attacks = mechanism.attacks()
    for unit, attacked in ATTACKED.items():
        if unit in attacks:
            trade_offs.append(trade_off(attacks[unit], attacked))
    facts = [
        ("mechanism", str(question.values["mechanism"])),
        ("made by", f"private-learning-pipeline {version('private-learning-pipeline')}"),
        ("command", words.command(question)),
    ]
    return _page(
        guarantee,
        "What this survey promises its people",
        words.survey(question, answer.level),
        trade_offs or _promised(guarantee),
        (RELEASED[guarantee.trust], NOT_RELEASED[guarantee.trust]),
        facts,
    )


def page_of_release(disclosure: Disclosure) -> str:
    """The page beside a release, of its guarantee and its account alone."""
    account = disclosure.account
    tables = []
    for name, contents in account.items():
        if name.endswith(".csv"):
            tables.append(f"{name}: {contents}")
    not_released = f"{account['not released']}; {account['rows left out']}"
    facts = [
        ("mechanism", str(account["mechanism"])),
        ("noise", f"{account['noise_law']}; {_numbers(account['noise'])}"),
        ("spent", _numbers(account["spent"])),
        ("made by", f"{account['program']}, noise by {account['sampler']}"),
    ]
    content = _page(
        disclosure.guarantee,
        "What this release promises its people",
        f"Released once, on {account['date']}. All of it is in release.json beside this page, for "
        "machines.",
        disclosure.trade_offs,
        (". ".join(tables), not_released),
        facts,
    )
    return page(content)


def _numbers(values: ParameterValues) -> str:
    """Numbers with their names."""
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())


def _promised(guarantee: Guarantee) -> list[TradeOff]:
    """What the budget allows any attack, of a mechanism that knows no attack."""
    if guarantee.unit == ONE_PERSON and _is_number(guarantee.epsilon):
        assert guarantee.epsilon is not None
        return [promised_trade_off(guarantee.epsilon, guarantee.delta, ATTACKED["person"])]
    if guarantee.protected and _is_number(guarantee.answer_epsilon):
        assert guarantee.answer_epsilon is not None
        return [promised_trade_off(guarantee.answer_epsilon, 0.0, ATTACKED["answer"])]
    return []


def _is_number(budget: float | None) -> bool:
    return budget is not None and math.isfinite(budget)


def _page(
    guarantee: Guarantee,
    title: str,
    about: str,
    trade_offs: Sequence[TradeOff],
    released: tuple[str, str],
    facts: Sequence[Sequence[str]],
) -> PromisePage:
    """The page of a guarantee. released: what is, and what is not."""
    not_learned = [AT_BEST, *NOT_PROTECTED]
    shown = trade_offs
    if not guarantee.protected:
        not_learned = []
        shown = []
    return PromisePage(
        title=title,
        headline=_headline(guarantee),
        about=about,
        warning=_warning(guarantee),
        aspects=[aspect for aspect in _aspects(guarantee, released) if aspect.text],
        risks=[_risk(curve) for curve in shown],
        learned=[*_learned(guarantee, shown)],
        not_learned=not_learned,
        facts=facts,
        trade_offs=shown,
    )


def _headline(guarantee: Guarantee) -> str:
    """The budget, and whom to trust, in one line."""
    trust = f"{WHOM[guarantee.trust]} has to be trusted"
    if guarantee.epsilon is not None:
        return f"{amount(guarantee.epsilon, guarantee.delta)} for a person; {trust}"
    if guarantee.answer_epsilon is not None:
        return f"{amount(guarantee.answer_epsilon, guarantee.delta)} for one answer; {trust}"
    return f"{guarantee.budget}; {trust}"


def _warning(guarantee: Guarantee) -> str | None:
    """That hardly anything is promised; None where enough is."""
    if not guarantee.protected:
        return "WARNING: nothing is protected."
    if guarantee.epsilon is not None and guarantee.epsilon > HIGH:
        return f"WARNING: more than {HIGH:g} nats for a person leave hardly any privacy."
    if guarantee.unit != ONE_PERSON and guarantee.epsilon is None:
        return "WARNING: this protects one answer, not a person who gives several."
    return None


def _aspects(guarantee: Guarantee, released: tuple[str, str]) -> Iterator[Aspect]:
    """What the page says of the promise, in the words of NIST SP 800-226."""
    composition = "; ".join(filter(None, (guarantee.composition, AGAIN)))
    everybody = "every person whose answers are used: each has this promise, or a better one"
    if guarantee.unit != ONE_PERSON:
        everybody = "every answer by itself; whoever gives several spends on each of them"
    if not guarantee.protected:
        everybody = "nobody"
    budget = guarantee.budget
    amounts = guarantee.amounts()
    if amounts:
        budget = f"{budget}; {amounts}"
    public = guarantee.public or "how the mechanism works, and its budget"
    yield Aspect("What is protected", "unit of privacy", guarantee.protects)
    yield Aspect("For whom", "", everybody)
    yield Aspect("Against whom", "threat", AGAINST[guarantee.trust])
    yield Aspect("Who is trusted", "trust model", TRUSTS[guarantee.trust])
    yield Aspect("What looks alike", "neighbouring data", guarantee.neighbours)
    yield Aspect("How much at most", "privacy loss budget", budget)
    yield Aspect("Taken together", "composition", composition)
    yield Aspect("What is public", "", public)
    yield Aspect("What is released", "", released[0])
    yield Aspect("What is kept back", "", released[1])


def _risk(curve: TradeOff) -> Risk:
    """A row of the table of risks."""
    bound = "" if curve.exact else "at most "
    factor = math.exp(min(curve.epsilon, LARGEST))
    odds = f"{factor:.4g}"
    if factor >= 1000:
        odds = f"{factor:,.0f}"
    if factor >= MOST_ODDS:
        odds = "more than a million"
    certain = certainty(curve.epsilon)
    if curve.delta > 0:
        odds += f" (δ = {curve.delta:g})"
    return Risk(
        attacked=curve.attacked,
        odds=odds,
        certain=certain,
        once=f"{bound}{percent(curve.at(0.01))}",
        often=f"{bound}{percent(curve.at(0.05))}",
    )


def _learned(guarantee: Guarantee, trade_offs: Sequence[TradeOff]) -> Iterator[str]:
    """What an attacker learns, in plain sentences."""
    if not guarantee.protected:
        yield "Everybody who sees the release learns every answer."
        return
    if not trade_offs:
        yield (
            "The mechanism does not say how well an attack on a person does; only the budget "
            "above is promised."
        )
        return
    curve = trade_offs[0]
    bound = "" if curve.exact else "at most "
    how = "exact: the best attack attains it" if curve.exact else "a bound: no attack exceeds it"
    yield (
        f"An attacker suspects one of two things about {curve.attacked}, knows everything else, "
        f"and decides. Whoever suspects wrongly in 5 % of cases suspects rightly in {bound}"
        f"{percent(curve.at(0.05))}; blind guessing does in 5 %. The solid line is {how}."
    )
