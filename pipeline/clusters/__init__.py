"""Where a sweep runs: one frozen dataclass per kind of cluster, whose `open()` yields an `Executor`.

A new kind is one more dataclass and one more row in `CLUSTERS`. What listens beyond loopback speaks TLS only.
"""

from pipeline.clusters.address import Address
from pipeline.clusters.batch import LSF, PBS, SGE, Slurm
from pipeline.clusters.executor import Executor
from pipeline.clusters.local import Local, Synchronous, Threads, cores

CLUSTERS: dict[str, type] = {
    "local": Local, "threads": Threads, "synchronous": Synchronous, "address": Address, "slurm": Slurm, "pbs": PBS,
    "lsf": LSF, "sge": SGE,
}

__all__ = ["CLUSTERS", "LSF", "PBS", "SGE", "Address", "Executor", "Local", "Slurm", "Synchronous", "Threads", "cores"]
