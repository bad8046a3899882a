"""Errors that people see: one line each, the same from the command and from Python."""


class PipelineError(Exception):
    """Base of all errors of this program, but not of the machine's (OSError, MemoryError)."""


class Stopped(PipelineError):
    """A run ended before all of its units were done.

    The finished ones are kept, and the same call goes on.
    """


class FailedUnits(PipelineError):
    """Some units of a finished run raised an error: their replications have status 3 in the sealed
    results.
    """
