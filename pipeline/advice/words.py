"""An answer in plain words: who is asked what, what a person gives away, what is then learned.

And how to ask again.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.advice.certificate import ERROR, Certificate
from pipeline.advice.person import HIGH, certainty, is_high
from pipeline.advice.question import Question
from pipeline.advice.targets import Target
from pipeline.study.guarantee import Guarantee


@dataclass(frozen=True)
class Word:
    """A word of the trade. pattern: of texts that have it."""

    word: str
    pattern: str
    meaning: str


EXPLAINED = (
    Word(
        "nat",
        r"\bnats?\b",
        "the unit of ε: a budget of ε changes anybody's odds at most by a factor of e^ε",
    ),
    Word(
        "LADP",
        r"ε-LADP",
        "local attribute differential privacy: each answer by itself is protected before it "
        "leaves the person",
    ),
    Word(
        "LDP",
        r"ε-LDP",
        "local differential privacy: what leaves a person is already protected, so nobody has to "
        "be trusted",
    ),
    Word(
        "zCDP",
        r"zCDP",
        "zero-concentrated differential privacy: a budget ρ that adds up over releases and gives "
        "(ε, δ)",
    ),
    Word(
        "DP",
        r"ε-DP|\(ε, δ\)-DP",
        "differential privacy: replacing one person's data changes the probability of any release "
        "at most by a factor of e^ε, except with probability δ; whoever adds the noise is trusted",
    ),
    Word(
        "neighbours",
        r"\b[Nn]eighbours\b",
        "two cases that are hard to tell apart for everybody who sees the release",
    ),
    Word(
        "false alarms", r"false alarms", "deciding for one of two cases although the other is true"
    ),
)
QUESTIONS = {  # word of an unknown -> the question
    "epsilon": "How small may ε be",
    "person": "How small may the budget of a person be",
    "people": "How many people are needed",
    "items": "How many items may there be",
    "missing": "How large a share of the answers may be missing",
    "questions": "How many questions does each user need",
}
BEYOND = 1.3  # times the boundary from which on an answer says that it lies far beyond
CONFIDENCE = f"{100 * (1 - ERROR):g} %"


def explained(text: str, known: Iterable[Word] = ()) -> list[Word]:
    """Words of the trade that a text has, but for those that are known already."""
    return [word for word in EXPLAINED if word not in known and re.search(word.pattern, text)]


def title(question: Question) -> str:
    """The question in words."""
    beginning = QUESTIONS.get(question.word, f"Which {question.word} is needed")
    wanted = _list(
        f"the {meaning_of(question, target)} is {_bound(target)}" for target in question.targets
    )
    return f"{beginning}, so that {wanted}?"


def headline(question: Question, level: float, better: str) -> str:
    """What is advised, in one line: what a person spends before the unknown's own value. better:
    "more" or "less".
    """
    side = "at least" if better == "more" else "at most"
    advised = f"{question.unknown.meaning}: {side} {question.shown(level):,g}"
    promise = question.parts(level).mechanism.promise()
    if promise.epsilon is None or promise.epsilon == float("inf"):
        return f"{advised[0].upper()}{advised[1:]}"
    person = f"all answers of a person{_in_rounds(promise)}"
    return f"{promise.epsilon:.4g} nats for {person}; {advised}"


def _in_rounds(promise: Guarantee) -> str:
    """In how many rounds a person answers, if that is not one."""
    if promise.rounds == 1:
        return ""
    return f" in {promise.rounds:,} rounds"


def survey(question: Question, level: float) -> str:
    """Who is asked what, at a level of the unknown, in one sentence."""
    parts = question.parts(level)
    sentence = question.advice.survey(parts.model, parts.mechanism)
    if not sentence:
        people = question.advice.parameter_of("people")
        known = {**question.values, question.parameter: level}
        number = ""
        if people in known:
            number = f"{known[people]:,} "
        sentence = f"{number}people take part, as model={question.values['model']} says"
    return f"{sentence[0].upper()}{sentence[1:]}."


def privacy(question: Question, level: float) -> str:
    """What a person gives away, at a level of the unknown, in one sentence."""
    promise = question.parts(level).mechanism.promise()
    if promise.epsilon is None:
        return f"The mechanism does not say what one person spends; it promises {promise.budget}."
    if promise.epsilon == float("inf"):
        return "Nothing is protected: everybody's answers are seen as they are."
    answers = f"All answers of one person{_in_rounds(promise)}"
    return f"{answers} cost {_amounts(promise)}: {_certainties(promise)}."


def _amounts(promise: Guarantee) -> str:
    """Budgets in nats, the person's first."""
    text = f"at most ε = {promise.epsilon:.4g} nats of privacy"
    if promise.delta:
        text += f", except with probability δ = {promise.delta:g}"
    each = promise.answer_epsilon
    if each is not None and each != promise.epsilon:
        text += f", one answer costs {each:.4g}"
    return text


def _certainties(promise: Guarantee) -> str:
    """How sure somebody else can become."""
    assert promise.epsilon is not None
    text = (
        "somebody who thought two possibilities equally likely can become "
        f"{certainty(promise.epsilon)} which of them is true of a person"
    )
    each = promise.answer_epsilon
    if each is not None and each != promise.epsilon:
        text += f", and {certainty(each)} which is true of one answer"
    return text


def warning(question: Question, level: float) -> str | None:
    """That a person's budget is so high that hardly any privacy is left; None where it is not."""
    promise = question.parts(level).mechanism.promise()
    if not is_high(promise):
        return None
    if promise.epsilon == float("inf"):
        return "WARNING: without a mechanism nobody has any privacy."
    return (
        f"WARNING: {promise.epsilon:.4g} nats per person are more than {HIGH:g}: a person who "
        "gives all answers has hardly any privacy left; ask more people, or ask each person less."
    )


def result(question: Question, certificate: Certificate) -> str:
    """What is learned, and how sure that is, in one sentence."""
    met = _list(
        f"{sentence_of(question, target)} is {_bound(target)}" for target in question.targets
    )
    shown = "show" if certificate.targets_shown else "could NOT show"
    alone = min(target.share_of_runs_met for target in certificate.measured)
    single = "a single survey"
    truth = ""
    if question.derive:
        single = "a single release"
        if "data.truth" not in question.typed:
            truth = ", compared with what the data say without privacy"
    return (
        f"{met[0].upper()}{met[1:]}, on average{truth}: {certificate.replications:,} fresh "
        f"simulations {shown} that with {CONFIDENCE} confidence; {single} meets it with "
        f"probability {alone:.2g}."
    )


def far_beyond(question: Question, times: float, replications: int) -> str | None:
    """That the value lies far beyond where the targets begin to be met, and why.

    None where it does not.
    """
    if times <= BEYOND:
        return None
    if question.whole:
        return (
            f"this is {times:.2g} times the boundary: few whole numbers lie between them, or the "
            f"mean changes too little for {replications:,} replications to tell them apart"
        )
    return (
        f"this is {times:.2g} times the boundary: the mean changes so little with {question.word} "
        f"that {replications:,} replications can certify no nearer value"
    )


def interpolated(question: Question) -> str:
    """What is learned by a first answer, which is not certified."""
    met = _list(
        f"{sentence_of(question, target)} is {_bound(target)}" for target in question.targets
    )
    return (
        f"{met[0].upper()}{met[1:]}, on average, as far as simulations made in advance tell; "
        "this is NOT certified."
    )


def sentence_of(question: Question, target: Target) -> str:
    """What a target is about: "the share of … (kendall)"."""
    return f"the {meaning_of(question, target)} ({target.metric})"


def meaning_of(question: Question, target: Target) -> str:
    """What a target's metric means, as the problem says for those that decide, or else the metric
    itself.
    """
    meaning = question.advice.decisions.get(target.metric)
    if meaning is None:
        return str(question.problem.metric(target.metric).long_name)
    known = {
        name: value
        for name, value in question.values.items()
        if isinstance(value, (int, float, str))
    }
    return meaning.format_map(known)


def _bound(target: Target) -> str:
    side = "at most" if target.relation == "<=" else "at least"
    return f"{side} {target.value:g}"


def _list(texts: Iterable[str]) -> str:
    *first, last = texts
    if not first:
        return last
    return f"{', '.join(first)}, and {last}"


def command(question: Question) -> str:
    """The command that asks the question again; as a person types it."""
    words = ["pipeline", "task=advise", f"problem={question.problem.name}"]
    for name, value in question.typed.items():
        text = str(value)
        if isinstance(value, bool):
            text = text.lower()
        words.append(f"{name}={text}")
    words.append(f"target={','.join(map(str, question.targets))}")
    return shlex.join(words)
