"""Arguments of a command that are no key=value: --with, --version, and what users of Hydra type by
habit.
"""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from pipeline.identity import own_files
from pipeline.identity.own_files import FLAG, OwnFile
from pipeline.study.parameters import InvalidInput, closest

GRID = "the levels of a grid are all run, in one study: write grid.m=[10,20]"
OWN = "an experiment of your own is experiment=PATH.yaml"
KNOWN = (FLAG, "--json", "--help", "--version", "--cfg")
INSTEAD = {  # flags of Hydra -> what does here what they do there
    "-m": GRID,
    "--multirun": GRID,
    "-r": "task=run is the default; leave it out",
    "--run": "task=run is the default; leave it out",
    "-i": "task=show prints the experiment, --cfg job the whole config, --help what it can hold",
    "--info": (
        "task=show prints the experiment, --cfg job the whole config, --help what it can hold"
    ),
    "-cd": OWN,
    "--config-dir": OWN,
    "-cp": OWN,
    "--config-path": OWN,
    "-cn": OWN,
    "--config-name": OWN,
    "--resolve": "configs hold nothing to resolve; leave it out",
    "-p": "--cfg job prints the whole config",
    "--package": "--cfg job prints the whole config",
    "--hydra-help": "write --help",
    "--experimental-rerun": "experiment=PATH runs the config of a finished study again",
}


def load_own_files(arguments: Sequence[str]) -> list[str]:
    """Execute the files given with --with; the arguments, each of these as --with=PATH in front.

    Raises InvalidInput for a file that cannot be read or executed.
    """
    files = []
    others = []
    words = iter(arguments)
    for word in words:
        flag, sign, path = word.partition("=")
        if flag != FLAG:
            others.append(word)
            continue
        if not sign:
            path = next(words, "")
        if not path or "=" in path:
            raise InvalidInput("command line", word, f"needs a Python file: {FLAG} parts.py")
        files.append(path)
    for path in files:
        file = own_files.read(path)
        with redirect_stdout(sys.stderr):  # answers alone are on standard output
            own_files.execute(file)
        _say_unseen(file)
    return [*(f"{FLAG}={path}" for path in files), *others]


def _say_unseen(file: OwnFile) -> None:
    """Say what a file did that leaves no trace, in one line."""
    unseen = own_files.surroundings(file).unseen
    if unseen:
        print(
            f"note: {FLAG} {file.name} {', '.join(unseen)}: no fingerprint covers what that "
            "gives, so numbers of runs with other answers may be mixed unnoticed",
            file=sys.stderr,
        )


def without_config_flag(arguments: Sequence[str]) -> list[str] | None:
    """The arguments without `--cfg job` or `-c job`; None if they are not asked for it."""
    for position, word in enumerate(arguments):
        flag, sign, part = word.partition("=")
        if flag not in ("--cfg", "-c"):
            continue
        rest = list(arguments[position + 1 :])
        if not sign and rest:
            part = rest.pop(0)
        if part != "job":
            typed = f"{flag} {part}".strip()
            raise InvalidInput("command line", typed, "write --cfg job, or task=show")
        return [*arguments[:position], *rest]
    return None


def whole_config(arguments: Sequence[str]) -> str:
    """YAML of the whole composed config, as `--cfg job` prints it in other programs with Hydra."""
    import yaml

    from pipeline.cli.compose import compose

    words = [word for word in arguments if not word.startswith("-")]
    return "---\n".join(
        yaml.safe_dump(raw, sort_keys=False, allow_unicode=True) for raw in compose(words)
    )


def refuse_flags(arguments: Sequence[str]) -> None:
    """Raises InvalidInput for any flag, with what to write instead."""
    for word in arguments:
        if word.startswith("-") and not word.startswith(f"{FLAG}="):
            close = closest(word.partition("=")[0], KNOWN)
            meant = f"did you mean {close!r}? " if close else ""
            unknown = f"no such flag; {meant}write key=value pairs, or --help"
            raise InvalidInput("command line", word, INSTEAD.get(word.partition("=")[0], unknown))
