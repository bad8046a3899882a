"""Studies of two plain functions: made, registered, and found again by the file that makes them."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pipeline.execution.programs import Program
from pipeline.identity import own_files
from pipeline.identity.registry import register
from pipeline.study import plain
from pipeline.study.grid import Grid, Level, read_products
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.study import Study

REPLICATIONS = 1000
SEED = 1
MOST_BLOCK = 1000  # replications in a unit, unless a block is given
LEAST_BLOCK = 50  # or all of them, where no larger number divides them
LARGEST_BLOCK = 100_000  # and where they are not more than these
SAID = ("long_name", "units", "least", "most")
_OF_FILES: dict[str, Study] = {}  # name of a file -> the last study that it made
Analysis = Callable[..., Any] | Program | str | Path
Measures = Sequence[str] | Mapping[str, "str | Mapping[str, Any]"]


class Rest(TypedDict, total=False):
    """What else a study of two plain functions takes, as `Study` has it."""

    replications: int
    seed: int
    block: int
    parameters: Mapping[str, Level]
    paired: Sequence[str]
    precision: Mapping[str, Mapping[str, float]]
    refine: Mapping[str, float | str]
    until: str | Mapping[str, Any]
    statistics: Mapping[str, Sequence[str]]


def study(
    generate: Callable[..., Any],
    analyse: Analysis | Mapping[str, Analysis] | None = None,
    *,
    grid: Mapping[str, Sequence[Level]] | Sequence[Mapping[str, Sequence[Level]]] | Grid,
    measures: Measures,
    name: str | None = None,
    method: str | Path | Program | None = None,
    claims: Sequence[Any] = (),
    **rest: Unpack[Rest],
) -> Study:
    """A study of two plain functions, which `pl.run` and `pl.report` take like any other.

    Args:
        generate: `generate(rng, n, …)` gives one data set, of any type, from a generator of NumPy
            and parameters; `generate(rng, reps, n, …)` gives all data sets of a block at once.
        analyse: `analyse(data, …)` gives a mapping of a measure to its number, or None where
            there is no valid result; with `reps`, to numbers (reps,). It may take `rng`, too.
            Several methods are a mapping of a name to each: the axis `estimator`.
        grid: parameter of either function -> its levels.
        measures: names; or name -> what it is, in words, or a mapping with long_name, units, and
            least and most, the range of its values.
        name: of the study and its folder; that of `generate` unless it is given.
        method: a program in place of `analyse`, such as "fit.R"; see `pl.Program`.
        claims: `pipeline.analysis.claims.Claim`s on the study.
        rest: as of a `Study`: replications (1,000), seed (1), block, the replications of a unit
            (at most 1,000), parameters with one value, precision, refine, until,
            statistics, paired.

    Raises InvalidInput, which names the argument.

    >>> import pipeline as pl
    >>> def two_groups(rng, n, shift):
    ...     return rng.standard_normal(n), shift + rng.standard_normal(n)
    >>> def compare(data):
    ...     return {"difference": data[1].mean() - data[0].mean()}
    >>> made = pl.study(two_groups, compare, grid={"n": [10, 40], "shift": [0.0, 0.5]},
    ...                 measures=["difference"], replications=20)
    >>> pl.simulate(made)["difference"].dims
    ('n', 'shift', 'replication')
    """
    if not callable(generate):
        raise InvalidInput("generate", generate, "must be a function that gives one data set")
    title = name or re.sub(r"\W", "_", generate.__name__.strip("<>"))
    options: dict[str, Any] = {**rest}
    for key in options.keys() - Rest.__annotations__.keys():
        takes = ("grid", "measures", "name", "claims", *Rest.__annotations__)
        raise InvalidInput(key, options[key], f"no such argument; {nearest(key, takes)}")
    constants = dict(options.pop("parameters", {}))
    replications = options.pop("replications", REPLICATIONS)
    options.setdefault("block", _block(replications))
    options.setdefault("seed", SEED)
    levels = _levels(grid, constants)
    described = _described(measures)
    known_as = re.sub(r"\W", "_", title)
    analysers = _analysers(analyse, method)
    axes = _with_methods(grid, analysers, levels)
    problem = plain.problem_of(known_as, generate, analysers, levels, described, claims)
    _refuse_unknown(levels, problem.models[plain.MODEL], *problem.estimators.values())
    register(problem)
    parts = {"model": plain.MODEL, "mechanism": plain.MECHANISM}
    if len(analysers) == 1:
        parts["estimator"] = next(iter(analysers))
    made = Study(
        title,
        known_as,
        replications=replications,
        grid=axes,  # type: ignore[arg-type] # read by the study
        parameters={**parts, **constants},
        metrics=tuple(described),
        **options,
    )
    file = own_files.executing()
    if file is not None:
        _OF_FILES[file] = made
    return made


def _analysers(
    analyse: Analysis | Mapping[str, Analysis] | None, method: str | Path | Program | None
) -> dict[str, Callable[..., Any] | Program]:
    """What analyses the data, by name. Raises InvalidInput."""
    if (analyse is None) == (method is None):
        allowed = "give either analyse, a function, or method, a program such as 'fit.R'"
        raise InvalidInput("method", method, allowed)
    if not isinstance(analyse, Mapping):
        analysis = method if analyse is None else analyse
        assert analysis is not None
        return {plain.ESTIMATOR: _analyser(analysis)}
    if not analyse:
        raise InvalidInput("analyse", analyse, "must have at least one method")
    return {name: _analyser(analysis) for name, analysis in analyse.items()}


def _analyser(analysis: Analysis) -> Callable[..., Any] | Program:
    """A function as it is; a path as its program."""
    if isinstance(analysis, str | Path):
        return Program(str(analysis))
    return analysis


def _with_methods(grid: object, analysers: Mapping[str, Any], levels: Mapping[str, Any]) -> object:
    """The grid, which several methods are an axis of, unless it says which are to be tried."""
    if len(analysers) == 1 or "estimator" in levels:
        return grid
    if isinstance(grid, Grid):
        products: Sequence[Mapping[str, Any]] = [dict(product) for product in grid.products]
    else:
        products = read_products(grid)
    return [{**product, "estimator": [*analysers]} for product in products]


def study_of_file(path: str) -> Study:
    """The study that a file makes, which is executed if it was not. Raises InvalidInput."""
    file = own_files.read(path)
    own_files.execute(file)
    if file.name not in _OF_FILES:
        allowed = "makes no study; it must call pl.study(generate, analyse, grid=…, measures=…)"
        raise InvalidInput("experiment", path, allowed)
    return _OF_FILES[file.name]


def _levels(grid: object, constants: Mapping[str, Level]) -> dict[str, list[Level]]:
    """All levels of every parameter."""
    if isinstance(grid, Grid):
        products: Sequence[Mapping[str, Any]] = [dict(product) for product in grid.products]
    else:
        products = read_products(grid)
    levels: dict[str, list[Level]] = {key: [value] for key, value in constants.items()}
    for product in products:
        for axis, values in product.items():
            levels.setdefault(axis, []).extend(values)
    return levels


def _described(measures: Measures) -> dict[str, Mapping[str, Any]]:
    """What is said of each measure."""
    if isinstance(measures, str) or not measures:
        raise InvalidInput("measures", measures, "must be a list of names, at least one")
    if not isinstance(measures, Mapping):
        return {name: {} for name in measures}
    described: dict[str, Mapping[str, Any]] = {}
    for name, said in measures.items():
        described[name] = {"long_name": said} if isinstance(said, str) else said
        if not isinstance(described[name], Mapping):
            allowed = f"must be a text, or a mapping with {', '.join(SAID)}"
            raise InvalidInput(f"measures.{name}", said, allowed)
        for key in described[name].keys() - {*SAID}:
            allowed = f"must be one of {', '.join(SAID)}"
            raise InvalidInput(f"measures.{name}.{key}", said, allowed)
    return described


def _refuse_unknown(levels: Mapping[str, Any], *parts: type) -> None:
    """Raise InvalidInput for a parameter that neither function takes."""
    takes: set[str] = set()
    for part in parts:
        takes.update(part.__dataclass_fields__)  # type: ignore[attr-defined]
    for name in levels.keys() - takes - {"estimator"}:
        allowed = f"neither function takes it; they take {', '.join(sorted(takes))}"
        raise InvalidInput(f"grid.{name}", levels[name], allowed)


def _block(wanted: object) -> int:
    """The largest number of at most MOST_BLOCK that divides the replications.

    All replications, where only a small number does, as of a prime: a unit takes a millisecond
    besides what its replications take. 1 for what is no number of replications, which the study
    refuses.
    """
    if not isinstance(wanted, int | float) or wanted < 1 or wanted % 1:
        return 1
    replications = int(wanted)
    sizes = range(min(MOST_BLOCK, replications), 0, -1)
    largest = next(size for size in sizes if replications % size == 0)
    if largest < LEAST_BLOCK and replications <= LARGEST_BLOCK:
        return replications
    return largest
