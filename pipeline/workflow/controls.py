"""`task=controls`: the wrong world of every claim on some experiments, simulated here, and what
claims say of it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import xarray as xr

from pipeline.analysis.claims import Check, Claim, NotSimulated, NotTested
from pipeline.analysis.wrong_worlds import (
    OTHERWISE,
    UNDECIDED,
    changes_nothing,
    checks_of_wrong_worlds,
    outcome,
)
from pipeline.storage import datasets, results
from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical
from pipeline.study.study import Study
from pipeline.workflow.assess import claims_of
from pipeline.workflow.composition import named_experiment, whole_experiment
from pipeline.workflow.config_files import options
from pipeline.workflow.experiment import Experiment

UNSEEN = "unseen"  # of a wrong world that all of an experiment's data leave undecided
UNCHANGED = "unchanged"  # of one that is left undecided and has the declared parts everywhere


@dataclass(frozen=True)
class JudgedWorld:
    """What a claim says of its wrong world. missing: what the data lack of the whole experiment.

    outcome: AS_IT_MUST, OTHERWISE, UNDECIDED where there are fewer data than the experiment has,
    UNSEEN or UNCHANGED.
    """

    claim: Claim
    check: Check
    missing: str
    outcome: str

    @property
    def failed(self) -> bool:
        """Whether the world is judged the wrong way, left undecided by the whole experiment, or no
        other world.
        """
        return self.outcome in (OTHERWISE, UNSEEN, UNCHANGED)


@dataclass(frozen=True)
class NoWorld:
    """A claim whose wrong world is not simulated, and why."""

    claim: Claim
    reason: str


def controls(experiments: Sequence[Experiment]) -> Iterator[JudgedWorld | NoWorld]:
    """Simulate and judge the wrong worlds of all claims, one after the other.

    Raises InvalidInput, before anything is simulated, for a study that does not fit in memory.
    """
    studies = [_fixed(experiment.study) for experiment in experiments]
    for experiment, study in zip(experiments, studies, strict=True):
        yield from _judged(experiment, study)


def _judged(experiment: Experiment, study: Study) -> Iterator[JudgedWorld | NoWorld]:
    """Judge the wrong worlds of one experiment; claims without one come last."""
    claims = claims_of(experiment)
    blank = datasets.blank(study)
    reasons = [why_not(claim, blank) for claim in claims]
    to_simulate = [claim for claim, reason in zip(claims, reasons, strict=True) if not reason]
    missing = what_is_missing(experiment)
    for claim, check in checks_of_wrong_worlds(to_simulate, study, blank):
        decision = outcome(claim, check)
        if decision == UNDECIDED and not missing:
            decision = UNSEEN
        if decision in (UNDECIDED, UNSEEN) and changes_nothing(claim, study):
            decision = UNCHANGED
        yield JudgedWorld(claim, check, missing, decision)
    for claim, reason in zip(claims, reasons, strict=True):
        if reason:
            yield NoWorld(claim, reason)


def what_is_missing(experiment: Experiment) -> str:
    """What a study lacks of the experiment that ships under its name; empty where it lacks nothing.

    Such as "12 of 40 cells, 100 of 200 replications".
    """
    study = experiment.study
    if study.name not in options("experiment"):
        return ""
    shipped = whole_experiment(named_experiment(study.name))
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
