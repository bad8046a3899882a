"""What the command answers of stored studies, from Python: state, bytes, differences."""

import dataclasses
import os
from typing import Unpack

import threadpoolctl

from pipeline.library import requests
from pipeline.library.requests import Changes, ClusterLike, ExperimentLike
from pipeline.library.runs import BLAS_THREADS
from pipeline.study.parameters import path_of
from pipeline.workflow import compare as comparing
from pipeline.workflow import plan as planning
from pipeline.workflow import shelf
from pipeline.workflow import status as states
from pipeline.workflow import verify as verifying
from pipeline.workflow.compare import Comparison
from pipeline.workflow.plan import StudyPlan
from pipeline.workflow.rounds import continued
from pipeline.workflow.shelf import Shelved
from pipeline.workflow.status import StudyStatus
from pipeline.workflow.verify import Verified


def plan(
    experiment: ExperimentLike, *, cluster: ClusterLike = "local", **changes: Unpack[Changes]
) -> StudyPlan:
    """What `pipeline.run` would do: units, those that are done, predicted time and memory, bytes.

    Simulates for at most a second and stores nothing. Arguments as in `pipeline.run`. Raises
    InvalidInput for a mistake, and for parts of one's own that are not deterministic.

    >>> import pipeline as pl
    >>> planned = pl.plan("xu/lemmas", size="quick", outputs="nowhere")
    >>> planned.done, planned.expected.pending == planned.units
    (0, True)
    """
    job = requests.read(experiment, changes, cluster, "plan")
    (stored,) = job.studies
    stored.store.backend.check()
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        (planned,) = planning.planned([continued(stored)], job.cluster)
    return planned


def status(experiment: ExperimentLike, **changes: Unpack[Changes]) -> StudyStatus:
    """The state of a study, from what is stored alone: what is done, what failed, who is at it.

    Arguments as in `pipeline.run`. Raises InvalidInput for a mistake.

    >>> import pipeline as pl
    >>> pl.status("xu/lemmas", size="quick", outputs="nowhere").state
    <State.MORE_TO_DO: 'more to do'>
    """
    job = requests.read(experiment, changes, task="status")
    (stored,) = job.studies
    stored.store.backend.check()
    stored.store.exists()
    return states.status([continued(stored)], job.invocation)[0]


def verify(
    experiment: ExperimentLike,
    *,
    cluster: ClusterLike = "local",
    repair: bool = False,
    **changes: Unpack[Changes],
) -> Verified:
    """Check every stored byte of a study; `sound` says whether all are as they were written.

    repair: whether damaged units are marked as not run. Other arguments as in `pipeline.run`.
    Raises InvalidInput for a study that is not begun, and where the code here computes other
    numbers than those stored.

    >>> import pipeline as pl
    >>> small = dict(size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous")
    >>> results = pl.run("xu/lemmas", progress=False, **small)
    >>> pl.verify("xu/lemmas", **small).sound
    True
    """
    job = requests.read(experiment, changes, cluster, "verify")
    settings = dataclasses.replace(job.settings, repair=repair)
    (stored,) = job.studies
    stored.store.backend.check()
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        (verified,) = verifying.verify([continued(stored)], settings, job.cluster)
    return verified


def compare(first: str, second: str, outputs: str | os.PathLike[str] = "outputs") -> Comparison:
    """How two finished studies differ, cell by cell, the first less the second.

    first, second: names as `list_studies` gives them. Raises InvalidInput for a study that is not
    there or not sealed, and for studies with other axes.

    >>> import pipeline as pl
    >>> small = dict(size="quick", grid={"m": [2], "L": [50]}, cluster="synchronous", outputs="two")
    >>> for seed in (1, 2):
    ...     results = pl.run("xu/lemmas", seed=seed, progress=False, **small)
    >>> pl.compare(*(study.name for study in pl.list_studies("two")), outputs="two").cells
    4
    """
    folder = path_of(os.fspath(outputs), "outputs")
    with threadpoolctl.threadpool_limits(BLAS_THREADS, "blas"):
        return comparing.compare(folder, f"{first},{second}")


def list_studies(outputs: str | os.PathLike[str] = "outputs") -> list[Shelved]:
    """All studies and suites in a folder of outputs, with their verdicts and sizes.

    >>> import pipeline as pl
    >>> pl.list_studies("nowhere")
    []
    """
    return shelf.shelved(path_of(os.fspath(outputs), "outputs"))
