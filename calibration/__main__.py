"""`python -m calibration [word ...]`: judge claims on many seeds; see docs/calibration.md.

Words: problems, experiments, seeds=100, workers=2, and `docs`, which simulates nothing and writes what was run so far
into docs/calibration.md. What was run stays in outputs/calibration, so that the same command goes on.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pipeline as pl
from calibration.table import document
from pipeline.analysis.claims import Claim, InsufficientEvidence, judge
from pipeline.analysis.estimate import Estimate
from pipeline.cli.compose import compose, options
from pipeline.cli.config import read_experiment
from pipeline.execution.runner import writer
from pipeline.execution.workers import ENVIRONMENT
from pipeline.study.registry import problems
from pipeline.study.streams import digest

FOLDER = Path("outputs/calibration")
PAGE = Path("docs/calibration.md")
FIRST = 7_000_001  # of the seeds, which no experiment has
WHOLE = {  # experiments whose small grid leaves a claim undecided that the whole one decides
    "banerjee/adaptive", "banerjee/maxsense", "banerjee/multi", "banerjee/pairs", "banerjee/rich_scarce",
    "nguyen/figure_1", "nguyen/price", "nguyen/price_estimators", "wang/abilities", "wang/basin",
    "xu/scenario_4", "xu/scenario_5"}


class Job(NamedTuple):
    """One seed of an experiment."""

    experiment: str
    seed: int


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


def by_experiment() -> dict[str, tuple[str, tuple[Claim, ...]]]:
    """Experiment -> its problem and its claims, without those about people's files."""
    found: dict[str, tuple[str, tuple[Claim, ...]]] = {}
    for problem in problems().values():
        for claim in problem.load(problem.claims):
            if claim.recorded is None and claim.experiment in options("experiment"):
                found[claim.experiment] = problem.name, (*found.get(claim.experiment, ("", ()))[1], claim)
    return found


def _run(jobs: list[Job], workers: int) -> None:
    done = {Job(name, one["seed"]) for name, (_, claims) in by_experiment().items() for one in records(name, claims)}
    left = [job for job in jobs if job not in done]
    print(f"{len(left):,} of {len(jobs):,} to do", flush=True)
    os.environ |= ENVIRONMENT
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = {pool.submit(judged, job): job for job in left}
        for number, future in enumerate(as_completed(futures), 1):
            job, record = futures[future], future.result()
            with open(_path(job.experiment), "a", encoding="utf-8") as file:  # one process writes
                file.write(json.dumps(record) + "\n")
            print(f"{number:,} of {len(left):,}: {job.experiment} seed {job.seed}", flush=True)


def _path(experiment: str) -> Path:
    return FOLDER / f"{experiment.replace('/', '_')}.jsonl"


@cache
def size_of(experiment: str) -> dict[str, Any]:
    """How large an experiment is judged: its small grid, or the whole one; replications and blocks of the whole one."""
    whole, size = compose([f"experiment={experiment}"])[0], "paper" if experiment in WHOLE else "quick"
    return {"size": size, "replications": whole["replications"], "block": whole["block"]}


@cache
def raw_of(experiment: str) -> dict[str, Any]:
    """An experiment as it is judged, but for the seed."""
    return compose([f"experiment={experiment}", *(f"{key}={value}" for key, value in size_of(experiment).items())])[0]


@cache
def code_of(experiment: str) -> str:
    """Name of the code and arithmetic that would simulate an experiment here."""
    return writer(read_experiment(raw_of(experiment)).study).id


@cache
def asked_of(experiment: str) -> str:
    """Digest of the cells and metrics of an experiment as it is judged."""
    keys = ("problem", "grid", "parameters", "derive", "metrics")
    return digest(json.dumps({key: raw_of(experiment).get(key) for key in keys}, sort_keys=True)).hex()


def records(experiment: str, claims: tuple[Claim, ...]) -> Iterator[dict[str, Any]]:
    """What was run of an experiment as it is, by this code and for these tolerances; lines cut off are left out."""
    path = _path(experiment)
    made_of = _made_of(experiment, claims)
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if all(record.get(key) == value for key, value in made_of.items()):
            yield record


def _made_of(experiment: str, claims: tuple[Claim, ...]) -> dict[str, Any]:
    return {"code": code_of(experiment), "asked": asked_of(experiment), **size_of(experiment),
            "claimed": {claim.id: claim.claimed for claim in claims}}


def judged(job: Job) -> dict[str, Any]:
    """Simulate one seed, and judge every claim on it: verdicts, and all estimates with their intervals."""
    claims = by_experiment()[job.experiment][1]
    results = pl.simulate(job.experiment, seed=job.seed, **size_of(job.experiment))
    found = {}
    for claim in claims:
        judgement = judge(claim, results)
        found[claim.id] = {"verdict": judgement.check.verdict, "control": judgement.control.verdict,
                           "sound": judgement.sound, "estimates": _estimates(claim, results)}
    return {"seed": job.seed, **_made_of(job.experiment, claims), "claims": found}


def _estimates(claim: Claim, results: Any) -> dict[str, dict[str, list[float]]]:
    """Part -> cell -> value, low, high, standard error; a claim of one part has the part ""."""
    try:
        measured = claim.measure.compute(results)
    except InsufficientEvidence:
        return {}
    parts = measured if isinstance(claim.tolerance, dict) else {"": measured}
    return {part: {cell: [one.value, one.low, one.high, one.standard_error] for cell, one in
                   ({"": cells} if isinstance(cells, Estimate) else cells).items()} for part, cells in parts.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
