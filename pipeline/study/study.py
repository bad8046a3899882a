"""A study: what to simulate, and the simulation of one unit. Pure: no Dask, no Zarr, no files.

One unit is (cell, block of replications). Its numbers pass through four steps, a whole block at
once:

    truth   = model.truth(rng, reps, population)     what is to be learned
    data    = model.simulate(truth, rng)             what people answered; may be lazy, may stream
    release = mechanism.release(data, rng)           what leaves their hands
    fit     = estimator.fit(release, rng)            has `converged`, (reps,)
    values  = metric(truth, release, fit)            (reps,)

What one step gives is read-only for the next (`pipeline.study.handover`). Only neighbours in this
chain know each other's types: what each part must offer is in `pipeline.study.protocols`. Every
component is a frozen dataclass whose fields are parameters of the study, matched by name.
Parameters come from three sources: constants, the labels of the cell, and derivations (functions of
other parameters).
"""

import contextlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pipeline.study import checks, factors
from pipeline.study.arrays import Array, Floats
from pipeline.study.checks import ROLES, Declarations
from pipeline.study.factors import PER_UNIT, checked_costs, released
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
from pipeline.study.problem import Problem
from pipeline.study.protocols import Components, Release, Truth
from pipeline.study.refinement import Refinement, read_refinement
from pipeline.study.slices import Whole, sliced_unit, slices
from pipeline.study.streams import Stream, canonical, digest
from pipeline.study.targets import Target, read_targets
from pipeline.study.until import Until, read_until

NAME = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
NAME_LONGEST = 100  # bytes, as it names a folder: file systems allow 255, the study adds its key

Memo: TypeAlias = dict[
    str, tuple[Any, Any]
]  # "data", "release", "estimate" -> what they were made from, and they
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

    Raises InvalidInput, which names the key as a config does (`grid.m`, `parameters.epsilon`), for
    every value outside of its declaration, unknown or repeated name, parameter that no part takes,
    derivation that lacks an input, and cell whose parts cannot be built. O(cells); parts with equal
    parameters are built once.

    >>> study = Study("small", "ranking", seed=1, replications=20, block=10,
    ...               grid=Grid.of({"m": [5, 10], "epsilon": [1.0]}), metrics=("error_l2",),
    ...               parameters=dict(model="btl", L=50, mechanism="randomized_response", estimator="debiased"))
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
    parameters: Mapping[str, Any]
    metrics: tuple[str, ...]
    derive: Mapping[str, str] = field(default_factory=dict)
    paired: tuple[str, ...] = ("estimator", "mechanism")
    coordinates: tuple[str, ...] = ()
    precision: tuple[Target, ...] = ()
    refine: Refinement | None = None
    until: Until | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not NAME.fullmatch(self.name) or len(self.name) > NAME_LONGEST:
            raise InvalidInput(
                "name",
                self.name,
                f"must be letters, digits, _ - and single / between, at most {NAME_LONGEST}",
            )
        asked = problem_named(self.problem)
        if self.replications % self.block:
            near = max(self.replications // self.block, 1) * self.block
            raise InvalidInput(
                "replications",
                self.replications,
                f"must be a multiple of block={self.block}, e.g. {near}",
            )
        self._check_names(asked)
        declared = self._check_parameters(asked)
        factors.check_units(self.grid, self.replications, self.block)
        self._check_paired_and_coordinates()
        self._set("precision", read_targets(self.precision, self.metrics, self.paired_axes))
        metrics = {name: self.part("metric", name) for name in self.metrics}
        ranges = {name: (metric.least, metric.most) for name, metric in metrics.items()}
        self._set("refine", read_refinement(self.refine, self.grid, ranges, self.paired))
        self._set("until", read_until(self.until, self.replications))
        if self.until and (self.precision or self.refine):
            other = "precision" if self.precision else "refine"
            raise InvalidInput(
                "until", "claims", f"cannot be combined with {other}; leave out one of both"
            )
        self._check_inputs_of_derivations()
        self._check_cells(
            {
                name
                for name, parts in declared.items()
                if any("DataFile" in str(p.type) for p in parts)
            }
        )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_names(self, asked: Problem) -> None:
        """Check that metrics and derivations exist and are named once."""
        self._set("metrics", checks.names(self.metrics, "metrics"))
        for name in self.metrics:
            asked.part("metric", name, "metrics")
        self._set("derive", checks.mapping(self.derive, "derive"))
        for name, target in self.derive.items():
            asked.part("derivation", target, f"derive.{name}")
        self._set(
            "coordinates", checks.names(self.coordinates, "coordinates") if self.coordinates else ()
        )
        for name in self.coordinates:
            asked.part("derivation", name, "coordinates")

    def _check_parameters(self, asked: Problem) -> Declarations:
        """Check that every constant and level is taken by some part.

        Convert it to the type which that declares.
        """
        constants = checks.mapping(self.parameters, "parameters")
        grid: Any = self.grid
        if isinstance(grid, Grid):
            grid = [{axis: list(levels) for axis, levels in product} for product in grid.products]
        products = read_products(grid, named=True)
        of_levels = {
            levels for product in products for levels in product.values() if isinstance(levels, str)
        }
        products = self._with_levels(asked, products, constants)
        derivations = [*self.derive.values(), *self.coordinates, *sorted(of_levels)]
        declared = checks.declarations(asked, constants, products, derivations, self.metrics)
        checks.check_given_once(declared, products, constants, self.derive)
        self._set(
            "parameters",
            {
                name: checks.typed(declared[name], value, f"parameters.{name}")
                for name, value in constants.items()
            },
        )
        self._set(
            "grid",
            Grid.of(
                *(
                    {
                        axis: [
                            checks.typed(declared[axis], level, f"grid.{axis}") for level in levels
                        ]
                        for axis, levels in product.items()
                    }
                    for product in products
                )
            ),
        )
        return declared

    @staticmethod
    def _with_levels(
        asked: Problem, products: Sequence[Mapping[str, Any]], constants: Mapping[str, Any]
    ) -> list[dict[str, Sequence[Any]]]:
        """The products, with the levels of every axis that names a derivation, such as a file's
        items.
        """
        given: dict[tuple[str, str], Sequence[Any]] = {}
        for axis, name in {
            (axis, one)
            for product in products
            for axis, one in product.items()
            if isinstance(one, str)
        }:
            key = f"grid.{axis}"
            if name not in asked.derivations:
                raise InvalidInput(key, name, "must be a list of levels, at least one")
            function = asked.part("derivation", name, key)
            inputs = arguments(function)
            for missing in inputs.keys() - constants.keys():
                raise InvalidInput(key, name, f"needs {missing}; give it in parameters")
            typed = {
                n: checks.typed([declared], constants[n], f"parameters.{n}")
                for n, declared in inputs.items()
            }
            try:
                levels = function(**typed)
            except InvalidInput as error:
                raise InvalidInput(
                    f"parameters.{error.key}" if error.key in inputs else error.key,
                    error.value,
                    error.allowed,
                ) from None
            if not isinstance(levels, tuple):
                raise InvalidInput(
                    key, name, "gives no levels; must be a list of levels, or a derivation of some"
                )
            given[axis, name] = levels
        return [
            {
                axis: given[axis, one] if isinstance(one, str) else one
                for axis, one in product.items()
            }
            for product in products
        ]

    def _check_paired_and_coordinates(self) -> None:
        self._set("paired", checks.names(self.paired, "paired"))
        pairable = {*self.grid.axes, *Study.paired}
        for name in self.paired:
            if name not in pairable:
                raise InvalidInput(
                    "paired", name, f"no such axis to pair across; {nearest(name, pairable)}"
                )
        for name in {*self.coordinates} & {
            *self.grid.axes,
            *self.parameters,
            *self.derive,
            *self.metrics,
        }:
            raise InvalidInput(
                "coordinates", name, "is a parameter or metric already; it must not be given twice"
            )

    def _check_inputs_of_derivations(self) -> None:
        available = {*self.grid.axes, *self.parameters}
        for name, target in self.derive.items():
            for argument in self.derivations[name][1]:
                if argument not in available:
                    raise InvalidInput(
                        f"derive.{name}", target, f"needs {argument}; give it in grid or parameters"
                    )
            available.add(name)

    def _check_cells(self, files: set[str]) -> None:
        """Check that all parts of all cells can be built, coordinates computed. files: parameters
        that are files.
        """
        available = {*self.grid.axes, *self.parameters, *self.derivations}
        costs = checked_costs(self)
        if costs is not None:
            self._set("costs", costs)
            return
        missing = [
            (name, argument)
            for name in self.coordinates
            for argument in self.derivations[name][1]
            if argument not in available
        ]
        for labels in self.grid:
            try:
                self.components(labels)
                for name, argument in missing:
                    raise InvalidInput(argument, None, f"is needed by coordinates={name}")
                self.derived(labels)
            except InvalidInput as error:
                where = "" if error.key in files else f" [at {shorten(labels)}]"
                raise InvalidInput(
                    self._dotted(error.key), error.value, error.allowed + where
                ) from None

    def _dotted(self, name: str) -> str:
        """The key by which a config gives a parameter."""
        if "." in name or name == "metrics":
            return name
        sections = {"grid": self.grid.axes, "derive": self.derive, "coordinates": self.coordinates}
        return f"{next((key for key, names in sections.items() if name in names), 'parameters')}.{name}"

    @property
    def paired_axes(self) -> tuple[str, ...]:
        """Axes with several levels across which cells share their data, in the order of the grid."""
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
    def identity(self) -> dict[str, Any]:
        """What makes stored numbers comparable: all but levels and replications.

        A file counts by its content.
        """
        constants = {
            n: str(v) if isinstance(v, DataFile) else v for n, v in self.parameters.items()
        }
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
        return digest(canonical(self.identity), 4).hex()

    @cached_property
    def derivations(self) -> dict[str, tuple[Callable[..., Any], tuple[str, ...]]]:
        """Derived parameters, then coordinates: name -> function, names of its arguments."""
        targets = {**self.derive, **{name: name for name in self.coordinates}}
        functions = {
            name: self.part("derivation", target, f"derive.{name}")
            for name, target in targets.items()
        }
        return {
            name: (function, tuple(inspect.signature(function).parameters))
            for name, function in functions.items()
        }

    def part(self, kind: str, name: Any, key: str | None = None) -> Any:
        """A part of the study's problem, by its kind and name."""
        return problem_named(self.problem).part(kind, name, key)

    def values(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters of a cell: constants, labels, and what is derived.

        InvalidInput if one cannot be.
        """
        return self._with({**self.parameters, **labels}, self.derive)

    def derived(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Derived parameters and coordinates of a cell."""
        values = self._with(self.values(labels), self.coordinates)
        return {name: values[name] for name in self.derivations}

    def _with(self, values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        with np.errstate(all="ignore"):  # an overflow gives inf or nan, which the checks refuse
            for name in names:
                function, arguments = self.derivations[name]
                values[name] = computed(
                    name, function, {argument: values[argument] for argument in arguments}
                )
        return values

    def components(self, labels: Mapping[str, Any]) -> Components:
        """Model, mechanism, estimator and metrics of a cell; InvalidInput names what does not fit."""
        values = self.values(labels)
        model, mechanism, estimator = (self.component(role, values[role], values) for role in ROLES)
        for role, accepts, actual in (
            ("mechanism", mechanism.accepts, model.produces),
            ("estimator", estimator.accepts, released(model.produces, mechanism.releases)),
        ):
            if not issubclass(actual, accepts):
                before = ROLES[ROLES.index(role) - 1]
                raise InvalidInput(
                    role,
                    values[role],
                    f"does not go with {before}={values[before]}: needs "
                    f"{accepts.__name__}, but is given {actual.__name__}",
                )
        metrics = tuple(self.component("metric", n, values) for n in self.metrics)
        return Components(model, mechanism, estimator, metrics)

    def component(self, kind: str, name: Any, values: Mapping[str, Any]) -> Any:
        """A part with its parameters among the values of a cell.

        InvalidInput if one is missing or not allowed.
        """
        return build(self.part(kind, name, "metrics" if kind == "metric" else kind), values)

    @cached_property
    def measured(self) -> frozenset[str]:
        """Paired axes that only metrics take, such as which item is looked at: their levels share
        the estimate, too.
        """
        names = [self.grid.axes.get(role, (self.parameters.get(role),)) for role in ROLES]
        parts = [
            self.part(role, name, role)
            for role, levels in zip(ROLES, names, strict=True)
            for name in levels
        ]
        taken = {name for part in parts for name in fields(part)}
        taken.update(name for target in self.derive for name in self.derivations[target][1])
        return frozenset(set(self.paired) & set(self.grid.axes) - taken - set(ROLES))

    def stream(self, role: str, labels: Mapping[str, Any], block: int, model: Any) -> Stream:
        """Address of the stream of a role: which labels it depends on is decided here, and only
        here.
        """
        if role == "population":
            return Stream(
                self.seed, role, canonical({n: getattr(model, n) for n in model.population}), -1
            )
        shared = {
            "truth": set(self.paired),
            "data": set(self.paired),
            "noise": set(self.paired) - {"mechanism"},
            "estimator": self.measured,
        }[role]
        named = {n: self._stream_label(n, v) for n, v in labels.items() if n not in shared}
        return Stream(self.seed, role, canonical(named), block)

    def _stream_label(self, axis: str, level: Any) -> Any:
        """The level by which streams are keyed: a part that was renamed keeps its numbers by its
        `stream_label`.
        """
        if axis not in ROLES:
            return level
        return self.part(axis, level).stream_label or level

    def simulate(
        self,
        labels: Mapping[str, Any],
        block: int,
        memo: Memo | None = None,
        slice_bytes: int | None = None,
    ) -> dict[str, Array]:
        """Simulate one unit: (block,) float64 per metric, and `status`, (block,) int8.

        memo keeps the last data, release and estimate, for cells which share them. slice_bytes:
        above which the block is cut into slices, where parts allow it; None is `slices.BYTES`. The
        numbers depend on neither. Raises WrongPart, an InvalidInput, where a part gives what its
        protocol does not allow.
        """
        memo = {} if memo is None else memo
        chain = self.chain(labels)
        parts = chain.parts
        streams = {
            role: self.stream(role, labels, block, parts.model)
            for role in ("population", "truth", "data", "noise", "estimator")
        }
        if (cuts := slices(self.block, parts, slice_bytes)) is not None:
            memo.clear()  # what it holds may be large
            with contextlib.suppress(Whole):
                return sliced_unit(chain, streams, cuts)
        truth, release = self._release(chain, streams, memo)
        key = (memo["release"][0], parts.estimator, streams["estimator"])
        if "estimate" not in memo or memo["estimate"][0] != key:
            memo["estimate"] = (
                key,
                chain.estimate(release, streams["estimator"].generator(), self.block),
            )
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
            memo["data"] = (
                data_key,
                (truth, chain.data(truth, streams["data"].generator(), self.block)),
            )
        truth, data = memo["data"][1]
        release_key = (data_key, mechanism, streams["noise"])
        if "release" not in memo or memo["release"][0] != release_key:
            memo.pop("release", None), memo.pop("estimate", None)
            memo["release"] = (
                release_key,
                chain.release(data, streams["noise"].generator(), self.block),
            )
        return truth, memo["release"][1]

    def cost(self, labels: Mapping[str, Any]) -> float:
        """Predicted relative cost of one unit of a cell, in steps of about a nanosecond."""
        parts = self.components(labels)
        names = self._names(labels)
        cost = sum(
            predicted_cost(role, names[role], part)
            for role, part in zip(ROLES, parts[:3], strict=True)
        )
        return self.block * cost / self.sharing + PER_UNIT

    @cached_property
    def costs(self) -> Floats:
        """(cells,) predicted cost of one unit of every cell, see `cost`."""
        return factors.costs(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name != "costs"
        }  # which workers do not need

    @property
    def sharing(self) -> int:
        """How many cells share an estimate."""
        return math.prod(len(self.grid.axes[axis]) for axis in self.measured)

    def chain(self, labels: Mapping[str, Any]) -> Chain:
        """The parts of a cell as they are called.

        Raises InvalidInput, which names what does not fit.
        """
        return Chain(self.components(labels), self._names(labels), self.metrics)

    def _names(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Names of the model, the mechanism and the estimator of a cell."""
        return {role: labels.get(role, self.parameters.get(role)) for role in ROLES}


def label_type(levels: tuple[Level, ...]) -> np.dtype[Any] | np.dtypes.StringDType:
    """The type in which the levels of an axis are stored."""
    kinds = {type(level) for level in levels}
    if kinds <= {bool}:
        return np.dtype(bool)
    if kinds <= {int}:
        return np.dtype("i8")
    return np.dtype("f8") if kinds <= {int, float} else np.dtypes.StringDType()
