"""What a batch system prints about jobs in its queue."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Queued:
    """A job, or a task of an array: whether it has begun, and why not, where the system says so."""

    number: str
    running: bool
    reason: str = ""


@dataclass(frozen=True)
class Columns:
    """Where a line about a job has its state and the reason why it waits; its number comes first.

    separator: between columns; None for blanks. running: pattern of states of jobs that have begun.
    """

    state: int = 1
    reason: int | None = None
    separator: str | None = None
    running: str = r"R(UNNING)?|RUN|r|COMPLETING|CG"

    def read(self, lines: Sequence[str]) -> list[Queued]:
        """The jobs in these lines; lines that begin with no number are of no job.

        >>> Columns(1, 2, "|").read(["JOBID|ST|REASON", "7_1|R|None", "8|PD|Priority"])
        [Queued(number='7_1', running=True, reason=''), Queued(number='8', running=False, reason='Priority')]
        """
        rows = [[word.strip() for word in line.split(self.separator)] for line in lines]
        least = -self.state if self.state < 0 else self.state + 1
        return [self._job(row) for row in rows if len(row) >= least and row[0][:1].isdigit()]

    def _job(self, row: Sequence[str]) -> Queued:
        running = bool(re.fullmatch(self.running, row[self.state], re.ASCII))
        says_why = self.reason is not None and len(row) > self.reason and not running
        reason = row[self.reason] if says_why and self.reason is not None else ""
        return Queued(row[0], running, "" if reason in ("None", "-") else reason)
