"""Commands of batch systems, and the environment that jobs may inherit.

What a system refuses is said in one line.
"""

import getpass
import os
import re
import subprocess
from collections.abc import Mapping, Sequence

TIMEOUT = 60.0  # seconds that a batch system may take to answer
SECRET = re.compile("ACCESS_KEY|SECRET|TOKEN|PASSWORD|CREDENTIAL")  # in the name of a variable


class Refused(OSError):
    """The batch system does not accept a job or a command: its message, in one line."""


def call(
    command: Sequence[str], *, text: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Output of a batch system's command; Refused if it fails.

    text: on its standard input.
    """
    try:
        ended = subprocess.run(
            command, input=text, env=env, capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} did not answer within {TIMEOUT:g} s") from None
    except OSError as error:
        raise Refused(f"{command[0]}: {error.strerror}") from None
    if ended.returncode:
        message = main_line(ended.stderr or ended.stdout)
        raise Refused(message or f"{command[0]} ended with code {ended.returncode}")
    return ended.stdout + ended.stderr


def main_line(text: str) -> str:
    """The most informative line of a command's output: its last error, or its last line.

    >>> main_line("sbatch: error: invalid partition specified: x")
    'invalid partition specified: x'
    """
    stripped = [line.strip() for line in text.splitlines()]
    lines = [line for line in stripped if line and not line.startswith("Try ")]
    errors = [line for line in lines if re.search("error|unable", line, re.IGNORECASE)]
    if errors:
        lines = errors
    if not lines:
        return ""
    return re.sub(r"^(\w+: error|Unable to run job): ", "", lines[-1])


def inherited_environment(hidden: bool) -> dict[str, str]:
    """What jobs inherit: all variables where the system hides them from others, else no secrets."""
    if hidden:
        return dict(os.environ)
    return {name: value for name, value in os.environ.items() if not SECRET.search(name)}


def user() -> str:
    """Name of the user, as batch systems list it; the number of one whom no list names."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # No entry in passwd: the first error up to Python 3.12, the second after.
        return str(os.getuid())
