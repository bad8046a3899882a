"""Seconds from the command to the first finished unit, to a small study's report, and to "nothing
to do".

Bars, on a machine where the loop of `additions` takes 0.55 s: 1 s to the first unit of a small
study, 4 s to the report of one with a second of work.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import row

UNITS = 10_000
ROUNDS = 3
SECOND = ["experiment=xu/scenario_2", "size=quick", "replications=60", "block=60"]  # of work
LARGE = ["experiment=xu/phase_transition", "cluster.workers=2"]


def additions() -> float:
    """Processor seconds of ten million additions in a loop of Python: how fast this machine is now."""
    start, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - start


def first_unit(words: list[str], folder: Path) -> float:
    """Seconds from starting the command on a new study to its first unit on disk."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", *words, f"outputs={folder}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not next(folder.glob("xu/*/replications/units/*/*"), None):
            time.sleep(0.01)
            if process.poll() is not None or time.perf_counter() - start > 120:
                raise RuntimeError("no unit was finished")
        return time.perf_counter() - start
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def to_the_report(words: list[str], folder: Path) -> float:
    """Seconds from starting the command on a new study to its end."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "pipeline", *words, f"outputs={folder}"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def nothing_to_do(folder: Path) -> tuple[float, float]:
    """Seconds to make a finished study of UNITS units, and of the same command once more."""
    command = [
        sys.executable,
        "-m",
        "pipeline",
        "experiment=xu/lemmas",
        f"outputs={folder}",
        "cluster.workers=2",
        "block=1",
        f"replications={UNITS // 2}",
        "grid.m=[2]",
        "grid.L=[50]",
        "grid.epsilon=[1,3]",
    ]
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def main() -> None:
    """Print the seconds."""
    print(f"ten million additions in a loop: {additions():.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for what, measure, words, bar in (
            ("first finished unit, a second of work", first_unit, SECOND, "≤ 1"),
            ("first finished unit, on two workers", first_unit, LARGE, "≤ 1"),
            ("report, a second of work", to_the_report, SECOND, "≤ 4"),
        ):
            row(
                f"command to {what}: seconds",
                [measure(words, Path(folder) / f"{what} {k}") for k in range(ROUNDS)],
                bar,
            )
        print(f"ten million additions in a loop: {additions():.2f} s")
        made, again = nothing_to_do(Path(folder) / "done")
        print(f'{UNITS:,} units: made in {made:.1f} s; "nothing to do" after {again:.2f} s')


if __name__ == "__main__":
    main()
