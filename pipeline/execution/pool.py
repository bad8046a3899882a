"""Where a sweep's bundles are computed: in this process, or elsewhere.

`dask_pool` has the workers of a Dask client.
"""

from collections.abc import Iterable
from typing import Protocol

from pipeline.execution.bundles import Bundle
from pipeline.execution.errors import SweepError
from pipeline.execution.task import Ending, UnitFunction, attempt


class Pool(Protocol):
    """What computes bundles. Each worker thread counts as one worker."""

    @property
    def workers(self) -> int:
        """Workers that may compute now."""
        ...

    @property
    def capacity(self) -> int:
        """Workers to plan for: those that there are, or those that are wanted if these are more."""
        ...

    @property
    def room(self) -> int:
        """Most bundles handed out at once."""
        ...

    @property
    def most(self) -> int:
        """Most workers at once so far."""
        ...

    @property
    def lost(self) -> int:
        """Workers that vanished."""
        ...

    @property
    def deserted(self) -> bool:
        """Whether the sweep is stopping and no worker is left to finish what was handed out."""
        ...

    def submit(self, bundle: Bundle) -> None:
        """Hand out a bundle."""

    def finished(self) -> Iterable[tuple[Bundle, Ending]]:
        """Bundles that ended since the last call; waits a moment for the first."""
        ...

    def halt(self) -> None:
        """Start no bundle any more; those that were handed out but not started end as halted."""

    def watch(self) -> None:
        """Count the workers and replace those that died.

        SweepError if there were none for too long.
        """

    def close(self) -> None:
        """Leave nothing of the sweep in workers that go on."""


class ThisProcess:
    """Compute in this process, one bundle at a time."""

    workers = 1
    capacity = 1
    room = 1
    most = 1
    lost = 0
    deserted = False

    def __init__(self, runner: UnitFunction):
        self.runner = runner
        self.waiting: list[Bundle] = []

    def submit(self, bundle: Bundle) -> None:
        """Keep the bundle until `finished` is called."""
        self.waiting.append(bundle)

    def finished(self) -> list[tuple[Bundle, Ending]]:
        """Compute the bundle. SweepError if this process, the only worker, must not compute."""
        bundle = self.waiting.pop()
        ending = attempt(self.runner, bundle)
        if ending.state == "unfit":
            raise SweepError(ending.value)
        return [(bundle, ending)]

    def halt(self) -> None:
        """Nothing to do: no bundle waits."""

    def watch(self) -> None:
        """There are no other workers to count."""

    def close(self) -> None:
        """Nothing to do: there are no other workers."""
