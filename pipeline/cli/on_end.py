"""`on_end=COMMAND` in the terminal: the exit code of a run, after which a command is called."""

import sys
from collections.abc import Callable, Sequence

from pipeline.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import on_end
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy


def with_command(
    settings: Settings,
    studies: Sequence[StoredStudy],
    work: Callable[[], int],
    as_json: bool = False,
) -> int:
    """The exit code of a run, after which the command was called, if there is one.

    Also where the run raised. as_json: the run printed JSON, so the command must not print there.
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
        if on_end.is_wanted(settings, more_to_do=code == EXIT_MORE_TO_DO):
            sys.stdout.flush()
            failure = on_end.call(settings, studies, code, as_json)
            if failure:
                print(f"warning: {failure}", file=sys.stderr)
    return code
