"""What a unit took: seconds, and the most memory of the process that made it."""

import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from pipeline.execution.bundles import Bundle
from pipeline.execution.progress import Advance
from pipeline.storage.efforts import UnitEffort
from pipeline.study import proc

RESET_PEAK = "5"  # for proc.CLEAR: the peak is what the process has now
EVERY = 0.02  # seconds: units that took less together are measured together
KIB = 1024


class UnitWork(NamedTuple):
    """What became of a unit: whether it failed, and what it took; None if it was not made here."""

    failed: bool
    effort: UnitEffort | None = None


def advance_of(works: Sequence[UnitWork], bundle: Bundle, workers: int) -> Advance:
    """What progress counts of a bundle: its units, and what those took that were made here."""
    efforts = [work.effort for work in works if work.effort]
    share = len(efforts) / max(len(works), 1)
    seconds = sum(effort.seconds for effort in efforts)
    return Advance(len(works), bundle.cost, workers, len(efforts), bundle.cost * share, seconds)


class Measured:
    """Units of a bundle as they end, each with its seconds, and the peak of memory since the last
    look.

    Units of milliseconds are looked at together: a look takes some 50 µs. Of threads in one process
    the peak is that of all.

    >>> bundle = Measured()
    >>> bundle.ended(failed=False, seconds=0.5)
    >>> [work] = bundle.works()
    >>> work.failed, work.effort.seconds, work.effort.memory > 1e6
    (False, 0.5, True)
    """

    def __init__(self) -> None:
        self._works: list[UnitWork] = []
        self._waiting: list[tuple[bool, float]] = []  # that have ended since the last look
        _reset_peak()

    def ended(self, failed: bool, seconds: float | None) -> None:
        """Note that a unit ended. seconds: None where it was not made here."""
        if seconds is None:
            self._look()
            self._works.append(UnitWork(failed))
            return
        self._waiting.append((failed, seconds))
        if sum(taken for _, taken in self._waiting) >= EVERY:
            self._look()

    def works(self) -> list[UnitWork]:
        """All units, in the order in which they ended."""
        self._look()
        return self._works

    def _look(self) -> None:
        if not self._waiting:
            return
        memory = peak()
        self._works += [
            UnitWork(failed, UnitEffort(seconds, memory)) for failed, seconds in self._waiting
        ]
        self._waiting = []
        _reset_peak()


def peak() -> int:
    """Most bytes of memory of this process since it was last reset.

    Since its start where that cannot be reset.
    """
    with suppress(OSError, ValueError, IndexError):
        lines = proc.STATUS.read_text().splitlines()
        line = next(line for line in lines if line.startswith("VmHWM:"))
        return int(line.split()[1]) * KIB
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if sys.platform == "darwin":  # which counts bytes
        return most
    return most * KIB


def _reset_peak() -> None:
    with suppress(OSError):
        proc.CLEAR.write_text(RESET_PEAK)
