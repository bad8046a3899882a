"""What is known of all cells of a study at once: each part is made once for all cells in which it
is the same.

A part depends on the axes that are its parameters, or inputs of derivations that give them. A grid
of a hundred levels of one axis and a thousand of another has 100,000 cells, but perhaps a hundred
models and a thousand mechanisms only.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.checks import ROLES
from pipeline.study.grid import Grid
from pipeline.study.making import build, predicted_cost
from pipeline.study.parameters import InvalidInput, fields
from pipeline.study.protocols import Metric, plain_release_of
from pipeline.study.untyped import CellLabels, ParameterValues

PER_UNIT = 1e5  # nanoseconds of every unit, whatever its parts
UNITS_MOST = 20_000_000  # of a study: what is done and what is left is known of each, in memory
ATTRIBUTES = {
    "model": ("produces",),
    "mechanism": ("accepts", "releases"),
    "estimator": ("accepts",),
}


class Described(Protocol):
    """What is read of a `Study`."""

    @property
    def block(self) -> int:
        """Replications simulated together."""

    @property
    def grid(self) -> Grid:
        """The cells."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Constants."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""

    @property
    def sharing(self) -> int:
        """How many cells share an estimate."""

    @property
    def derivations(self) -> Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]]:
        """Derived parameters and coordinates: name -> function, names of its arguments."""

    def part(self, kind: str, name: object, key: str | None = None) -> type:
        """The class of a part of the study's problem, by its kind and name."""

    def metric(self, name: object) -> type[Metric]:
        """The class of a metric of the study's problem, by its name."""

    def values(self, labels: CellLabels) -> Mapping[str, Any]:
        """All parameters of a cell."""

    def derived(self, labels: CellLabels) -> Mapping[str, Any]:
        """Derived parameters and coordinates of a cell."""

    def component(self, kind: str, name: object, values: ParameterValues) -> object:
        """A part with its parameters among the values of a cell."""


def check_units(grid: Grid, replications: int, block: int) -> None:
    """Raise InvalidInput for more units than a process can look after."""
    units = len(grid) * (replications // block)
    if units > UNITS_MOST:
        raise InvalidInput(
            "replications",
            replications,
            f"makes {units:,} units of {block:,} replications, at most {UNITS_MOST:,} are allowed; "
            "give fewer replications or levels, or a larger block",
        )


def axes_of(study: Described, names: Iterable[str]) -> frozenset[str]:
    """Axes of the grid on which parameters depend, directly or as inputs of what is derived."""
    axes: set[str] = set()
    seen: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in study.grid.axes:
            axes.add(name)
        if name in study.derivations:
            waiting.extend(study.derivations[name][1])
    return frozenset(axes)


def axes_of_role(study: Described, role: str) -> frozenset[str]:
    """Axes of the grid on which the model, the mechanism or the estimator depends."""
    names = {role}
    for name in study.grid.axes.get(role, (study.parameters.get(role),)):
        names.update(fields(study.part(role, name, role)))
    return axes_of(study, names)


def costs(study: Described) -> Floats:
    """(cells,) `Study.cost` of every cell."""
    total = np.zeros(len(study.grid))
    with_errors = reads_errors(study)
    for role in ROLES:
        numbers = []
        for name, part in parts_of(study, role):
            numbers.append(predicted_cost(role, name, part, with_errors))
        total += _of_cells(study, role, numbers)
    of_cells: Floats = study.block * total / study.sharing + PER_UNIT
    return of_cells


def reads_errors(study: Described) -> bool:
    """Whether some metric reads how sure estimates are, which then costs time."""
    return any(study.metric(name).reads_errors for name in study.metrics)


def _of_cells(study: Described, role: str, numbers: Sequence[float]) -> Floats:
    """(cells,) numbers of the parts of a role, as `parts_of` yields them, in every cell."""
    axes = axes_of_role(study, role)
    of_products = []
    start = 0
    for product in study.grid.products:
        shape = [len(levels) for _, levels in product]
        distinct = [len(levels) if axis in axes else 1 for axis, levels in product]
        stop = start + math.prod(distinct)
        of_products.append(
            np.broadcast_to(np.reshape(numbers[start:stop], distinct), shape).ravel()
        )
        start = stop
    return np.concatenate(of_products)


def parts_of(study: Described, role: str) -> Iterator[tuple[str, Any]]:
    """Names and parts: all models, mechanisms or estimators of a study, with their parameters."""
    classes: dict[str, Any] = {}
    for labels in study.grid.combinations(axes_of_role(study, role)):
        values = study.values(labels)
        name = values[role]
        if name not in classes:
            classes[name] = study.part(role, name, role)
        yield name, build(classes[name], values)


def checked_costs(study: Described) -> Floats | None:
    """(cells,) costs, after all parts of all cells were built and go together, and all that is
    derived was computed.

    None where something is wrong or only a look at each cell can tell.
    """
    try:
        total = np.zeros(len(study.grid))
        with_errors = reads_errors(study)
        kinds = []
        for role in ROLES:
            numbers = []
            of_role = set()
            for name, part in parts_of(study, role):
                numbers.append(predicted_cost(role, name, part, with_errors))
                of_role.add(tuple(getattr(part, attribute) for attribute in ATTRIBUTES[role]))
            total += _of_cells(study, role, numbers)
            kinds.append(of_role)
        fitting = all(
            issubclass(produces, accepts) and issubclass(released(produces, releases), wanted)
            for (produces,), (accepts, releases), (wanted,) in itertools.product(*kinds)
        )
        if not fitting or not _metrics_and_derivations_exist(study):
            return None
    except InvalidInput:
        return None
    of_cells: Floats = study.block * total / study.sharing + PER_UNIT
    return of_cells


def released(produces: type, releases: type) -> type:
    """Type of a release: the mechanism's own or, where it releases data as they are, the data's
    plain release.
    """
    if releases is not object:
        return releases
    return plain_release_of(produces) or releases


def _metrics_and_derivations_exist(study: Described) -> bool:
    """Raises InvalidInput for a metric that cannot be built, and for what cannot be derived."""
    for name in study.metrics:
        for labels in study.grid.combinations(
            axes_of(study, fields(study.part("metric", name, "metrics")))
        ):
            study.component("metric", name, study.values(labels))
    known = {*study.grid.axes, *study.parameters, *study.derivations}
    if not all(known.issuperset(inputs) for _, inputs in study.derivations.values()):
        return False
    for labels in study.grid.combinations(axes_of(study, study.derivations)):
        study.derived(labels)
    return True
