"""Seconds from the command to the first finished unit, and to "nothing to do" on a finished study."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNITS = 10_000


def first_unit(folder: Path) -> float:
    """Seconds from starting the command on a new study to its first unit on disk."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", f"outputs={folder}", "cluster.workers=2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not next(folder.glob("xu/*/replications/units/*/*"), None):
            time.sleep(0.01)
            if process.poll() is not None or time.perf_counter() - start > 120:
                raise RuntimeError("no unit was finished")
        return time.perf_counter() - start
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def nothing_to_do(folder: Path) -> tuple[float, float]:
    """Seconds to make a finished study of UNITS units, and of the same command once more."""
    command = [sys.executable, "-m", "pipeline", "experiment=xu/lemmas", f"outputs={folder}", "cluster.workers=2",
               "block=1", f"replications={UNITS // 2}", "grid.m=[2]", "grid.L=[50]", "grid.epsilon=[1,3]"]
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def main() -> None:
    """Print the seconds; the bar is 5 s each on two cores."""
    with tempfile.TemporaryDirectory() as folder:
        times = sorted(first_unit(Path(folder) / str(k)) for k in range(3))
        print(f"command to first finished unit: median {times[1]:.2f} s of {', '.join(f'{t:.2f}' for t in times)}")
        made, again = nothing_to_do(Path(folder) / "done")
        print(f'{UNITS:,} units: made in {made:.1f} s; "nothing to do" after {again:.2f} s')


if __name__ == "__main__":
    main()
