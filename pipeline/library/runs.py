"""Run studies from Python: on the same clusters, with the same numbers and in the same folders as
the command.
"""

import sys
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import threadpoolctl
import xarray as xr

from pipeline.library import requests
from pipeline.library.requests import Changes, ClusterLike, ExperimentLike
from pipeline.storage import datasets, results
from pipeline.storage.layout import Layout, positions
from pipeline.study.errors import FailedUnits
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from pipeline.workflow import report_record
from pipeline.workflow import run as tasks
from pipeline.workflow.export import with_plain_attributes
from pipeline.workflow.failed_units import failed_units
from pipeline.workflow.job import Job
from pipeline.workflow.narration import Narration
from pipeline.workflow.rounds import continued
from pipeline.workflow.sealed import is_current
from pipeline.workflow.studies import ScheduledStudy, StoredStudy

BLAS_THREADS = 1  # as in workers: the same bytes on any machine


def run(
    experiment: ExperimentLike,
    *,
    cluster: ClusterLike = "local",
    progress: bool = True,
    **changes: Unpack[Changes],
) -> xr.Dataset:
    """Simulate what is missing of a study, seal it, and give its results, (grid axes…,
    replication).

    Args:
        experiment: name of an experiment; path of a YAML file, or of the folder of a finished
            study; a mapping with what such a file holds; or a `Study`, which is used as it is.
        cluster: name of a kind of cluster, a mapping with `kind` and its fields, or a
            `distributed.Client`, which stays open.
        progress: whether to show how far it is; without it nothing is printed.
        changes: what a command can change, as keywords, see `pipeline.library.requests.Changes`:
            `size="quick"`, `outputs="folder"`, `replications=1000`, `grid={"L": [100, 400]}` (other
            axes stay), `parameters={"K": 3}`; None removes an axis or a parameter.

    Results lie in `outputs`, where the same call, or the same command, finds them. A large dataset
    is read on demand.

    Raises:
        InvalidInput: for a mistake, before anything is created.
        Stopped: where units are left, after Ctrl-C or `stop_after` seconds; the same call goes on.
        FailedUnits: where units raised an error; `open_results` has the others.
        SweepError: where the sweep could not go on.

    >>> import pipeline as pl
    >>> results = pl.run("xu/lemmas", size="quick", grid={"m": [2], "L": [50]},
    ...                  cluster="synchronous", progress=False)
    >>> dict(results.sizes)
    {'m': 1, 'L': 1, 'epsilon': 4, 'replication': 2000}
    """
    job = _listened(requests.read(experiment, changes, cluster), progress)
    (stored,) = job.studies
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        stored.store.backend.check()
        stored.store.exists()
        part = tasks.results_of(job)
    if part.schedule.listing.failed.any():
        raise _failed(part, job)
    return _loaded(part.stored)


def report(
    experiment: ExperimentLike,
    *,
    cluster: ClusterLike = "local",
    progress: bool = True,
    **changes: Unpack[Changes],
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
    job = _listened(requests.read(experiment, changes, cluster, "report"), progress)
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        (begun,) = job.studies
        begun.store.backend.check()
        stored = continued(begun)
        tasks.report(job.of([stored]))
    is_interim = not is_current(stored.store)
    return report_record.folder(job.settings, [stored], interim=is_interim) / "report.html"


def simulate(experiment: ExperimentLike, **changes: Unpack[Changes]) -> xr.Dataset:
    """Simulate a whole study in this process and store nothing: the numbers of `run`, (grid axes…,
    replication).

    For studies of seconds. Arguments as in `run`. An error in a part is raised as it is.

    >>> import pipeline as pl
    >>> study = pl.Study("small", "ranking", seed=1, replications=20, block=10,
    ...                  grid={"m": [5, 10], "epsilon": [0.5, 2.0]}, metrics=("error_l2",),
    ...                  parameters={"model": "btl", "L": 50, "mechanism": "randomized_response",
    ...                              "estimator": "debiased"})
    >>> pl.simulate(study)["error_l2"].dims
    ('m', 'epsilon', 'replication')
    """
    # No figures are drawn, so none are checked.
    job = requests.read(experiment, {"figures": [], **changes})
    study = job.studies[0].study
    _refuse_rules(study)
    filled = datasets.blank(study)
    layout = Layout.of(study)
    places = [np.unravel_index(position, layout.shape) for position in positions(study, layout)]
    memo: dict[str, Any] = {}
    with np.errstate(all="ignore"), threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        for block in range(study.blocks):
            rows = slice(block * study.block, (block + 1) * study.block)
            for place, labels in zip(places, study.grid, strict=True):
                for name, values in study.simulate(labels, block, memo).items():
                    filled[name].values[*place, rows] = values
    return filled.assign_attrs(request=results.request(study))


def _refuse_rules(study: Study) -> None:
    """Raise InvalidInput for a study whose end or levels follow from its results."""
    if study.precision:
        raise InvalidInput(
            "precision",
            study.precision[0].key,
            "needs run, which stops there; simulate makes all replications",
        )
    if study.refine:
        raise InvalidInput(
            "refine",
            study.refine.along,
            "needs run, which adds levels; simulate has only those of the grid",
        )
    if study.until:
        raise InvalidInput(
            "until", "claims", "needs run, which stops there; simulate makes all replications"
        )


def _listened(job: Job, progress: bool) -> Job:
    """The job with somebody who shows how far it is, or nobody."""
    if not progress:
        return job
    return job.subscribed(Narration(sys.stdout, sys.stderr))


def _loaded(stored: StoredStudy) -> xr.Dataset:
    """The sealed results; InvalidInput where files are missing, OSError where another driver
    replaced them.
    """
    store = stored.store
    loaded = results.load(store, results.place(store) + results.SEALED)
    if loaded.attrs.get("request") != results.request(stored.study):
        raise report_record.Replaced
    return with_plain_attributes(loaded)


def _failed(part: ScheduledStudy, job: Job) -> FailedUnits:
    """The error of a run some of whose units failed."""
    listing = part.schedule.listing
    failed = failed_units(part.stored, listing, job.invocation)
    first = failed.first[0]
    folder = str(part.stored.store.folder)
    return FailedUnits(
        f"{failed.count:,} of {listing.failed.size:,} units failed, the first of them "
        f"{first.name}: {first.error}; open_results({folder!r}) has the others, "
        "retry_failed=True runs them again"
    )
