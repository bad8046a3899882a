"""What a person asks: one unknown of a problem, and targets of its metrics.

Checked before anything is simulated.
"""

import inspect
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, replace
from functools import cached_property
from typing import Any

from pipeline.advice.levels import Range, possible, rounded
from pipeline.advice.risk import Risk, read_risk
from pipeline.advice.targets import Target, advice_of, read_targets
from pipeline.identity import registry
from pipeline.study.advice import Advice, Unknown
from pipeline.study.checks import ROLES
from pipeline.study.factors import released
from pipeline.study.parameters import InvalidInput, check_as, fields, nearest
from pipeline.study.problem import Problem
from pipeline.study.protocols import Components, Estimator
from pipeline.study.study import Study
from pipeline.study.untyped import Config, ParameterValues

SETTINGS = {"target", "unknown", "trust", "risk", "rounds", "seed"}  # of a question, no parameters
FILES = ("path", "items", "truth")  # of a person's own data, as in a config
SEED = fields(Study)["seed"]
# What one level of an unknown is called, where that is not its word.
LEVELS = {
    "people": "number of people",
    "items": "number of items",
    "questions": "number of questions",
    "person": "budget of a person",
    "missing": "share of missing answers",
}


@dataclass(frozen=True)
class Question:
    """A checked question. word: how the unknown is called.

    values: all other parameters, among them the parts.

    chosen: names of parameters that the person gave; typed: these, the unknown and the seed, as
    they were typed. Without a word all is known, and the axis is the mechanism. trust: the only
    kind of trust that is wanted; empty for any. risk: how much an attacker may learn of a person;
    None for no limit. person_from_risk: whether the budget of a person follows from it. within: the
    levels of the unknown at which the risk is kept; None for all at which the parts can be made.
    """

    problem: Problem
    word: str
    targets: tuple[Target, ...]
    values: ParameterValues
    derive: Mapping[str, str]
    seed: int
    chosen: frozenset[str] = frozenset()
    typed: ParameterValues = field(default_factory=dict)
    trust: str = ""
    risk: Risk | None = None
    person_from_risk: bool = False
    within: Range | None = None

    @cached_property
    def advice(self) -> Advice:
        """What the problem says of such questions."""
        return advice_of(self.problem)

    @property
    def unknown(self) -> Unknown:
        """The unknown's declaration."""
        return self.advice.unknowns[self.word]

    @property
    def level_name(self) -> str:
        """What one level of the unknown is called, such as "number of people" or "epsilon"."""
        return LEVELS.get(self.word, self.word)

    @property
    def parameter(self) -> str:
        """Name of the unknown among the parameters; where all is known, the mechanism."""
        if self.word:
            return self.unknown.parameter
        return "mechanism"

    @cached_property
    def whole(self) -> bool:
        """Whether the unknown is a whole number."""
        return any(
            "int" in str(declared.type)
            for declared in _declared(self.problem, self.values, self.parameter)
        )

    @property
    def has_unknown(self) -> bool:
        """Whether the model or the mechanism has the unknown as a parameter."""
        return any(True for _ in _declared(self.problem, self.values, self.parameter))

    @cached_property
    def limits(self) -> Range:
        """Levels of the unknown at which the parts can be made.

        They are within those that the problem looks at. InvalidInput, with the key that the person
        gave, where there is none.
        """
        if self.within is not None:
            return self.within
        low = rounded(self.unknown.low, self.whole)
        start = rounded(self.unknown.start, self.whole)
        high = rounded(self.unknown.high, self.whole)
        return possible(low, start, high, self.whole, self.refusal)

    def refusal(self, level: float) -> InvalidInput | None:
        """Why the parts cannot be made at a level; None where they can."""
        try:
            self.parts(level)
        except InvalidInput as error:
            return error
        return None

    def shown(self, level: float) -> float:
        """A level of the parameter as the person names it.

        1 minus the level where the word means what is left.
        """
        if self.unknown.left:
            return round(1 - level, 12)
        return level

    def study(self, level: object, block: int = 100) -> Study:
        """The study of one level.

        InvalidInput, with the key that the person gave, where a part refuses a value.
        """
        axes = {self.parameter: [level]}
        try:
            return Study(
                "advise",
                self.problem.name,
                seed=self.seed,
                replications=block,
                block=block,
                grid=axes,  # type: ignore[arg-type]
                parameters={
                    name: value for name, value in self.values.items() if name != self.parameter
                },
                derive=dict(self.derive),
                metrics=tuple(target.metric for target in self.targets),
                paired=tuple(dict.fromkeys(("mechanism", "estimator", self.parameter))),
            )
        except InvalidInput as error:
            allowed = re.sub(r" \[at [^]]*\]$", "", error.allowed)  # the level, which was not typed
            raise InvalidInput(self._typed_key(error.key), error.value, allowed) from None

    def _typed_key(self, key: str) -> str:
        """The key by which a person gave a parameter."""
        name = re.sub(r"^(parameters|grid|derive)\.", "", key)
        return re.sub(r"^data_", "data.", name)

    def parts(self, level: object) -> Components:
        """Parts of the study of one level."""
        study = self.study(level)
        return study.components(next(iter(study.grid)))

    def known(self, level: object, **changes: object) -> "Question":
        """The question with the unknown at a level and other changes: nothing is left to find."""
        return replace(self, word="", values={**self.values, self.parameter: level, **changes})

    def using(self, mechanism: str) -> "Question":
        """The question with another mechanism.

        It has an estimator that takes its release, and only values that its parts take.
        InvalidInput where the parts cannot be built.
        """
        values = {**self.values, "mechanism": mechanism}
        parts = [self.problem.part(role, values[role], role) for role in ROLES[:2]]
        estimator = self.problem.part("estimator", values["estimator"])
        if "estimator" not in self.chosen or not _takes(parts, estimator):
            values["estimator"] = estimator_for(self.problem, self.advice, values)
        parts.append(self.problem.part("estimator", values["estimator"]))
        parts += [self.problem.part("metric", target.metric) for target in self.targets]
        taken = {*ROLES}
        for part in parts:
            taken |= fields(part).keys()
        taken_values = {name: value for name, value in values.items() if name in taken}
        return replace(self, values=taken_values)

    def left_out(self, other: "Question") -> dict[str, Any]:
        """Parameters that the person gave and that the parts of another question do not take."""
        left_out = {}
        for key in sorted(self.chosen):
            name = self.advice.parameter_of(key) or key
            if name in self.values and name not in other.values:
                left_out[name] = self.values[name]
        return left_out

    def fits(self, mechanism: str) -> bool:
        """Whether the estimator that the person chose, if any, takes what a mechanism releases."""
        if "estimator" not in self.chosen:
            return True
        parts = [
            self.problem.part("model", self.values["model"]),
            self.problem.part("mechanism", mechanism),
        ]
        return _takes(parts, self.problem.part("estimator", self.values["estimator"]))

    def predicted(self, level: float) -> float | None:
        """The greatest sign · (predicted mean − value) of all targets.

        None where one has no prediction.
        """
        worst = -math.inf
        entries = {**self.values, self.parameter: level}
        for target in self.targets:
            function = self.advice.predicted.get(target.metric)
            if function is None:
                return None
            needed = inspect.signature(function).parameters
            for name, argument in needed.items():
                if name not in entries and argument.default is argument.empty:
                    return None
            mean = function(**{name: entries[name] for name in needed if name in entries})
            worst = max(worst, target.sign * (mean - target.value))
        return worst


def read(request: Mapping[str, Any]) -> Question:
    """The question of a request: `problem`, `target`, and what is known.

    InvalidInput, in one line, for every mistake.

    target: texts such as `kendall<=0.1`, with commas between, or a list of them. unknown: a word of
    the problem's advice; where it is not given, the one parameter that is needed and not given: of
    budgets that of a person, not that of an answer.
    Other keys are parameters, by their names or by those words; data.path, data.items and
    data.truth are files.
    """
    entries = {key: value for key, value in request.items() if value is not None}
    if "problem" not in entries:
        able = [name for name, known in registry.problems().items() if known.advice is not None]
        raise InvalidInput("problem", None, f"is needed: what is learned, one of {', '.join(able)}")
    problem = registry.problem(entries.pop("problem"))
    typed = {key: value for key, value in entries.items() if key != "target"}
    advice = advice_of(problem)
    targets = tuple(read_targets(problem, entries.pop("target", None)))
    seed = check_as(int, SEED, entries.pop("seed", 0), "seed")
    word = entries.pop("unknown", None)
    trust = _trust(advice, entries.pop("trust", ""))
    risk = _risk(advice, entries.pop("risk", None))
    if "data.path" in entries and not advice.recorded:
        raise InvalidInput(
            "data.path", entries["data.path"], f"problem={problem.name} takes no data of one's own"
        )
    files = {
        f"data_{name}": entries.pop(f"data.{name}") for name in FILES if f"data.{name}" in entries
    }
    chosen = frozenset(entries)
    values = {**advice.parameters}
    derive: dict[str, str] = {}
    if files:
        values |= {**advice.recorded, **files}
        derive = dict(advice.derive)
    for key, value in entries.items():
        name, level = _parameter(advice, key, value)
        if key != name and name in entries:
            raise InvalidInput(key, value, f"is {name}, which is given too; give one of both")
        values[name] = level
        derive.pop(name, None)
    person_from_risk = _takes_budget_from_risk(problem, advice, word, {**values, **derive}, risk)
    if person_from_risk:
        assert risk is not None
        values[advice.parameter_of("person")] = risk.single_budget()
    word = _unknown(problem, advice, word, values, derive, entries)
    if "estimator" in chosen and "mechanism" not in chosen:
        values["mechanism"] = _mechanism(problem, advice, values)
    values.setdefault("estimator", estimator_for(problem, advice, values))
    question = Question(
        problem,
        word,
        targets,
        values,
        derive,
        seed,
        chosen,
        typed,
        trust=trust,
        risk=risk,
        person_from_risk=person_from_risk,
    )
    _check_names(question)
    _check_needed(question)
    _ = question.limits  # raises InvalidInput
    return question


def _trust(advice: Advice, trust: object) -> str:
    """The kind of trust that is wanted; InvalidInput for another one than the problem's plans."""
    if trust == "":
        return ""
    if not advice.plans:
        raise InvalidInput("trust", trust, "this problem has no budgets of persons; leave it out")
    kinds = {plan.trust for plan in advice.plans}
    if not isinstance(trust, str) or trust not in kinds:
        raise InvalidInput("trust", trust, nearest(str(trust), kinds))
    return trust


def _risk(advice: Advice, text: object) -> Risk | None:
    """The risk that is wanted; InvalidInput where nothing follows from it here."""
    if text is None:
        return None
    if not advice.plans:
        raise InvalidInput("risk", text, "this problem has no budgets of persons; leave it out")
    return read_risk(text)


def _takes_budget_from_risk(
    problem: Problem, advice: Advice, word: object, known: Mapping[str, Any], risk: Risk | None
) -> bool:
    """Whether a risk sets the budget of a person: the budget is neither given nor the unknown.

    If everything else is given, the budget is the unknown, and no risk sets it.
    """
    person = advice.parameter_of("person")
    if risk is None or word in ("person", person):
        return False
    if any(known.get(name) is not None for name in (person, advice.parameter_of("epsilon"))):
        return False
    return word is not None or bool(_missing(problem, advice, known, {*known, person}))


def _parameter(advice: Advice, key: str, value: object) -> tuple[str, Any]:
    """Name and value of a parameter, from the name that is its own or one of the words."""
    unknown = advice.unknowns.get(key)
    if unknown is None:
        return key, value
    if not unknown.left:
        return unknown.parameter, value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise InvalidInput(key, value, f"must be a number ≥ 0 and < 1 ({unknown.meaning})")
    return unknown.parameter, round(1 - value, 12)


def _unknown(
    problem: Problem,
    advice: Advice,
    word: object,
    values: ParameterValues,
    derive: Mapping[str, str],
    entries: Config,
) -> str:
    """The name of the unknown: what the answer is to say."""
    if word is None:
        return _only_missing(problem, advice, values, derive, entries)
    chosen = _word(advice, word)
    name = advice.unknowns[chosen].parameter
    if name in values or name in derive:
        where = values.get(name, "taken from the file")
        raise InvalidInput(
            "unknown",
            chosen,
            f"is known already, {name}={where}; leave it out, or ask for another",
        )
    if not [*_declared(problem, values, name)]:
        raise InvalidInput(
            "unknown",
            chosen,
            f"mechanism={values.get('mechanism')} has no {name}; ask for another, "
            f"or give another mechanism: {', '.join(sorted(problem.mechanisms))}",
        )
    missing = _missing(problem, advice, values, {*values, *derive, name})
    if missing:
        names = ", ".join(missing.values())
        raise InvalidInput(
            "unknown", chosen, f"one thing can be asked for at a time: give {names}, too"
        )
    return chosen


def _word(advice: Advice, name: object) -> str:
    """The word of an unknown that is named by it, or by its parameter."""
    words = advice.unknowns
    for word, unknown in words.items():
        if name == unknown.parameter:
            return word
    if not isinstance(name, str) or name not in words:
        raise InvalidInput("unknown", name, nearest(str(name), words))
    return name


def _only_missing(
    problem: Problem,
    advice: Advice,
    values: ParameterValues,
    derive: Mapping[str, str],
    entries: Config,
) -> str:
    """The word of the one parameter that is needed and not given."""
    missing = _missing(problem, advice, values, {*values, *derive})
    if not missing:
        raise _nothing_left(problem, advice, values, entries)
    if len(missing) > 1:
        names = ", ".join(missing.values())
        raise InvalidInput(
            "unknown", "?", f"one thing can be asked for at a time: give all but one of {names}"
        )
    return next(iter(missing))


def _missing(
    problem: Problem, advice: Advice, values: ParameterValues, to_be_known: Collection[str]
) -> dict[str, str]:
    """What is needed and will not be known: word -> the word with its parameter."""
    missing = {
        word: _with_parameter(word, unknown)
        for word, unknown in advice.unknowns.items()
        if _is_needed(problem, values, to_be_known, unknown.parameter)
    }
    return _in_persons(problem, advice, values, missing)


def _in_persons(
    problem: Problem, advice: Advice, values: ParameterValues, missing: dict[str, str]
) -> dict[str, str]:
    """What is needed, with the budget of a person in place of an answer's: people are promised
    something per person. The same where the parts know no budget of a person.
    """
    person = advice.unknowns.get("person")
    if "epsilon" not in missing or person is None:
        return missing
    if not [*_declared(problem, values, person.parameter)]:
        return missing
    others = {word: name for word, name in missing.items() if word not in ("epsilon", "person")}
    return {"person": _with_parameter("person", person), **others}


def _is_needed(
    problem: Problem, values: ParameterValues, to_be_known: Collection[str], name: str
) -> bool:
    """Whether a parameter has neither a value nor a default, nor another one in its place."""
    if name in to_be_known:
        return False
    for declared in _declared(problem, values, name):
        instead = declared.metadata["instead"]
        if declared.default is MISSING or (instead is not None and instead not in to_be_known):
            return True
    return False


def _with_parameter(word: str, unknown: Unknown) -> str:
    """A word, with the name of its parameter where that is another."""
    if word == unknown.parameter:
        return word
    return f"{word} ({unknown.parameter})"


def _nothing_left(
    problem: Problem, advice: Advice, values: ParameterValues, entries: Config
) -> InvalidInput:
    """That all is known, and what may be left out, or asked for by its word."""
    leave_out = list[str]()
    ask_for = list[str]()
    replaced = set[str | None]()
    for name in values:
        replaced |= {declared.metadata["instead"] for declared in _declared(problem, values, name)}
    for word, unknown in advice.unknowns.items():
        if unknown.parameter in replaced or not [*_declared(problem, values, unknown.parameter)]:
            continue
        if unknown.parameter not in values and word not in ("epsilon", "person"):
            ask_for.append(f"unknown={word}")
        elif word in entries or unknown.parameter in entries:
            leave_out.append(word)
    known = {*leave_out, *(advice.unknowns[word].parameter for word in leave_out)}
    key = next((name for name in entries if name in known), "mechanism")
    ways = []
    if leave_out:
        ways.append(f"leave out {_either(leave_out)}")
    if ask_for and "data_path" not in values:
        ways.append(f"ask for {_either(ask_for)}")
    instead = ", or ".join(ways) or "give a mechanism that has a budget"
    return InvalidInput(
        key, entries.get(key, values["mechanism"]), f"nothing is left to ask: {instead}"
    )


def _either(names: list[str]) -> str:
    """Names with commas, and "or" before the last."""
    *first, last = names
    if not first:
        return last
    return f"{', '.join(first)} or {last}"


def _check_needed(question: Question) -> None:
    """Raise InvalidInput where a person must choose a parameter of a metric, and did not."""
    for target in question.targets:
        declared = fields(question.problem.part("metric", target.metric))
        for name in question.advice.needed:
            if name in declared and question.values.get(name) is None:
                meaning = declared[name].metadata["meaning"]
                raise InvalidInput(
                    "target",
                    target,
                    f"needs {name}, the {meaning}; add {name}=3, or another number",
                )


def _declared(problem: Problem, values: ParameterValues, name: str) -> Iterator[Any]:
    """Declarations of a parameter by the model and the mechanism that were chosen."""
    for role in ROLES[:2]:
        cls = problem.part(role, values.get(role), role)
        if name in fields(cls):
            yield fields(cls)[name]


def _mechanism(problem: Problem, advice: Advice, values: ParameterValues) -> str:
    """The usual mechanism, or the first other one that fits.

    It has a budget, and releases what the chosen estimator takes.
    """
    usual = str(values["mechanism"])
    estimator = problem.part("estimator", values["estimator"], "estimator")
    model = problem.part("model", values["model"], "model")
    budget = advice.parameter_of("epsilon")
    for name in [usual, *sorted(problem.mechanisms)]:
        mechanism = problem.part("mechanism", name)
        if (name == usual or budget in fields(mechanism)) and _takes([model, mechanism], estimator):
            return name
    return usual


def estimator_for(problem: Problem, advice: Advice, values: ParameterValues) -> str:
    """The first estimator, by preference, that takes what the mechanism releases."""
    parts = [problem.part(role, values.get(role), role) for role in ROLES[:2]]
    for name in [*advice.estimators, *sorted(set(problem.estimators) - set(advice.estimators))]:
        if _takes(parts, problem.part("estimator", name)):
            return name
    raise InvalidInput(
        "mechanism", values["mechanism"], "no estimator of this problem takes what it releases"
    )


def _takes(parts: list[Any], estimator: type[Estimator]) -> bool:
    """Whether an estimator takes what a model and a mechanism release."""
    model, mechanism = parts
    return issubclass(released(model.produces, mechanism.releases), estimator.accepts)


def _check_names(question: Question) -> None:
    """Raise InvalidInput for a parameter that no part takes.

    Other mistakes show when the parts are made.
    """
    parts = [question.problem.part(role, question.values[role], role) for role in ROLES]
    parts += [question.problem.part("metric", target.metric) for target in question.targets]
    known = {name for part in parts for name in fields(part)}
    unknowns = question.advice.unknowns
    words = {word for word, unknown in unknowns.items() if unknown.parameter in known}
    for name, value in question.values.items():
        if name not in known | {*ROLES}:
            raise InvalidInput(
                question._typed_key(name),
                value,
                f"no part of this question has such a parameter; {nearest(name, known | words | SETTINGS)}",
            )
