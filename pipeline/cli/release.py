"""`task=release`: passes the command's arguments to the problem whose data are released."""

import sys
from typing import Any

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput, nearest


def perform(arguments: dict[str, Any]) -> int:
    """Release data as the arguments ask; returns the exit code.

    Raises InvalidInput for any mistake in them.

    arguments: key -> value, among them `problem`, whose data are released.
    """
    able = {name: known for name, known in problems().items() if known.release}
    name = arguments.pop("problem", None)
    if name is None:
        raise InvalidInput(
            "problem", None, f"is needed: what kind of data are released, one of {', '.join(able)}"
        )
    if name not in able:
        raise InvalidInput("problem", name, f"cannot release data; {nearest(name, able)}")
    try:
        print(able[name].load(able[name].release)(arguments))
    except OSError as error:  # a full disk
        print(f"error: {error}; nothing was released", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_DONE
