"""Run studies from Python: on the same clusters, with the same numbers and in the same folders as
the command.
"""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
import xarray as xr

from pipeline.library import requests
from pipeline.library.requests import Asked, Request
from pipeline.storage import datasets, results
from pipeline.storage.layout import Layout, positions
from pipeline.study.errors import FailedUnits
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reports
from pipeline.workflow import run as tasks
from pipeline.workflow.rounds import reached
from pipeline.workflow.sealed import is_current
from pipeline.workflow.shortfalls import line_of


def run(
    experiment: Asked, *, cluster: Any = "local", progress: bool = True, **changes: Any
) -> xr.Dataset:
    """Simulate what is missing of a study, seal it, and give its results, (grid axes…,
    replication).

    Args:
        experiment: name of an experiment; path of a YAML file, or of the folder of a finished
        study; a mapping with
            what such a file holds; or a `Study`.
        cluster: name of a kind of cluster, a mapping with `kind` and its fields, or a
        `distributed.Client`, which
            stays open.
        progress: whether to print how far it is. changes: what a command can change, as keywords:
        `size="quick"`, `outputs="folder"`, `replications=1000`,
            `grid={"L": [100, 400]}` (other axes stay), `parameters={"K": 3}`; None removes an axis
            or a parameter.

    Results lie in `outputs`, where the same call, or the same command, finds them. A large dataset
    is read on demand.

    Raises:
        InvalidInput: for a mistake, before anything is created.
        Stopped: where units are left, after Ctrl-C or `stop_after` seconds; the same call goes on.
        FailedUnits: where units raised an error; `open_results` has the others.
        SweepError: where the sweep could not go on.

    >>> import pipeline as pl
    >>> results = pl.run("xu/lemmas", size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous", progress=False)
    >>> dict(results.sizes)
    {'m': 1, 'L': 1, 'epsilon': 4, 'replication': 2000}
    """
    request = requests.read(experiment, changes, cluster)
    store = request.stored.store
    with _printing(progress), threadpoolctl.threadpool_limits(1, "blas"):
        store.backend.check()
        store.exists()
        (stored,), (schedule,) = tasks.complete(
            [request.stored], request.settings, request.cluster, request.command
        )
        request = request._replace(stored=stored)
        tasks.seal([request.stored], request.cluster)
        short = line_of(request.stored) if progress else ""
        if short:
            print(f"{request.stored.study.name}: {short}")
    if failed := int(schedule.listing.failed.sum()):
        raise FailedUnits(
            f"{failed:,} of {schedule.listing.failed.size:,} units failed, the first of them "
            f"{_failure(request)}; open_results({str(store.folder)!r}) has the others, "
            "retry_failed=True runs them again"
        )
    return _loaded(request)


def report(
    experiment: Asked, *, cluster: Any = "local", progress: bool = True, **changes: Any
) -> Path:
    """Judge the claims of a study that was begun, draw its figures and write its page.

    The path of the page.

    Arguments and errors are those of `run`. Before the end it is a report of the units that are
    done.

    >>> import pipeline as pl
    >>> wanted = dict(size="quick", grid={"m": [2], "L": [50]}, claims=False)
    >>> results = pl.run("xu/lemmas", cluster="synchronous", progress=False, **wanted)
    >>> pl.report("xu/lemmas", progress=False, **wanted).name
    'report.html'
    """
    request = requests.read(experiment, changes, cluster, "report")
    with _printing(progress), threadpoolctl.threadpool_limits(1, "blas"):
        request.stored.store.backend.check()
        stored = reached(request.stored)
        tasks.report([stored], request.settings, request.cluster, request.command)
    return (
        reports.folder(request.settings, [stored], interim=not is_current(stored.store))
        / "report.html"
    )


def simulate(experiment: Asked, **changes: Any) -> xr.Dataset:
    """Simulate a whole study in this process and store nothing: the numbers of `run`, (grid axes…,
    replication).

    For studies of seconds. Arguments as in `run`. An error in a part is raised as it is.

    >>> import pipeline as pl
    >>> study = pl.Study("small", "ranking", seed=1, replications=20, block=10,
    ...                  grid={"m": [5, 10], "epsilon": [0.5, 2.0]}, metrics=("error_l2",),
    ...                  parameters=dict(model="btl", L=50, mechanism="randomized_response", estimator="debiased"))
    >>> pl.simulate(study)["error_l2"].dims
    ('m', 'epsilon', 'replication')
    """
    study = requests.read(
        experiment, {"figures": [], **changes}
    ).stored.study  # none are drawn, so none are checked
    if study.precision:
        raise InvalidInput(
            "precision",
            study.precision[0].key,
            "goes with run, which stops there; simulate makes all replications",
        )
    if study.refine:
        raise InvalidInput(
            "refine",
            study.refine.along,
            "goes with run, which adds levels; simulate makes those given",
        )
    if study.until:
        raise InvalidInput(
            "until", "claims", "goes with run, which stops there; simulate makes all replications"
        )
    filled = datasets.blank(study)
    layout = Layout.of(study)
    places = [np.unravel_index(position, layout.shape) for position in positions(study, layout)]
    memo: dict[str, Any] = {}
    with np.errstate(all="ignore"), threadpoolctl.threadpool_limits(1, "blas"):
        for block in range(study.blocks):
            rows = slice(block * study.block, (block + 1) * study.block)
            for place, labels in zip(places, study.grid, strict=True):
                for name, values in study.simulate(labels, block, memo).items():
                    filled[name].values[*place, rows] = values
    return filled.assign_attrs(request=results.request(study))


def _loaded(request: Request) -> xr.Dataset:
    """The sealed results; InvalidInput where files are missing, OSError where another driver
    replaced them.
    """
    store = request.stored.store
    name = results.place(store) + results.SEALED
    loaded = results.load(store, name)
    if loaded.attrs.get("request") != results.request(request.stored.study):
        raise reports.Replaced
    return loaded


def _failure(request: Request) -> str:
    from pipeline.execution.schedule import failures, unit_in_words

    store = request.stored.store
    unit = next(iter(failures(store.listing())))
    return f"{unit_in_words(request.stored.study, unit)}: {reports.last_line(store, unit)}"


@contextlib.contextmanager
def _printing(wanted: bool) -> Iterator[None]:
    """Whether what the command prints is shown."""
    if wanted:
        yield
        return
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
