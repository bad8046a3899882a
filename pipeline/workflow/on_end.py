"""`on_end=COMMAND`: call a command of a person's own, such as one that sends a mail, once a run has
ended.
"""

import os
import subprocess
from collections.abc import Sequence

from pipeline.execution.systems.registry import job
from pipeline.study.parameters import path_of
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

PATIENCE = 600.0  # seconds that the command may take
STDERR = 2


def is_wanted(settings: Settings, more_to_do: bool) -> bool:
    """Whether a command is called at this end: not after a shard, which is no end, nor in a job
    that will be queued again because there is more to do.
    """
    queued_again = more_to_do and job() is not None
    return settings.on_end is not None and settings.shard is None and not queued_again


def call(
    settings: Settings, studies: Sequence[StoredStudy], code: int, on_stderr: bool = False
) -> str:
    """Call the command with the exit code of the run and the folders of its studies.

    on_stderr: whether it prints to stderr, as stdout is an answer in JSON.

    Returns why it failed, which changes nothing else; empty where it did not.
    """
    command = settings.on_end
    assert command is not None
    folders = [str(stored.store.folder.absolute()) for stored in studies]
    environment = {
        **os.environ,
        "PIPELINE_EXIT_CODE": str(code),
        "PIPELINE_STUDIES": "\n".join(folders),
        "PIPELINE_OUTPUTS": str(path_of(settings.outputs, "outputs").absolute()),
    }
    try:
        ended = subprocess.run(
            command,
            shell=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=STDERR if on_stderr else None,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"on_end={command}: {error}"
    if ended.returncode:
        return f"on_end={command} ended with code {ended.returncode}"
    return ""
