"""What sealing, moments, claims, the report and verify cost a unit and hold in memory, on a study
of many gigabytes.

The units are those of `xu/lemmas`, with made-up numbers of the right law, so that writing them is
cheap. Every process is watched: the figures are the largest resident memory of any one, and CPU
seconds of all together.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from pipeline.cli.compose import compose
from pipeline.storage.replications import Store
from pipeline.study.study import Study
from pipeline.workflow.config import read_experiments, read_settings
from pipeline.workflow.studies import stored_studies

BLOCK = 2000
ROOT = Path(__file__).resolve().parent.parent


def arguments(outputs: str, replications: int) -> list[str]:
    """Arguments of the command for the study."""
    return [
        "experiment=xu/lemmas",
        f"block={BLOCK}",
        f"replications={replications}",
        f"outputs={outputs}",
    ]


def stored(arguments: list[str]) -> Store:
    """Where the study of a command is stored."""
    raw = compose(arguments)
    return stored_studies(read_settings(raw[0]), read_experiments(raw), raw)[0].store


def fill(store: Store, blocks: range, writer: str) -> None:
    """Write the units of some blocks."""
    rng = np.random.default_rng(blocks.start)
    for block in blocks:
        for cell in range(len(store.study.grid)):
            store.write(cell, block, numbers(store.study, rng), writer)


def numbers(study: Study, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of one unit: normal, all replications converged."""
    return {name: rng.standard_normal(study.block) for name in study.metrics} | {
        "status": np.ones(study.block, np.int8)
    }


class Watch:
    """Largest resident memory of any process below this one, in megabytes."""

    def __enter__(self) -> "Watch":
        self.most, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def _look(self) -> None:
        while not self.over.wait(0.05):
            for process in psutil.Process().children(recursive=True):
                try:
                    self.most = max(self.most, process.memory_info().rss / 1e6)
                except psutil.NoSuchProcess:
                    continue

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def run(what: str, *command: str) -> None:
    """Run the command and print what it took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with Watch() as watch:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", *command], capture_output=True, text=True, cwd=ROOT
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{what:<28} {time.monotonic() - start:8.1f} s wall {cpu:8.1f} s CPU {watch.most:7.0f} MB "
        f"at most in a process, exit {done.returncode}",
        flush=True,
    )
    if done.returncode not in (0, 1):
        print(done.stdout[-500:], done.stderr[-500:])


def main() -> None:
    """Fill, seal, report and verify a study of so many gigabytes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reductions")
    parser.add_argument("gigabytes", nargs="?", type=float, default=1.0)
    parser.add_argument(
        "--workers", nargs="+", type=int, default=[1, 2], metavar="N", help="one run for each"
    )
    chosen = parser.parse_args()
    gigabytes = chosen.gigabytes
    outputs = tempfile.mkdtemp(prefix="reductions-", dir=ROOT / "outputs")
    try:
        study = stored(arguments(outputs, BLOCK)).study
        of_a_block = len(study.grid) * BLOCK * (8 * len(study.metrics) + 1)
        blocks = max(int(gigabytes * 1e9 / of_a_block), 1)
        store = stored(arguments(outputs, blocks * BLOCK))
        run(
            "begin", *arguments(outputs, BLOCK), "claims=false", "figures=[]", "cluster=synchronous"
        )
        writer = next((store.folder / "replications/agreed").glob("*.json")).stem
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            size = -(-blocks // (os.cpu_count() or 1))
            list(
                pool.map(
                    fill,
                    *zip(
                        *[
                            (store, range(k, min(k + size, blocks)), writer)
                            for k in range(1, blocks, size)
                        ],
                        strict=True,
                    ),
                )
            )
        print(
            f"{blocks * len(study.grid):,} units of {BLOCK:,} replications and "
            f"{len(study.metrics)} metrics: {blocks * of_a_block / 1e9:.1f} GB"
        )
        for workers in chosen.workers:
            shutil.rmtree(store.folder / "results.zarr", ignore_errors=True)
            run(
                f"seal, judge, report ({workers})",
                *arguments(outputs, blocks * BLOCK),
                f"cluster.workers={workers}",
            )
        run("nothing to do", *arguments(outputs, blocks * BLOCK))
        for workers in chosen.workers:
            run(
                f"verify ({workers})",
                *arguments(outputs, blocks * BLOCK),
                "task=verify",
                f"cluster.workers={workers}",
            )
    finally:
        shutil.rmtree(outputs)


if __name__ == "__main__":
    main()
