"""`task=audit`: is a mechanism as private as it says? A request, read from words or from Python."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from pipeline.auditing.audit import Case, Options, audit
from pipeline.auditing.guarded import Clock, guarded
from pipeline.auditing.neighbours import Relation, same_data
from pipeline.auditing.parts import Part, promised
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject
from pipeline.auditing.verdict import Audited
from pipeline.identity.registry import problems
from pipeline.study.audits import Audits
from pipeline.study.guarantee import Guarantee
from pipeline.study.making import build
from pipeline.study.parameters import (
    InvalidInput,
    check,
    fields,
    nearest,
    parameter,
    path_of,
    shorten,
)
from pipeline.study.problem import Problem
from pipeline.study.protocols import Mechanism
from pipeline.study.untyped import Config, ParameterValues

CALL_SECONDS = parameter("how long one call may take", default=60.0, above=0)
CALL_SECONDS.type = "float"
PROMISED = {"guarantee.epsilon": "epsilon", "guarantee.delta": "delta", "guarantee.rho": "rho"}
KINDS = (".svg", ".pdf", ".png", ".html")
SHOWN = 40  # characters of a data set in the name of a pair


@runtime_checkable
class Promising(Protocol):
    """What states a guarantee with its budgets in numbers, as mechanisms of problems do."""

    def promise(self) -> Guarantee:
        """The guarantee."""


@runtime_checkable
class Guaranteed(Protocol):
    """A callable with a guarantee, or a function that gives one."""

    guarantee: Any


@dataclass(frozen=True)
class AuditRequest:
    """What is to be audited, and how. command: what gives the answer again.

    call_seconds: how long one call of the mechanism may take. save: a file for the picture, if any.
    """

    case: Case
    options: Options
    command: str
    call_seconds: float = 60.0
    save: Path | None = None


def perform(request: AuditRequest) -> Audited:
    """Audit, in a process of its own. Raises InvalidInput for every mistake of the mechanism."""
    name = request.case.subject.name

    def answer(clock: Clock) -> Audited:
        subject = dataclasses.replace(request.case.subject, clock=clock)
        case = dataclasses.replace(request.case, subject=subject)
        return audit(case, request.options, request.command)

    return guarded(answer, name, request.call_seconds)


def read_request(entries: Config, words: Sequence[str] = ()) -> AuditRequest:
    """The request of a command: problem, mechanism and its parameters, and the words of `Options`.

    words: of the command, to show how it is repeated. guarantee.epsilon, guarantee.delta and
    guarantee.rho are promises in place of the mechanism's own. Raises InvalidInput, in one line,
    for every mistake.
    """
    rest = {key: value for key, value in entries.items() if key != "task"}
    problem = _problem_of(rest.pop("problem", None))
    options, rest = options_of(rest)
    seconds = checked_seconds(rest.pop("call_seconds", CALL_SECONDS.default))
    save = rest.pop("save", None)
    budgets = {name: rest.pop(key) for key, name in PROMISED.items() if key in rest}
    name = rest.pop("mechanism", None)
    audits = _audits_of(problem)
    if name is None:
        names = nearest("", problem.names("mechanism"))
        raise InvalidInput("mechanism", None, f"is needed: what is audited; {names}")
    mechanism = _mechanism_of(problem, str(name), audits, rest)
    case = case_of_part(mechanism, audits, options.grid, Promise(**budgets) if budgets else None)
    command = " ".join(["pipeline", *words])
    path = None if save is None else destination(save)
    return AuditRequest(case, options, command, seconds, path)


def destination(value: object) -> Path:
    """The file of a picture; InvalidInput if it is of another kind, or has no folder."""
    if not isinstance(value, str) or Path(value).suffix.lower() not in KINDS:
        raise InvalidInput("save", value, f"must be a file that ends with {', '.join(KINDS)}")
    path = path_of(value, "save")
    if not path.absolute().parent.is_dir() or path.is_dir():
        raise InvalidInput("save", value, "there is no such folder to write a file in")
    return path


def checked_seconds(value: object) -> float:
    """How long one call may take; InvalidInput for what is no such number."""
    seconds = check(CALL_SECONDS, value, "call_seconds")
    assert isinstance(seconds, float)
    return seconds


def options_of(entries: Config) -> tuple[Options, dict[str, Any]]:
    """The options among entries, and the other entries."""
    known = fields(Options)
    options = {key: value for key, value in entries.items() if key in known}
    rest = {key: value for key, value in entries.items() if key not in known}
    return Options(**options), rest


def case_of_part(
    mechanism: Mechanism, audits: Audits, grid: float | None, promise: Promise | None = None
) -> Case:
    """The case of a problem's mechanism; its promise is its guarantee, if no other is named.

    grid: see `Options`.
    """
    if not issubclass(audits.accepts, mechanism.accepts):
        allowed = f"needs {mechanism.accepts.__name__}, not {audits.accepts.__name__}"
        raise InvalidInput("mechanism", type(mechanism).__name__, allowed)
    if promise is None:
        promise = promised(mechanism.promise())
    pairs = [Pair(*pair) for pair in audits.pairs(mechanism)]
    noise = audits.noise(mechanism)
    return Case(Subject.of(Part(mechanism, audits), grid), promise, pairs, noise=noise)


def audits_for(mechanism: Mechanism) -> Audits:
    """How the problem whose data a mechanism accepts takes part; InvalidInput if none does."""
    for problem in problems().values():
        if problem.audits is None:
            continue
        audits: Audits = problem.load(problem.audits)
        if issubclass(audits.accepts, mechanism.accepts):
            return audits
    allowed = "no problem has pairs for its data; give pair=(dataset, neighbour) and a callable"
    raise InvalidInput("mechanism", type(mechanism).__name__, allowed)


def pairs_of(pair: object, mechanism: object) -> tuple[list[Pair], Relation | None]:
    """Pairs of neighbours, and how to find more.

    pair: a tuple of two data sets; a list of such, or of `Pair`; what has `starts`, such as
    `Neighbours`; None for the attribute `neighbours` of the mechanism. Raises InvalidInput.
    """
    if pair is None:
        pair = getattr(mechanism, "neighbours", None)
    if pair is None:
        allowed = "is needed: two neighbouring data sets, (dataset, neighbour), or pl.Neighbours"
        raise InvalidInput("pair", None, allowed)
    if isinstance(pair, type):
        allowed = f"is a class; give its parameters, as {pair.__name__}(people=5)"
        raise InvalidInput("pair", pair.__name__, allowed)
    if isinstance(pair, Relation):
        return list(pair.starts()), pair
    if isinstance(pair, list):
        pairs = [_pair_of(each) for each in pair]
    else:
        pairs = [_pair_of(pair)]
    if not pairs:
        raise InvalidInput("pair", "[]", "has no neighbours in it; give at least one pair")
    return pairs, None


def promise_of(guarantee: object, mechanism: object, budgets: Mapping[str, Any]) -> Promise:
    """What is promised: budgets that are named, or a `Guarantee`, a `Promise`, or an ε.

    Without any, the mechanism's own `guarantee` or `promise()`.
    """
    named = {key: value for key, value in budgets.items() if value is not None}
    if named.keys() - {"delta"}:
        if guarantee is not None:
            allowed = "is a second promise: give guarantee, or epsilon, rho or mu"
            raise InvalidInput("guarantee", shorten(guarantee), allowed)
        return Promise(**named)
    if guarantee is None:
        guarantee = _own_guarantee(mechanism)
    if named and isinstance(guarantee, Promise | Guarantee):
        allowed = "is a second promise: the guarantee states its own; give epsilon with it"
        raise InvalidInput("delta", named["delta"], allowed)
    if isinstance(guarantee, Promise):
        return guarantee
    if isinstance(guarantee, Guarantee):
        return promised(guarantee)
    if isinstance(guarantee, np.number):
        guarantee = guarantee.item()
    if guarantee is not None and not isinstance(guarantee, int | float):
        allowed = "must be an ε, a Guarantee or a Promise"
        raise InvalidInput("guarantee", shorten(guarantee), allowed)
    return Promise(epsilon=guarantee, **named)


def _own_guarantee(mechanism: object) -> object:
    """What the mechanism says of itself: a part its `promise()`, a callable its `guarantee`."""
    if isinstance(mechanism, Promising):
        return mechanism.promise()
    if not isinstance(mechanism, Guaranteed):
        return None
    guarantee = mechanism.guarantee
    return guarantee() if callable(guarantee) else guarantee


def _pair_of(pair: object) -> Pair:
    if isinstance(pair, Pair):
        return pair
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InvalidInput("pair", shorten(pair), "must be a tuple of two data sets")
    first, second = pair
    if same_data(first, second):
        allowed = "must be two data sets that differ: equal ones show nothing"
        raise InvalidInput("pair", shorten(pair), allowed)
    return Pair(f"{shorten(first, SHOWN)} and {shorten(second, SHOWN)}", first, second)


def _problem_of(name: object) -> Problem:
    able = {key: problem for key, problem in problems().items() if problem.audits is not None}
    if name is None:
        allowed = f"is needed: one of {', '.join(able)}; a callable is audited by pl.audit"
        raise InvalidInput("problem", None, allowed)
    if name not in able:
        raise InvalidInput("problem", name, f"has no pairs to audit; {nearest(name, able)}")
    return able[name]


def _audits_of(problem: Problem) -> Audits:
    audits: Audits = problem.load(problem.audits)
    return audits


def _mechanism_of(
    problem: Problem, name: str, audits: Audits, values: ParameterValues
) -> Mechanism:
    """The mechanism, of parameters that were named and of small sizes else."""
    part = problem.part("mechanism", name)
    known = fields(part)
    for key in values:
        if key not in known:
            words = [*known, *fields(Options), "save", "call_seconds", *PROMISED]
            raise InvalidInput(key, values[key], f"mechanism={name}: {nearest(key, words)}")
    particular = audits.particular.get(name, {})
    mechanism: Mechanism = build(part, {**audits.parameters, **particular, **values})
    return mechanism


def call_of(case: Case, budgets: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The call in Python that gives an answer again; what has no short text is named."""
    values = {**budgets, **options}
    named = [f"{key}={value!r}" for key, value in values.items()]
    return f"pl.audit({', '.join([case.subject.name, 'pair', *named])})"
