"""One seed of an experiment: what is simulated of it, how its claims are judged, and what was run
before.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pipeline as pl
from pipeline.analysis.claims import (
    Claim,
    InsufficientEvidence,
    NotSimulated,
    SimulatedControl,
    judge,
)
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.wrong_worlds import as_expected, checks_of_wrong_worlds
from pipeline.cli.compose import compose, options
from pipeline.execution.runner import writer
from pipeline.identity.registry import problems
from pipeline.storage import datasets
from pipeline.study.streams import digest
from pipeline.study.targets import Target
from pipeline.study.untyped import LoadedTable
from pipeline.workflow.config import read_experiment

CLAIMS, WORLDS = (
    "claims",
    "worlds",
)  # what is judged on a seed: an experiment, or the wrong worlds of its claims
FOLDER = Path("outputs/calibration")
WHOLE = {  # experiments whose small grid leaves a claim undecided that the whole one decides
    "banerjee/adaptive",
    "banerjee/distortion",
    "banerjee/equal_eigenvalues",
    "banerjee/maxsense",
    "banerjee/multi",
    "banerjee/pairs",
    "banerjee/public",
    "banerjee/rich_scarce",
    "banerjee/separability",
    "nguyen/figure_1",
    "nguyen/price",
    "nguyen/price_estimators",
    "nguyen/top_k",
    "wang/abilities",
    "wang/basin",
    "wang/labels",
    "xu/recovery",
    "xu/scenario_4",
    "xu/scenario_5",
    "xu/sharp_constants",
}
WHOLE_WORLDS = {
    *WHOLE,
    "banerjee/shapes",
}  # and those whose small grid leaves the wrong world alone undecided


class Job(NamedTuple):
    """One seed of an experiment. of: `CLAIMS` or `WORLDS`."""

    experiment: str
    seed: int
    of: str


def by_experiment() -> dict[str, tuple[str, tuple[Claim, ...]]]:
    """Experiment -> its problem and its claims, without those about people's files."""
    found: dict[str, tuple[str, tuple[Claim, ...]]] = {}
    for problem in problems().values():
        for claim in problem.load(problem.claims):
            if claim.recorded is None and claim.experiment in options("experiment"):
                found[claim.experiment] = (
                    problem.name,
                    (*found.get(claim.experiment, ("", ()))[1], claim),
                )
    return found


def path_of(experiment: str, of: str) -> Path:
    """Where what was judged is kept, a line for each seed."""
    name = experiment.replace("/", "_")
    return FOLDER / (f"{name}.jsonl" if of == CLAIMS else f"{name}.{of}.jsonl")


@cache
def size_of(experiment: str, of: str) -> dict[str, Any]:
    """How large an experiment, or the wrong worlds of its claims, are judged.

    Its small grid, or the whole one; replications and blocks of the whole one. With targets of
    precision, the replications that every cell has at least: means are less precise, and what
    stopping does to verdicts is not calibrated.
    """
    wanted_whole = WHOLE if of == CLAIMS else WHOLE_WORLDS
    whole, size = (
        compose([f"experiment={experiment}"])[0],
        "paper" if experiment in wanted_whole else "quick",
    )
    given = {"size": size, "replications": whole["replications"], "block": whole["block"]}
    if targets := whole.get("precision"):
        fewest = max(target.get("least", Target.least) for target in targets.values())
        given |= {"replications": fewest, "precision": None}
    return given


@cache
def raw_of(experiment: str, of: str) -> dict[str, Any]:
    """An experiment as it is judged, but for the seed."""
    return compose(
        [
            f"experiment={experiment}",
            *(
                f"{key}={'null' if value is None else value}"
                for key, value in size_of(experiment, of).items()
            ),
        ]
    )[0]


@cache
def code_of(experiment: str) -> str:
    """Name of the code and arithmetic that would simulate an experiment here."""
    return writer(read_experiment(raw_of(experiment, CLAIMS)).study).id


@cache
def asked_of(experiment: str, of: str) -> str:
    """Digest of the cells and metrics of an experiment as it is judged."""
    keys = ("problem", "grid", "parameters", "derive", "metrics")
    return digest(
        json.dumps({key: raw_of(experiment, of).get(key) for key in keys}, sort_keys=True)
    ).hex()


def records(experiment: str, claims: tuple[Claim, ...], of: str) -> Iterator[dict[str, Any]]:
    """What was run of an experiment as it is, by this code and for these tolerances.

    Lines cut off are left out.
    """
    path = path_of(experiment, of)
    if not path.is_file():
        return
    made_of = _made_of(experiment, claims, of)
    for line in path.read_text("utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if all(record.get(key) == value for key, value in made_of.items()):
            yield record


def _made_of(experiment: str, claims: tuple[Claim, ...], of: str) -> dict[str, Any]:
    made_of = {
        "code": code_of(experiment),
        "asked": asked_of(experiment, of),
        **size_of(experiment, of),
        "claimed": {claim.id: claim.claimed for claim in claims},
    }
    if of == WORLDS:
        made_of["worlds"] = {claim.id: world_of(claim) for claim in claims}
    return made_of


def world_of(claim: Claim) -> str:
    """Description of a claim's wrong world; the reason why there is none, or nothing, in brackets."""
    if isinstance(claim.simulated, SimulatedControl):
        return claim.simulated.description
    return f"({claim.simulated.reason if isinstance(claim.simulated, NotSimulated) else ''})"


def judged(job: Job) -> dict[str, Any]:
    """Simulate one seed, and judge every claim on it."""
    claims = by_experiment()[job.experiment][1]
    found = _on_the_experiment(job, claims) if job.of == CLAIMS else _on_wrong_worlds(job, claims)
    return {"seed": job.seed, **_made_of(job.experiment, claims, job.of), "claims": found}


def _on_wrong_worlds(job: Job, claims: tuple[Claim, ...]) -> dict[str, Any]:
    """Of every claim with a wrong world, the verdict on that and whether it is as it must be."""
    study = read_experiment({**raw_of(job.experiment, WORLDS), "seed": job.seed}).study
    checks = checks_of_wrong_worlds(claims, study, datasets.blank(study))
    return {
        claim.id: {"verdict": check.verdict, "right": as_expected(claim, check)}
        for claim, check in checks
    }


def _on_the_experiment(job: Job, claims: tuple[Claim, ...]) -> dict[str, Any]:
    """Of every claim the verdict, that on its control, and all estimates with their intervals."""
    results = pl.simulate(job.experiment, seed=job.seed, **size_of(job.experiment, CLAIMS))
    found = {}
    for claim in claims:
        judgement = judge(claim, results)
        found[claim.id] = {
            "verdict": judgement.check.verdict,
            "control": judgement.control.verdict,
            "sound": judgement.sound,
            "estimates": _estimates(claim, results),
        }
    return found


def _estimates(claim: Claim, results: LoadedTable) -> dict[str, dict[str, list[float]]]:
    """Part -> cell -> value, low, high, standard error; a claim of one part has the part ""."""
    try:
        measured = claim.measured(results)
    except InsufficientEvidence:
        return {}
    parts = measured if isinstance(claim.tolerance, dict) else {"": measured}
    return {
        part: {
            cell: [one.value, one.low, one.high, one.standard_error]
            for cell, one in ({"": cells} if isinstance(cells, Estimate) else cells).items()
        }
        for part, cells in parts.items()
    }
