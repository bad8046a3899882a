"""`task=controls`: the wrong world of every claim on some experiments, simulated here, and what claims say of it."""

import dataclasses
from collections.abc import Sequence

from pipeline.analysis.claims import Check, Claim, NotSimulated, SimulatedControl
from pipeline.analysis.wrong_worlds import as_expected, checks_of_wrong_worlds
from pipeline.cli.assess import claims_of
from pipeline.cli.config import Experiment
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.storage import datasets, results
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study


def controls(experiments: Sequence[Experiment]) -> int:
    """Simulate and judge the wrong worlds; a line for each claim. Returns the exit code: 1 where one is not seen.

    Raises InvalidInput, before anything is simulated, for a study that does not fit in memory.
    """
    studies = {experiment.study.name: _fixed(experiment.study) for experiment in experiments}
    unseen = simulated = 0
    for experiment in experiments:
        claims = claims_of(experiment)
        study = studies[experiment.study.name]
        for claim, check in checks_of_wrong_worlds(claims, study, datasets.blank(study)):
            simulated += 1
            unseen += not as_expected(claim, check)
            print(line(claim, check), flush=True)
        for claim in claims:
            if not isinstance(claim.simulated, SimulatedControl):
                print(f"  not simulated {claim.id}: {reason(claim)}")
    print(f"{simulated - unseen} of {simulated} wrong worlds were judged as they must be")
    return EXIT_FAILED if unseen else EXIT_DONE


def line(claim: Claim, check: Check) -> str:
    """What a claim says of its wrong world, in words.

    A mark stands in front where it does not say what it must.
    """
    control = claim.simulated
    assert isinstance(control, SimulatedControl)
    if as_expected(claim, check):
        return f"  {check.verdict:<13} {claim.id}, as it must be: {control.description}; {check.text}"
    return f"✗ {check.verdict:<13} {claim.id}, must be {control.verdict}: {control.description}; {check.text}"


def reason(claim: Claim) -> str:
    """Why no wrong world of a claim is simulated."""
    return claim.simulated.reason if isinstance(claim.simulated, NotSimulated) else "it names no wrong world"


def _fixed(study: Study) -> Study:
    """The study with one number of replications in every cell: with targets of precision, the least of any cell."""
    replications = study.replications
    if study.precision:
        least = max(target.least for target in study.precision)
        replications = min(-(-least // study.block) * study.block, replications)
    fixed = dataclasses.replace(study, precision=(), refine=None, until=None, replications=replications)
    if results.is_large(fixed):
        raise InvalidInput("replications", study.replications, "makes wrong worlds that do not fit in memory; give "
                           "fewer, or size=quick")
    return fixed
