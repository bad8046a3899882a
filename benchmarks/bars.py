"""Kernels against their bars: medians, least and greatest ratio of paired runs in one process, on
one thread.

`benchmarks/README.md` says how each rival is written. Seconds are of the processor, as others may
use the machine.
"""

import ctypes
import shutil
import subprocess
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.crowd import tuned
from benchmarks.estimator import simulate
from benchmarks.rasch import interleaved, product_and_solve
from benchmarks.rows import HEAD, row
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.model import BlockModel
from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.mechanisms.randomized_response import (
    RandomizedResponse as FlippedAnswers,
)
from pipeline.problems.crowd.model import DawidSkene as Crowd
from pipeline.problems.ranking.estimators import newton
from pipeline.problems.ranking.estimators.moments import Debiased, PlugIn
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.metrics.ordering import excess_risk
from pipeline.problems.ranking.metrics.yardsticks import cramer_rao_risk, sandwich_risk
from pipeline.problems.ranking.model import BTL
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.metrics.cramer_rao import item_bound
from pipeline.problems.response.model import Rasch

BLOCK = 2000  # replications of a release of `xu/phase_transition`
FITS = {10: 2000, 20: 1000, 40: 500, 100: 60}  # items: replications
ROUNDS = 5


def agree(ours: np.ndarray, rival: np.ndarray) -> None:
    """Refuse to compare times of different numbers."""
    apart = np.abs(ours - rival).max()
    assert apart < 1e-6, f"the rival's numbers differ by {apart:.1e}"


def ranking_yardsticks() -> None:
    """One release of `xu/phase_transition` and both of its estimators: yardsticks over fits."""
    for m in (10, 20, 40):
        rng = np.random.default_rng(1)
        model = BTL(m=m, L=400)
        truth = model.truth(rng, BLOCK, rng)
        mechanism = RandomizedResponse(m=m, L=400, epsilon=8 / np.sqrt(400 * m), draw="marginal")
        first = mechanism.release(model.simulate(truth, rng), rng)
        estimators, metrics = (
            (Debiased(m=m), PlugIn(m=m)),
            (sandwich_risk(), cramer_rao_risk(), excess_risk()),
        )
        estimates = [one.fit(first, rng) for one in estimators]

        def measure(first=first, truth=truth, estimates=estimates, metrics=metrics) -> None:
            release = replace(first)  # another one: values that are kept are of one release
            for one in estimates:
                for metric in metrics:
                    metric(truth, release, one)

        times = interleaved(
            {
                "yardsticks": measure,
                "fits": lambda e=estimators, f=first: [one.fit(f, None) for one in e],
            },
            ROUNDS,
        )
        row(
            f"xu/phase_transition, m={m}: three yardsticks ÷ fits",
            times["yardsticks"] / times["fits"],
            "≤ 1",
        )


def response_yardsticks() -> None:
    """The grid of `nguyen/entrywise`, p = 1: the Cramér–Rao bound over the fit, in all and at
    either end.
    """
    runs = {}
    for m, n in product((25, 50, 100, 200), (250, 500, 1000, 2000)):
        rng, reps = np.random.default_rng(1), max(2, 2_000_000 // (n * m))
        model = Rasch(n=n, m=m, item_law="uniform", item_spread=2.0)
        truth = model.truth(rng, reps, rng)
        release, fit = (
            model.simulate(truth, rng).release_plainly(),
            Spectral(m=m, pseudo_count=0.0, floor=0.0),
        )
        runs[m, n, "fit", reps] = lambda f=fit, r=release, g=rng: f.fit(r, g)
        runs[m, n, "bound", reps] = lambda t=truth, r=release: item_bound()(t, r, None)
    times = interleaved(runs, ROUNDS)
    each = {(m, n, what): taken / reps for (m, n, what, reps), taken in times.items()}
    for name, cells in {
        "all cells": list(product((25, 50, 100, 200), (250, 500, 1000, 2000))),
        "m=25": [(25, 2000)],
        "m=200": [(200, 2000)],
    }.items():
        bound, fit = (
            np.sum([each[*cell, what] for cell in cells], axis=0) for what in ("bound", "fit")
        )
        row(f"nguyen/entrywise, {name}: item_bound ÷ fit", bound / fit, "≤ 1")


def compiled(folder: Path):
    """A function (scores, ridge) -> estimates: `newton.c`, compiled for this processor.

    None without a compiler.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = Path(__file__).with_name("newton.c"), folder / "newton.so"
    subprocess.run(
        [
            compiler,
            "-O3",
            "-march=native",
            "-ffast-math",
            "-shared",
            "-fPIC",
            source,
            "-o",
            library,
            "-lm",
        ],
        check=True,
    )
    function, pointer = ctypes.CDLL(str(library)).fit, np.ctypeslib.ndpointer(float, flags="C")
    function.argtypes = [
        ctypes.c_int,
        ctypes.c_int,
        pointer,
        ctypes.c_double,
        ctypes.c_double,
        pointer,
        pointer,
    ]

    def fit(scores: np.ndarray, ridge: float) -> np.ndarray:
        theta, (reps, m) = np.empty_like(scores), scores.shape
        function(reps, m, scores, ridge, 1e-8, theta, np.empty(m * m))
        return theta

    return fit


def btl_fits() -> None:
    """Regularised BTL fits, 400 users, ε = 1: compiled Newton over ours."""
    with tempfile.TemporaryDirectory() as folder:
        rival = compiled(Path(folder))
        for m, reps in FITS.items():
            if rival is None:
                print(f"BTL fit, m={m}: no C compiler, no rival")
                continue
            scores, ridge = (
                simulate(np.random.default_rng(1), reps, m, 400, 1.0),
                1 / np.tanh(0.5) ** 2 / 400,
            )
            agree(newton.minimise(scores, ridge).theta, rival(scores, ridge))
            times = interleaved(
                {
                    "ours": lambda s=scores, r=ridge: newton.minimise(s, r),
                    "rival": lambda s=scores, r=ridge: rival(s, r),
                },
                ROUNDS,
            )
            row(f"BTL fit, m={m}: Newton in C ÷ ours", times["rival"] / times["ours"], "≥ 1")


def rasch_fits() -> None:
    """Spectral fits from responses, n = 1000, m = 100: the better of two rivals over ours, round by
    round.
    """
    rng, model, fit = (
        np.random.default_rng(1),
        Rasch(n=1000, m=100),
        Spectral(m=100, pseudo_count=0.0, floor=0.0),
    )
    release = model.simulate(model.truth(rng, 60, rng), rng).release_plainly()
    single = release.answers.astype(np.float32)
    agree(fit.fit(release, rng).theta, np.array([product_and_solve(one) for one in single]))
    times = interleaved(
        {
            "ours": lambda: fit.fit(release, rng),
            "product": lambda: [product_and_solve(one) for one in single],
            "square": lambda: [product_and_solve(one, True) for one in single],
        },
        ROUNDS,
    )
    row(
        "spectral Rasch fit, n=1000 m=100: best rival ÷ ours",
        np.minimum(times["product"], times["square"]) / times["ours"],
        "≥ 1.2",
    )


def crowd_fits() -> None:
    """Dawid–Skene, n = 50, m = 1000, without noise and at ε = 1: the tuned loop over ours."""
    rng, crowd = np.random.default_rng(1), Crowd(n=50, m=1000)
    data, ours = crowd.simulate(crowd.truth(rng, 60, rng), rng), DawidSkene(n=50, m=1000)
    for name, release in {
        "no noise": data.release_plainly(),
        "ε=1": FlippedAnswers(n=50, m=1000, epsilon=1.0).release(data, rng),
    }.items():
        agree(
            ours.fit(release, rng).posterior, np.array([tuned(one)[1] for one in release.answers])
        )
        times = interleaved(
            {
                "ours": lambda r=release: ours.fit(r, rng),
                "tuned": lambda r=release: [tuned(one) for one in r.answers],
            },
            ROUNDS,
        )
        row(
            f"Dawid–Skene, n=50 m=1000, {name}: tuned loop ÷ ours",
            times["tuned"] / times["ours"],
            "≥ 2.5",
        )


def many_users() -> None:
    """Multi-MaxSense with 10⁷ users on 2,000 items, w = 100, ε = 4: seconds."""
    rng = np.random.default_rng(1)
    model = BlockModel(U=10**7, N=2000, w=100, b="0.9, 0.1")
    data = model.simulate(model.truth(rng, 1, rng), rng)
    mechanism = MultiMaxSense(N=2000, w=100, epsilon=4.0)
    row(
        "Multi-MaxSense, 10⁷ users on 2,000 items: seconds",
        interleaved({"ours": lambda: mechanism.release(data, rng)}, 2)["ours"],
        "≤ 2",
    )


def sensed_entries() -> None:
    """MaxSense, 10⁶ users: against one uniform number for every entry that is sensed."""
    rng = np.random.default_rng(1)
    for items, w in ((400, 20), (1000, 30), (2000, 100)):
        model = BlockModel(U=10**6, N=items, w=w, b="0.9, 0.1")
        data, mechanism = (
            model.simulate(model.truth(rng, 1, rng), rng),
            MaxSense(N=items, w=w, epsilon=1.0),
        )
        times = interleaved(
            {
                "ours": lambda m=mechanism, d=data: m.release(d, rng),
                "part": lambda: rng.random(10**6),
            },
            ROUNDS,
        )
        row(
            f"MaxSense, 10⁶ users, {items} items, {w} rated: ÷ uniform numbers",
            times["ours"] / (items / w * times["part"]),
            "≤ 1",
        )


def main() -> None:
    """Print the table of kernels; whole programs are `suite`, `startup` and `suites`."""
    print(HEAD)
    with threadpool_limits(1):
        for part in (
            ranking_yardsticks,
            response_yardsticks,
            btl_fits,
            rasch_fits,
            crowd_fits,
            sensed_entries,
            many_users,
        ):
            part()


if __name__ == "__main__":
    main()
