"""What `task=status` shows of a study besides its units: the slowest cells, memory of workers, jobs
in the queue.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import queued
from pipeline.execution.schedule import cell_in_words
from pipeline.storage import efforts
from pipeline.study.arrays import Floats
from pipeline.workflow.studies import StoredStudy

MOST_CELLS = 3  # that are listed as the slowest
NO_JOB_LEFT = "no job of the last submission is in the queue"


def effort_facts(stored: StoredStudy) -> dict[str, Any]:
    """Seconds of work and most memory of a worker in bytes, of all units.

    Of the slowest cells seconds a unit.
    """
    entries = efforts.read(stored.store)
    work = float(entries["seconds"].sum())
    facts: dict[str, Any] = {"seconds_of_work": work, "memory_of_worker": None, "slowest": []}
    if not len(entries):
        return facts
    facts["memory_of_worker"] = int(entries["memory"].max())
    seconds = _seconds_of_cells(stored, entries)
    slowest = np.argsort(-np.nan_to_num(seconds, nan=-1.0), kind="stable")[:MOST_CELLS]
    study = stored.study
    facts["slowest"] = [
        {
            "cell": study.grid.labels(cell),
            "name": cell_in_words(study, cell),
            "seconds": float(seconds[cell]),
        }
        for cell in slowest.tolist()
        if seconds[cell] > 0
    ]
    return facts


def _seconds_of_cells(stored: StoredStudy, entries: Any) -> Floats:
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


def queue_facts(stored: StoredStudy) -> dict[str, Any]:
    """What is known of the last submission of a study; empty where there was none."""
    submitted = queued.latest(stored.store.folder)
    if submitted is None:
        return {}
    jobs = queued.unfinished(submitted)
    return {
        "system": submitted.system,
        "submitted": list(submitted.jobs),
        "output": submitted.output,
        "known": jobs is not None,
        "left": len(jobs or ()),
        "jobs": queued.in_words(jobs or ()),
    }


def lines_of(facts: Mapping[str, Any]) -> list[str]:
    """The same for a person."""
    lines = []
    effort = facts["effort"]
    queue = facts["queue"]
    if effort["slowest"]:
        cells = "; ".join(
            f"{cell['name'] or 'the only one'}: {format_time(cell['seconds'])} a unit"
            for cell in effort["slowest"]
        )
        lines.append(f"  slowest cells: {cells}")
    if effort["memory_of_worker"]:
        lines.append(
            f"  work so far: {format_time(effort['seconds_of_work'])}; a worker took up to "
            f"{format_bytes(effort['memory_of_worker'])}"
        )
    if queue and queue["known"]:
        lines.append(f"  jobs of {queue['system']}: {queue['jobs']}")
    if facts["deserted"]:
        lines.append(
            f"  {NO_JOB_LEFT}, and there is more to do: the same task=submit goes on; the jobs' "
            f"output is in {queue['output']}"
        )
    return lines
