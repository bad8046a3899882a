"""The atlas: cells that were solved in advance, as a problem's package holds them in `atlas.json`,
in budgets of one answer, and in `promises.json`, in budgets of all answers of a person.

`python -m pipeline.advice.solve` makes these files. They are used only as long as the code that
made them is the code that runs: each mechanism's cells come with a digest of the model, the
mechanism, the estimator and the metrics.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.advice.question import Question
from pipeline.advice.targets import Target, advice_of
from pipeline.identity.fingerprints import source_digest
from pipeline.study import advice
from pipeline.study.arrays import Floats
from pipeline.study.checks import ROLES
from pipeline.study.files import read_regular
from pipeline.study.parameters import fields
from pipeline.study.problem import Problem
from pipeline.study.protocols import Metric
from pipeline.study.study import Study
from pipeline.study.untyped import Config, ParameterValues

ANSWER = "answer"  # unit of the budgets of an atlas
PERSON = "person"
UNITS = (ANSWER, PERSON)
FILES = {ANSWER: "atlas.json", PERSON: "promises.json"}
WORDS = {ANSWER: "epsilon", PERSON: "person"}  # of the unknown that is the last axis
SEED = 20_231  # of the cells; no command has it by default: certificates are of other replications
AT = 0.05  # false alarms of the attacks whose true alarms are stored


class NotInAtlas(Exception):
    """The atlas has no answer to a question; its text says why."""


@dataclass(frozen=True)
class Solved:
    """Cells of one mechanism, each array (levels of the first axis, …).

    axes: parameter -> levels, those of the atlas that the mechanism's parts take; the last is that
    of ε. mean, error: of each metric, and its standard error. risk: true alarms of the best attack
    on an "answer" and on a "person", at 5 % false ones, as far as the mechanism says them. code:
    digest of what computed them. replications: of each combination of sizes.
    """

    axes: Mapping[str, tuple[float, ...]]
    estimator: str
    code: str
    replications: tuple[int, ...]
    mean: Mapping[str, Floats]
    error: Mapping[str, Floats]
    risk: Mapping[str, Floats]

    @property
    def logarithms(self) -> list[Floats]:
        """Positions of the levels of each axis."""
        return [np.log(np.asarray(levels, float)) for levels in self.axes.values()]


@dataclass(frozen=True)
class Atlas:
    """All cells of a problem in budgets of a unit. axes: parameter -> levels.

    The last is that of the budget. parameters: what else was given.

    effort: seed and numbers of replications, see `pipeline.advice.solve`."""

    problem: Problem
    axes: Mapping[str, tuple[float, ...]]
    parameters: ParameterValues
    effort: Mapping[str, float]
    mechanisms: Mapping[str, Solved]


def unit_of(question: Question) -> str:
    """Whose budget a question is about: that of an "answer", or of a "person"."""
    person = question.advice.parameter_of("person")
    if person and (question.parameter == person or question.values.get(person) is not None):
        return PERSON
    return ANSWER


def path(problem: Problem, unit: str = ANSWER) -> Path | None:
    """Where the atlas of a problem is, or would be; None for one that no package holds."""
    try:
        spec = find_spec(problem.package)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / FILES[unit]


def stored(problem: Problem, unit: str = ANSWER) -> Atlas | None:
    """The atlas of a problem in budgets of a unit, if there is one.

    NotInAtlas where its file cannot be read, or is damaged.
    """
    file = path(problem, unit)
    if file is None or not file.is_file():
        return None
    try:
        return _parsed(problem, json.loads(read_regular(file)))
    except OSError as error:
        raise NotInAtlas(f"{file} cannot be read ({error.strerror})") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise NotInAtlas(
            f"{file} is damaged; install the package again, or `make atlas` makes it again"
        ) from None


def _parsed(problem: Problem, raw: Config) -> Atlas:
    """The atlas of a file's content."""
    axes = {name: tuple(levels) for name, levels in raw["axes"].items()}

    return Atlas(
        problem,
        axes,
        raw["parameters"],
        raw["effort"],
        {name: _solved(cells, axes) for name, cells in raw["mechanisms"].items()},
    )


def _solved(cells: Mapping[str, Any], axes: Mapping[str, tuple[Any, ...]]) -> Solved:
    """The cells of a mechanism, as a file has them. axes: of all mechanisms."""
    of_mechanism = {name: axes[name] for name in cells["axes"]}
    shape = [*map(len, of_mechanism.values())]
    return Solved(
        of_mechanism,
        cells["estimator"],
        cells["code"],
        tuple(cells["replications"]),
        _tables(cells["mean"], shape),
        _tables(cells["error"], shape),
        _tables(cells["risk"], shape),
    )


def _tables(tables: Mapping[str, Any], shape: Sequence[int]) -> dict[str, Floats]:
    return {name: np.asarray(values, float).reshape(shape) for name, values in tables.items()}


def declared(problem: Problem, unit: str = ANSWER) -> advice.AtlasGrid | None:
    """What a problem says is to be solved in advance, in budgets of a unit."""
    if problem.advice is None:
        return None
    if unit == PERSON:
        return advice_of(problem).promises
    return advice_of(problem).atlas


def question(
    problem: Problem, mechanism: str, sizes: ParameterValues, unit: str = ANSWER
) -> Question:
    """The question that cells of some sizes answer, with the budget of a unit unknown.

    Its targets name the metrics only.
    """
    about = advice_of(problem)
    wanted = declared(problem, unit)
    assert wanted is not None
    targets = []
    for name in wanted.metrics:
        metric = problem.metric(name)
        least, most = range_of(metric)
        targets.append(Target(name, "<=", least, least, most))
    values = {**about.parameters, **wanted.parameters, **sizes, "estimator": about.estimators[0]}
    unplanned = Question(problem, WORDS[unit], tuple(targets), values, {}, SEED)
    return _with_mechanism(unplanned, mechanism, unit)


def _with_mechanism(question: Question, mechanism: str, unit: str) -> Question:
    """A question with a mechanism; of a person's budget also with the estimator that the first plan
    with that mechanism names, unless the person chose one.
    """
    if unit == ANSWER or "estimator" in question.chosen:
        return question.using(mechanism)
    planned = [plan for plan in question.advice.plans if plan.parameters["mechanism"] == mechanism]
    values = {**question.values, **planned[0].parameters}
    chosen = frozenset(planned[0].parameters.keys() & {"estimator"})
    with_plan = replace(question, values=values, chosen=chosen).using(mechanism)
    return replace(with_plan, chosen=question.chosen)


def axes_of(problem: Problem, mechanism: str, unit: str = ANSWER) -> dict[str, tuple[float, ...]]:
    """Axes of a mechanism's cells, parameter -> levels: those of the problem's atlas that its parts
    take.
    """
    wanted = declared(problem, unit)
    assert wanted is not None
    sizes = {name: levels[0] for name, levels in wanted.axes.items()}
    taken = {*question(problem, mechanism, sizes, unit).values}
    if mechanism in wanted.all_questions:
        taken.discard(advice_of(problem).parameter_of("questions"))
    return {name: levels for name, levels in wanted.axes.items() if name in taken}


def range_of(metric: type[Metric]) -> tuple[float, float]:
    """Range of a metric's values."""
    return metric.least, metric.most


def code(question: Question) -> str:
    """Digest of the code that computes the cells of a question."""
    names = [(role, question.values[role]) for role in ROLES]
    names += [("metric", target.metric) for target in question.targets]
    return source_digest([Study, *(question.problem.part(role, name) for role, name in names)])


def current(problem: Problem, mechanism: str, solved: Solved, unit: str = ANSWER) -> bool:
    """Whether a mechanism's cells were made by the code that runs now."""
    wanted = declared(problem, unit)
    if wanted is None or mechanism not in wanted.mechanisms:
        return False
    sizes = {name: levels[0] for name, levels in wanted.axes.items()}
    return (
        solved.axes == axes_of(problem, mechanism, unit)
        and code(question(problem, mechanism, sizes, unit)) == solved.code
    )


def fitting(question: Question) -> dict[str, tuple[Question, Solved]]:
    """Mechanism -> the question with it, and its cells.

    NotInAtlas where a question needs other cells.

    Mechanisms that need a size of which the question says nothing are left out, unless the question
    names one. Of a person's budget the number of questions may be left open.
    """
    unit = unit_of(question)
    atlas = stored(question.problem, unit)
    if atlas is None:
        raise NotInAtlas("this problem has none")
    _check(question, atlas, unit)
    chosen = "mechanism" in question.chosen
    names = [name for name in atlas.mechanisms if _is_wanted(question, name, unit)]
    if chosen:
        names = [question.values["mechanism"]]
    fitting = {}
    for name in names:
        if name not in atlas.mechanisms:
            raise NotInAtlas(f"no cells for mechanism={name}")
        solved = atlas.mechanisms[name]
        other = _with_mechanism(question, name, unit)
        unknown = _unknown_sizes(other, solved, unit)
        if unknown and not chosen:
            continue
        if unknown:
            raise NotInAtlas(f"no cells for mechanism={name} without {', '.join(unknown)}")
        _check_cells(other, name, solved, unit)
        fitting[name] = (other, solved)
    if not fitting:
        raise NotInAtlas("no cells of a mechanism for what is given")
    return fitting


def _is_wanted(question: Question, mechanism: str, unit: str) -> bool:
    """Whether a mechanism's cells are about the kind of trust and the questions that are asked."""
    if unit == ANSWER:
        return True
    trusts = [
        plan.trust for plan in question.advice.plans if plan.parameters["mechanism"] == mechanism
    ]
    if question.trust and question.trust not in trusts:
        return False
    wanted = declared(question.problem, unit)
    asks_all = wanted is not None and mechanism in wanted.all_questions
    return not (asks_all and _says_questions(question))


def _says_questions(question: Question) -> bool:
    """Whether a question gives the number of questions, or asks for it."""
    name = question.advice.parameter_of("questions")
    return bool(name) and (name == question.parameter or question.values.get(name) is not None)


def _unknown_sizes(question: Question, solved: Solved, unit: str) -> list[str]:
    """Axes of a mechanism's cells at which no level is known, and none can be chosen."""
    open_axis = question.advice.parameter_of("questions") if unit == PERSON else ""
    known = (question.parameter, open_axis)
    return [axis for axis in solved.axes if axis not in known and size(question, axis) is None]


def _check_cells(question: Question, mechanism: str, solved: Solved, unit: str) -> None:
    """Raise NotInAtlas where a mechanism's cells have another estimator, other metrics or other
    code than a question.
    """
    estimator = question.values["estimator"]
    if estimator != solved.estimator:
        raise NotInAtlas(f"no cells for mechanism={mechanism} with estimator={estimator}")
    for target in question.targets:
        if target.metric not in solved.mean:
            raise NotInAtlas(f"no cells for {target.metric}, only {', '.join(solved.mean)}")
    if not current(question.problem, mechanism, solved, unit):
        raise NotInAtlas(
            "its cells were made by other code than this; `make atlas` makes them again"
        )


def _check(question: Question, atlas: Atlas, unit: str) -> None:
    """Raise NotInAtlas where a parameter is not what the cells have."""
    if question.derive:
        raise NotInAtlas("no cells for data of one's own")
    if question.risk is not None:
        raise NotInAtlas(f"it knows no risks, such as risk={question.risk}")
    if question.parameter not in atlas.axes:
        raise NotInAtlas(f"no axis {question.word}")
    fixed = {**advice_of(question.problem).parameters, **atlas.parameters}
    wanted = declared(question.problem, unit)
    for name, value in question.values.items():
        if name in atlas.axes and value is not None:
            levels = atlas.axes[name]
            if not levels[0] <= value <= levels[-1]:
                raise NotInAtlas(
                    f"{name}={value} lies outside of its cells, {levels[0]:g} to {levels[-1]:g}"
                )
        elif wanted is not None and name in wanted.halves:
            _check_half(question, name, wanted.halves[name])
        elif name not in ("mechanism", "estimator") and _plain(value) != _plain(
            fixed.get(name, _default(question, name))
        ):
            raise NotInAtlas(f"no cells for {name}={value}")


def _check_half(question: Question, name: str, axis: str) -> None:
    """Raise NotInAtlas where a parameter is not half of an axis, as it is in all cells."""
    whole = question.values.get(axis)
    if whole is None:
        raise NotInAtlas(f"its cells have {name}={axis}/2, and {axis} is not known")
    if question.values[name] != whole // 2:
        raise NotInAtlas(
            f"no cells for {name}={question.values[name]}, only for {name}={axis}/2={whole // 2}"
        )


def size(question: Question, name: str) -> float | str | None:
    """Value of a parameter in a question, or else its default; None where it has neither."""
    value: float | str | None = question.values.get(name, _default(question, name))
    return value


def _default(question: Question, name: str) -> object:
    """Default of a parameter of the question's parts; None where it has none."""
    for role in ROLES:
        declared = fields(question.problem.part(role, question.values[role])).get(name)
        if declared is not None and declared.default is not MISSING:
            return declared.default
        if declared is not None:
            return None
    return None


def _plain(value: object) -> object:
    """A value without the blanks that a text may have."""
    if isinstance(value, str):
        return "".join(value.split())
    return value
