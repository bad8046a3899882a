"""What the shell offers after TAB: Hydra installs the hook, but cannot complete names with a slash."""

import os
from collections.abc import Mapping
from typing import Any

from pipeline import compose
from pipeline.config import TASKS, Settings
from pipeline.parameters import InvalidInput, fields


def candidates(line: str) -> list[str]:
    """Words that may stand at the end of a command line: key= while a key is typed, then its values."""
    words = line.split(" ")
    last = words[-1]
    if "=" not in last:
        given = [w for w in words[1:-1] if "=" in w]
        names = fields(Settings).keys() - {"store"}  # whose fields have dotted names
        keys = ["experiment=", "suite=", "size=", "cluster=", *(f"{name}=" for name in names)]
        return sorted(w for w in {*keys, *(f"{key}=" for key in _dotted(given))} if w.startswith(last))
    key = last.partition("=")[0]
    values = {"task": TASKS, **{n: ("true", "false") for n, f in fields(Settings).items() if f.type in (bool, "bool")}}
    for group in ("experiment", "suite", "size", "cluster"):
        values[group] = tuple(compose.options(group))
    return [w for value in values.get(key, ()) if (w := f"{key}={value}").startswith(last)]


def answer() -> None:
    """Answer the hook: words for the line in COMP_LINE."""
    print(" ".join(candidates(os.environ.get("COMP_LINE", ""))))


def _dotted(given: list[str]) -> list[str]:
    try:
        config: Mapping[str, Any] = compose.compose(given)[0]
    except InvalidInput:
        config = compose.compose([])[0]
    return [name for key, value in config.items() if key not in ("experiments", "figures")
            for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key])]
