"""Open files of the driver: every worker takes some of them, and a system allows only so many."""

import contextlib
import resource

from pipeline.study.parameters import InvalidInput

BESIDES = 200  # files that the driver has open besides


def raise_limit() -> None:
    """Let this process open as many files as its system allows it to."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # macOS refuses "unlimited"
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def check_workers(setting: str, value: int, workers: int, files: int) -> None:
    """Raise InvalidInput where so many workers take more open files than the driver may have.

    setting, value: of a person. files: that each worker takes.
    """
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    needed = BESIDES + workers * files
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return
    most = max(0, (hard - BESIDES) // files)
    allowed = (
        f"makes {workers} workers, which take {needed} open files here; this machine allows "
        f"{hard} (ulimit -Hn), enough for {most} workers; give several drivers a shard each, or "
        "use task=submit, which needs no driver"
    )
    raise InvalidInput(setting, value, allowed)
