"""`task=submit`: a run as jobs of a batch system, sized and checked before any is submitted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.execution import plan
from pipeline.execution.amounts import format_bytes
from pipeline.execution.clusters import Cluster, queued
from pipeline.execution.clusters.arrays import Submission
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.clusters.executor import DRIVER, LEAST_WORKER, size
from pipeline.execution.systems.base import System
from pipeline.execution.systems.registry import names
from pipeline.execution.systems.sizes import MIB, Sizes, sizes
from pipeline.study.files import make_folders
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

HOUR = 3600
DAY = 86400
# Unless a person asks for more: what systems allow in one array, as they are delivered.
MOST_SHARDS = 1000
SLOWER = 3  # nodes may be so much slower than this machine
OURS = ("task", "cluster", "shards")  # keys of which the jobs have their own values


@dataclass(frozen=True)
class Submitted:
    """What was submitted. numbers: of the jobs: one, or an array and the job that follows it.

    pending: units to do; seconds: of work. sizes: of each job. words: arguments of the command that
    the jobs perform, without the keys that are the jobs' own.
    """

    system: System
    numbers: Sequence[str]
    pending: int
    seconds: float
    sizes: Sizes
    words: Sequence[str]

    @property
    def is_array(self) -> bool:
        """Whether an array simulates and another job reduces and reports."""
        return len(self.numbers) > 1


def submit(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, arguments: Sequence[str]
) -> Submitted:
    """Submit. arguments: of this command.

    InvalidInput before anything is submitted.
    """
    if not isinstance(cluster, BatchWorkers):
        typed = dict(_pairs(arguments)).get("cluster", "local")
        raise InvalidInput("cluster", typed, f"must be {names()} with task=submit")
    system = cluster.system
    plan.check_room([stored.store for stored in studies])
    expected = [plan.predict(stored.store) for stored in studies]
    job_sizes = _sizes(expected, settings.shards, system)
    words = [
        word
        for word, (key, _) in zip(arguments, _pairs(arguments), strict=True)
        if key.split(".")[0] not in OURS
    ]
    submission = Submission(system, job_sizes, [*words, "cluster=local"], arguments)
    submission.check()
    numbers = submission.submit()
    for stored in studies:
        make_folders(stored.store.folder)
        queued.record(
            stored.store.folder,
            queued.SubmittedJobs(system.name, tuple(numbers), str(system.output)),
        )
    pending = sum(prediction.pending for prediction in expected)
    return Submitted(system, numbers, pending, _work(expected), job_sizes, words)


def _work(expected: Sequence[plan.Prediction]) -> float:
    """Seconds of work of all studies, as far as they are known."""
    return math.fsum(prediction.seconds or 0.0 for prediction in expected)


def _sizes(expected: Sequence[plan.Prediction], shards: int | None, system: System) -> Sizes:
    """Sizes of the jobs: what a person gave, and the rest from the plan.

    InvalidInput where that is unknown.
    """
    _check_known(expected, system)
    longest = max(prediction.longest or 0.0 for prediction in expected)
    count = _shards(expected, shards, system)
    seconds = SLOWER * max(_work(expected) / system.cores / count, 10 * longest)
    planned = min(DAY, max(HOUR // 2, HOUR // 6 * math.ceil(1 + seconds / (HOUR // 6))))
    walltime = planned if system.walltime is None else system.seconds()
    return sizes(system.walltime, count, _memory(expected, system), walltime, longest)


def _check_known(expected: Sequence[plan.Prediction], system: System) -> None:
    """Raise InvalidInput where a person did not say how large a job must be, and the plan does
    not know it."""
    measured = all(prediction.seconds is not None for prediction in expected)
    weighed = all(prediction.memory is not None for prediction in expected)
    for key, known in (("walltime", measured), ("memory", weighed)):
        if not known and getattr(system, key) is None:
            raise InvalidInput(
                f"cluster.{key}",
                None,
                "must be given: one replication is too long or too large to measure here",
            )


def _shards(expected: Sequence[plan.Prediction], shards: int | None, system: System) -> int:
    """How many shards: as many as a person gave, or such that each takes about an hour."""
    pending = sum(prediction.pending for prediction in expected)
    if shards is not None:
        return max(1, min(shards, pending))
    if any(prediction.seconds is None for prediction in expected):
        return 1
    of_an_hour = math.ceil(_work(expected) / system.cores / HOUR)
    return max(1, min(MOST_SHARDS, of_an_hour, pending))


def _memory(expected: Sequence[plan.Prediction], system: System) -> int:
    """Bytes of a job: what a person gave, or what the plan says its workers take.

    InvalidInput where workers take more than a person gave.
    """
    each = max(prediction.memory or 0.0 for prediction in expected)
    if not system.memory:
        return _rounded(DRIVER + system.cores * max(1.25 * each, LEAST_WORKER))
    memory = size(system.memory)
    if each * system.cores > memory:
        raise InvalidInput(
            "cluster.memory",
            system.memory,
            f"a worker takes about {format_bytes(int(each))}; give "
            "more, fewer cores, or a smaller block",
        )
    return memory


def _rounded(memory: float) -> int:
    """Bytes, rounded up to 256 MiB."""
    return math.ceil(memory / (256 * MIB)) * 256 * MIB


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Key and value of each argument, as a config reads them."""
    split = (word.partition("=") for word in arguments)
    return [(key.lstrip("+~").strip("'\""), value.strip("'\"")) for key, _, value in split]
