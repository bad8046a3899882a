"""Whether code makes sets, whose order is another one in every process if texts are in them."""

import dis
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

from pipeline.identity.fingerprints import PROGRAM

SETS = (set, frozenset)
NAMES = {"set", "frozenset"}  # by which code calls them


def makes_sets(parts: Iterable[Any]) -> bool:
    """Whether a person's own part, or anything else in its module, is a set or makes one.

    Where a set is only asked whether it contains something, that counts, too. Modules that
    this one imports are not looked at.
    """
    for part in parts:
        module = part.__module__
        if module.partition(".")[0] == PROGRAM:
            continue
        members = [part]  # whose module, that of a notebook, may be of another name
        if module in sys.modules:
            members += vars(sys.modules[module]).values()
        if any(_is_of_sets(member, module) for member in members):
            return True
    return False


def _is_of_sets(value: object, module: str) -> bool:
    """Whether a value is a set, or code of this module that makes one."""
    if isinstance(value, SETS):
        return True
    if isinstance(value, type):
        if value.__module__ != module:
            return False
        members = [vars(value)[name] for name in vars(value) if _may_compute(value, name)]
        return any(_is_of_sets(member, module) for member in members)
    plain = getattr(value, "__func__", value)  # of a static method
    plain = getattr(plain, "fget", plain)  # of a property
    plain = getattr(plain, "__wrapped__", plain)
    if not isinstance(plain, FunctionType) or plain.__module__ != module:
        return False
    return _builds_a_set(plain.__code__)


def _may_compute(owner: type, name: str) -> bool:
    """Whether a member of a class may be there to compute with: Python's own are not."""
    return not name.startswith(("__", "_abc_")) or isinstance(vars(owner)[name], FunctionType)


def _builds_a_set(code: CodeType) -> bool:
    if NAMES & {*code.co_names}:
        return True
    for constant in code.co_consts:
        if isinstance(constant, SETS):
            return True
        if isinstance(constant, CodeType) and _builds_a_set(constant):
            return True
    return any(instruction.opname == "BUILD_SET" for instruction in dis.get_instructions(code))
