"""What ends a sweep, and what ends only one of its workers."""

from pipeline.study.errors import PipelineError


class SweepError(PipelineError, RuntimeError):
    """The sweep cannot go on: one line that says why. Units finished before are kept."""


class Unfit(Exception):
    """Raised by a runner in a worker that must not compute: it runs other versions, or cannot see
    the study's folder.

    The sweep retires that worker, reports the reason, and gives the units to the other workers.
    """

    def __init__(self, reason: str):
        self.reason = reason
        super().__init__(reason)
