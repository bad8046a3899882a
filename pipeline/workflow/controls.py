"""`task=controls`: the wrong world of every claim on some experiments, simulated here, and what
claims say of it.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import xarray as xr

from pipeline.analysis.claims import Check, Claim, NotSimulated, NotTested, SimulatedControl
from pipeline.analysis.wrong_worlds import (
    AS_IT_MUST,
    OTHERWISE,
    UNDECIDED,
    checks_of_wrong_worlds,
    outcome,
)
from pipeline.cli.compose import compose_once
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.storage import datasets, results
from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical
from pipeline.study.study import Study
from pipeline.workflow.assess import claims_of
from pipeline.workflow.config_files import options
from pipeline.workflow.experiment import Experiment

UNSEEN = "unseen"  # of a wrong world that all of an experiment's data leave undecided


def controls(experiments: Sequence[Experiment]) -> int:
    """Simulate and judge the wrong worlds; a line for each claim.

    Returns the exit code: 1 where a world is judged the wrong way, or left undecided by the whole
    experiment. What fewer data than the experiment's leave undecided is no failure. Raises
    InvalidInput, before anything is simulated, for a study that does not fit in memory.
    """
    studies = [_fixed(experiment.study) for experiment in experiments]
    outcomes: Counter[str] = Counter()
    for experiment, study in zip(experiments, studies, strict=True):
        outcomes += _judged(experiment, study)
    print(_summary(outcomes))
    return EXIT_FAILED if outcomes[OTHERWISE] or outcomes[UNSEEN] else EXIT_DONE


def _judged(experiment: Experiment, study: Study) -> Counter[str]:
    """Judge the wrong worlds of one experiment and print their lines.

    Returns how many had each outcome.
    """
    claims = claims_of(experiment)
    blank = datasets.blank(study)
    reasons = [why_not(claim, blank) for claim in claims]
    to_simulate = [claim for claim, reason in zip(claims, reasons, strict=True) if not reason]
    missing = what_is_missing(experiment)
    outcomes: Counter[str] = Counter()
    for claim, check in checks_of_wrong_worlds(to_simulate, study, blank):
        decision = outcome(claim, check)
        outcomes[UNSEEN if decision == UNDECIDED and not missing else decision] += 1
        print(line(claim, check, missing), flush=True)
    for claim, reason in zip(claims, reasons, strict=True):
        if reason:
            print(f"  not simulated {claim.id}: {reason}")
    return outcomes


def line(claim: Claim, check: Check, missing: str = "") -> str:
    """What a claim says of its wrong world, in words.

    missing: what the data lack of the whole experiment. A mark stands in front: ✗ where the claim
    does not say what it must, ? where it says nothing because of what is missing.
    """
    control = claim.simulated
    assert isinstance(control, SimulatedControl)
    decision = outcome(claim, check)
    mark = "✗"
    comment = f"must be {control.verdict}"
    if decision == AS_IT_MUST:
        mark = " "
        comment = "as it must be"
    elif decision == UNDECIDED and missing:
        mark = "?"
        comment = f"too few data to decide ({missing})"
    elif decision == UNDECIDED:
        comment += ", but all data of the experiment do not decide it"
    return f"{mark} {check.verdict:<13} {claim.id}, {comment}: {control.description}; {check.text}"


def _summary(outcomes: Counter[str]) -> str:
    """How many worlds were judged as they must be, and what to do about those that fewer data leave
    undecided.
    """
    text = f"{outcomes[AS_IT_MUST]} of {outcomes.total()} wrong worlds were judged as they must be"
    if not outcomes[UNDECIDED]:
        return text
    return (
        f"{text}; {outcomes[UNDECIDED]} cannot be decided by fewer data than the experiment has, "
        "which is no failure: size=paper simulates all of them"
    )


def what_is_missing(experiment: Experiment) -> str:
    """What a study lacks of the experiment that ships under its name; empty where it lacks nothing.

    Such as "12 of 40 cells, 100 of 200 replications".
    """
    study = experiment.study
    if study.name not in options("experiment"):
        return ""
    shipped = compose_once([f"experiment={study.name}"])
    size = {key: shipped[key] for key in ("grid", "replications", "block")}
    whole = dataclasses.replace(study, **size)
    cells_whole = {canonical(labels) for labels in whole.grid}
    cells = cells_whole & {canonical(labels) for labels in study.grid}
    parts = []
    if len(cells) < len(cells_whole):
        parts.append(f"{len(cells):,} of {len(cells_whole):,} cells")
    if _replications(study) < _replications(whole):
        parts.append(f"{_replications(study):,} of {_replications(whole):,} replications")
    return ", ".join(parts)


def why_not(claim: Claim, blank: xr.Dataset) -> str:
    """Why no wrong world of a claim is simulated.

    Empty where one is. blank: results before anything was run.
    """
    if isinstance(claim.simulated, NotSimulated):
        return claim.simulated.reason
    if claim.simulated is None:
        return "it names no wrong world"
    try:
        if claim.recorded is not None:
            claim.recorded.require(blank)
    except NotTested as other_data:
        return str(other_data)
    return ""


def _fixed(study: Study) -> Study:
    """The study with one number of replications in every cell.

    Raises InvalidInput if that does not fit in memory.
    """
    fixed = dataclasses.replace(
        study, precision=(), refine=None, until=None, replications=_replications(study)
    )
    if results.is_large(fixed):
        raise InvalidInput(
            "replications",
            study.replications,
            "makes wrong worlds that do not fit in memory; give fewer, or size=quick",
        )
    return fixed


def _replications(study: Study) -> int:
    """Replications of every cell: with targets of precision, the least of any cell."""
    if not study.precision:
        return study.replications
    least = max(target.least for target in study.precision)
    return min(-(-least // study.block) * study.block, study.replications)
