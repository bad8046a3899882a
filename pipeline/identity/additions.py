"""What is registered at once, a problem or parts of a named one, and how it is added."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pipeline.study.contracts import fault
from pipeline.study.parameters import InvalidInput, shorten
from pipeline.study.plain import is_plain
from pipeline.study.problem import KINDS, Problem, check_table

SCRIPT = "__main__"  # what a notebook or script defines


class Addition(NamedTuple):
    """A problem, or parts of the problem of that name. claims: as in `Problem`."""

    problem: str
    new: Problem | None
    tables: Mapping[str, Mapping[str, Any]]
    claims: tuple[Any, ...]

    @property
    def subject(self) -> tuple[str, bool, dict[str, set[str]]]:
        """What it is about: a later addition with the same subject takes its place."""
        names = {kind: set(table) for kind, table in self.tables.items()}
        return self.problem, self.new is None, names

    def added_to(self, known: Problem | None) -> Problem:
        """The problem with what is new, from the one of that name if there is one.

        Raises InvalidInput where a name is taken, with its owner, and where a part lacks something.
        """
        if self.new is not None:
            is_again = is_plain(known) and is_plain(self.new)
            if known is not None and known != self.new and not is_again:
                allowed = f"is registered by {known.package} already; choose another name"
                raise InvalidInput("problem", self.problem, allowed)
            return self.new
        assert known is not None
        tables: dict[str, Any] = {
            f"{kind}s": {**known.names(kind), **_checked(known, kind, table)}
            for kind, table in self.tables.items()
        }
        if not self.claims:
            return replace(known, **tables)
        return replace(known, claims=(known.claims, *self.claims), **tables)


def addition(
    new: Problem | str, tables: Sequence[Mapping[str, Any] | None], claims: object
) -> Addition:
    """An addition, from tables in the order of KINDS. Raises InvalidInput for what is none."""
    listed: tuple[Any, ...]
    if isinstance(claims, str):
        listed = (claims,)
    elif isinstance(claims, list | tuple) and all(map(_is_claim, claims)):
        listed = tuple(claims)
    else:
        raise InvalidInput(
            "claims", shorten(claims), "must be a list of claims, or 'module:name' of one"
        )
    new_parts = {}
    for kind, table in zip(KINDS, tables, strict=True):
        if table is None:
            continue
        check_table(kind, table)
        if table:
            new_parts[kind] = dict(table)
    if isinstance(new, Problem):
        if new_parts or listed:
            raise InvalidInput("problem", new.name, "give its parts with the problem itself")
        return Addition(new.name, new, {}, ())
    return Addition(new, None, new_parts, listed)


def _is_claim(value: object) -> bool:
    return hasattr(value, "id") and hasattr(value, "decide")


def _checked(known: Problem, kind: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """New parts, whose names are not taken by others."""
    for name, part in table.items():
        if not isinstance(part, str):
            _check_part(f"{kind}s.{name}", kind, part)
        existing = known.names(kind).get(name, part)
        if existing is part or existing == part or _redefined(existing, part):
            continue
        value = part
        if callable(part):
            value = part.__qualname__
        allowed = f"is {_where(existing)} in problem={known.name} already; choose another name"
        raise InvalidInput(f"{kind}s.{name}", value, allowed)
    return table


def _check_part(key: str, kind: str, part: object) -> None:
    wrong = fault(kind, part)
    if wrong:
        value = getattr(part, "__name__", part)
        raise InvalidInput(key, value, f"is no {kind}: {wrong}")


def _where(part: str | type | Callable[..., object]) -> str:
    """Where the code of a part is, which a table may say in a text."""
    if isinstance(part, str):
        return part
    return f"{part.__module__}:{part.__qualname__}"


def _redefined(existing: object, part: object) -> bool:
    """Whether a cell of a notebook, or a script, was executed again."""
    return getattr(existing, "__module__", "") == SCRIPT == getattr(part, "__module__", "")
