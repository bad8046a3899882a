"""`task=release` in the terminal: what was released, or why nothing was."""

import sys

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.study.untyped import Config
from pipeline.workflow.release import release


def perform(arguments: Config) -> int:
    """Release data as the arguments ask; returns the exit code.

    Raises InvalidInput for any mistake in them.
    """
    try:
        print(release(arguments))
    except OSError as error:  # a full disk
        print(f"error: {error}; nothing was released", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_DONE
