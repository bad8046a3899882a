"""`python -m calibration [word ...]`: judge claims on many seeds; see docs/calibration.md.

Words: problems, experiments, seeds=100, workers=2, and `docs`, which simulates nothing and writes what was run so far
into docs/calibration.md. What was run stays in outputs/calibration, so that the same command goes on.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from calibration.seeds import FOLDER, Job, by_experiment, judged, path_of, records
from calibration.table import document
from pipeline.execution.workers import ENVIRONMENT
from pipeline.study.registry import problems

PAGE = Path("docs/calibration.md")
FIRST = 7_000_001  # of the seeds, which no experiment has


def main(words: list[str]) -> int:
    """Run what is missing, and print where the table is; 2 for a word that says nothing."""
    numbers = {"seeds": 100, "workers": os.cpu_count() or 1}
    names = [word for word in words if "=" not in word and word != "docs"]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    claims = by_experiment()
    known = {*claims, *(name.partition("/")[0] for name in claims), *problems()}
    if wrong := [*(name for name in names if name not in known), *(f"{key}={value}" for key, value in given.items()
                                                                  if key not in numbers or not value.isdigit())]:
        print(f"error: {wrong[0]}; allowed: problems, experiments, seeds=100, workers=2, docs", file=sys.stderr)
        return 2
    numbers |= {key: int(value) for key, value in given.items()}
    chosen = [name for name, own in claims.items() if not names or {name, name.partition("/")[0], own[0]} & {*names}]
    if "docs" not in words:
        FOLDER.mkdir(parents=True, exist_ok=True)
        _run([Job(name, FIRST + k) for k in range(numbers["seeds"]) for name in chosen], numbers["workers"])
    found = {name: (claims[name][1], list(records(name, claims[name][1]))) for name in claims}
    target = PAGE if "docs" in words else FOLDER / "table.md"
    former = PAGE.read_text("utf-8") if "docs" in words else ""
    target.write_text(document({name: one for name, one in found.items() if one[1]}, former), "utf-8")
    print(f"table: {target}")
    return 0


def _run(jobs: list[Job], workers: int) -> None:
    done = {Job(name, one["seed"]) for name, (_, claims) in by_experiment().items() for one in records(name, claims)}
    left = [job for job in jobs if job not in done]
    print(f"{len(left):,} of {len(jobs):,} to do", flush=True)
    os.environ |= ENVIRONMENT
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = {pool.submit(judged, job): job for job in left}
        for number, future in enumerate(as_completed(futures), 1):
            job, record = futures[future], future.result()
            with open(path_of(job.experiment), "a", encoding="utf-8") as file:  # one process writes
                file.write(json.dumps(record) + "\n")
            print(f"{number:,} of {len(left):,}: {job.experiment} seed {job.seed}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
