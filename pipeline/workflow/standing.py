"""`task=compare against=STUDY`: another mechanism or estimator on all cells of a finished study.

It gets the same truths, data and numbers of replications, so differences are paired, replication by
replication. It is a study of its own, in a folder of its own: nothing of the finished one changes.
"""

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.analysis.summary import REPLICATION, paired_difference
from pipeline.execution.clusters import Cluster
from pipeline.storage import results
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.untyped import CellLabels, ParameterValues
from pipeline.workflow import composition, own_experiments
from pipeline.workflow.archived_studies import finished
from pipeline.workflow.config import read_experiment
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.job import Job, Subscriber
from pipeline.workflow.run import results_of
from pipeline.workflow.settings import Settings, Storage
from pipeline.workflow.studies import StoredStudy, stored_studies

if TYPE_CHECKING:
    import xarray as xr

REPLACEABLE = ("mechanism", "estimator")
CONFIDENCE = 0.95  # of all intervals together
FIRST = "it"
OTHER = "other"
RULES = ("precision", "refine", "until")  # which the finished study has gone through
BETTER = ("lower", "higher")


@dataclass(frozen=True)
class StandingRequest:
    """What is compared with a finished study.

    against: its name, as task=list prints it. parts: role -> name of the part that takes the place
    of all others. parameters: of it; None takes one away. metric: by which; None: the study's
    first. better: which values of it are, lower or higher. files: of people's data.
    """

    outputs: Path
    against: str
    parts: Mapping[str, str]
    cluster: Cluster
    invocation: Invocation
    parameters: ParameterValues = field(default_factory=dict)
    metric: str | None = None
    better: str = BETTER[0]
    storage: Storage = Storage()
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CellOfStanding:
    """The new part less another one in one cell: mean, ends of the interval, and the other's mean.

    wins: 1 where it is surely better, −1 where it is surely worse, else 0.
    """

    labels: CellLabels
    mean: float
    low: float
    high: float
    other_mean: float
    wins: int

    @property
    def percent(self) -> float:
        """The difference in percent of the other's mean."""
        return 100 * self.mean / self.other_mean if self.other_mean else float("nan")


@dataclass(frozen=True)
class Against:
    """The comparison with one part of the finished study. opponent: its labels, in words."""

    opponent: str
    cells: tuple[CellOfStanding, ...]

    def count(self, wins: int) -> int:
        """How many cells are surely better (1), surely worse (−1), or undecided (0)."""
        return sum(cell.wins == wins for cell in self.cells)


@dataclass(frozen=True)
class Standing:
    """How a part stands against those of a finished study. name: of the part.

    label, unit: of the metric. folder: of the study that was simulated; table, figure: files there.
    """

    study: str
    name: str
    metric: str
    label: str
    unit: str
    better: str
    opponents: tuple[Against, ...]
    folder: Path
    table: Path
    figure: Path


def stand(request: StandingRequest, *subscribers: Subscriber) -> Standing:
    """Simulate the new part on all cells of the study, and compare.

    Raises what `run` raises: Stopped where units are left, which the same command goes on with.
    """
    base = _base(request)
    metric = _metric(request, base)
    replaced = _with_parts(base, request)
    job = Job(
        (replaced,),
        Settings(outputs=str(request.outputs), store=request.storage),
        request.cluster,
        request.invocation,
        subscribers,
    )
    results_of(job)
    first = _loaded(replaced)
    second = _loaded(base)
    opponents = tuple(_opponents(first, second, metric, base, request))
    attributes = second[metric].attrs
    folder = replaced.store.folder
    standing = Standing(
        study=base.store.folder.relative_to(request.outputs).as_posix(),
        name=" ".join(request.parts.values()),
        metric=metric,
        label=str(attributes.get("long_name", metric)),
        unit=str(attributes.get("units", "1")),
        better=request.better,
        opponents=opponents,
        folder=folder,
        table=folder / "standing.csv",
        figure=folder / "standing.svg",
    )
    _write(standing)
    return standing


def _base(request: StandingRequest) -> StoredStudy:
    """The finished study; InvalidInput for more than one, or a part that cannot be replaced."""
    studies = finished(
        request.outputs, request.against, request.storage, request.files, any_report=True
    )
    if len(studies) != 1:
        raise InvalidInput("against", request.against, "must be one study")
    (base,) = studies
    if not request.parts:
        raise InvalidInput(
            "mechanism", None, "is needed with against=…, or estimator: the name of a part"
        )
    axes = set(base.study.grid.axes) & set(request.parts)
    apart = axes - set(base.study.paired)
    if apart:
        raise InvalidInput(
            "against",
            request.against,
            f"its levels of {min(apart)} share no data: nothing is paired",
        )
    return base


def _metric(request: StandingRequest, base: StoredStudy) -> str:
    """The metric by which to compare."""
    known = base.study.metrics
    metric = request.metric or known[0]
    if metric not in known:
        raise InvalidInput("metric", metric, nearest(metric, known))
    if request.better not in BETTER:
        raise InvalidInput("better", request.better, nearest(request.better, BETTER))
    return metric


def _with_parts(base: StoredStudy, request: StandingRequest) -> StoredStudy:
    """The study with the new parts in place of all others."""
    config = own_experiments.mapping_of(base.study)
    last = base.study.name.rpartition("/")[2]
    config["name"] = f"standing/{last}-{'-'.join(request.parts.values())}"
    config["replications"] = base.study.replications
    for rule in RULES:
        config.pop(rule)
    config["grid"] = _without(config["grid"], request.parts)
    parameters = {**config["parameters"], **request.parameters, **request.parts}
    config["parameters"] = {key: value for key, value in parameters.items() if value is not None}
    axes = set(itertools.chain.from_iterable(_products(config["grid"])))
    config["paired"] = [axis for axis in config["paired"] if axis in {*axes, *REPLACEABLE}]
    raw = composition.whole_experiment(config)
    raw["claims"] = False
    settings = Settings(outputs=str(request.outputs), store=request.storage)
    (stored,) = stored_studies(settings, [read_experiment(raw)], [raw])
    return stored


def _products(grid: object) -> list[dict[str, Any]]:
    """The products of a grid, as a config has it."""
    if isinstance(grid, dict):
        return [grid]
    assert isinstance(grid, list)
    return grid


def _without(grid: object, parts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The products of a grid without some axes, each once."""
    products: list[dict[str, Any]] = []
    for product in _products(grid):
        left = {axis: product[axis] for axis in product if axis not in parts}
        if left not in products:
            products.append(left)
    return products


def _loaded(stored: StoredStudy) -> "xr.Dataset":
    """The sealed results of a study."""
    return results.load(stored.store, results.place(stored.store) + results.SEALED)


def _opponents(
    first: "xr.Dataset",
    second: "xr.Dataset",
    metric: str,
    base: StoredStudy,
    request: StandingRequest,
) -> Iterator[Against]:
    """The comparison with every part that the new one takes the place of."""
    axes = [axis for axis in second.dims if axis in request.parts]
    choices = list(itertools.product(*(second[axis].values.tolist() for axis in axes)))
    shared = [axis for axis in second.dims if axis not in (*axes, REPLICATION)]
    cells = int(np.prod([second.sizes[axis] for axis in shared]))
    confidence = 1 - (1 - CONFIDENCE) / max(cells * len(choices), 1)
    for choice in choices:
        place = dict(zip(axes, choice, strict=True))
        other = second.sel(place)
        opponent = " ".join(map(str, choice)) or _constants(base, request.parts)
        cells_of_opponent = _cells(first, other, metric, confidence, request.better)
        yield Against(opponent, tuple(cells_of_opponent))


def _constants(base: StoredStudy, parts: Mapping[str, str]) -> str:
    """The parts of a study that are the same in all cells, in words."""
    return " ".join(str(base.study.parameters[role]) for role in parts)


def _cells(
    first: "xr.Dataset", other: "xr.Dataset", metric: str, confidence: float, better: str
) -> Iterator[CellOfStanding]:
    """The differences in all cells that have one."""
    import xarray as xr

    columns = [metric, "status"]
    pair = [data[columns].reset_coords(drop=True) for data in (first, other)]
    joined: xr.Dataset = xr.concat(
        pair,
        xr.Variable("part", [FIRST, OTHER]),
        join="override",
        combine_attrs="override",
    )
    difference = paired_difference(joined, metric, "part", FIRST, OTHER, confidence).compute()
    means = other[metric].mean(REPLICATION).compute()
    sign = 1 if better == BETTER[1] else -1
    for place in np.ndindex(difference["mean"].shape):
        cell = difference.isel(dict(zip(difference["mean"].dims, map(int, place), strict=True)))
        mean = float(cell["mean"])
        if not np.isfinite(mean):
            continue
        low = float(cell["low"])
        high = float(cell["high"])
        wins = 0
        if low > 0 or high < 0:
            wins = int(np.sign(mean)) * sign
        labels = {str(axis): cell[axis].item() for axis in difference["mean"].dims}
        other_mean = float(means.sel(labels)) if labels else float(means)
        yield CellOfStanding(labels, mean, low, high, other_mean, wins)


def _write(standing: Standing) -> None:
    """Write the table and the figure."""
    from pipeline.reporting.standing_figure import draw

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    axes = _axes(standing.opponents)
    numbers = ["difference", "low", "high", "other_mean", "percent", "wins"]
    writer.writerow(["against", *axes, *numbers])
    for opponent in standing.opponents:
        for cell in opponent.cells:
            labels = [cell.labels[axis] for axis in axes]
            values = [cell.mean, cell.low, cell.high, cell.other_mean, cell.percent, cell.wins]
            writer.writerow([opponent.opponent, *labels, *values])
    write_whole(standing.table, text.getvalue().encode())
    write_whole(standing.figure, draw(standing.name, standing.label, standing.opponents))


def _axes(opponents: Sequence[Against]) -> list[str]:
    """Axes of the cells of a comparison."""
    for opponent in opponents:
        for cell in opponent.cells:
            return list(cell.labels)
    return []
