"""A study: what to simulate, and the simulation of one unit. Pure: no Dask, no Zarr, no files.

One unit is (cell, block of replications). Its numbers pass through four steps,
a whole block at once:

    truth   = model.truth(rng, reps, population)     what is to be learned
    data    = model.simulate(truth, rng)             what people answered; may be lazy, may stream
    release = mechanism.release(data, rng)           what leaves their hands
    fit     = estimator.fit(release, rng)            has `converged`, (reps,)
    values  = metric(truth, release, fit)            (reps,)

What one step gives is read-only for the next (`pipeline.study.handover`). Only
neighbours in this chain know each other's types: what each part must offer is
in `pipeline.study.protocols`. Every component is a frozen dataclass whose
fields are parameters of the study, matched by name. Parameters come from three
sources: constants, the labels of the cell, and derivations (functions of other
parameters).
"""

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from pipeline.study import checks, factors
from pipeline.study.arrays import Array, Floats
from pipeline.study.checks import ROLES, Declarations
from pipeline.study.factors import PER_UNIT, checked_costs, reads_errors, released
from pipeline.study.grid import Grid, Level, read_products
from pipeline.study.handover import Chain
from pipeline.study.known import problem_named
from pipeline.study.making import build, computed, predicted_cost
from pipeline.study.parameters import (
    Checked,
    DataFile,
    InvalidInput,
    arguments,
    declaration,
    fields,
    nearest,
    shorten,
)
from pipeline.study.parts import Simulated
from pipeline.study.problem import Problem
from pipeline.study.protocols import (
    Components,
    Estimator,
    Mechanism,
    Metric,
    Model,
    Release,
    Truth,
)
from pipeline.study.refinement import Refinement, read_refinement
from pipeline.study.slices import Whole, sliced_unit, slices
from pipeline.study.statistics import Statistic, read_statistics
from pipeline.study.streams import Stream, canonical, digest
from pipeline.study.targets import Target, read_targets
from pipeline.study.until import Until, read_until
from pipeline.study.untyped import CellLabels, ParameterValues

NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
NAME_LONGEST = 100  # bytes, as it names a folder: file systems allow 255, the study adds its key

# "data", "release", "estimate" -> what they were made from, and they
Memo: TypeAlias = dict[str, tuple[Any, Any]]
STREAMS = ("population", "truth", "data", "noise", "estimator")
Part = TypeVar("Part")


@dataclass(frozen=True)
class Study(Checked):
    """Statistics of a study and nothing else: no cluster, no folder.

    Checked as a config is, when it is made.

    grid: a `Grid`, or what `Grid.of` is made from: a mapping of axes to levels, or a list of such
    mappings. parameters: constants, among them model, mechanism and estimator unless these are axes
    of the grid; a data file is given by its path. metrics: names, at least one. derive: parameter
    -> name of a derivation. paired: labels across which cells share their data (and, but for the
    mechanism, their release), so that differences between them are paired. coordinates: derivations
    that nothing is simulated with, for figures and claims. precision: `Target`s, or a mapping as of
    a config; `replications` is then the most that a cell gets. refine: a `Refinement`, or a mapping
    as of a config; a run then adds levels to the grid where a mean crosses a level. until: an
    `Until`, or "claims"; a run then stops once all claims are decided, with `replications` at most.
    statistics: `Statistic`s, or a mapping of metrics to names such as "median", which summaries then
    have beside the means.

    Raises InvalidInput, which names the key as a config does (`grid.m`,
    `parameters.epsilon`), for every value outside of its declaration, unknown
    or repeated name, parameter that no part takes, derivation that lacks an
    input, and cell whose parts cannot be built. O(cells); parts with equal
    parameters are built once.

    >>> study = Study("small", "ranking", seed=1, replications=20, block=10,
    ...               grid=Grid.of({"m": [5, 10], "epsilon": [1.0]}), metrics=("error_l2",),
    ...               parameters=dict(model="btl", L=50, mechanism="randomized_response",
    ...                               estimator="debiased"))
    >>> study.simulate({"m": 5, "epsilon": 1.0}, block=0)["error_l2"].shape
    (10,)
    """

    name: str = field(metadata=declaration("name of the experiment, also its folder"))
    problem: str = field(metadata=declaration("problem whose parts it names"))
    seed: int = field(metadata=declaration("root of all random streams", low=0, below=2**63))
    replications: int = field(
        metadata=declaration("replications of every cell, a multiple of block", low=1, high=10**9)
    )
    block: int = field(
        metadata=declaration(
            "replications simulated together; part of the study's identity", low=1, high=10**6
        )
    )
    grid: Grid
    parameters: ParameterValues
    metrics: tuple[str, ...]
    derive: Mapping[str, str] = field(default_factory=dict)
    paired: tuple[str, ...] = ("estimator", "mechanism")
    coordinates: tuple[str, ...] = ()
    precision: tuple[Target, ...] = ()
    refine: Refinement | None = None
    until: Until | None = None
    statistics: tuple[Statistic, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_name_and_size()
        problem = problem_named(self.problem)
        self._check_names(problem)
        declared = self._check_parameters(problem)
        factors.check_units(self.grid, self.replications, self.block)
        self._check_paired_and_coordinates()
        self._check_rules()
        self._check_inputs_of_derivations()
        self._check_cells({name for name, parts in declared.items() if _is_file(parts)})

    def _check_name_and_size(self) -> None:
        """Check the study's own name, and that blocks make up the replications."""
        if not NAME.fullmatch(self.name) or len(self.name) > NAME_LONGEST:
            allowed = f"must be letters, digits, _ - and single / between, at most {NAME_LONGEST}"
            raise InvalidInput("name", self.name, allowed)
        if self.replications % self.block:
            near = max(self.replications // self.block, 1) * self.block
            allowed = f"must be a multiple of block={self.block}, e.g. {near}"
            raise InvalidInput("replications", self.replications, allowed)

    def _check_rules(self) -> None:
        """Check when a run stops, where it adds levels, and what summaries have."""
        self._set("precision", read_targets(self.precision, self.metrics, self.paired_axes))
        metrics = {name: self.metric(name) for name in self.metrics}
        ranges = {name: (metric.least, metric.most) for name, metric in metrics.items()}
        self._set("refine", read_refinement(self.refine, self.grid, ranges, self.paired))
        self._set("until", read_until(self.until, self.replications))
        self._set("statistics", read_statistics(self.statistics, self.metrics))
        if not self.until:
            return
        for other in ("precision", "refine"):
            if getattr(self, other):
                allowed = f"cannot be combined with {other}; leave out one of both"
                raise InvalidInput("until", "claims", allowed)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_names(self, problem: Problem) -> None:
        """Check that metrics and derivations exist and are named once."""
        self._set("metrics", checks.names(self.metrics, "metrics"))
        for name in self.metrics:
            problem.part("metric", name, "metrics")
        self._set("derive", checks.mapping(self.derive, "derive"))
        for name, target in self.derive.items():
            problem.derivation(target, f"derive.{name}")
        if not self.coordinates:
            self._set("coordinates", ())
            return
        self._set("coordinates", checks.names(self.coordinates, "coordinates"))
        for name in self.coordinates:
            problem.derivation(name, "coordinates")

    def _check_parameters(self, problem: Problem) -> Declarations:
        """Check that every constant and level is taken by some part.

        Convert it to the type which that declares.
        """
        constants = checks.mapping(self.parameters, "parameters")
        products = read_products(_listed(self.grid), named=True)
        derivations = _named_derivations(products)
        levels = {
            (axis, name): _derived_levels(problem, axis, name, constants)
            for axis, name in derivations
        }
        for product in products:
            for axis, name in product.items():
                if isinstance(name, str):
                    product[axis] = levels[axis, name]
        of_levels = sorted({name for _, name in derivations})
        targets = [*self.derive.values(), *self.coordinates, *of_levels]
        declared = checks.declarations(problem, constants, products, targets, self.metrics)
        checks.check_given_once(declared, products, constants, self.derive)
        typed_constants = {
            name: checks.typed(declared[name], value, f"parameters.{name}")
            for name, value in constants.items()
        }
        self._set("parameters", typed_constants)
        typed_products: list[dict[str, Any]] = []
        for product in products:
            typed_product: dict[str, Any] = {}
            for axis, axis_levels in product.items():
                declarations = declared[axis]
                key = f"grid.{axis}"
                typed_product[axis] = [
                    checks.typed(declarations, level, key) for level in axis_levels
                ]
            typed_products.append(typed_product)
        self._set("grid", Grid.of(*typed_products))
        return declared

    def _check_paired_and_coordinates(self) -> None:
        self._set("paired", checks.names(self.paired, "paired"))
        pairable = {*self.grid.axes, *Study.paired}
        for name in self.paired:
            if name not in pairable:
                allowed = f"no such axis to pair across; {nearest(name, pairable)}"
                raise InvalidInput("paired", name, allowed)
        taken = {*self.grid.axes, *self.parameters, *self.derive, *self.metrics}
        for name in {*self.coordinates} & taken:
            allowed = "is a parameter or metric already; it must not be given twice"
            raise InvalidInput("coordinates", name, allowed)

    def _check_inputs_of_derivations(self) -> None:
        available = {*self.grid.axes, *self.parameters}
        for name, target in self.derive.items():
            for argument in self.derivations[name][1]:
                if argument not in available:
                    allowed = f"needs {argument}; give it in grid or parameters"
                    raise InvalidInput(f"derive.{name}", target, allowed)
            available.add(name)

    def _check_cells(self, files: set[str]) -> None:
        """Check that all parts of all cells can be built, coordinates computed. files: parameters
        that are files.
        """
        costs = checked_costs(self)
        if costs is not None:
            self._set("costs", costs)
            return
        for labels in self.grid:
            try:
                self.components(labels)
                self._check_inputs_of_coordinates()
                self.derived(labels)
            except InvalidInput as error:
                allowed = error.allowed
                if error.key not in files:
                    allowed = f"{allowed} [at {shorten(labels)}]"
                raise InvalidInput(self._dotted(error.key), error.value, allowed) from None

    def _check_inputs_of_coordinates(self) -> None:
        available = {*self.grid.axes, *self.parameters, *self.derivations}
        for name in self.coordinates:
            for argument in self.derivations[name][1]:
                if argument not in available:
                    raise InvalidInput(argument, None, f"is needed by coordinates={name}")

    def _dotted(self, name: str) -> str:
        """The key by which a config gives a parameter."""
        if "." in name or name == "metrics":
            return name
        sections = {"grid": self.grid.axes, "derive": self.derive, "coordinates": self.coordinates}
        for section, names in sections.items():
            if name in names:
                return f"{section}.{name}"
        return f"parameters.{name}"

    @property
    def paired_axes(self) -> tuple[str, ...]:
        """Axes with several levels across which cells share their data, in the grid's order."""
        return tuple(
            axis
            for axis, levels in self.grid.axes.items()
            if axis in self.paired and len(levels) > 1
        )

    @property
    def blocks(self) -> int:
        """Units per cell."""
        return self.replications // self.block

    @cached_property
    def description(self) -> dict[str, Any]:
        """What makes stored numbers comparable: all but levels and replications.

        A file counts by its content.
        """
        constants = dict(self.parameters)
        for name, value in constants.items():
            if isinstance(value, DataFile):
                constants[name] = str(value)
        return dict(
            name=self.name,
            problem=self.problem,
            seed=self.seed,
            block=self.block,
            axes=list(self.grid.axes),
            parameters=constants,
            derive=dict(self.derive),
            metrics=list(self.metrics),
            paired=sorted(self.paired),
        )

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that name the identity."""
        return digest(canonical(self.description), 4).hex()

    @cached_property
    def derivations(self) -> dict[str, tuple[Callable[..., Any], tuple[str, ...]]]:
        """Derived parameters, then coordinates: name -> function, names of its arguments."""
        problem = problem_named(self.problem)
        targets = {**self.derive, **{name: name for name in self.coordinates}}
        derivations = {}
        for name, target in targets.items():
            function = problem.derivation(target, f"derive.{name}")
            derivations[name] = (function, tuple(inspect.signature(function).parameters))
        return derivations

    def part(self, kind: str, name: object, key: str | None = None) -> type:
        """The class of a part of the study's problem, by its kind and name."""
        return problem_named(self.problem).part(kind, name, key)

    def metric(self, name: object) -> type[Metric]:
        """The class of a metric of the study's problem, by its name."""
        return problem_named(self.problem).metric(name, "metrics")

    def values(self, labels: CellLabels) -> dict[str, Any]:
        """All parameters of a cell: constants, labels, and what is derived.

        InvalidInput if one cannot be.
        """
        return self._with({**self.parameters, **labels}, self.derive)

    def derived(self, labels: CellLabels) -> dict[str, Any]:
        """Derived parameters and coordinates of a cell."""
        values = self._with(self.values(labels), self.coordinates)
        return {name: values[name] for name in self.derivations}

    def _with(self, values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        with np.errstate(all="ignore"):  # an overflow gives inf or nan, which the checks refuse
            for name in names:
                function, inputs = self.derivations[name]
                values[name] = computed(name, function, {key: values[key] for key in inputs})
        return values

    def components(self, labels: CellLabels) -> Components:
        """Model, mechanism, estimator and metrics of a cell; InvalidInput names a misfit."""
        values = self.values(labels)
        model = cast(Model, self.component("model", values["model"], values))
        mechanism = cast(Mechanism, self.component("mechanism", values["mechanism"], values))
        estimator = cast(Estimator, self.component("estimator", values["estimator"], values))
        release = released(model.produces, mechanism.releases)
        _check_fit(values, "model", model.produces, "mechanism", mechanism.accepts)
        _check_fit(values, "mechanism", release, "estimator", estimator.accepts)
        metrics = tuple(build(self.metric(name), values) for name in self.metrics)
        return Components(model, mechanism, estimator, metrics)

    def component(self, kind: str, name: object, values: ParameterValues) -> object:
        """A part with its parameters among the values of a cell.

        InvalidInput if one is missing or not allowed.
        """
        key = "metrics" if kind == "metric" else kind
        return build(self.part(kind, name, key), values)

    @cached_property
    def measured(self) -> frozenset[str]:
        """Paired axes that only metrics take, such as which item is looked at: their levels share
        the estimate, too.
        """
        taken = {*ROLES}
        for role in ROLES:
            for name in self.grid.axes.get(role, (self.parameters.get(role),)):
                taken.update(fields(self.part(role, name, role)))
        for target in self.derive:
            taken.update(self.derivations[target][1])
        return frozenset(set(self.paired) & set(self.grid.axes) - taken)

    def stream(self, role: str, labels: CellLabels, block: int, model: Model) -> Stream:
        """Address of the stream of a role: which labels it depends on is decided here, and only
        here.
        """
        if role == "population":
            population = {name: getattr(model, name) for name in model.population}
            return Stream(self.seed, role, canonical(population), -1)
        shared = {
            "truth": set(self.paired),
            "data": set(self.paired),
            "noise": set(self.paired) - {"mechanism"},
            "estimator": self.measured,
        }[role]
        distinct = {
            axis: self._stream_label(axis, level)
            for axis, level in labels.items()
            if axis not in shared
        }
        return Stream(self.seed, role, canonical(distinct), block)

    def _stream_label(self, axis: str, level: Level) -> Level:
        """The level by which streams are keyed: a part that was renamed keeps its numbers by its
        `stream_label`.
        """
        if axis not in ROLES:
            return level
        part = cast(type[Simulated], self.part(axis, level))
        return part.stream_label or level

    def simulate(
        self,
        labels: CellLabels,
        block: int,
        memo: Memo | None = None,
        slice_bytes: int | None = None,
    ) -> dict[str, Array]:
        """Simulate one unit: (block,) float64 per metric, and `status`, (block,) int8.

        memo keeps the last data, release and estimate, for cells which share
        them. slice_bytes: above which the block is cut into slices, where parts
        allow it; None is `slices.BYTES`. The numbers depend on neither. Raises
        WrongPart, an InvalidInput, where a part gives what its protocol does
        not allow.
        """
        if memo is None:
            memo = {}
        chain = self.chain(labels)
        parts = chain.parts
        streams = {role: self.stream(role, labels, block, parts.model) for role in STREAMS}
        cuts = slices(self.block, parts, slice_bytes)
        if cuts is not None:
            memo.clear()  # what it holds may be large
            with contextlib.suppress(Whole):
                return sliced_unit(chain, streams, cuts)
        truth, release = self._release(chain, streams, memo)
        key = (memo["release"][0], parts.estimator, streams["estimator"])
        if "estimate" not in memo or memo["estimate"][0] != key:
            estimate = chain.estimate(release, streams["estimator"].generator(), self.block)
            memo["estimate"] = (key, estimate)
        return chain.values(truth, release, memo["estimate"][1])

    def _release(
        self, chain: Chain, streams: Mapping[str, Stream], memo: Memo
    ) -> tuple[Truth, Release]:
        """Truth and release of one unit, from the memo where they were made before."""
        model = chain.parts.model
        mechanism = chain.parts.mechanism
        data_key = (model, streams["truth"], streams["data"], self.block)
        if "data" not in memo or memo["data"][0] != data_key:
            memo.clear()  # before the next are drawn: they may be large
            population = streams["population"].generator()
            truth = chain.truth(streams["truth"].generator(), self.block, population)
            data = chain.data(truth, streams["data"].generator(), self.block)
            memo["data"] = (data_key, (truth, data))
        truth, data = memo["data"][1]
        release_key = (data_key, mechanism, streams["noise"])
        if "release" not in memo or memo["release"][0] != release_key:
            memo.pop("release", None)
            memo.pop("estimate", None)
            release = chain.release(data, streams["noise"].generator(), self.block)
            memo["release"] = (release_key, release)
        return truth, memo["release"][1]

    def cost(self, labels: CellLabels) -> float:
        """Predicted relative cost of one unit of a cell, in steps of about a nanosecond."""
        parts = self.components(labels)
        names = self._names(labels)
        cost = predicted_cost("model", names["model"], parts.model)
        cost += predicted_cost("mechanism", names["mechanism"], parts.mechanism)
        with_errors = reads_errors(self)
        cost += predicted_cost("estimator", names["estimator"], parts.estimator, with_errors)
        return self.block * cost / self.sharing + PER_UNIT

    @cached_property
    def costs(self) -> Floats:
        """(cells,) predicted cost of one unit of every cell, see `cost`."""
        return factors.costs(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        state.pop("costs", None)  # which workers do not need
        return state

    @property
    def sharing(self) -> int:
        """How many cells share an estimate."""
        return math.prod(len(self.grid.axes[axis]) for axis in self.measured)

    def chain(self, labels: CellLabels) -> Chain:
        """The parts of a cell as they are called.

        Raises InvalidInput, which names what does not fit.
        """
        return Chain(self.components(labels), self._names(labels), self.metrics)

    def _names(self, labels: CellLabels) -> dict[str, Any]:
        """Names of the model, the mechanism and the estimator of a cell."""
        return {role: labels.get(role, self.parameters.get(role)) for role in ROLES}


def _is_file(declared: Iterable[Field[Any]]) -> bool:
    """Whether any part that takes a parameter declares it as a file."""
    return any("DataFile" in str(declaration.type) for declaration in declared)


def _listed(grid: object) -> object:
    """A grid as the list of mappings that it is made from; anything else as it is."""
    if not isinstance(grid, Grid):
        return grid
    products: list[dict[str, Any]] = [
        {axis: list(levels) for axis, levels in product} for product in grid.products
    ]
    return products


def _named_derivations(products: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Axes that name a derivation in place of levels, such as a file's items, with its name."""
    named: set[tuple[str, str]] = set()
    for product in products:
        named.update((axis, name) for axis, name in product.items() if isinstance(name, str))
    return named


def _derived_levels(
    problem: Problem, axis: str, name: str, constants: ParameterValues
) -> tuple[Any, ...]:
    """The levels of an axis that names a derivation. Raises InvalidInput."""
    key = f"grid.{axis}"
    if name not in problem.derivations:
        raise InvalidInput(key, name, "must be a list of levels, at least one")
    function = problem.derivation(name, key)
    inputs = arguments(function)
    for missing in inputs.keys() - constants.keys():
        raise InvalidInput(key, name, f"needs {missing}; give it in parameters")
    typed = {
        parameter: checks.typed([declared], constants[parameter], f"parameters.{parameter}")
        for parameter, declared in inputs.items()
    }
    try:
        levels = function(**typed)
    except InvalidInput as error:
        error_key = f"parameters.{error.key}" if error.key in inputs else error.key
        raise InvalidInput(error_key, error.value, error.allowed) from None
    if not isinstance(levels, tuple):
        allowed = "gives no levels; must be a list of levels, or a derivation of some"
        raise InvalidInput(key, name, allowed)
    return levels


def _check_fit(
    values: ParameterValues, before: str, passed: type, role: str, accepts: type
) -> None:
    """Raise InvalidInput unless a part takes what the one before it passes on."""
    if issubclass(passed, accepts):
        return
    needs = f"needs {accepts.__name__}, but is given {passed.__name__}"
    allowed = f"does not go with {before}={values[before]}: {needs}"
    raise InvalidInput(role, values[role], allowed)


def label_type(levels: tuple[Level, ...]) -> np.dtype[Any] | np.dtypes.StringDType:
    """The type in which the levels of an axis are stored."""
    kinds = {type(level) for level in levels}
    if kinds <= {bool}:
        return np.dtype(bool)
    if kinds <= {int}:
        return np.dtype("i8")
    if kinds <= {int, float}:
        return np.dtype("f8")
    return np.dtypes.StringDType()
