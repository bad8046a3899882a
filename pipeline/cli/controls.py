"""`task=controls` in the terminal: what each claim says of its wrong world."""

from collections import Counter
from collections.abc import Sequence

from pipeline.analysis.claims import SimulatedControl
from pipeline.analysis.wrong_worlds import AS_IT_MUST, UNDECIDED
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.cli.json_answer import print_json
from pipeline.study.untyped import JsonObject
from pipeline.workflow.controls import UNCHANGED, UNSEEN, JudgedWorld, controls
from pipeline.workflow.experiment import Experiment


def perform(experiments: Sequence[Experiment], as_json: bool = False) -> int:
    """Simulate and judge the wrong worlds; a line for each claim, or JSON.

    Returns the exit code: 1 where a world is judged the wrong way, or left undecided by the whole
    experiment. What fewer data than the experiment's leave undecided is no failure.
    """
    if as_json:
        return _perform_as_json(experiments)
    outcomes: Counter[str] = Counter()
    code = EXIT_DONE
    for world in controls(experiments):
        if isinstance(world, JudgedWorld):
            outcomes[world.outcome] += 1
            print(line(world), flush=True)
            if world.failed:
                code = EXIT_FAILED
        else:
            print(f"  not simulated {world.claim.id}: {world.reason}")
    print(_summary(outcomes))
    return code


def _perform_as_json(experiments: Sequence[Experiment]) -> int:
    worlds = []
    left_out = []
    code = EXIT_DONE
    for world in controls(experiments):
        if not isinstance(world, JudgedWorld):
            left_out.append({"claim": world.claim.id, "reason": world.reason})
            continue
        worlds.append(record(world))
        if world.failed:
            code = EXIT_FAILED
    return print_json(code, {"worlds": worlds, "not_simulated": left_out})


def record(world: JudgedWorld) -> JsonObject:
    """What a claim says of its wrong world, as one object of JSON."""
    control = world.claim.simulated
    assert isinstance(control, SimulatedControl)
    return {
        "claim": world.claim.id,
        "world": control.description,
        "must_be": control.verdict,
        "verdict": world.check.verdict,
        "text": world.check.text,
        "outcome": world.outcome,
        "failed": world.failed,
        "missing": world.missing,
    }


def line(world: JudgedWorld) -> str:
    """What a claim says of its wrong world, in words.

    A mark stands in front: ✗ where the claim does not say what it must, ? where it says nothing
    because of what is missing.
    """
    claim = world.claim
    check = world.check
    control = claim.simulated
    assert isinstance(control, SimulatedControl)
    mark = "✗"
    comment = f"must be {control.verdict}"
    if world.outcome == AS_IT_MUST:
        mark = " "
        comment = "as it must be"
    elif world.outcome == UNDECIDED:
        mark = "?"
        comment = f"too few data to decide ({world.missing})"
    elif world.outcome == UNSEEN:
        comment += ", but all data of the experiment do not decide it"
    elif world.outcome == UNCHANGED:
        comment += ", but its change leaves the parts of all cells as they are"
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
