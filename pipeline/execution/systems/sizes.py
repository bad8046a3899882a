"""How large jobs are, and how long before their end they are warned."""

import math
from dataclasses import dataclass

from pipeline.execution.clusters.executor import DRIVER, LEAST_WORKER
from pipeline.study.parameters import InvalidInput

MIB = 2**20
EARLY = 60  # seconds by which SLURM may be early with a warning
START = 30  # seconds in which a job starts


@dataclass(frozen=True)
class Sizes:
    """Of each job: memory in bytes, walltime in seconds, and how long before its end it is warned.

    shards: tasks of the array.
    """

    shards: int
    memory: int
    seconds: int
    reserve: int

    def memory_of_worker(self, cores: int) -> int:
        """Bytes that each worker of a job may take, so that a unit that needs more fails by itself.

        Otherwise the batch system would end the whole job, and with it what its other workers do.
        """
        return max(LEAST_WORKER, (self.memory - DRIVER) // cores)

    @property
    def mebibytes(self) -> int:
        """Memory of a job in MiB, rounded up."""
        return -(-self.memory // MIB)


def sizes(walltime: str | None, shards: int, memory: int, seconds: int, longest: float) -> Sizes:
    """Sizes with a warning that fits; InvalidInput for too short a walltime.

    A job has to start, compare a finished unit and end one of its own before it is warned, or it
    would be queued again for ever; after that it must end what runs.

    Args:
        walltime: as a person gave it, for the error.
        shards: tasks of the array.
        memory: bytes of a job.
        seconds: walltime of a job.
        longest: seconds of the most expensive unit.
    """
    reserve = min(max(60, math.ceil(3 * longest) + START), 1800)
    least = -(-(reserve + EARLY + START + math.ceil(2 * longest)) // 60) * 60
    if seconds < least:
        allowed = (
            f"must be at least {clock(least)}: a unit takes about {math.ceil(longest)} s, and a "
            f"job is warned {reserve} s before its end"
        )
        raise InvalidInput("cluster.walltime", walltime, allowed)
    return Sizes(shards, memory, seconds, reserve)


def clock(seconds: int) -> str:
    """HH:MM:SS.

    >>> clock(5400)
    '01:30:00'
    """
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
