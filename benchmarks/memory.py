"""The driver against the number of units: its peak memory, the time to plan, the time per unit.

And per bundle.

python -m benchmarks.memory            plans of 10³ to 10⁶ units, the first 800 of each run; bundles
of one unit python -m benchmarks.memory 100000     sweeps of 10³, 10⁴ … units, to the end
"""

import json
import os
import subprocess
import sys
import tempfile

PLANS, FIRST = (1_000, 10_000, 100_000, 1_000_000), 800

CHILD = """
import json, os, resource, sys, threading, time
from pipeline.execution.clusters import Local
from pipeline.study.grid import Grid
from pipeline.storage.replications import Store
from pipeline.study.study import Study
from pipeline.execution.sweep import Bundling, run
from pipeline.execution.schedule import Schedule
from pipeline.execution.runner import Runner
units, most, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
cells = max(units // 100, 1)
constants = dict(model="btl", mechanism="randomized_response", estimator="debiased", m=2, L=50)
def study(cells):
    levels = tuple(0.1 + k / cells for k in range(cells))
    return Study("bench/memory", "ranking", 1, 100, 1, Grid.of({"epsilon": levels}), constants, ("error_l2",))
def plan(study, store):
    store.begin()
    return Schedule(study, store.listing())
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
plan(study(1), Store(study(1), folder + "/other"))  # imports are not planning
before, start = peak(), time.perf_counter()
what = study(cells)
store = Store(what, folder)
schedule = plan(what, store)
planned, seconds_plan, memory_plan = schedule.pending, time.perf_counter() - start, peak() - before
stop, done = threading.Event(), []
def on_done(results, bundle, workers):
    done.append(len(results))
    if sum(done) >= most:
        stop.set()
with Local(workers=2).open() as executor:
    outcome = run(executor, Runner(store), iter(schedule), bundling=Bundling(schedule.cost), stop=stop, on_done=on_done)
driver, cpu = peak(), time.process_time()
start = time.perf_counter()
assert store.listing().done.sum() == outcome.units_done
print(json.dumps(dict(planned=planned, plan=seconds_plan, memory=memory_plan, done=outcome.units_done,
                      wall=outcome.seconds_wall, work=outcome.seconds_work, bundles=len(done), cpu=cpu, peak=driver,
                      listing=time.perf_counter() - start)))
"""


BUNDLES = """
import dataclasses
import time
from pipeline.execution.clusters import Local
from pipeline.execution.sweep import Bundling, run
with Local(workers=2).open() as executor:
    executor = dataclasses.replace(executor, window=100)
    run(executor, len, ((unit, 1.0) for unit in range(200)), bundling=Bundling(seconds=1e-9))
    start, count = time.process_time(), []
    run(executor, len, ((unit, 1.0) for unit in range(4000)), bundling=Bundling(seconds=1e-9),
        on_done=lambda *_: count.append(1))
    print(1e3 * (time.process_time() - start) / len(count))
"""


def child(units: int, most: int) -> dict:
    """What a process of its own tells of a plan of `units`, of which at least `most` are run."""
    with tempfile.TemporaryDirectory() as folder:
        text = subprocess.run(
            [sys.executable, "-c", CHILD, str(units), str(most), folder],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    return json.loads(text)


def main() -> None:
    """Print one line for each size; each runs in a process of its own."""
    whole = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 0
    first = None
    for units in [n for n in PLANS if n <= whole] if whole else PLANS:
        found = child(units, units if whole else FIRST)
        first = first or found["peak"]
        print(
            f"{found['planned']:>9,} units planned in {found['plan']:.2f} s, "
            f"{found['memory']:.0f} MiB; {found['done']:,} run: "
            f"{1e3 * found['wall'] / found['done']:.2f} ms a unit, "
            f"{1e3 * found['work'] / found['done']:.2f} ms inside one of 2 workers, in "
            f"{found['bundles']:,} bundles; driver's CPU {found['cpu']:.1f} s, peak "
            f"{found['peak']:.0f} MiB, {found['peak'] / first:.2f} × the smallest; listed in "
            f"{found['listing']:.2f} s; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    if not whole:
        text = subprocess.run(
            [sys.executable, "-c", BUNDLES], check=True, capture_output=True, text=True
        ).stdout
        print(f"a bundle costs scheduler and client {float(text):.1f} ms of CPU")


if __name__ == "__main__":
    main()
