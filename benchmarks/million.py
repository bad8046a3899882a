"""A sweep of a million units, done and not extrapolated: what the driver costs, files, and what
comes after.

    python -m benchmarks.million [UNITS]

The study is `xu/lemmas` with one metric and the cheapest estimator, in blocks of one replication,
on two workers.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.reductions import ROOT, stored
from pipeline.storage.replications import Store

CELLS = 24


def arguments(outputs: str, units: int) -> list[str]:
    """Arguments of the command for a study of so many units."""
    return [
        "experiment=xu/lemmas",
        "block=1",
        f"replications={units // CELLS}",
        "metrics=[lean_true]",
        "claims=false",
        "parameters.estimator=rank_centrality",  # the cheapest
        "figures=[]",
        "cluster.workers=2",
        f"outputs={outputs}",
    ]


def run(what: str, *command: str) -> None:
    """Run the command and print the driver's own CPU, and its resident memory after a tenth of the
    time and at most.
    """
    start = time.monotonic()
    driver = psutil.Popen(
        [sys.executable, "-m", "pipeline", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    cpu, memory = 0.0, []
    while driver.poll() is None:
        try:
            times = driver.cpu_times()
            cpu = times.user + times.system
            memory.append(driver.memory_info().rss / 1e6)
        except psutil.Error:
            break
        time.sleep(0.05 if len(memory) < 100 else 1.0)
    said = driver.communicate()[0]
    wall = time.monotonic() - start
    early = memory[len(memory) // 10]
    print(
        f"{what:<18} {wall:8.1f} s wall, driver {cpu:7.1f} s CPU, {early:.0f} MB early, "
        f"{max(memory):.0f} MB at most, exit {driver.returncode}",
        flush=True,
    )
    if driver.returncode:
        print(said[-1000:])


def count(folder: Path) -> int:
    """Files below a folder."""
    return sum(path.is_file() for path in folder.rglob("*"))


def main() -> None:
    """Sweep, seal, ask again, verify."""
    units = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    outputs = tempfile.mkdtemp(prefix="million-", dir=ROOT / "outputs")
    try:
        store: Store = stored(arguments(outputs, units))
        number = len(store.study.grid) * store.study.blocks
        print(f"{number:,} units")
        run("sweep", *arguments(outputs, units), "shard=1/1")
        print(f"files before sealing {count(store.folder) / number:.4f} a unit")
        for when in ("before", "after"):
            start, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
            assert store.listing().done.all()
            print(
                f"listing {when} sealing {time.monotonic() - start:.2f} s wall, "
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu:.2f} s CPU"
            )
            if when == "before":
                run("seal and report", *arguments(outputs, units))
                print(f"files after sealing {count(store.folder) / number:.4f} a unit")
        run("nothing to do", *arguments(outputs, units))
        run("verify", *arguments(outputs, units), "task=verify")
    finally:
        shutil.rmtree(outputs)


if __name__ == "__main__":
    main()
