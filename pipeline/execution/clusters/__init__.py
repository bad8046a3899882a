"""Where a sweep runs: one frozen dataclass per kind of cluster, whose `open()` yields an `Executor`.

A new kind is one more `Cluster` and one more row in `CLUSTERS`. Beyond loopback, connections are encrypted by TLS.
"""

from pipeline.execution.clusters.address import Address, Connected
from pipeline.execution.clusters.batch import LSF, PBS, SGE, Batch, Slurm
from pipeline.execution.clusters.executor import FEW_FILES, Cluster, Executor, workers_of
from pipeline.execution.clusters.local import Local, Synchronous, Threads, default_workers

CLUSTERS: dict[str, type[Cluster]] = {
    "local": Local, "threads": Threads, "synchronous": Synchronous, "address": Address, "slurm": Slurm, "pbs": PBS,
    "lsf": LSF, "sge": SGE,
}

__all__ = [
    "CLUSTERS", "FEW_FILES", "LSF", "PBS", "SGE", "Address", "Batch", "Cluster", "Connected", "Executor", "Local",
    "Slurm", "Synchronous", "Threads", "default_workers", "workers_of",
]
