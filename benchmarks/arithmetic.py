"""Whether machines of two types compute the same numbers, and what one arithmetic for both costs.

Of every experiment that is shipped, those units are made that a new kind of worker would make to be
compared: of each combination of model, mechanism and estimator the most costly one, and others
drawn at random. Each is made as this machine would by itself, as this program does, and as an older
machine with AVX2 only would.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

from pipeline.cli.compose import compose
from pipeline.execution import schedule
from pipeline.storage.replications import Listing
from pipeline.workflow.config import read_experiment
from pipeline.workflow.config_files import options

LONGEST = 2.0  # predicted seconds of a unit: longer ones are left out
OWN = ("own/", "xu/movielens")  # experiments on a person's own data
OLDER = "X86_V4 AVX512_ICL"  # features of the processor that NumPy is to do without
FREE = {"PIPELINE_ARITHMETIC": "free"}
MACHINES = {
    "free": FREE,
    "pinned": {},
    "older": {"NPY_DISABLE_CPU_FEATURES": OLDER},
    "with older BLAS": FREE | {"OPENBLAS_CORETYPE": "Haswell"},
    "older, free": FREE | {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": OLDER},
}
PAIRS = {
    "numbers change": ("pinned", "free"),
    "refused by an older machine": ("older", "pinned"),
    "would be refused, for BLAS alone": ("with older BLAS", "free"),
    "would be refused": ("older, free", "free"),
}
TIMED = ("pinned", "with older BLAS")
BUDGET = 0.5  # predicted seconds of the units that are drawn


def main() -> None:
    """Print one line for each experiment, then in how many what differs, and the ratio of processor
    time.
    """
    differing: dict[str, list[str]] = {text: [] for text in PAIRS}
    seconds = dict.fromkeys(MACHINES, 0.0)
    names = _experiments()
    processes = {machine: _begin(variables) for machine, variables in MACHINES.items()}
    for name in names:
        answers = {machine: _answer(process, name) for machine, process in processes.items()}
        for machine, answer in answers.items():
            seconds[machine] += answer["seconds"]
        unlike = [
            text
            for text, (one, other) in PAIRS.items()
            if answers[one]["units"] != answers[other]["units"]
        ]
        for text in unlike:
            differing[text].append(name)
        free = max(answers["free"]["seconds"], 1e-9)
        ratios = ", ".join(
            f"{machine} {answers[machine]['seconds'] / free:.2f}" for machine in TIMED
        )
        print(
            f"{name:32s} {len(answers['pinned']['units']):4d} units of {free:5.2f} s, over free: "
            f"{ratios}  {'; '.join(unlike)}",
            flush=True,
        )
    for process in processes.values():
        process.communicate()
    for text, some in differing.items():
        print(f"{text}: {len(some)} of {len(names)}: {', '.join(some)}")
    ratios = ", ".join(f"{machine} {seconds[machine] / seconds['free']:.3f}" for machine in TIMED)
    print(f"processor time over that of a free process: {ratios}")


def _experiments() -> list[str]:
    """Names of the experiments that are shipped and need no data of a person's own."""
    return [name for name in options("experiment") if not name.startswith(OWN)]


def _begin(variables: dict[str, str]) -> subprocess.Popen[str]:
    """A process that answers on its standard output for each name of an experiment on its standard
    input.
    """
    chosen = ("OPENBLAS_CORETYPE", "PIPELINE_ARITHMETIC", "NPY_DISABLE_CPU_FEATURES")
    inherited = {key: value for key, value in os.environ.items() if key not in chosen}
    environment = inherited | {"OMP_NUM_THREADS": "1"} | variables
    command = [sys.executable, "-m", "benchmarks.arithmetic"]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _answer(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def _simulate(name: str) -> dict[str, Any]:
    """Digests of the values of the units of an experiment that are compared, and seconds of the
    processor.
    """
    study = read_experiment(compose([f"experiment={name}"])[0]).study
    short = study.costs <= LONGEST * schedule.COST_OF_A_SECOND
    done = np.repeat(short[:, None], study.blocks, axis=1)
    schedule.SECONDS = BUDGET
    schedule.SHARE = 0.0
    references = schedule.Schedule(study, Listing(done, np.zeros_like(done))).references
    digests = {}
    seconds = 0.0
    for unit in references:
        if not short[unit.cell]:
            continue
        start = time.process_time()
        values = study.simulate(study.grid.labels(unit.cell), unit.block)
        seconds += time.process_time() - start
        content = b"".join(
            np.asarray(values[metric], "<f8").tobytes() for metric in (*study.metrics, "status")
        )
        digests[str(unit)] = hashlib.blake2b(content, digest_size=8).hexdigest()
    return {"units": digests, "seconds": seconds}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_simulate(line.strip())), flush=True)
