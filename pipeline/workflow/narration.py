"""A subscriber that narrates a task on two streams, of a terminal, a notebook or a file."""

from contextlib import ExitStack
from typing import TextIO

from pipeline.execution.progress import Progress
from pipeline.study.parameters import shorten
from pipeline.workflow.events import (
    Event,
    Judged,
    Noted,
    Progressed,
    SweepStarted,
    Swept,
    Warned,
)
from pipeline.workflow.lines import CONTRADICTED, lines_of

MOST_LETTERS = 190  # of a verdict's line in a terminal, unless the claim is contradicted


class Narration:
    """Writes the lines of each event when it happens, and draws the progress of sweeps.

    lines: where the lines go. progress: where the progress, warnings and notes go.

    >>> import sys
    >>> from pipeline.workflow.events import NothingToDo
    >>> Narration(sys.stdout, sys.stderr)(NothingToDo(units=8))
    nothing to do: all 8 units were done before
    """

    def __init__(self, lines: TextIO, progress: TextIO):
        self._lines = lines
        self._stream = progress
        self._progress: Progress | None = None
        self._sweep = ExitStack()

    def __call__(self, event: Event) -> None:
        if isinstance(event, SweepStarted):
            self._begin(event)
        elif isinstance(event, Swept):
            self._progress = None
            self._sweep.close()
        elif isinstance(event, Progressed) and self._progress is not None:
            self._progress.advance(event.advance)
        elif isinstance(event, Warned) and self._progress is not None:
            self._progress.warn(event.text)
        else:
            self._write(event)

    def _begin(self, event: SweepStarted) -> None:
        progress = Progress(
            event.units, event.cost, self._stream, left=event.left, waits=event.waits
        )
        self._progress = self._sweep.enter_context(progress)

    def _is_cut(self, event: Event) -> bool:
        """Whether an event has a line that a terminal would break; files and logs have it whole."""
        is_verdict = isinstance(event, Judged) and event.verdict != CONTRADICTED
        return is_verdict and self._lines.isatty()

    def _write(self, event: Event) -> None:
        is_aside = isinstance(event, (Warned, Noted))
        stream = self._stream if is_aside else self._lines
        for line in lines_of(event):
            if self._is_cut(event):
                line = shorten(line, MOST_LETTERS)
            stream.write(line + "\n")
        stream.flush()
