"""The five simulation scenarios of Xu, Sun and Cheng, §5, from nothing to stored numbers, against
joblib.

Grids come from the experiments' own files, cut to what the paper compares. The rivals are what a
good scientist writes in an afternoon: a cell is a task of joblib, replications are a loop, released
counts come straight from their binomial law, fits from SciPy's L-BFGS-B with gradient, a good start
and its default tolerances (twice as fast as at ours), metrics from NumPy; the second rival fits by
the dense Newton of `benchmarks.estimator`. All run two processes with one BLAS thread each, in
turn. Starts, until each process has simulated one replication, are counted and also shown alone. A
ratio is only printed after every mean of every cell was found to agree. Where others use the
machine as well, the ratio of processor times is the steadier one.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from scipy.optimize import minimize
from scipy.special import expit, ndtri

from benchmarks.estimator import (
    numpy_newton,  # the rest of ours where needed: a rival's workers import this module
)
from benchmarks.rows import row, spread

WORKERS = 2
BLOCK = 2000  # or all replications, if fewer
PAPER = {1: 50, 2: 50, 3: 100, 4: 100, 5: 100}  # scenario: replications
TIMES = {1: 3, 40: 1}  # as many replications as the paper's: rounds
REPLICATIONS = os.environ.get(
    "BENCH_REPLICATIONS"
)  # of every scenario, instead; a multiple of BLOCK if above it
ROLES = {"mechanism": ("randomized_response", "laplace"), "estimator": ("debiased", "plug_in")}
BARS = {
    ("Newton", 1): "≥ 1.3",
    ("L-BFGS-B", 1): "≥ 2",
    ("Newton", 40): "≥ 6",
}  # rival, times the paper's replications
ALPHA = 1e-6  # false alarms of a whole comparison


def experiment(scenario: int, replications: int):
    """A scenario from its file: the metrics, mechanisms and estimators of the paper, so many
    replications.
    """
    from pipeline.cli.compose import compose
    from pipeline.workflow.config import read_experiment

    [raw] = compose([f"experiment=xu/scenario_{scenario}"])
    raw |= {
        "replications": replications,
        "block": min(BLOCK, replications),
        "figures": [],
        "coordinates": [],
        "metrics": [name for name in raw["metrics"] if name in MEASURES],
    }
    for product in raw["grid"] if isinstance(raw["grid"], list) else [raw["grid"]]:
        product |= {
            role: [n for n in product[role] if n in ROLES[role]]
            for role in ROLES
            if role in product
        }
    return read_experiment(raw)


def ours(experiments: list, folder: Path) -> tuple[list, dict[str, float]]:
    """Values per scenario and cell, (metric, rep), and seconds: start, work, sealing, and of
    processors in all.

    Little work is done in this process, as the command would.
    """
    from pipeline.execution.clusters import Executor, Local
    from pipeline.execution.runner import Runner
    from pipeline.execution.schedule import COST_OF_A_SECOND, Schedule
    from pipeline.execution.sweep import Bundling, run
    from pipeline.storage.replications import Store
    from pipeline.workflow.reduce import seal
    from pipeline.workflow.studies import StoredStudy

    stored = [
        StoredStudy(one, Store(one.study, folder / one.study.name), {}) for one in experiments
    ]
    seconds = (
        sum(Schedule(one.study, one.store.listing()).cost for one in stored) / COST_OF_A_SECOND
    )
    first = replace(experiments[0].study, replications=1, block=1)
    used = _processors()
    times = [time.perf_counter()]
    with (
        nullcontext(Executor())
        if Local().needless(seconds)
        else Local(workers=WORKERS).open() as executor
    ):
        if executor.client is None:
            first.simulate(first.grid.labels(0), 0)
        else:
            executor.client.wait_for_workers(WORKERS)
            executor.client.run(first.simulate, first.grid.labels(0), 0)
        times.append(time.perf_counter())
        for one in stored:
            one.store.begin()
            schedule = Schedule(one.study, one.store.listing())
            outcome = run(
                executor,
                Runner(one.store),
                iter(schedule),
                bundling=Bundling(total_cost=schedule.cost),
            )
            assert outcome.units_done == len(one.study.grid) * one.study.blocks
    times.append(time.perf_counter())
    for one in stored:
        seal(one, Executor())
    times.append(time.perf_counter())
    used = _processors() - used
    values = [
        [
            np.concatenate(
                [one.store.read(cell, block).metrics for block in range(one.study.blocks)], axis=1
            )
            for cell in range(len(one.study.grid))
        ]
        for one in stored
    ]
    return values, dict(
        zip(("start", "work", "sealing", "processors"), [*np.diff(times), used], strict=True)
    )


def lbfgs(scores: np.ndarray, ridge: float) -> np.ndarray:
    """One fit (item,) by L-BFGS-B over pairs, SciPy's default tolerances."""
    m = scores.size
    i, j = np.triu_indices(m, 1)
    excess = scores - (m - 1) / 2

    def objective(theta):
        half = (theta[i] - theta[j]) / 2
        slope, size = np.tanh(half) / 2, np.abs(half)
        value = (
            size.sum() + np.log1p(np.exp(-2 * size)).sum() + ridge * theta @ theta - excess @ theta
        )
        return value, np.bincount(i, slope, m) - np.bincount(
            j, slope, m
        ) + 2 * ridge * theta - excess

    return minimize(objective, excess / (m / 4 + 2 * ridge), jac=True, method="L-BFGS-B").x


def _hamming(truth, estimate, i, j):
    top = truth.size // 2
    return (
        1
        - len({*np.argsort(-truth)[:top].tolist()} & {*np.argsort(-estimate)[:top].tolist()}) / top
    )


MEASURES = {
    "error_l2": lambda truth, estimate, i, j: np.sqrt(((estimate - truth) ** 2).mean()),
    "error_inf": lambda truth, estimate, i, j: np.abs(estimate - truth).max(),
    "hamming_top_k": _hamming,
    "kendall": lambda truth, estimate, i, j: (
        (1 - np.sign((truth[i] - truth[j]) * (estimate[i] - estimate[j])).mean()) / 2
    ),
}


def cell_by_hand(fit, values: dict, metrics: tuple[str, ...], reps: int, seed: int) -> np.ndarray:
    """(metric, rep) of one cell of a rival: simulate, fit, measure, one replication after the
    other.
    """
    rng = np.random.default_rng(seed)
    m, users, epsilon = values["m"], values["L"], values["epsilon"]
    laplace, spaced = values["mechanism"] == "laplace", values.get("theta") == "spaced"
    i, j = np.triu_indices(m, 1)
    t = np.tanh(epsilon / 2)
    ridge = (1 + 8 / epsilon**2 if laplace else 1 / t**2) / users
    found = np.empty((len(metrics), reps))
    for r in range(reps):
        truth = values["spacing"] * rng.permutation(m) if spaced else rng.uniform(-2, 2, m)
        truth = truth - truth.mean()
        p = expit(truth[i] - truth[j])
        if laplace:
            noise = rng.standard_gamma(users, p.size) - rng.standard_gamma(users, p.size)
            mean = (rng.binomial(users, p) + noise / epsilon) / users
        else:
            mean = rng.binomial(users, 0.5 + t * (p - 0.5)) / users
            if values["estimator"] == "debiased":
                mean = 0.5 + (mean - 0.5) / t
        estimate = fit(np.bincount(i, mean, m) + np.bincount(j, 1 - mean, m), ridge)
        found[:, r] = [MEASURES[name](truth, estimate, i, j) for name in metrics]
    return found


def by_hand(fit, experiments: list, folder: Path) -> tuple[list, dict[str, float]]:
    """The same as `ours`, by a rival: all cells in one queue, the costly first, one file per
    scenario.
    """
    studies = [one.study for one in experiments]
    cells = [
        (study.values(labels), study, k) for k, study in enumerate(studies) for labels in study.grid
    ]
    order = sorted(range(len(cells)), key=lambda c: -cells[c][0]["m"] * cells[c][1].replications)
    used = _processors()
    times = [time.perf_counter()]
    with parallel_config("loky", inner_max_num_threads=1), Parallel(n_jobs=WORKERS) as pool:
        pool(
            delayed(cell_by_hand)(fit, cells[0][0], cells[0][1].metrics, 1, 0)
            for _ in range(2 * WORKERS)
        )
        times.append(time.perf_counter())
        found = pool(
            delayed(cell_by_hand)(
                fit, cells[c][0], cells[c][1].metrics, cells[c][1].replications, c
            )
            for c in order
        )
        values = [[] for _ in studies]
        for c in np.argsort(order):
            values[cells[order[c]][2]].append(found[c])
        for study, kept in zip(studies, values, strict=True):
            np.savez(folder / study.name.replace("/", "-"), np.array(kept))
        times.append(time.perf_counter())
    get_reusable_executor().shutdown(wait=True)  # so that the next start is a start
    return values, dict(
        zip(("start", "work", "processors"), [*np.diff(times), _processors() - used], strict=True)
    )


def distances(ours: list, rival: list) -> np.ndarray:
    """|z| of the difference of means, for every scenario, cell and metric.

    0 where nothing varies nor differs.
    """
    found = []
    for a, b in (
        (a, b)
        for ours, rival in zip(ours, rival, strict=True)
        for a, b in zip(ours, rival, strict=True)
    ):
        error = np.sqrt(a.var(axis=1, ddof=1) / a.shape[1] + b.var(axis=1, ddof=1) / b.shape[1])
        found.append(np.abs(a.mean(axis=1) - b.mean(axis=1)) / np.maximum(error, 1e-12))
    return np.concatenate(found)


def compare(replications: dict[int, int], rounds: int) -> None:
    """Print seconds of the three versions, and the ratios of the rivals' to ours: medians of
    rounds, extremes.
    """
    experiments = [experiment(scenario, count) for scenario, count in replications.items()]
    cells, fits = (
        sum(len(one.study.grid) for one in experiments),
        {"L-BFGS-B": lbfgs, "Newton": numpy_newton},
    )
    total = sum(len(one.study.grid) * one.study.replications for one in experiments)
    print(
        f"{cells} cells, {total:,} replications ({min(replications.values()):,} to "
        f"{max(replications.values()):,} a cell), {WORKERS} processes, rounds: {rounds}",
        flush=True,
    )
    spent, z = {name: [] for name in ("ours", *fits)}, {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            values, times = ours(experiments, Path(folder))
            spent["ours"].append(times)
            for name, fit in fits.items():
                found, times = by_hand(fit, experiments, Path(folder))
                spent[name].append(times)
                z[name] = distances(values, found)
                if not z[name].max() <= (bound := -ndtri(ALPHA / 2 / z[name].size)):
                    raise SystemExit(
                        f"{name} and ours differ: |z| = {z[name].max():.1f} at mean "
                        f"{z[name].argmax()}"
                    )
    for name, every in spent.items():
        parts = {part: np.median([times[part] for times in every]) for part in every[0]}
        print(
            f"  {name:8s} seconds: "
            + ", ".join(f"{part} {seconds:.1f}" for part, seconds in parts.items())
        )
    for name in fits:
        bar = BARS.get((name, min(replications.values()) // min(PAPER.values())), "none")
        row(
            f"five scenarios, {total:,} replications, start included: {name} ÷ ours",
            _ratios(spent, name, "start", "work", "sealing"),
            bar,
        )
        work, processors = (spread(_ratios(spent, name, part)) for part in ("work", "processors"))
        print(
            f"  {name} ÷ ours: work alone {work}, processors {processors}; {z[name].size} means "
            f"of {cells} cells agree, largest |z| {z[name].max():.1f} (bound {bound:.1f})",
            flush=True,
        )


def _ratios(spent: dict, name: str, *parts: str) -> list[float]:
    """Rival's seconds over ours, in every round."""
    return [
        sum(theirs.get(part, 0) for part in parts) / sum(mine[part] for part in parts)
        for theirs, mine in zip(spent[name], spent["ours"], strict=True)
    ]


def _processors() -> float:
    """Seconds of processors used by this process and by those of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def command(replications: int) -> None:
    """Print the wall time of the command that does the five scenarios, all that its files ask for,
    report included.
    """
    names = ",".join(f"xu/scenario_{scenario}" for scenario in PAPER)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pipeline",
                f"experiments=[{names}]",
                f"replications={replications}",
                f"block={min(BLOCK, replications)}",
                f"outputs={folder}",
                f"cluster.workers={WORKERS}",
            ],
            capture_output=True,
            text=True,
        )
        wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    print(
        f"the command, {replications:,} replications a cell, from its start to its end: "
        f"{wall:.1f} s, of which {re.search('report written in .*', done.stdout)[0]}",
        flush=True,
    )


def main() -> None:
    """Print the comparison at the paper's replications and at 40 times as many, and the command's
    wall time.
    """
    if REPLICATIONS:
        compare(dict.fromkeys(PAPER, int(REPLICATIONS)), max(TIMES.values()))
        return
    for times, rounds in TIMES.items():
        compare({scenario: times * count for scenario, count in PAPER.items()}, rounds)
    command(max(PAPER.values()))


if __name__ == "__main__":
    main()
