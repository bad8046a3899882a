"""`python -m calibration [word ...]`: judge claims on many seeds; see docs/calibration.md.

Words: problems, experiments, seeds=100, workers=2; `worlds`, which simulates the wrong worlds of
claims and not the experiments themselves; and `docs`, which simulates nothing and writes what was
run so far into docs/calibration.md. What was run stays in outputs/calibration, so that the same
command goes on.
"""

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from calibration.seeds import CLAIMS, FOLDER, WORLDS, Job, by_experiment, judged, path_of, records
from calibration.table import Found, document
from pipeline.execution.workers import ENVIRONMENT
from pipeline.identity.registry import problems

PAGE = Path("docs/calibration.md")
FIRST = 7_000_001  # of the seeds, which no experiment has


def main(words: list[str]) -> int:
    """Run what is missing, and print where the table is; 2 for a word that says nothing."""
    numbers = {"seeds": 100, "workers": os.cpu_count() or 1}
    names = [word for word in words if "=" not in word and word not in ("docs", WORLDS)]
    given = dict(word.split("=", 1) for word in words if "=" in word)
    claims = by_experiment()
    known = {*claims, *(name.partition("/")[0] for name in claims), *problems()}
    if wrong := [
        *(name for name in names if name not in known),
        *(
            f"{key}={value}"
            for key, value in given.items()
            if key not in numbers or not value.isdigit()
        ),
    ]:
        print(
            f"error: {wrong[0]}; allowed: problems, experiments, seeds=100, workers=2, worlds, "
            "docs",
            file=sys.stderr,
        )
        return 2
    numbers |= {key: int(value) for key, value in given.items()}
    chosen = [
        name
        for name, own in claims.items()
        if not names or {name, name.partition("/")[0], own[0]} & {*names}
    ]
    if "docs" not in words:
        FOLDER.mkdir(parents=True, exist_ok=True)
        kinds = (WORLDS,) if WORLDS in words else (CLAIMS, WORLDS)
        seeds = range(FIRST, FIRST + numbers["seeds"])
        _run(
            [Job(name, seed, of) for seed in seeds for name in chosen for of in kinds],
            numbers["workers"],
        )
    found = {
        name: Found(own, [*records(name, own, CLAIMS)], [*records(name, own, WORLDS)])
        for name, (_, own) in claims.items()
    }
    target = PAGE if "docs" in words else FOLDER / "table.md"
    former = PAGE.read_text("utf-8") if "docs" in words else ""
    target.write_text(document(found, former), "utf-8")
    print(f"table: {target}")
    return 0


def _run(jobs: list[Job], workers: int) -> None:
    done = {
        Job(name, one["seed"], of)
        for name, (_, claims) in by_experiment().items()
        for of in (CLAIMS, WORLDS)
        for one in records(name, claims, of)
    }
    left = [job for job in jobs if job not in done]
    print(f"{len(left):,} of {len(jobs):,} to do", flush=True)
    os.environ |= ENVIRONMENT
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = {pool.submit(judged, job): job for job in left}
        for number, future in enumerate(as_completed(futures), 1):
            job, record = futures[future], future.result()
            with open(
                path_of(job.experiment, job.of), "a", encoding="utf-8"
            ) as file:  # one process writes
                file.write(json.dumps(record) + "\n")
            print(
                f"{number:,} of {len(left):,}: {job.experiment} seed {job.seed} {job.of}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
