"""Whole suites on two workers, from the command to the report: seconds of the clock, and verdicts.

Verdicts are compared with those in `verdicts.csv`, of runs before the code was made faster.

`BENCH_SUITES=xu,wang` takes some of them only. With `BENCH_OUTPUTS=FOLDER` a suite that was stopped
goes on where it was, and its seconds are added up; one that is finished there is not run again.
"""

import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.rows import row

BARS = {
    "xu": 84,
    "nguyen": 122,
    "banerjee": 103,
    "wang": 66,
}  # seconds: half of what they once took
CHOSEN = os.environ.get("BENCH_SUITES")
KNOWN = Path(__file__).with_name("verdicts.csv")
OUTPUTS = os.environ.get("BENCH_OUTPUTS")


def seconds_of(suite: str, folder: Path) -> float:
    """Seconds of all runs that a suite took, after the last of them."""
    record = folder / f"{suite}.json"
    taken = (
        json.loads(record.read_text()) if record.exists() else {"seconds": [], "finished": False}
    )
    if not taken["finished"]:
        start = time.perf_counter()
        try:
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pipeline",
                    f"suite={suite}",
                    f"outputs={folder / suite}",
                    "cluster.workers=2",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            taken["finished"] = True
        finally:
            taken["seconds"].append(time.perf_counter() - start)
            record.write_text(json.dumps(taken))
    return sum(taken["seconds"])


def verdicts(folder: Path) -> dict[tuple[str, str], str]:
    """Verdicts of all claims of the studies in a folder, by experiment and claim."""
    found = {}
    for path in sorted(folder.rglob("verdicts.csv")):
        with path.open(newline="") as file:
            found |= {
                (claim["section"], claim["id"]): claim["verdict"] for claim in csv.DictReader(file)
            }
    return found


def known(suite: str) -> dict[tuple[str, str], str]:
    """The same of the run that is kept."""
    with KNOWN.open(newline="") as file:
        return {
            (row["experiment"], row["claim"]): row["verdict"]
            for row in csv.DictReader(file)
            if row["suite"] == suite
        }


def main() -> None:
    """Print a row for each suite, and its verdicts."""
    chosen = CHOSEN.split(",") if CHOSEN else list(BARS)
    if unknown := set(chosen) - set(BARS):
        raise SystemExit(
            f"BENCH_SUITES: {', '.join(sorted(unknown))}: no such suite; choose from "
            f"{', '.join(BARS)}"
        )
    with contextlib.ExitStack() as stack:
        folder = Path(OUTPUTS or stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for suite in chosen:
            taken = seconds_of(suite, folder)
            row(
                f"suite {suite}, two workers, report included: seconds", [taken], f"≤ {BARS[suite]}"
            )
            found, before = verdicts(folder / suite), known(suite)
            print(
                "  verdicts: "
                + ", ".join(f"{n} {one}" for one, n in sorted(Counter(found.values()).items()))
            )
            for one in sorted(found.keys() | before.keys()):
                if found.get(one) != before.get(one):
                    print(
                        f"  {one[1]}, which was {before.get(one, 'not there')}: "
                        f"{found.get(one, 'not there')}"
                    )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
