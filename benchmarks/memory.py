"""Peak memory of the driver against the number of units planned, 10³ to 10⁵, each in a process of its own."""

import json
import subprocess
import sys
import tempfile

SIZES = (1_000, 10_000, 100_000)

CHILD = """
import json, resource, sys, threading
from pipeline.clusters import Local
from pipeline.grid import Grid
from pipeline.store import Store
from pipeline.study import Study
from pipeline.sweep import run
from pipeline.work import Agenda, Work
units, folder = int(sys.argv[1]), sys.argv[2]
cells = max(units // 100, 1)
constants = dict(model="btl", mechanism="randomized_response", estimator="debiased", m=2, L=50)
study = Study("bench/memory", 1, 100, 1, Grid.of({"epsilon": tuple(0.1 + k / cells for k in range(cells))}),
              constants, ("error_l2",))
store = Store(folder)
rows = store.prepare(study)
agenda = Agenda(study, rows, store.done(study, rows))
stop, done = threading.Event(), []
def on_done(results, cost, workers):
    done.append(len(results))
    if sum(done) >= 800:
        stop.set()
with Local(workers=2).open() as executor:
    run(executor, Work(study, store), iter(agenda), total_cost=agenda.cost, stop=stop, on_done=on_done)
print(json.dumps(dict(planned=agenda.pending, done=sum(done),
                      peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)))
"""


def main() -> None:
    """Print peak memory of the driver, and its ratio to the smallest plan; each runs its first 800 units."""
    first = None
    for units in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            text = subprocess.run([sys.executable, "-c", CHILD, str(units), folder], check=True,
                                  capture_output=True, text=True).stdout
        found = json.loads(text)
        first = first or found["peak"]
        print(f"{found['planned']:>8,} units planned, {found['done']:,} run: driver's peak {found['peak']:.0f} MiB, "
              f"{found['peak'] / first:.2f} × the smallest", flush=True)


if __name__ == "__main__":
    main()
