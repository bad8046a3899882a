"""Seconds against size, each with its order in theory beside it; draws docs/images/cost.png.

Sizes of a problem are measured on one unit in this process, one BLAS thread, in seconds of the
processor for each replication: data, release, fit and one metric. Cells and units are measured on
whole sweeps in this process, stored units included, workers in seconds of the clock, their start
included. The exponent is the slope of a line through the logarithms of the upper half of the sizes:
small ones cost what a call costs.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.execution.clusters import Executor, Local
from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Schedule
from pipeline.execution.sweep import Bundling, run
from pipeline.storage.replications import Store
from pipeline.study.grid import Grid
from pipeline.study.study import Study

ROUNDS = 3
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "cost.png"


class Row(NamedTuple):
    """A size that grows: what it is, of which work, its values, the order in theory, seconds at a
    value.
    """

    size: str
    work: str
    values: tuple[int, ...]
    order: str
    exponent: float
    seconds: Callable[[int], float]


def study(problem: str, metric: str, reps: int, block: int, grid: dict, **constants) -> Study:
    """A study of one metric."""
    return Study("bench/cost", problem, 1, reps, block, Grid.of(grid), constants, (metric,), {})


def unit(problem: str, metric: str, reps: int, **constants) -> float:
    """Processor seconds of one replication, in a unit of so many; once before, to warm up."""
    [size, *_] = constants
    one = study(problem, metric, reps, reps, {size: (constants.pop(size),)}, **constants)
    labels = next(iter(one.grid))
    one.simulate(labels, 0)
    start = time.process_time()
    one.simulate(labels, 0)
    return (time.process_time() - start) / reps


def some(work: float) -> int:
    """Replications that take a tenth of a second or so, of which one takes so many nanoseconds."""
    return int(np.clip(1e8 / work, 2, 2000))


def ranking(m: int = 20, L: int = 400, *, first: str) -> float:
    """BTL, released counts from their binomial law, debiased."""
    sizes = {"m": m, "L": L}
    return unit(
        "ranking",
        "error_l2",
        some(300 * m * m),
        **{first: sizes.pop(first)},
        **sizes,
        model="btl",
        mechanism="randomized_response",
        draw="marginal",
        estimator="debiased",
        epsilon=1.0,
    )


def response(n: int = 1000, m: int = 50) -> float:
    """Rasch, randomized response, spectral."""
    return unit(
        "response",
        "error_l2",
        some(10 * n * m),
        n=n,
        m=m,
        model="rasch",
        mechanism="randomized_response",
        estimator="spectral",
        epsilon_user=float(m),
    )


def clustering(U: int) -> float:
    """Block model, MaxSense, score clustering, 200 items of which a user has rated 20."""
    return unit(
        "clustering",
        "misclassified",
        20,
        U=U,
        N=200,
        w=20,
        b="0.9, 0.1",
        model="block_model",
        mechanism="max_sense",
        estimator="score_clustering",
        epsilon=1.0,
    )


def crowd(m: int) -> float:
    """Dawid–Skene, 50 workers, randomized response."""
    return unit(
        "crowd",
        "label_error",
        some(1000 * m),
        m=m,
        n=50,
        model="dawid_skene",
        ability_low=0.6,
        mechanism="randomized_response",
        estimator="dawid_skene",
        epsilon=2.0,
    )


def sweep(cells: int, units: int, workers: int = 0, reps: int = 1, m: int = 2) -> float:
    """Seconds of a sweep of so many units a cell, of `reps` replications each.

    Without workers: of the processor, in this process; with them: of the clock.
    """
    clock = time.perf_counter if workers else time.process_time
    one = study(
        "ranking",
        "error_l2",
        units * reps,
        reps,
        {"L": tuple(range(50, 50 + cells))},
        m=m,
        model="btl",
        mechanism="randomized_response",
        draw="marginal",
        estimator="debiased",
        epsilon=1.0,
    )
    with tempfile.TemporaryDirectory() as folder:
        start = clock()
        store = Store(one, Path(folder))
        store.begin()
        schedule = Schedule(one, store.listing())
        if workers:
            with Local(workers=workers).open() as executor:
                run(
                    executor,
                    Runner(store),
                    iter(schedule),
                    bundling=Bundling(total_cost=schedule.cost),
                )
        else:
            run(
                Executor(),
                Runner(store),
                iter(schedule),
                bundling=Bundling(total_cost=schedule.cost),
            )
        return clock() - start


CORES = os.cpu_count() or 1
ROWS = (
    Row(
        "m, items",
        "ranking, a replication",
        (10, 20, 40, 80, 160, 320),
        "m²",
        2,
        lambda m: ranking(m=m, first="m"),
    ),
    Row(
        "L, users",
        "ranking, a replication",
        (10**2, 10**3, 10**4, 10**5, 10**6),
        "1: counts",
        0,
        lambda L: ranking(L=L, first="L"),
    ),
    Row(
        "n, persons",
        "response, a replication",
        (250, 500, 1000, 2000, 4000, 8000),
        "n",
        1,
        lambda n: response(n=n),
    ),
    Row(
        "m, items",
        "response, a replication",
        (25, 50, 100, 200, 400),
        "m²",
        2,
        lambda m: response(m=m),
    ),
    Row(
        "U, people",
        "clustering, a replication",
        (10**4, 10**5, 10**6, 10**7, 10**8),
        "1: counts",
        0,
        clustering,
    ),
    Row("m, tasks", "crowd, a replication", (250, 500, 1000, 2000, 4000, 8000), "m", 1, crowd),
    Row(
        "cells",
        "a sweep, one unit a cell",
        (50, 100, 200, 400, 800),
        "cells",
        1,
        lambda c: sweep(c, 1),
    ),
    Row(
        "units", "a sweep of one cell", (50, 100, 200, 400, 800), "units", 1, lambda u: sweep(1, u)
    ),
    Row(
        "workers",
        "a sweep of 60 units",
        tuple(w for w in (1, 2, 4, 8, 16) if w <= CORES),
        "1/workers",
        -1,
        lambda w: sweep(4, 15, w, 400, 40),
    ),
)


def slope(values: np.ndarray, seconds: np.ndarray) -> float:
    """Exponent of a power law through the upper half of the sizes, two at least."""
    last = max(2, len(values) // 2 + 1)
    return float(np.polyfit(np.log(values[-last:]), np.log(seconds[-last:]), 1)[0])


def measured(row: Row) -> np.ndarray:
    """(rounds, values): seconds, in turns."""
    return np.array([[row.seconds(value) for value in row.values] for _ in range(ROUNDS)])


def draw(found: list[tuple[Row, np.ndarray]]) -> None:
    """Draw all rows, with lines of the order in theory through the last value."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter
    from PIL import Image

    figure, panels = plt.subplots(3, 3, figsize=(9, 8), dpi=80, layout="constrained")
    for axes, (row, times) in zip(panels.flat, found, strict=True):
        values, seconds = np.array(row.values, float), np.median(times, axis=0)
        axes.loglog(values, seconds, "o-", color="#1b1b4b", label="measured")
        axes.fill_between(
            values, times.min(axis=0), times.max(axis=0), color="#1b1b4b", alpha=0.2, linewidth=0
        )
        axes.loglog(
            values,
            seconds[-1] * (values / values[-1]) ** row.exponent,
            "--",
            color="#c06000",
            label=row.order,
        )
        low, high = axes.get_ylim()
        if high < 10 * low:  # a flat line should look flat
            middle = np.sqrt(low * high)
            axes.set_ylim(middle / 4, middle * 4)
        few = values[:: 2 if len(values) > 4 else 1]
        axes.set_xticks(few, [f"{value:g}".replace("e+0", "e") for value in few])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
        axes.set(xlabel=row.size, ylabel="seconds", title=row.work)
        axes.legend(frameon=False)
    figure.canvas.draw()
    Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[:, :, :3]).quantize(64).save(
        FIGURE, optimize=True
    )


def main() -> None:
    """Print the table, in the form of docs/benchmarks.md, and draw the figure."""
    found = []
    print("| size | of what | from, to | seconds, there | exponent (rounds) | in theory |")
    print("| --- | --- | --- | --- | --- | --- |")
    with threadpool_limits(1):
        for row in ROWS:
            times, values = measured(row), np.array(row.values, float)
            found.append((row, times))
            seconds, spread = np.median(times, axis=0), "–"
            if len(values) > 1:
                slopes = [slope(values, one) for one in times]
                spread = f"{np.median(slopes):.2f} ({min(slopes):.2f} to {max(slopes):.2f})"
            print(
                f"| {row.size} | {row.work} | {values[0]:,.0f}, {values[-1]:,.0f} | "
                f"{seconds[0]:.2g}, {seconds[-1]:.2g} | {spread} | {row.order} |",
                flush=True,
            )
    draw(found)


if __name__ == "__main__":
    main()
