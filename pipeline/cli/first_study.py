"""`pipeline new`: a first study of one's own in ten lines, from three answers."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Any

from pipeline.identity.registry import problem, problems
from pipeline.study.advice import Advice
from pipeline.study.parameters import InvalidInput, fields, nearest

FIRST_FILE = "survey.yaml"
TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|>=|≤|≥)\s*(\d*\.?\d+)\s*")
SHARES = (
    0.25,
    0.5,
    1,
    2,
    4,
    8,
)  # of the budget at which advice starts: the levels of the first grid
PERSON = "person"
REPLICATIONS = 200
BLOCK = 100
WORDS = ("problem", "people", "items", "target")
LEVEL = 0.1  # of the first metric, where nothing is said


@dataclass(frozen=True)
class Wish:
    """What somebody wants to know. people, items: how many. metric, level: what must hold."""

    problem: str
    people: int
    items: int
    metric: str
    sign: str
    level: float


def offered() -> list[str]:
    """Names of the problems in which a first study can begin, those first with most to ask."""
    able = [name for name, known in problems().items() if known.advice and advice_of(name).answers]
    return sorted(able, key=lambda name: (-len(advice_of(name).decisions), name))


def advice_of(name: str) -> Advice:
    """What is known of a problem for who begins."""
    from pipeline.advice import targets  # NumPy

    return targets.advice_of(problem(name))


def wish_of(values: Mapping[str, Any]) -> Wish:
    """The wish in words of a command; what is not said is what advice starts from.

    Raises InvalidInput.
    """
    name = values.get("problem", offered()[0])
    if name not in offered():
        raise InvalidInput("problem", name, nearest(name, offered()))
    advice = advice_of(name)
    metric, sign, level = _target(values.get("target"), advice)
    return Wish(
        problem=name,
        people=_number("people", values, advice),
        items=_number("items", values, advice),
        metric=metric,
        sign=sign,
        level=level,
    )


def asked() -> dict[str, Any]:
    """The words that a person gives at a terminal, one question after the other."""
    read = input
    names = offered()
    print("What do people answer?")
    for number, name in enumerate(names, 1):
        print(f"  {number}  {advice_of(name).answers} ({name})")
    name = _chosen(read, names)
    advice = advice_of(name)
    values: dict[str, Any] = {"problem": name}
    starts = [int(advice.unknowns[word].start) for word in ("people", "items")]
    counts = read(f"How many people, and about how many things? [{starts[0]} {starts[1]}] ")
    for word, count in zip(("people", "items"), counts.replace(",", " ").split(), strict=False):
        values[word] = int(count) if count.isdecimal() else count
    first = next(iter(advice.decisions))
    print("What must hold? METRIC<=NUMBER, or >=, where METRIC is")
    for metric, meaning in advice.decisions.items():
        if "{" not in meaning:  # it needs one more number
            print(f"  {metric}: {meaning}")
    target = read(f"[{first}<={LEVEL:g}] ").strip()
    if target:
        values["target"] = target
    return values


def at_a_terminal() -> bool:
    """Whether somebody can answer questions."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def written(wish: Wish, file: str, name: str) -> str:
    """The ten lines of the file. name: of the study."""
    advice = advice_of(wish.problem)
    budget = advice.unknowns[PERSON]
    levels = [budget.start * share for share in SHARES]
    constants = _constants(wish, advice)
    shown = ", ".join(f"{key}: {_plain(value)}" for key, value in constants.items())
    meaning = advice.decisions[wish.metric]
    question = f"At which promise to a person (person, in nats) is {wish.metric} {wish.sign} {wish.level:g}?"
    lines = [
        f"# {wish.people:,} people answer {advice.answers}.  Run: pipeline experiment={file}",
        f"name: {name}",
        f"problem: {wish.problem}",
        f"title: '{meaning[0].upper()}{meaning[1:]}, over the promise to a person'",
        f"question: '{question}'",
        "seed: 1",
        f"replications: {REPLICATIONS}",
        f"block: {BLOCK}",
        f"grid: {{{budget.parameter}: [{', '.join(f'{level:g}' for level in levels)}]}}",
        f"parameters: {{{shown}}}",
        f"metrics: [{wish.metric}]",
        f"refine: {{along: {budget.parameter}, metric: {wish.metric}, level: {wish.level:g}, width: 0.2}}",
        "figures:",
        f"  - {{kind: curves, metric: {wish.metric}, along: {budget.parameter}}}",
    ]
    return "\n".join(lines) + "\n"


def _constants(wish: Wish, advice: Advice) -> dict[str, Any]:
    """Parts and sizes of the study."""
    from pipeline.advice.question import estimator_for  # NumPy

    known = problem(wish.problem)
    estimator = estimator_for(known, advice, advice.parameters)
    parts = {**advice.parameters, "estimator": estimator}
    constants = {
        **parts,
        advice.unknowns["items"].parameter: wish.items,
        advice.unknowns["people"].parameter: wish.people,
    }
    typical = _typical(advice)
    questions = advice.unknowns.get("questions")
    for kind, part in parts.items():
        for name, declared in fields(known.part(kind, part)).items():
            is_needed = declared.default is MISSING and name not in constants
            if is_needed and name in typical:
                constants[name] = typical[name]
            if questions is not None and name == questions.parameter:
                constants[name] = int(questions.start)  # few each tell most, at one promise
    return constants


def _typical(advice: Advice) -> dict[str, Any]:
    """Values of parameters that have no default, as they are where advice was made before."""
    atlas = advice.atlas
    if atlas is None:
        return {}
    budgets = [advice.unknowns[word].parameter for word in ("epsilon", PERSON)]
    levels = {name: levels[0] for name, levels in atlas.axes.items() if name not in budgets}
    return {**levels, **atlas.parameters}


def _chosen(read: Callable[[str], str], names: Sequence[str]) -> str:
    """The problem of a number or of a name; the first one where nothing is typed."""
    answer = read("[1] ").strip()
    if not answer:
        return names[0]
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer not in names:
        raise InvalidInput("problem", answer, nearest(answer, names))
    return answer


def _number(word: str, values: Mapping[str, Any], advice: Advice) -> int:
    """How many people or items; what advice starts from where nothing is said."""
    unknown = advice.unknowns[word]
    value = values.get(word, unknown.start)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or value != int(value) or not unknown.low <= value <= unknown.high:
        allowed = f"must be a whole number from {unknown.low:,.0f} to {unknown.high:,.0f}"
        raise InvalidInput(word, value, f"{allowed} ({unknown.meaning})")
    return int(value)


def _target(target: object, advice: Advice) -> tuple[str, str, float]:
    """Metric, sign and level of what must hold."""
    usable = [metric for metric, meaning in advice.decisions.items() if "{" not in meaning]
    if target is None:
        return usable[0], "<=", LEVEL
    match = TARGET.fullmatch(str(target))
    if not match:
        raise InvalidInput("target", target, f"must be like {usable[0]}<={LEVEL:g}")
    metric, sign, level = match.groups()
    if metric not in usable:
        raise InvalidInput("target", target, nearest(metric, usable))
    return metric, {"≤": "<=", "≥": ">="}.get(sign, sign), float(level)


def _plain(value: object) -> str:
    """A constant as YAML has it on one line: a text with a comma in quotes."""
    return f"'{value}'" if isinstance(value, str) and not value.isidentifier() else str(value)
