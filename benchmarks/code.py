"""What it costs that a number knows its code: seconds of fingerprinting, and reference units of
many workers.
"""

import tempfile
import time
from unittest import mock

from pipeline.cli.compose import compose
from pipeline.execution.runner import Runner, writer
from pipeline.execution.schedule import Schedule
from pipeline.storage.replications import Store
from pipeline.workflow.config import read_experiment

WORKERS = 80


def main() -> None:
    """Print both for xu/phase_transition."""
    study = read_experiment(compose(["experiment=xu/phase_transition"])[0]).study
    start = time.process_time()
    writer(study)
    first = time.process_time() - start
    start = time.process_time()
    writer(study)
    again = time.process_time() - start
    print(
        f"fingerprints and environment: {first:.3f} s of CPU in a new process, {again:.4f} s then"
    )
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Runner, "_simulate", _timed):
        store = Store(study, folder)
        store.begin()
        schedule = Schedule(study, store.listing())
        for _ in range(WORKERS):  # as many processes: a new runner compares anew
            Runner(store, schedule.references).agree()
        units = list(schedule)
        begun, seconds = len(SECONDS), sum(SECONDS)
        late = Schedule(study, store.listing()).references
        dearest = max(units, key=lambda pair: pair[1])
        Runner(store)._simulate(dearest[0])
        whole = SECONDS[-1] / dearest[1] * schedule.cost
    print(
        f"reference units of {WORKERS} workers of one kind: {begun} ({seconds:.3f} s), "
        f"{100 * seconds / whole:.3f} % of a sweep of {schedule.pending} units, {whole:.0f} s of "
        "CPU"
    )
    print(
        f"another kind makes {len(late)} of the most costly units, at most "
        f"{len(late) * SECONDS[-1]:.2f} s: {100 * len(late) * SECONDS[-1] / whole:.2f} %"
    )


SECONDS: list[float] = []
_simulate = Runner._simulate


def _timed(self: Runner, *rest: object) -> object:
    start = time.process_time()
    try:
        return _simulate(self, *rest)
    finally:
        SECONDS.append(time.process_time() - start)
