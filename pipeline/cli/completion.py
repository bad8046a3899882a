"""What the shell offers after TAB: Hydra installs the hook, but cannot complete names with a slash."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cli.compose import compose
from pipeline.study.parameters import InvalidInput, fields
from pipeline.workflow.config_files import GROUPS, folder, options
from pipeline.workflow.settings import TASKS, Settings


def candidates(line: str) -> list[str]:
    """Words that may stand at the end of a command line: key= while a key is typed, then its
    values.
    """
    words = line.split(" ")
    last = words[-1]
    if "=" not in last:
        overrides = [w for w in words[1:-1] if "=" in w]
        names = fields(Settings).keys() - {"store"}  # whose fields have dotted names
        keys = ["experiment=", "suite=", "size=", "cluster=", *(f"{name}=" for name in names)]
        return sorted(
            w for w in {*keys, *(f"{key}=" for key in _dotted(overrides))} if w.startswith(last)
        )
    key = last.partition("=")[0]
    values = {
        "task": TASKS,
        **{n: ("true", "false") for n, f in fields(Settings).items() if f.type in (bool, "bool")},
    }
    for group in GROUPS:
        values[group] = tuple(options(group))
    return [w for value in values.get(key, ()) if (w := f"{key}={value}").startswith(last)]


def answer() -> None:
    """Answer the hook: print the completions of the line in COMP_LINE."""
    print(" ".join(candidates(os.environ.get("COMP_LINE", ""))))


def install(arguments: Sequence[str]) -> None:
    """Print the hook that a shell evaluates.

    Hydra has one for each shell. arguments: such as ["install=bash"].
    """
    import hydra

    allowed = [
        f"{what}={shell}" for what in ("install", "uninstall") for shell in ("bash", "zsh", "fish")
    ]
    if list(arguments) not in [[one] for one in allowed]:
        raise InvalidInput(
            "--shell-completion", " ".join(arguments), f"allowed: {', '.join(allowed)}"
        )
    sys.argv[1:] = ["--shell-completion", *arguments]
    hydra.main(config_path=str(folder()), config_name="config", version_base="1.3")(
        lambda config: None
    )()


def _dotted(overrides: list[str]) -> list[str]:
    try:
        config: Mapping[str, Any] = compose(overrides)[0]
    except InvalidInput:
        config = compose([])[0]
    return [
        name
        for key, value in config.items()
        if key not in ("experiments", "figures")
        for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key])
    ]
