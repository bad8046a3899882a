"""What a status says apart from units: slow cells, memory of workers, jobs in a queue."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.execution.clusters import queued
from pipeline.execution.schedule import cell_in_words
from pipeline.storage import efforts
from pipeline.study.arrays import Array, Floats
from pipeline.study.untyped import CellLabels
from pipeline.workflow.studies import StoredStudy

MOST_CELLS = 3  # that are listed as the slowest


@dataclass(frozen=True)
class SlowCell:
    """A cell, its labels and its name, and mean seconds of its units."""

    cell: CellLabels
    name: str
    seconds: float


@dataclass(frozen=True)
class EffortSoFar:
    """What units took. seconds_of_work: of all; memory_of_worker: the most, in bytes, or None."""

    seconds_of_work: float
    memory_of_worker: int | None
    slowest: Sequence[SlowCell]


@dataclass(frozen=True)
class Queue:
    """The last submission of a study. submitted: its jobs; output: where they write.

    known: whether the batch system says which are left. jobs: those, in words.
    """

    system: str
    submitted: Sequence[str]
    output: str
    known: bool
    left: int
    jobs: str


def effort(stored: StoredStudy) -> EffortSoFar:
    """What the units of a study took, and its slowest cells."""
    entries = efforts.read(stored.store)
    work = float(entries["seconds"].sum())
    if not len(entries):
        return EffortSoFar(work, None, [])
    seconds = _seconds_of_cells(stored, entries)
    order = np.argsort(-np.nan_to_num(seconds, nan=-1.0), kind="stable")
    study = stored.study
    slowest = []
    for cell in order[:MOST_CELLS].tolist():
        if seconds[cell] > 0:
            labels = study.grid.labels(cell)
            slowest.append(SlowCell(labels, cell_in_words(study, cell), float(seconds[cell])))
    return EffortSoFar(work, int(entries["memory"].max()), slowest)


def _seconds_of_cells(stored: StoredStudy, entries: Array) -> Floats:
    """(cells,) mean seconds of a unit of each cell; NaN where none was measured."""
    names = stored.study.grid.digests()
    order = np.argsort(names)
    places = np.minimum(np.searchsorted(names[order], entries["cell"]), len(names) - 1)
    cells = order[places]
    known = names[cells] == entries["cell"]  # others are of levels that are not asked for now
    counts = np.bincount(cells[known], minlength=len(names))
    sums = np.bincount(cells[known], entries["seconds"][known].astype(float), minlength=len(names))
    with np.errstate(invalid="ignore"):
        seconds: Floats = sums / counts
    return seconds


def queue(stored: StoredStudy) -> Queue | None:
    """What is known of the last submission of a study; None where there was none."""
    submitted = queued.latest(stored.store.folder)
    if submitted is None:
        return None
    jobs = queued.unfinished(submitted)
    return Queue(
        system=submitted.system,
        submitted=list(submitted.jobs),
        output=submitted.output,
        known=jobs is not None,
        left=len(jobs or ()),
        jobs=queued.in_words(jobs or ()),
    )
