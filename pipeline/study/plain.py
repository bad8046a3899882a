"""Parts of a problem that are made of two plain functions: one generates data, one analyses them.

`problem_of` makes an ordinary problem: its model calls `generate`, its mechanism hands the data on
as they are, its estimator calls `analyse`, and each metric picks one number of what that gives. So
a study of plain functions is simulated, resumed, judged and reported like any other.

    generate(rng, n=…, …) -> data             one data set, of any type
    analyse(data, …) -> {"measure": number}   what is measured on it; None: no valid result

If `generate` takes `reps` as well, it gives all data sets of a block at once, and `analyse` gives
for each measure as many numbers, (reps,). In place of a function, a program in another language may
analyse the data, and there may be several of both, each an estimator of its own name.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from pipeline.study import exchange
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.checks import ROLES
from pipeline.study.guarantee import unprotected
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseEstimator, BaseMechanism, BaseMetric, BaseModel
from pipeline.study.problem import Problem

RNG = "rng"
REPS = "reps"
SCRIPT = "__main__"  # module of functions that know none
COST = 1e5  # of one replication: nobody knows it, and all cells count alike
MODEL = "generate"
MECHANISM = "none"
ESTIMATOR = "analyse"
Level = bool | int | float | str
Function = Callable[..., Any]


@runtime_checkable
class Analyser(Protocol):
    """A program that analyses data sets, such as `pipeline.execution.programs.Program`."""

    @property
    def name(self) -> str:
        """Name of its file."""

    def measure(
        self,
        sets: Sequence[Any],
        parameters: Mapping[str, Any],
        rng: np.random.Generator,
        names: Sequence[str],
    ) -> dict[str, Floats]:
        """Name -> (number of sets,) numbers, NaN where there is none."""


@dataclass(frozen=True)
class DataSets:
    """The data of all replications of a block. sets: a list of them, or what a function gives that
    makes all at once. size: how many replications they are of.
    """

    sets: Any
    size: int


@dataclass(frozen=True)
class Measured:
    """What was measured: name -> (reps,) numbers. converged: (reps,) whether there is a result."""

    values: Mapping[str, Floats]
    converged: Booleans


class Generated(BaseModel):
    """A model whose data a function generates; classes for one function each derive from it."""

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = DataSets
    function: ClassVar[Function]
    at_once: ClassVar[bool]

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> Floats:
        """Nothing is to be learned but what is measured: zeros, (reps,)."""
        return np.zeros(reps)

    def simulate(self, truth: Floats, rng: np.random.Generator) -> DataSets:
        """The data sets of as many replications."""
        size = len(truth)
        values = _values(self)
        if self.at_once:
            return DataSets(self.function(rng, size, **values), size)
        sets = [self.function(rng, **values) for _ in range(size)]
        return DataSets(sets, size)

    def cost(self) -> float:
        """The same for every cell."""
        return COST


@dataclass(frozen=True)
class HandedOn(BaseMechanism):
    """The data as they are: a plain study says nothing of privacy."""

    guarantee = unprotected("a study of two plain functions, which says nothing of privacy")
    accepts: ClassVar[type] = DataSets
    releases: ClassVar[type] = DataSets

    def release(self, data: DataSets, rng: np.random.Generator) -> DataSets:
        """The data."""
        return data

    def cost(self) -> float:
        """Nothing is done."""
        return 0.0


class Analysed(BaseEstimator):
    """An estimator that is a function of one data set, or of all data sets of a block."""

    accepts: ClassVar[type] = DataSets
    function: ClassVar[Function]
    at_once: ClassVar[bool]
    random: ClassVar[bool]
    measures: ClassVar[tuple[str, ...]]

    def fit(self, release: DataSets, rng: np.random.Generator) -> Measured:
        """What the function measures on all data sets."""
        values = _values(self)
        if self.random:
            values[RNG] = rng
        if self.at_once:
            return self._of_all(self.function(release.sets, **values), release.size)
        table = np.full((release.size, len(self.measures)), np.nan)
        converged = np.zeros(release.size, bool)
        for number, data in enumerate(release.sets):
            result = self.function(data, **values)
            if result is None:
                continue
            converged[number] = True
            for column, name in enumerate(self.measures):
                table[number, column] = _number(result, name)
        columns = {name: table[:, column] for column, name in enumerate(self.measures)}
        return Measured(columns, converged)

    def _of_all(self, result: object, size: int) -> Measured:
        """What was measured on all data sets at once."""
        columns = {}
        for name in self.measures:
            columns[name] = _column(_named(result, name), name, size)
        return Measured(columns, np.full(size, True))

    def cost(self) -> float:
        """The same for every cell."""
        return COST


class AnalysedByProgram(BaseEstimator):
    """An estimator that is a program, which gets the data sets of a block, and all parameters."""

    accepts: ClassVar[type] = DataSets
    program: ClassVar[Analyser]
    at_once: ClassVar[bool]
    measures: ClassVar[tuple[str, ...]]

    def fit(self, release: DataSets, rng: np.random.Generator) -> Measured:
        """What the program measures; a data set without any number has no valid result."""
        sets = release.sets
        if self.at_once:
            sets = exchange.split(sets, release.size)
        columns = self.program.measure(sets, _values(self), rng, self.measures)
        lacking = [np.isnan(column) for column in columns.values()]
        return Measured(columns, ~np.logical_and.reduce(lacking))

    def cost(self) -> float:
        """The same for every cell."""
        return COST


class Picked(BaseMetric):
    """A metric that is one number of what was measured. name: of it."""

    long_name: ClassVar[str]
    units: ClassVar[str]
    name: ClassVar[str]

    def __call__(self, truth: Floats, release: DataSets, estimate: Measured) -> Floats:
        """(reps,): the number of each replication."""
        return estimate.values[self.name]


def problem_of(
    name: str,
    generate: Function,
    analysers: Mapping[str, Function | Analyser],
    levels: Mapping[str, Sequence[Level]],
    measures: Mapping[str, Mapping[str, Any]],
    claims: Sequence[Any] = (),
) -> Problem:
    """The problem of a function that generates data and of what analyses them.

    analysers: name -> function or program. levels: of every parameter, from which its type follows.
    measures: name -> what is said of it: long_name, units, least, most. Raises InvalidInput for
    functions with other arguments.

    >>> def coin(rng, p):
    ...     return rng.random() < p
    >>> analysers = {"analyse": lambda heads: {"heads": heads}}
    >>> toy = problem_of("toy", coin, analysers, {"p": [0.5]}, {"heads": {}})
    >>> sorted(toy.metrics)
    ['heads']
    """
    first = _arguments(generate, "generate", RNG)
    at_once = first[:1] == [REPS]
    takes = [argument for argument in first if argument != REPS]
    model = _class_of(generate, Generated, takes, levels, {"at_once": at_once})
    facts = {"at_once": at_once, "measures": tuple(measures)}
    module = generate.__module__ or SCRIPT
    estimators = {}
    for estimator, analyser in analysers.items():
        if isinstance(analyser, Analyser):
            estimators[estimator] = _class_of_program(analyser, takes, levels, facts, generate)
        else:
            estimators[estimator] = _class_of_analyser(analyser, levels, facts)
    return Problem(
        name,
        name.replace("_", " "),
        module,
        models={MODEL: model},
        mechanisms={MECHANISM: HandedOn},
        estimators=estimators,
        metrics={measure: _metric(measure, said) for measure, said in measures.items()},
        claims=tuple(claims),
    )


def is_plain(problem: Problem | None) -> bool:
    """Whether a problem was made of two functions, which may be made again."""
    if problem is None:
        return False
    model = problem.models.get(MODEL)
    return isinstance(model, type) and issubclass(model, Generated)


def _arguments(function: Function, role: str, first: str) -> list[str]:
    """Names of the arguments after the first one; InvalidInput for a function without it."""
    if not callable(function):
        raise InvalidInput(role, function, "must be a function")
    named = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for argument in named:
        if argument.kind in kinds:
            raise InvalidInput(role, str(argument), "must name its arguments, one by one")
    names = [argument.name for argument in named]
    if not names or (first and names[0] != first):
        wanted = f"{first}, a generator of NumPy" if first else "the data"
        raise InvalidInput(role, ", ".join(names), f"its first argument must be {wanted}")
    return names[1:]


def _class_of_analyser(
    function: Function, levels: Mapping[str, Sequence[Level]], facts: Mapping[str, Any]
) -> type:
    """The class of estimators that call a function."""
    names = _arguments(function, "analyse", "")
    analysed = [name for name in names if name != RNG]
    return _class_of(function, Analysed, analysed, levels, {**facts, "random": RNG in names})


def _class_of_program(
    program: Analyser,
    takes: Sequence[str],
    levels: Mapping[str, Sequence[Level]],
    facts: Mapping[str, Any],
    generate: Function,
) -> type:
    """The class of estimators that call a program, which gets all parameters.

    takes: names of those of `generate`. The module is that of `generate`, as workers know it.
    """
    names = [name for name in {**dict.fromkeys(takes), **levels} if name not in ROLES]
    for name in names:
        if name in exchange.RESERVED:
            allowed = f"is a column of what a program gets: {', '.join(exchange.RESERVED)}"
            raise InvalidInput(f"grid.{name}", levels.get(name), f"{allowed}; rename it")
    defaults = inspect.signature(generate).parameters
    declared = [
        _declared(name, levels.get(name, ()), defaults.get(name), program.name) for name in names
    ]
    namespace = {
        "__doc__": f"{program.name}, a program.",
        "__module__": generate.__module__ or SCRIPT,
        "program": program,
        **facts,
    }
    title = f"AnalysedBy_{re.sub(r'[^A-Za-z0-9]', '_', program.name)}"
    return _frozen_class(title, declared, AnalysedByProgram, namespace)


def _class_of(
    function: Function,
    base: type,
    names: Sequence[str],
    levels: Mapping[str, Sequence[Level]],
    facts: Mapping[str, Any],
) -> type:
    """A class of parts that calls a function, whose arguments are its parameters."""
    arguments = inspect.signature(function).parameters
    declared = [
        _declared(name, levels.get(name, ()), arguments[name], function.__name__) for name in names
    ]
    namespace = {
        "__doc__": function.__doc__ or f"{function.__name__}, a plain function.",
        "__module__": function.__module__ or SCRIPT,
        "function": staticmethod(function),
        **facts,
    }
    title = f"{base.__name__}By_{function.__name__.strip('<>')}"
    return _frozen_class(title, declared, base, namespace)


def _declared(
    name: str, levels: Sequence[Level], argument: inspect.Parameter | None, owner: str
) -> tuple[str, type, Any]:
    """A parameter of a part: its name, its type and its declaration. owner: who takes it."""
    has_default = argument is not None and argument.default is not inspect.Parameter.empty
    known = [*levels]
    if argument is not None and has_default:
        known.append(argument.default)
    kind = _kind(name, known)
    made = parameter(f"argument of {owner}", infinite=kind is float)
    if argument is not None and has_default:
        made = dataclasses.field(default=argument.default, metadata=made.metadata)
    return name, kind, made


def _frozen_class(
    title: str,
    declared: Sequence[tuple[str, type, Any]],
    base: type,
    namespace: Mapping[str, Any],
) -> type:
    """A frozen dataclass of some parameters."""
    return dataclasses.make_dataclass(
        title, declared, bases=(base,), namespace=dict(namespace), frozen=True, kw_only=True
    )


def _kind(name: str, levels: Sequence[Level]) -> type:
    """The type that all levels of a parameter have."""
    levels = [level.item() if isinstance(level, np.generic) else level for level in levels]
    if not levels:
        raise InvalidInput(f"grid.{name}", None, "is an argument without a value; give its levels")
    kinds = {type(level) for level in levels}
    for kind in (bool, int, str):
        if kinds == {kind}:
            return kind
    if kinds <= {int, float}:
        return float
    raise InvalidInput(f"grid.{name}", levels, "must be numbers, or texts, or true and false")


def _metric(name: str, said: Mapping[str, Any]) -> type:
    """The class of a metric. said: long_name, units, least, most, where these are known."""
    facts = {"long_name": name.replace("_", " "), "units": "1", **said, "name": name}
    namespace = {**facts, "__doc__": f"{facts['long_name']}.", "__module__": __name__}
    return dataclass(frozen=True)(type(f"Picked_{name}", (Picked,), namespace))


def _values(part: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    """Values of the arguments of a part's function."""
    return {declared.name: getattr(part, declared.name) for declared in dataclasses.fields(part)}


def _named(result: object, name: str) -> object:
    """The measure of a name in what a function gave."""
    if not isinstance(result, Mapping) or name not in result:
        given = f"{[*result]}" if isinstance(result, Mapping) else type(result).__name__
        raise InvalidInput("analyse", given, f"must give a mapping with {name}, or None")
    return result[name]


def _number(result: object, name: str) -> float:
    """The measure of a name as a number."""
    value: Any = _named(result, name)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"analyse.{name}", _in_words(value), "must be one number") from None


def _column(values: object, name: str, size: int) -> Floats:
    """The measure of a name on all data sets of a block, (reps,)."""
    allowed = f"must be numbers, (reps,) = ({size},)"
    try:
        column = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InvalidInput(f"analyse.{name}", _in_words(values), allowed) from None
    if column.shape != (size,):
        raise InvalidInput(f"analyse.{name}", _in_words(column), allowed)
    return column


def _in_words(value: object) -> str:
    """An array by its shape, anything else by itself."""
    if isinstance(value, np.ndarray):
        return f"an array {value.shape}"
    return repr(value)
