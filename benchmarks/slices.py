"""Units of 500 items, or tasks, and 2,000 replications, each in a process that may take 1.5 GB of
data.

    python -m benchmarks slices

Prints the most memory that a process took, its interpreter and libraries included, and how the unit
was cut.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time

from pipeline.execution.runner import Runner
from pipeline.execution.schedule import Unit
from pipeline.storage.replications import Store
from pipeline.study.slices import BYTES, slices
from pipeline.study.study import Study
from pipeline.workflow.config import read_experiment

LIMIT = int(1.5e9)  # bytes of data, as `cluster.memory` sets them
REPLICATIONS = 2000
METRICS = {
    "ranking": "error_l2",
    "response": "error_l2",
    "clustering": "misclassified",
    "crowd": "label_error",
}
BLOCKS = dict(
    problem="clustering",
    model="block_model",
    alpha="1",
    beta="0.5, 0.5",
    b="0.9, 0.1",
    N=500,
    U=2000,
    w=20,
    epsilon=1.0,
)
CASES = {
    "ranking: 50 users, randomized response, debiased": dict(
        problem="ranking",
        model="btl",
        mechanism="randomized_response",
        estimator="debiased",
        m=500,
        L=50,
        epsilon=1.0,
    ),
    "response: 200 persons, discrete Gaussian, spectral": dict(
        problem="response",
        model="rasch",
        mechanism="discrete_gaussian",
        estimator="spectral",
        m=500,
        n=200,
        epsilon_user=1.0,
    ),
    "clustering: 2,000 users, Pairwise-Preference, spectral": BLOCKS
    | dict(mechanism="pairwise_preference", estimator="spectral_clustering"),
    "clustering: 2,000 users, MaxSense, spectral": BLOCKS
    | dict(mechanism="max_sense", estimator="score_clustering"),
    "crowd: 200 workers, randomized response, Dawid–Skene": dict(
        problem="crowd",
        model="dawid_skene",
        mechanism="randomized_response",
        estimator="dawid_skene",
        m=500,
        n=200,
        epsilon=1.0,
    ),
}


def study(case: str) -> Study:
    """One cell, one unit."""
    constants = dict(CASES[case])
    kind = constants.pop("problem")
    axis = "N" if kind == "clustering" else "m"
    return read_experiment(
        dict(
            name="bench/slices",
            problem=kind,
            seed=1,
            replications=REPLICATIONS,
            block=REPLICATIONS,
            derive={},
            grid={axis: [constants.pop(axis)]},
            parameters=constants,
            metrics=[METRICS[kind]],
        )
    ).study


def measure(case: str) -> dict[str, float]:
    """Simulate the unit here, as a worker does."""
    what = study(case)
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    parts = what.components(what.grid.labels(0))
    cuts = slices(REPLICATIONS, parts) or [slice(0, REPLICATIONS)]
    with tempfile.TemporaryDirectory() as folder:
        store = Store(what, folder)
        store.begin()
        work, start = Runner(store), time.process_time()
        (failed,) = work([Unit(0, 0)])
        if failed:
            raise RuntimeError(store.read(0, 0).error)
    return dict(
        most=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        slices=len(cuts),
        length=cuts[0].stop,
        smaller=BYTES / work.slice_bytes,
        seconds=time.process_time() - start,
    )


def main() -> None:
    """Print a line for each case."""
    print(
        f"{REPLICATIONS:,} replications: most memory, slices, seconds of CPU; at most "
        f"{LIMIT / 1e9:g} GB of data"
    )
    for case in CASES:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.slices", case], capture_output=True, text=True
        )
        if done.returncode:
            print(f"{case}: {done.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        one = json.loads(done.stdout)
        print(
            f"{case}: {one['most']:.2f} GB, {one['slices']} of up to {one['length']}"
            + (f", tried again {one['smaller']:g} times smaller" if one["smaller"] > 1 else "")
            + f", {one['seconds']:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
