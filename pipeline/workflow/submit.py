"""`task=submit`: a run as jobs of a batch system, checked and sized before anything is submitted."""

import math
import shlex
from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.execution import plan
from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Cluster, queued
from pipeline.execution.clusters.arrays import Submission
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.executor import DRIVER, LEAST_WORKER, size
from pipeline.execution.systems.base import UNTRIED, System
from pipeline.execution.systems.registry import names
from pipeline.execution.systems.sizes import MIB, Sizes, clock, sizes
from pipeline.study.files import make_folders
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

HOUR = 3600
DAY = 86400
MOST_SHARDS = (
    1000  # unless a person asks for more: what systems allow in one array, as they are delivered
)
SLOWER = 3  # nodes may be so much slower than this machine
OURS = ("task", "cluster", "shards")  # keys of which the jobs have their own values


def submit(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, arguments: Sequence[str]
) -> int:
    """Submit; returns the exit code. arguments: of this command.

    InvalidInput before anything is submitted.
    """
    if not isinstance(cluster, BatchWorkers):
        typed = dict(_pairs(arguments)).get("cluster", "local")
        raise InvalidInput("cluster", typed, f"must be {names()} with task=submit")
    system = cluster.system
    plan.check_room([stored.store for stored in studies])
    expected = [plan.predict(stored.store) for stored in studies]
    wanted = _sizes(expected, settings.shards, system)
    words = [
        word
        for word, (key, _) in zip(arguments, _pairs(arguments), strict=True)
        if key.split(".")[0] not in OURS
    ]
    what = Submission(system, wanted, [*words, "cluster=local"], arguments)
    what.check()
    numbers = what.submit()
    for stored in studies:
        make_folders(stored.store.folder)
        queued.record(
            stored.store.folder, queued.Submitted(system.name, tuple(numbers), str(system.output))
        )
    pending = sum(one.pending for one in expected)
    work = math.fsum(one.seconds or 0.0 for one in expected)
    print(
        f"{pending:,} units to do, about {format_time(work)} of work; each job: {system.cores} "
        f"cores, {format_bytes(wanted.memory)}, walltime {clock(wanted.seconds)}"
    )
    if len(numbers) > 1:
        print(
            f"array {numbers[0]} of {wanted.shards} shards simulates, job {numbers[1]} reduces "
            "and reports"
        )
    else:
        print(f"job {numbers[0]} simulates and reports")
    if system.untried:
        print(f"warning: jobs of {system.name} were {UNTRIED}")
    print(
        f"watch:  {shlex.join(system.watch(numbers))}\n"
        f"        {shlex.join(['pipeline', 'task=status', *words])}\n"
        f"cancel: {shlex.join(system.cancel(numbers))}"
    )
    if len(numbers) > 1 and not system.cancels_follower:
        print(
            f"        both, as job {numbers[1]} does all that is left as soon as the array has "
            "ended"
        )
    print(f"logs:   {system.output}")
    return EXIT_DONE


def _sizes(expected: Sequence[plan.Prediction], shards: int | None, system: System) -> Sizes:
    """Sizes of the jobs: what a person gave, and the rest from the plan.

    InvalidInput where that is unknown.
    """
    measured = all(one.seconds is not None for one in expected)
    weighed = all(one.memory is not None for one in expected)
    for key, known in (("walltime", measured), ("memory", weighed)):
        if not known and getattr(system, key) is None:
            raise InvalidInput(
                f"cluster.{key}",
                None,
                "must be given: one replication is too long or too large to measure here",
            )
    pending = sum(one.pending for one in expected)
    work = math.fsum(one.seconds or 0.0 for one in expected)
    longest = max(one.longest or 0.0 for one in expected)
    usual = min(MOST_SHARDS, math.ceil(work / system.cores / HOUR)) if measured else 1
    count = max(1, min(usual if shards is None else shards, pending))
    seconds = SLOWER * max(work / system.cores / count, 10 * longest)
    planned = min(DAY, max(HOUR // 2, HOUR // 6 * math.ceil(1 + seconds / (HOUR // 6))))
    each = max(one.memory or 0.0 for one in expected)
    planned_memory = _rounded(DRIVER + system.cores * max(1.25 * each, LEAST_WORKER))
    memory = size(system.memory) if system.memory else planned_memory
    if system.memory and each * system.cores > memory:
        raise InvalidInput(
            "cluster.memory",
            system.memory,
            f"a worker takes about {format_bytes(int(each))}; give "
            "more, fewer cores, or a smaller block",
        )
    return sizes(
        system.walltime,
        count,
        memory,
        planned if system.walltime is None else system.seconds(),
        longest,
    )


def _rounded(memory: float) -> int:
    """Bytes, rounded up to 256 MiB."""
    return math.ceil(memory / (256 * MIB)) * 256 * MIB


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Key and value of each argument, as a config reads them."""
    split = (word.partition("=") for word in arguments)
    return [(key.lstrip("+~").strip("'\""), value.strip("'\"")) for key, _, value in split]
