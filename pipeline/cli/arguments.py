"""Arguments of a command, key=value each: checked, and read by the grammar of Hydra."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from pipeline.cli import long_lists
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.workflow import own_experiments
from pipeline.workflow.config_files import GROUPS, check_offered, options
from pipeline.workflow.invocation import QUOTES, own_path
from pipeline.workflow.tasks import TASKS
from pipeline.workflow.words import AS_TYPED, in_quotes

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

RULES = (
    "precision",
    "refine",
    "until",
    "statistics",
)  # whose fields are set whether they are there or not
SIMILAR = 0.7  # words from which on one is suggested for another


class Action(Enum):
    """What an argument does to its key: the name of the same in Hydra."""

    CHANGE = "CHANGE"  # key=value
    ADD = "ADD"  # +key=value
    SET = "FORCE_ADD"  # ++key=value, whether the key is there or not
    REMOVE = "DEL"  # ~key


@dataclass(frozen=True)
class Word:
    """An argument that changes a config.

    key: with dots. value: a number, a text, a list or a mapping. text: of the value, as typed; None
    where nothing was typed.
    """

    key: str
    action: Action
    value: Any
    text: str | None

    @property
    def path(self) -> list[str]:
        """The names of the sections, and of the key in the last one."""
        return self.key.split(".")

    def refused(self, allowed: str) -> InvalidInput:
        """The error that says what is allowed instead."""
        return InvalidInput(self.key, self.text, allowed)


def read_word(argument: str) -> Word:
    """A change of a config; InvalidInput if it cannot be read, or has several values."""
    long_list = long_lists.read(argument)
    if long_list is not None:
        return long_list_word(argument, long_list)
    parsed = _parsed(argument, AS_TYPED, "grid.m=[10,20]")
    text = _text_of(argument)
    key = parsed.key_or_group
    if parsed.package is not None:
        key = f"{key}@{parsed.package}"
    if parsed.is_sweep_override():
        raise InvalidInput(key, text, f"must be one value; write a list as {key}=[a,b]")
    return Word(key, _action(parsed), parsed.value(), text)


def long_list_word(argument: str, values: list[Any]) -> Word:
    """The change whose value is a long list of plain values."""
    signed_key, _, text = argument.partition("=")
    key = signed_key.lstrip("+")
    action = {"": Action.CHANGE, "+": Action.ADD, "++": Action.SET}[signed_key.removesuffix(key)]
    return Word(key, action, values, text)


def pairs(words: Sequence[str], as_typed: Sequence[str] = AS_TYPED) -> dict[str, Any]:
    """Key -> value of arguments key=value, for a task without a config.

    Raises InvalidInput for any other argument.

    as_typed: keys whose values are texts, whatever signs they hold.
    """
    values: dict[str, Any] = {}
    for word in words:
        pair = _pair(word, as_typed)
        if pair.key in values:
            raise pair.refused("is given twice")
        values[pair.key] = pair.value
    return values


def _pair(argument: str, as_typed: Sequence[str]) -> Word:
    """An argument key=value; InvalidInput for any other one."""
    not_changed = InvalidInput(
        "command line", argument, "nothing is added or removed here; write key=value"
    )
    long_list = None
    if argument.partition("=")[0] not in as_typed:
        long_list = long_lists.read(argument)
    if long_list is not None:
        word = long_list_word(argument, long_list)
        if word.action is not Action.CHANGE:
            raise not_changed
        return word
    parsed = _parsed(argument, as_typed, "problem=NAME")
    text = _text_of(argument)
    if Action(parsed.type.name) is not Action.CHANGE or parsed.package is not None:
        raise not_changed
    if parsed.is_sweep_override():
        raise InvalidInput(parsed.key_or_group, text, "must be one value")
    return Word(parsed.key_or_group, Action.CHANGE, parsed.value(), text)


def check_group(argument: str) -> None:
    """Refuse what Hydra would take, but this program has no use for.

    Groups offer their own files only.
    """
    key, sign, value = argument.partition("=")
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
    if not bare or (not sign and key == bare):
        raise InvalidInput("command line", argument, _instead(argument, "grid.m=[10,20]"))
    if group in GROUPS and own_path(argument) is None:
        check_offered(group, value.strip(QUOTES))


def _parsed(argument: str, as_typed: Sequence[str], example: str) -> "Override":
    """An argument as the grammar of Hydra has it; InvalidInput where it cannot be read."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, _, text = argument.partition("=")
    if key.startswith("precision."):
        example = "'precision={A across B: {relative: 0.01}}'"
    try:
        parsed: Override = OverridesParser.create().parse_override(_quoted(argument, as_typed))
    except HydraException:
        raise InvalidInput("command line", argument, _instead(argument, example)) from None
    except (ValueError, RecursionError):  # a number or a list that Python cannot hold
        allowed = "cannot be read; must be a number of fewer digits, or a list of fewer levels"
        raise InvalidInput(key.lstrip("+~"), text, allowed) from None
    return parsed


def _quoted(argument: str, as_typed: Sequence[str]) -> str:
    """Paths and lists of formats as they are typed: their blanks, brackets and commas are not
    Hydra's.
    """
    key, sign, text = argument.partition("=")
    if key not in as_typed or text in ("", "null") or text[0] in QUOTES:
        return argument
    return f"{key}{sign}{in_quotes(text)}"


def _action(parsed: "Override") -> Action:
    """What an argument does; fields of rules are set whether the experiment has them or not."""
    action = Action(parsed.type.name)
    section, dot, _ = parsed.key_or_group.partition(".")
    if action is Action.CHANGE and dot and section in RULES:
        return Action.SET
    return action


def _text_of(argument: str) -> str | None:
    _, sign, text = argument.partition("=")
    return text if sign else None


def _instead(word: str, example: str) -> str:
    """What to write in place of a word that is no key=value, such as the name of a task."""
    keys = {
        **dict.fromkeys(options("suite"), "suite"),
        **dict.fromkeys(options("experiment"), "experiment"),
        **dict.fromkeys(TASKS, "task"),
    }
    if own_experiments.is_file(word):
        keys.setdefault(word, "experiment")
    if word in keys:
        return f"write {keys[word]}={word}"
    similar = difflib.get_close_matches(word, keys, 1, SIMILAR)
    if similar:
        return f"cannot be read; did you mean {keys[similar[0]]}={similar[0]}? allowed: key=value"
    return f"cannot be read; write key=value, such as {example}"
