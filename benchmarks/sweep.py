"""The whole sweep, simulation to stored units on two workers, against the same work with joblib.

The rival is what an expert would write: released counts drawn straight from their binomial law,
whole blocks at once, metrics in NumPy, one file per block; fits by dense Newton, one at a time,
from a good start. Both run two processes with one BLAS thread each, in turn, on the same cells and
replications.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit

from benchmarks.estimator import numpy_newton
from pipeline.execution.clusters import Local
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.execution.sweep import Bundling, run
from pipeline.storage.replications import Store
from pipeline.study.grid import Grid
from pipeline.study.study import Study

WORKERS = 2
BLOCK = 2000
REPLICATIONS = int(os.environ.get("BENCH_REPLICATIONS", 20_000))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", 2))
GRID = Grid.of({"m": (10, 20, 40), "L": (100, 400, 1600), "x": (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)})
METRICS = ("error_l2", "error_inf", "hamming_top_k", "kendall")


def study() -> Study:
    """The phase transition's study, one estimator, four metrics."""
    constants = dict(
        model="btl", mechanism="randomized_response", draw="marginal", estimator="debiased"
    )
    return Study(
        "bench/sweep",
        "ranking",
        7,
        REPLICATIONS,
        BLOCK,
        GRID,
        constants,
        METRICS,
        {"epsilon": "budget_from_x"},
    )


class TimedRunner(Runner):
    """Runner that returns the seconds spent in simulation alone, without storing."""

    def _run(self, unit, memo, writer_id):
        start = time.perf_counter()
        values = self.study.simulate(self.study.grid.labels(unit.cell), unit.block, memo)
        seconds = time.perf_counter() - start
        self.store.write(unit.cell, unit.block, values, writer_id)
        return seconds


def ours(folder: Path) -> tuple[float, float, float]:
    """Wall seconds with and without the cluster's start, and seconds inside simulation kernels."""
    kernels = []
    start = time.perf_counter()
    plan = study()
    store = Store(plan, folder)
    store.begin()
    schedule = Schedule(plan, store.listing())
    with Local(workers=WORKERS).open() as executor:
        outcome = run(
            executor,
            TimedRunner(store),
            iter(schedule),
            bundling=Bundling(total_cost=schedule.cost),
            on_done=lambda seconds, *_: kernels.extend(seconds),
        )
        wall = time.perf_counter() - start
    assert outcome.units_done == len(GRID) * plan.blocks
    return wall, outcome.seconds_wall, sum(kernels)


def block_by_hand(path: Path, seed: int, m: int, users: int, x: float) -> None:
    """One block of the rival: simulate, fit one by one, measure, save."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(m, 1)
    epsilon = x / np.sqrt(m * users)
    t = np.tanh(epsilon / 2)
    theta = rng.uniform(-2, 2, (BLOCK, m))
    theta -= theta.mean(1, keepdims=True)
    wins = rng.binomial(users, 0.5 + t * (expit(theta[:, i] - theta[:, j]) - 0.5))
    mean = 0.5 + (wins / users - 0.5) / t
    scores = np.zeros((BLOCK, m, m))
    scores[:, i, j], scores[:, j, i] = mean, 1 - mean
    scores = scores.sum(2)
    fit = np.array([numpy_newton(row, 1 / t**2 / users) for row in scores])
    top, best = np.argsort(-theta, 1)[:, : m // 2], np.argsort(-fit, 1)[:, : m // 2]
    order = np.sign(theta[:, i] - theta[:, j]) * np.sign(fit[:, i] - fit[:, j])
    np.savez(
        path,
        error_l2=np.sqrt(((fit - theta) ** 2).mean(1)),
        error_inf=np.abs(fit - theta).max(1),
        kendall=(order < 0).mean(1),
        hamming=[1 - np.isin(a, b).mean() for a, b in zip(top, best, strict=True)],
    )


def by_hand(folder: Path) -> float:
    """Wall seconds of the rival, its pool started before."""
    cells = [c for c in GRID for _ in range(REPLICATIONS // BLOCK)]
    with Parallel(n_jobs=WORKERS) as pool:
        pool(delayed(abs)(k) for k in range(8))
        start = time.perf_counter()
        pool(
            delayed(block_by_hand)(folder / f"{k}.npz", k, c["m"], c["L"], c["x"])
            for k, c in sorted(enumerate(cells), key=lambda pair: -pair[1]["m"])
        )
        return time.perf_counter() - start


def main() -> None:
    """Print both walls, their ratio, and our wall over kernel time ÷ workers."""
    units = len(GRID) * REPLICATIONS // BLOCK
    print(
        f"{units:,} units of {BLOCK:,} replications, {WORKERS} workers; ours counts the cluster's "
        "start"
    )
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            wall, sweep, kernels = ours(Path(folder) / "ours")
            rival = by_hand(Path(folder))
        print(
            f"ours {wall:.1f} s   joblib {rival:.1f} s   ratio {rival / wall:.2f}   "
            f"overhead (sweep's wall ÷ (kernels ÷ workers)) {sweep / (kernels / WORKERS):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
