"""`task=submit`: a run as jobs of a batch system, checked and sized before anything is submitted."""

import math
import shlex
from collections.abc import Sequence

from pipeline.cli.config import Settings
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.studies import StoredStudy
from pipeline.execution import plan
from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Batch, Cluster, queued
from pipeline.execution.clusters.arrays import MIB, Sizes, Submission, clock, sizes
from pipeline.execution.clusters.batch import UNTRIED
from pipeline.execution.clusters.executor import DRIVER, LEAST_WORKER, size
from pipeline.study.files import make_folders
from pipeline.study.parameters import InvalidInput

HOUR, DAY = 3600, 86400
MOST_SHARDS = 1000  # unless a person asks for more: what systems allow in one array, as they are delivered
SLOWER = 3  # nodes may be so much slower than this machine
OURS = ("task", "cluster", "shards")  # keys of which the jobs have their own values


def submit(studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, arguments: Sequence[str]) -> int:
    """Submit; returns the exit code. arguments: of this command. InvalidInput before anything is submitted."""
    if not isinstance(cluster, Batch):
        raise InvalidInput("cluster", dict(_pairs(arguments)).get("cluster", "local"),
                           "must be slurm or sge with task=submit; or pbs or lsf, which were never executed")
    plan.check_room([stored.store for stored in studies])
    expected = [plan.predict(stored.store) for stored in studies]
    wanted = _sizes(expected, settings.shards, cluster)
    words = [word for word, (key, _) in zip(arguments, _pairs(arguments), strict=True)
             if key.split(".")[0] not in OURS]
    what = Submission(cluster, wanted, [*words, "cluster=local"], arguments)
    what.check()
    numbers = what.submit()
    for stored in studies:
        make_folders(stored.store.folder)
        queued.record(stored.store.folder, queued.Submitted(cluster.name, tuple(numbers), str(what.output)))
    pending = sum(one.pending for one in expected)
    work = math.fsum(one.seconds or 0.0 for one in expected)
    print(f"{pending:,} units to do, about {format_time(work)} of work; each job: {cluster.cores} cores, "
          f"{format_bytes(wanted.memory)}, walltime {clock(wanted.seconds)}")
    if len(numbers) > 1:
        print(f"array {numbers[0]} of {wanted.shards} shards simulates, job {numbers[1]} reduces and reports")
    else:
        print(f"job {numbers[0]} simulates and reports")
    if cluster.untried:
        print(f"warning: jobs of {cluster.name} were {UNTRIED}")
    print(f"watch:  {shlex.join(what.watch(numbers))}\n"
          f"        {shlex.join(['pipeline', 'task=status', *words])}\n"
          f"cancel: {shlex.join(what.cancel(numbers))}")
    if len(numbers) > 1 and not cluster.cancels_follower:
        print(f"        both, as job {numbers[1]} does all that is left as soon as the array has ended")
    print(f"logs:   {what.output}")
    return EXIT_DONE


def _sizes(expected: Sequence[plan.Prediction], shards: int | None, cluster: Batch) -> Sizes:
    """Sizes of the jobs: what a person gave, and the rest from the plan. InvalidInput where that is unknown."""
    measured = all(one.seconds is not None for one in expected)
    weighed = all(one.memory is not None for one in expected)
    for key, known in (("walltime", measured), ("memory", weighed)):
        if not known and getattr(cluster, key) is None:
            raise InvalidInput(f"cluster.{key}", None, "must be given: one replication is too long or too large to "
                               "measure here")
    pending = sum(one.pending for one in expected)
    work, longest = math.fsum(one.seconds or 0.0 for one in expected), max(one.longest or 0.0 for one in expected)
    usual = min(MOST_SHARDS, math.ceil(work / cluster.cores / HOUR)) if measured else 1
    count = max(1, min(usual if shards is None else shards, pending))
    seconds = SLOWER * max(work / cluster.cores / count, 10 * longest)
    planned = min(DAY, max(HOUR // 2, HOUR // 6 * math.ceil(1 + seconds / (HOUR // 6))))
    each = max(one.memory or 0.0 for one in expected)
    planned_memory = _rounded(DRIVER + cluster.cores * max(1.25 * each, LEAST_WORKER))
    memory = size(cluster.memory) if cluster.memory else planned_memory
    if cluster.memory and each * cluster.cores > memory:
        raise InvalidInput("cluster.memory", cluster.memory, f"a worker takes about {format_bytes(int(each))}; give "
                           "more, fewer cores, or a smaller block")
    return sizes(cluster, count, memory, planned if cluster.walltime is None else cluster.seconds(), longest)


def _rounded(memory: float) -> int:
    """Bytes, rounded up to 256 MiB."""
    return math.ceil(memory / (256 * MIB)) * 256 * MIB


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Key and value of each argument, as a config reads them."""
    split = (word.partition("=") for word in arguments)
    return [(key.lstrip("+~").strip("'\""), value.strip("'\"")) for key, _, value in split]
