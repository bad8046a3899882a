"""Everybody's responses, checked, and what a reader should know of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from pipeline.problems.common.components import outside_largest, unconnected
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import LISTED, shorten

from .pair_counts import differences_of, pairs_of


@dataclass(frozen=True, eq=False)
class Table:
    """Everybody's responses, checked.

    answers: (persons, items), False where not observed. observed: (persons, items), None is all. names: of items.
    subsets: whether a study takes random sets of the items, or all of them. differences, pairs: (items, items), Y and B
    of everybody. source: one sentence on where the responses are from.
    """

    answers: Booleans
    observed: Booleans | None
    names: tuple[str, ...]
    subsets: bool
    differences: Floats
    pairs: Floats
    source: str

    @classmethod
    def of(
        cls,
        answers: Booleans,
        observed: Booleans | None,
        names: Sequence[str],
        source: str,
        subsets: bool = False,
    ) -> "Table":
        """A table with its counts; remarks on these persons and items are added to its source."""
        block = answers[None], None if observed is None else observed[None]
        differences, pairs = differences_of(*block)[0], pairs_of(*block)[0]
        remarks = [
            source,
            *_remarks(answers, observed),
            *_without_finite_estimate(answers, observed, differences, names),
        ]
        return cls(
            answers, observed, tuple(names), subsets, differences, pairs, "; ".join(remarks) + "."
        )


def check_connected(observed: Booleans, names: Sequence[str]) -> None:
    """Refuses, by name, items that no person answered or that no chain of persons links to most of the others.

    observed: (persons, items). Raises `Unreadable`.
    """
    never = [name for name, some in zip(names, np.any(observed, axis=0), strict=True) if not some]
    if never:
        raise Unreadable(
            f"no person answered {shorten(', '.join(never), LISTED)}; leave such items out"
        )
    persons, items = observed.shape
    person, item = np.nonzero(observed)
    apart = unconnected(person + items, item, persons + items, names)
    if apart:
        raise Unreadable(
            f"no person answered items of both sides, so these cannot be compared with the others: "
            f"{shorten(', '.join(apart), LISTED)}; leave them out"
        )


def _remarks(answers: Booleans, observed: Booleans | None) -> list[str]:
    """How many persons answered all alike, or nothing, and how much is missing."""
    asked = np.full(len(answers), answers.shape[1]) if observed is None else observed.sum(axis=1)
    right = answers.sum(axis=1)
    alike = ((right == 0) | (right == asked)) & (asked > 0)
    remarks = [f"{alike.sum():,} persons with all answers alike, which say nothing of the items"]
    if observed is not None:
        remarks.append(
            f"{1 - observed.mean():.2%} of answers missing, {(asked == 0).sum():,} persons without any"
        )
    return remarks


def _without_finite_estimate(
    answers: Booleans, observed: Booleans | None, differences: Floats, names: Sequence[str]
) -> list[str]:
    """A remark on items without a finite estimate from the counts: those outside the largest set that Y connects."""
    component = connected_components(differences > 0, directed=True, connection="strong")[1]
    apart = names if len(set(component)) == len(names) else outside_largest(component, names)
    if not apart:
        return []
    asked = len(answers) if observed is None else observed.sum(axis=0)
    right = answers.sum(axis=0)
    alike = dict(
        zip(
            names,
            np.where(right == asked, " (all right)", np.where(right == 0, " (all wrong)", "")),
            strict=True,
        )
    )
    return [
        "no finite estimate without a pseudo-count: "
        + shorten(", ".join(name + alike[name] for name in apart), LISTED)
    ]
