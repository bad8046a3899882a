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


NO_REASON = ("None", "-")


@dataclass(frozen=True)
class Columns:
    """Where a line about a job has its state and the reason why it waits; its number comes first.

    separator: between columns; None for blanks.
    running: pattern of states of jobs that have begun.
    """

    state: int = 1
    reason: int | None = None
    separator: str | None = None
    running: str = r"R(UNNING)?|RUN|r|COMPLETING|CG"

    def read(self, lines: Sequence[str]) -> list[Queued]:
        """The jobs in these lines; lines that begin with no number are of no job.

        >>> for job in Columns(1, 2, "|").read(["JOBID|ST|REASON", "7_1|R|None", "8|PD|Priority"]):
        ...     print(job)
        Queued(number='7_1', running=True, reason='')
        Queued(number='8', running=False, reason='Priority')
        """
        rows = map(self._split, lines)
        return [self._job(row) for row in rows if self._is_of_job(row)]

    def _split(self, line: str) -> list[str]:
        return [word.strip() for word in line.split(self.separator)]

    def _is_of_job(self, row: Sequence[str]) -> bool:
        least = self.state + 1
        if self.state < 0:
            least = -self.state
        return len(row) >= least and row[0][:1].isdigit()

    def _job(self, row: Sequence[str]) -> Queued:
        number = row[0]
        if re.fullmatch(self.running, row[self.state], re.ASCII):
            return Queued(number, running=True)
        if self.reason is None or self.reason >= len(row):
            return Queued(number, running=False)
        reason = row[self.reason]
        if reason in NO_REASON:
            reason = ""
        return Queued(number, running=False, reason=reason)
