"""A study: what to simulate, and the simulation of one unit. Pure: no Dask, no Zarr, no files.

One unit is (cell, block of replications). Its numbers pass through four steps, a whole block at once:

    truth   = model.truth(rng, reps, population)     what is to be learned
    data    = model.simulate(truth, rng)             what people answered; may be lazy, may stream
    release = mechanism.release(data, rng)           what leaves their hands
    fit     = estimator.fit(release, rng)            has `converged`, (reps,)
    values  = metric(truth, release, fit)            (reps,)

Only neighbours in this chain know each other's types: a mechanism `accepts` what the model `produces`, an
estimator `accepts` what the mechanism `releases`. Lazy data must answer the same question with the same
numbers, so that mechanisms and estimators can share them.

Every component is a frozen dataclass whose fields are parameters of the study, matched by name. Parameters
come from three places: constants, the labels of the cell, and derivations (functions of other parameters).
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pipeline.codes import NOT_CONVERGED, OK
from pipeline.grid import Grid
from pipeline.parameters import DataFile, InvalidInput, check, fields, shorten
from pipeline.registry import lookup
from pipeline.streams import Stream, canonical, digest

ROLES = ("model", "mechanism", "estimator")


class Components(NamedTuple):
    """The parts that simulate one cell."""

    model: Any
    mechanism: Any
    estimator: Any
    metrics: tuple[Any, ...]


@dataclass(frozen=True)
class Study:
    """Statistics of a study and nothing else: no cluster, no folder.

    replications: per cell, a multiple of block. parameters: constants, among them model, mechanism and
    estimator unless these are axes of the grid. derive: parameter -> name of a derivation. paired: labels
    across which cells share their data (and, but for the mechanism, their release), so that differences
    between them are paired. coordinates: derivations that nothing is simulated with, for figures and claims.
    """

    name: str
    seed: int
    replications: int
    block: int
    grid: Grid
    parameters: Mapping[str, Any]
    metrics: tuple[str, ...]
    derive: Mapping[str, str] = field(default_factory=dict)
    paired: tuple[str, ...] = ("estimator", "mechanism")
    coordinates: tuple[str, ...] = ()

    @property
    def blocks(self) -> int:
        """Units per cell."""
        return self.replications // self.block

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What makes stored numbers comparable: all but the levels of the grid and the replications.

        A data file counts by its content, not by its place.
        """
        constants = {n: str(v) if isinstance(v, DataFile) else v for n, v in self.parameters.items()}
        return dict(
            name=self.name, seed=self.seed, block=self.block, axes=list(self.grid.axes), parameters=constants,
            derive=dict(self.derive), metrics=list(self.metrics), paired=sorted(self.paired),
        )

    @cached_property
    def key(self) -> str:
        """Eight hexadecimal digits that name the identity."""
        return digest(canonical(self.identity), 4).hex()

    @cached_property
    def derivations(self) -> dict[str, tuple[Any, tuple[str, ...]]]:
        """Derived parameters, then coordinates: name -> function, names of its arguments."""
        named = {**self.derive, **{name: name for name in self.coordinates}}
        found = {name: lookup("derivation", target, f"derive.{name}") for name, target in named.items()}
        return {name: (function, tuple(inspect.signature(function).parameters)) for name, function in found.items()}

    def values(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters of a cell: constants, labels, and what is derived; InvalidInput where that cannot be."""
        return self._with({**self.parameters, **labels}, self.derive)

    def derived(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """Derived parameters and coordinates of a cell."""
        values = self._with(self.values(labels), self.coordinates)
        return {name: values[name] for name in self.derivations}

    def _with(self, values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
        with np.errstate(all="ignore"):  # one that overflows is told by its value
            for name in names:
                function, arguments = self.derivations[name]
                given = {a: values[a] for a in arguments}
                try:
                    values[name] = function(**given)
                except InvalidInput:
                    raise
                except (ArithmeticError, TypeError, ValueError) as error:
                    raise InvalidInput(name, shorten(given), f"cannot be computed from these ({error})") from None
        return values

    def components(self, labels: Mapping[str, Any]) -> Components:
        """Model, mechanism, estimator and metrics of a cell; InvalidInput names what does not fit."""
        values = self.values(labels)
        model, mechanism, estimator = (build(lookup(r, values[r], r), values) for r in ROLES)
        opened = mechanism.releases is object and hasattr(model.produces, "opens")  # no privacy
        for role, accepts, given in (
            ("mechanism", mechanism.accepts, model.produces),
            ("estimator", estimator.accepts, model.produces.opens if opened else mechanism.releases),
        ):
            if not issubclass(given, accepts):
                before = ROLES[ROLES.index(role) - 1]
                raise InvalidInput(role, values[role], f"does not go with {before}={values[before]}: needs "
                                   f"{accepts.__name__}, but is given {given.__name__}")
        metrics = tuple(build(lookup("metric", n, "metrics"), values) for n in self.metrics)
        return Components(model, mechanism, estimator, metrics)

    def stream(self, role: str, labels: Mapping[str, Any], block: int, model: Any) -> Stream:
        """Address of the stream of a role: which labels it depends on is decided here, and only here."""
        if role == "population":
            return Stream(self.seed, role, canonical({n: getattr(model, n) for n in model.population}), -1)
        shared = {"truth": set(self.paired), "data": set(self.paired),
                  "noise": set(self.paired) - {"mechanism"}, "estimator": set()}[role]
        return Stream(self.seed, role, canonical({n: v for n, v in labels.items() if n not in shared}), block)

    def simulate(
        self, labels: Mapping[str, Any], block: int, memo: dict | None = None
    ) -> dict[str, np.ndarray]:
        """Simulate one unit: (block,) float64 per metric, and `status`, (block,) int8.

        memo holds the last data and release, so that cells which share them do not draw them again; the
        numbers are the same without it.
        """
        memo = {} if memo is None else memo
        parts = self.components(labels)
        streams = {role: self.stream(role, labels, block, parts.model)
                   for role in ("population", "truth", "data", "noise", "estimator")}

        def remember(kind, key, make):
            if kind not in memo or memo[kind][0] != key:
                memo.pop(kind, None)  # before the next is made: it may be large
                memo[kind] = (key, make())
            return memo[kind][1]

        def draw():
            truth = parts.model.truth(
                streams["truth"].generator(), self.block, streams["population"].generator()
            )
            return truth, parts.model.simulate(truth, streams["data"].generator())

        data_key = (parts.model, streams["truth"], streams["data"], self.block)
        if memo.get("data", (None,))[0] != data_key:
            memo.clear()  # a release of other data is of no use
        truth, data = remember("data", data_key, draw)
        release = remember(
            "release", (data_key, parts.mechanism, streams["noise"]),
            lambda: parts.mechanism.release(data, streams["noise"].generator()),
        )
        estimate = parts.estimator.fit(release, streams["estimator"].generator())
        out = {name: np.asarray(metric(truth, release, estimate), float)
               for name, metric in zip(self.metrics, parts.metrics, strict=True)}
        out["status"] = np.where(estimate.converged, OK, NOT_CONVERGED).astype(np.int8)
        return out

    def work(self, labels: Mapping[str, Any]) -> float:
        """Predicted relative cost of one unit of a cell, in steps of about a nanosecond."""
        parts = self.components(labels)
        return self.block * sum(part.work() for part in parts[:3]) + 1e5


@lru_cache(maxsize=4096)
def _build(component: type, values: tuple[tuple[str, Any, type], ...]) -> Any:
    known = fields(component)
    return component(**{name: check(known[name], value, name) for name, value, _ in values})


def build(component: type, values: Mapping[str, Any]) -> Any:
    """A component from those values that are its parameters; InvalidInput when one is missing or bad."""
    given = []
    for name, declared in fields(component).items():
        if name in values:
            given.append((name, values[name], type(values[name])))  # the type, for 1 == 1.0 == True
        elif declared.default is MISSING:
            raise InvalidInput(name, None,
                               f"is needed by {component.__name__} ({declared.metadata['meaning']})")
    return _build(component, tuple(given))


def label_type(levels: tuple) -> Any:
    """The type in which the levels of an axis are stored."""
    kinds = {type(level) for level in levels}
    if kinds <= {bool}:
        return np.dtype(bool)
    if kinds <= {int}:
        return np.dtype("i8")
    return np.dtype("f8") if kinds <= {int, float} else np.dtypes.StringDType()
