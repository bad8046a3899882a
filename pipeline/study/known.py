"""Where the problem of a name is looked up, without knowing who keeps the list of them.

A study names its problem. The list of problems knows installed packages and files, so it is no part
of what is simulated: the program says at its start who looks names up (`pipeline/__init__.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.study.problem import Problem

_LOOKUPS: list[Callable[[str], Problem]] = []


def look_up_by(lookup: Callable[[str], Problem]) -> None:
    """Look problems up by a function of their names from now on, which raises InvalidInput."""
    _LOOKUPS[:] = [lookup]


def problem_named(name: str) -> Problem:
    """The problem of a name. Raises InvalidInput where there is none, and RuntimeError before
    `look_up_by`.

    >>> problem_named("ranking").name
    'ranking'
    """
    if not _LOOKUPS:
        raise RuntimeError("nobody looks problems up: import pipeline first")
    return _LOOKUPS[0](name)
