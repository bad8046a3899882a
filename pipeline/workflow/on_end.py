"""`on_end=COMMAND`: a command of a person's own, once, when a run has ended.

Such as one that sends a mail.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from pipeline.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.execution.systems.registry import job
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

PATIENCE = 600.0  # seconds that the command may take


def with_command(
    settings: Settings, studies: Sequence[StoredStudy], work: Callable[[], int]
) -> int:
    """The exit code of a run, after which the command was called, if there is one.

    Also where the run raised.

    Not after a shard, which is no end, nor in a job that will be queued again.
    """
    code = EXIT_FAILED
    try:
        code = work()
    except InvalidInput:
        code = EXIT_BAD_INPUT
        raise
    except KeyboardInterrupt:
        code = EXIT_MORE_TO_DO
        raise
    finally:
        again = code == EXIT_MORE_TO_DO and job() is not None
        if settings.on_end is not None and settings.shard is None and not again:
            _call(settings.on_end, code, settings, studies)
    return code


def _call(command: str, code: int, settings: Settings, studies: Sequence[StoredStudy]) -> None:
    """Call the command; whether it fails changes nothing but a line."""
    folders = [str(stored.store.folder.absolute()) for stored in studies]
    said = {
        "PIPELINE_EXIT_CODE": str(code),
        "PIPELINE_STUDIES": "\n".join(folders),
        "PIPELINE_OUTPUTS": str(path_of(settings.outputs, "outputs").absolute()),
    }
    sys.stdout.flush()
    try:
        ended = subprocess.run(
            command, shell=True, env=os.environ | said, stdin=subprocess.DEVNULL, timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"warning: on_end={command}: {error}", file=sys.stderr)
        return
    if ended.returncode:
        print(f"warning: on_end={command} ended with code {ended.returncode}", file=sys.stderr)
