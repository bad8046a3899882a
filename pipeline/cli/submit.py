"""`task=submit` in the terminal: what was submitted, and how to watch and cancel it."""

import shlex
from collections.abc import Iterator, Sequence

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Cluster
from pipeline.execution.systems.base import UNTRIED
from pipeline.execution.systems.sizes import clock
from pipeline.study.untyped import JsonObject
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.submit import Submitted, submit


def perform(
    studies: Sequence[StoredStudy],
    settings: Settings,
    cluster: Cluster,
    arguments: Sequence[str],
    as_json: bool = False,
) -> int:
    """Submit; returns the exit code. arguments: of this command."""
    if as_json:
        return print_json(EXIT_DONE, record(submit(studies, settings, cluster, arguments)))
    for line in _lines(submit(studies, settings, cluster, arguments)):
        print(line)
    return EXIT_DONE


def record(submitted: Submitted) -> JsonObject:
    """What was submitted, as one object of JSON. watch, status, cancel: commands."""
    system = submitted.system
    sizes = submitted.sizes
    numbers = submitted.numbers
    return {
        "system": system.name,
        "jobs": list(numbers),
        "array": submitted.is_array,
        "shards": sizes.shards,
        "units": submitted.pending,
        "seconds_of_work": submitted.seconds,
        "cores": system.cores,
        "memory": sizes.memory,
        "walltime": sizes.seconds,
        "watch": shlex.join(system.watch(numbers)),
        "status": shlex.join(["pipeline", "task=status", *submitted.words]),
        "cancel": shlex.join(system.cancel(numbers)),
        "logs": str(system.output),
        "untried": bool(system.untried),
    }


def _lines(submitted: Submitted) -> Iterator[str]:
    """What was submitted, and what to do with it."""
    system = submitted.system
    numbers = submitted.numbers
    sizes = submitted.sizes
    yield (
        f"{submitted.pending:,} units to do, about {format_time(submitted.seconds)} of work; each "
        f"job: {system.cores} cores, {format_bytes(sizes.memory)}, walltime {clock(sizes.seconds)}"
    )
    if submitted.is_array:
        yield (
            f"array {numbers[0]} of {sizes.shards} shards simulates, job {numbers[1]} reduces and "
            "reports"
        )
    else:
        yield f"job {numbers[0]} simulates and reports"
    if system.untried:
        yield f"warning: jobs of {system.name} were {UNTRIED}"
    yield f"watch:  {shlex.join(system.watch(numbers))}"
    yield f"        {shlex.join(['pipeline', 'task=status', *submitted.words])}"
    yield f"cancel: {shlex.join(system.cancel(numbers))}"
    if submitted.is_array and not system.cancels_follower:
        yield (
            f"        both, as job {numbers[1]} does all that is left as soon as the array has "
            "ended"
        )
    yield f"logs:   {system.output}"
