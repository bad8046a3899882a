"""Where a sweep runs: one frozen dataclass per kind of cluster, whose `open()` yields an
`Executor`.

Those of batch systems are in `pipeline.execution.systems`. Beyond loopback, connections are
encrypted by TLS.
"""

from pipeline.execution.clusters.address import Address, Connected
from pipeline.execution.clusters.executor import FEW_FILES, Cluster, Executor, workers_of
from pipeline.execution.clusters.local import Local, Synchronous, Threads, default_workers

CLUSTERS: dict[str, type[Cluster]] = {
    "local": Local,
    "threads": Threads,
    "synchronous": Synchronous,
    "address": Address,
}

__all__ = [
    "CLUSTERS",
    "FEW_FILES",
    "Address",
    "Cluster",
    "Connected",
    "Executor",
    "Local",
    "Synchronous",
    "Threads",
    "default_workers",
    "workers_of",
]
