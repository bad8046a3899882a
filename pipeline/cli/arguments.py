"""Arguments of a command, key=value each: checked and quoted before Hydra reads them."""

import re
from collections.abc import Sequence
from typing import Any

from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import LEFT_OUT
from pipeline.workflow import own_experiments
from pipeline.workflow.config_files import GROUPS, check_one, options

QUOTES = "'\""
AS_TYPED = (
    "data.path",
    "data.items",
    "data.truth",
    "outputs",
    "results",
    "formats",
    "studies",
    "store.url",
    "cluster.directives",
    "cluster.ca",
    "cluster.cert",
    "cluster.key",
)


def refuse_secrets(override: str) -> None:
    """Raises InvalidInput, before it is shown anywhere, for a credential as a key, also within {…},
    or in a URL.
    """
    key, _, value = override.partition("=")
    names = " ".join([key, *re.findall(r"(?<![\w.'\"])[\w.'\"]+(?=\s*:)", value)])
    if re.search(r"secret|passw|credential|access_?key|session_?token", names, re.I) or re.search(
        "://.*@", value
    ):
        raise InvalidInput(
            key.lstrip("+~"),
            "…",
            "must not hold credentials: export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead",
        )


def own_path(override: str) -> str | None:
    """The path of an experiment of a person's own, if the argument names one."""
    key, _, value = override.partition("=")
    path = value.strip(QUOTES)
    return path if key == "experiment" and own_experiments.is_file(path) else None


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


def in_quotes(text: str) -> str:
    """A text as Hydra reads it back: quotes get a backslash, and backslashes before a quote another
    one each.

    >>> print(in_quotes("a'b"), in_quotes("a\\\\b"), in_quotes("a\\\\"))
    'a\\'b' 'a\\b' 'a\\\\'
    """
    escaped = re.sub(r"(\\*)('|\Z)", _escaped, text)
    return f"'{escaped}'"


def _escaped(before_a_quote: re.Match[str]) -> str:
    backslashes, quote = before_a_quote.groups()
    return backslashes * 2 + (f"\\{quote}" if quote else "")


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
    if own_path(override) is None and group in GROUPS and value.strip(QUOTES) not in options(group):
        left_out = f"; left out: package {', '.join(LEFT_OUT)}" if LEFT_OUT else ""
        raise InvalidInput(
            group, value, f"no such {group}; {nearest(value, options(group))}{left_out}"
        )
    if own_path(override) is None and group in GROUPS:
        check_one(group, value.strip(QUOTES))


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
