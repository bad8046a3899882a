"""Arguments of a command, key=value each: checked and quoted before Hydra reads them."""

import re
from collections.abc import Sequence
from typing import Any

from pipeline.study.parameters import InvalidInput, nearest
from pipeline.workflow import own_experiments
from pipeline.workflow.config_files import GROUPS, check_offered, options
from pipeline.workflow.invocation import QUOTES, own_path
from pipeline.workflow.words import AS_TYPED, in_quotes


def quoted(override: str, as_typed: Sequence[str] = AS_TYPED) -> str:
    """Paths and lists of formats as they are typed: their blanks, brackets and commas are not
    Hydra's.

    Fields of `precision`, `refine` and `until` are set whether the experiment has them or not.
    """
    key, sign, path = override.partition("=")
    if key.startswith(("precision.", "refine.", "until.")):
        return f"++{override}"
    if key not in as_typed or path in ("", "null") or path[0] in QUOTES:
        return override
    return f"{key}{sign}{in_quotes(path)}"


def check_override(override: str) -> None:
    """Refuse what Hydra would take, but this program has no use for.

    Groups offer their own files only.
    """
    key, sign, value = override.partition("=")
    bare = key.lstrip("+~")
    group = re.split("[@:]", bare)[0]
    root = re.split(r"[./@:]", bare)[0]
    if root == "hydra":
        raise InvalidInput(bare, value, "no such key; --help lists those that there are")
    if bare == "with":
        raise InvalidInput(
            bare, value, "a file with parts is no key of a config; write --with FILE.py"
        )
    if group in GROUPS and (key != group or not sign):
        raise InvalidInput(bare, value, f"write {group}=NAME; {nearest(value, options(group))}")
    if not sign and key == bare:
        raise InvalidInput("command line", override, _instead(override))
    if own_path(override) is None and group in GROUPS:
        check_offered(group, value.strip(QUOTES))


def _instead(word: str, example: str = "grid.m=[10,20]") -> str:
    """What to write in place of a word that is no key=value, such as the name of a task by itself."""
    from pipeline.workflow.settings import TASKS

    named = {
        **dict.fromkeys(options("suite"), "suite"),
        **dict.fromkeys(options("experiment"), "experiment"),
        **dict.fromkeys(TASKS, "task"),
    }
    key = named.get(word) or ("experiment" if own_experiments.is_file(word) else None)
    return f"write {key}={word}" if key else f"cannot be read; write key=value, such as {example}"


def pairs(words: Sequence[str], as_typed: Sequence[str] = AS_TYPED) -> dict[str, Any]:
    """Key -> value of arguments key=value, for a task without a config.

    Raises InvalidInput for any other argument.

    as_typed: keys whose values are texts, whatever signs they hold.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.core.override_parser.types import OverrideType
    from hydra.errors import HydraException

    values: dict[str, Any] = {}
    for word in words:
        try:
            read = OverridesParser.create().parse_override(quoted(word, as_typed))
        except (
            HydraException,
            ValueError,
            RecursionError,
        ):  # also a number or a list that Python cannot hold
            raise InvalidInput("command line", word, _instead(word, "problem=NAME")) from None
        key = read.key_or_group
        value = word.partition("=")[2]
        if read.type is not OverrideType.CHANGE or read.package is not None:
            raise InvalidInput(
                "command line", word, "nothing is added or removed here; write key=value"
            )
        if read.is_sweep_override():
            raise InvalidInput(key, value, "must be one value")
        if key in values:
            raise InvalidInput(key, value, "is given twice")
        values[key] = read.value()
    return values
