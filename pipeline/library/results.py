"""Sealed results, from a name or a path to verdicts."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from pipeline.analysis import crossings, looks, summary
from pipeline.analysis.claims import Claim, Judgement
from pipeline.analysis.control_variates import controlled
from pipeline.identity.registry import problem
from pipeline.storage import results
from pipeline.storage.datasets import REPLICATION
from pipeline.storage.folder import Folder
from pipeline.study.grid import Grid, Level
from pipeline.study.parameters import InvalidInput, check_as, parameter, path_of, shorten
from pipeline.study.refinement import read_refinement
from pipeline.study.study import NAME
from pipeline.study.untyped import LoadedTable
from pipeline.workflow import composition, config_files, variants
from pipeline.workflow import export as exporting
from pipeline.workflow.export import with_plain_attributes

CONFIDENCE = parameter("confidence of the intervals", above=0, below=1)
CONFIDENCE.type = float
COPY_AGAIN = (
    "task=verify repair=true removes it and the same run makes it again; a copy, copy it again"
)


def open_results(
    study: str | os.PathLike[str], outputs: str | os.PathLike[str] = "outputs"
) -> xr.Dataset:
    """The sealed results of a study, (grid axes…, replication), from a path or from the name of an
    experiment.

    study: the study's folder, its `results.zarr` or a copy of that; or a name, which is looked for
    in `outputs`. The root document, which holds a digest of every file, is checked, and so is every
    chunk when it is read; `pipeline task=verify results=PATH` checks all files. Up to 256 MiB are
    read at once, more on demand. Raises InvalidInput where there are no results, several of that
    name, or damaged ones.

    >>> import pipeline as pl
    >>> results = pl.run("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000,
    ...                  cluster="synchronous", progress=False)
    >>> pl.open_results("xu/lemmas").equals(results)
    True
    """
    folder = _dataset(_path(study, "results"), _path(outputs, "outputs"))
    backend = Folder(folder.parent)
    opened = results.load_from(backend, folder.name, "results", str(folder.parent), COPY_AGAIN)
    return with_plain_attributes(opened)


def table(data: xr.Dataset) -> LoadedTable:
    """The tidy table of pandas of a dataset that this library gives, axes first.

    Results: a row for each replication of each cell, with its status in words. A summary: a row for
    each metric of each cell. A boundary: a row for each curve. Raises InvalidInput for what is no
    dataset.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> [*pl.table(pl.summarise(results)).columns][:6]
    ['m', 'L', 'epsilon', 'metric', 'mean', 'mcse']
    """
    return exporting.tidy(_as_dataset(data))


def export(data: xr.Dataset, save: str | os.PathLike[str]) -> None:
    """Write a dataset that this library gives: tidy as .csv or .parquet, or whole as .nc (netCDF).

    Parquet needs the package fastparquet. Raises InvalidInput for a file of another kind, and for
    what is no dataset.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> pl.export(results, "lemmas.csv")
    """
    exporting.write(_as_dataset(data), os.fspath(save))


def summarise(data: xr.Dataset, confidence: float = 0.95) -> xr.Dataset:
    """Means over the replications, with Monte Carlo standard errors and intervals, over the grid
    axes.

    Columns: see `pipeline.analysis.summary.summarise`, and
    `pipeline.analysis.control_variates.controlled` where some metric is a control variate. Raises
    InvalidInput for what are no results of a study.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> "estimate_sum_mcse" in pl.summarise(results)
    True
    """
    _identity(data)
    confidence = check_as(float, CONFIDENCE, confidence, "confidence")
    return summary.summarise(data, confidence).assign(controlled(data, confidence))


def boundary(
    data: xr.Dataset,
    along: str | None = None,
    metric: str | None = None,
    level: float | None = None,
    confidence: float | None = None,
    width: float | None = None,
) -> xr.Dataset:
    """Where the mean of a metric crosses a level along an axis, for every combination of the other
    axes.

    Results of a run with `refine` say themselves what is looked for; arguments come before that.

    Args:
        data: results of a study. Levels of `along` need not be many: `refine` adds them where the
            crossing is.
        along, metric, level: axis of finite numbers, metric, and the value that its mean crosses,
            in the metric's unit.
        confidence: of the interval of a curve's crossing; 0.95.
        width: of the interval, from which on `says` calls it wider than wanted; 0.05.

    Returns, over the other axes: `value` with the interval `low`, `high` in the unit of the axis,
    `crossings`, `distance` and `says`, a sentence; see `pipeline.analysis.crossings.boundary`. A
    curve that is flat, does not cross or crosses several times has value NaN, and the sentence says
    which.

    Raises InvalidInput, which names the argument, also for an axis whose levels share their data.

    >>> import pipeline as pl
    >>> grid = {"m": [2], "L": [50], "epsilon": [0.5, 1, 2]}
    >>> results = pl.simulate("xu/lemmas", grid=grid, replications=2000)
    >>> crossing = pl.boundary(results, "epsilon", "error_debiased_squared", 2)
    >>> crossing["says"].item().partition(" = ")[0]
    'crosses at epsilon'
    """
    identity = _identity(data)
    arguments = {
        "along": along,
        "metric": metric,
        "level": level,
        "confidence": confidence,
        "width": width,
    }
    recorded = json.loads(data.attrs.get("refine", "{}"))
    fields = {"width": 0.05, **recorded, "second": ""}
    fields.update({name: value for name, value in arguments.items() if value is not None})
    axes = {
        str(axis): data[axis].values.tolist() for axis in data["status"].dims if axis != REPLICATION
    }
    metrics = [
        str(name)
        for name, variable in data.data_vars.items()
        if variable.dtype.kind == "f" and REPLICATION in variable.dims
    ]
    ranges = {name: crossings.bounds_of(data, name) for name in metrics}
    try:
        wanted = read_refinement(fields, Grid.of(axes), ranges, identity.get("paired", ()))
    except InvalidInput as error:
        if error.key.startswith("grid."):
            raise InvalidInput(
                "along", along, "has one level for some curve; must be one of two at least"
            ) from None
        raise InvalidInput(error.key.removeprefix("refine."), error.value, error.allowed) from None
    assert wanted
    return crossings.boundary(summary.moments_of(data[[wanted.metric, "status"]]), wanted)


def judge(data: xr.Dataset, claims: Sequence[Claim] | None = None) -> list[Judgement]:
    """Judge claims on results: by default those that the problem has on this experiment.

    Of each: `claim`, `check` (verdict, estimate, a sentence) and `control`, the same on data
    changed on purpose. Raises InvalidInput for what are no results of a study.

    >>> import pipeline as pl
    >>> results = pl.simulate("xu/lemmas", grid={"m": [2], "L": [50]}, replications=2000)
    >>> verdicts = {judgement.check.verdict for judgement in pl.judge(results)}
    >>> verdicts <= {"identity", "supported", "inconclusive"}
    True
    """
    identity = _identity(data)
    if claims is None:
        all_claims = problem(identity["problem"]).all_claims()
        levels = _levels_of_claims(data, identity["name"])
        claims = [
            claim.judged_at(levels) for claim in all_claims if claim.experiment == identity["name"]
        ]
    if not isinstance(claims, Sequence) or not all(isinstance(claim, Claim) for claim in claims):
        raise InvalidInput(
            "claims",
            shorten(claims),
            "must be a list of claims; without it those of the problem are judged",
        )
    return [looks.judge(claim, data) for claim in claims]


def _levels_of_claims(data: xr.Dataset, name: str) -> dict[str, Level]:
    """The level of each axis that is a constant of the experiment that claims are about.

    Empty for a study of a name that no experiment has.
    """
    if name not in config_files.options("experiment"):
        return {}
    constants = composition.named_experiment(name).get("parameters") or {}
    levels: dict[str, Level] = {}
    for axis in data["status"].dims:
        constant: Any = constants.get(axis)
        if data.sizes[axis] > 1 and constant in data[axis].values.tolist():
            levels[str(axis)] = constant
    return levels


def _as_dataset(data: object) -> xr.Dataset:
    """What a person gave as a dataset. Raises InvalidInput for anything else."""
    if isinstance(data, xr.Dataset):
        return data
    value = type(data).__name__
    source = "open_results, summarise and boundary"
    if isinstance(data, str):
        value = data
        source = f"pl.open_results({shorten(data)!r})"
    raise InvalidInput("data", value, f"must be a dataset of xarray, such as from {source}")


def _identity(data: xr.Dataset) -> dict[str, str]:
    """What the dataset says that its study is."""
    try:
        identity: dict[str, str] = json.loads(data.attrs["study"])
        data["status"], data[REPLICATION], identity["problem"], identity["name"]
        return identity
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput(
            "data",
            type(data).__name__,
            "must be results of a study, with their replications, status "
            "and attributes, as run and open_results give them",
        ) from None


def _path(value: object, key: str) -> str:
    """A path as a text; InvalidInput for anything else."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(path, str):
        return path
    allowed = "must be the path of a folder"
    if key == "results":
        allowed = "must be a path, or the name of an experiment"
    raise InvalidInput(key, type(value).__name__, allowed)


def _dataset(study: str, outputs: str) -> Path:
    """The folder of the dataset of a study, from its path or its name."""
    path = path_of(study, "results")
    root = path_of(outputs, "outputs")
    for folder in (path, path / results.SEALED):
        if os.path.isfile(folder / "zarr.json"):
            return folder
    if os.path.isdir(path) or not NAME.fullmatch(study):
        raise InvalidInput(
            "results", study, f"has no sealed results ({results.SEALED}); run the study first"
        )
    roots = sorted(root.glob(f"{study}-{'[0-9a-f]' * 8}/{results.SEALED}/zarr.json"))
    if len(roots) > 1:
        folders = [document.parent.parent for document in roots]
        differing = variants.in_words(folders)
        named = [f"{folder} ({differing[folder] or 'as it ships'})" for folder in folders]
        paths = ", ".join(named)
        raise InvalidInput(
            "results", study, f"is there several times; give one by its path: {paths}"
        )
    if not roots:
        raise InvalidInput(
            "results",
            study,
            f"no sealed results of that name in {root}; run the study first, or give another "
            "folder with outputs",
        )
    return roots[0].parent
