"""Everybody's responses, checked, and what a reader should know of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from pipeline.problems.common.components import outside_largest, unconnected
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Booleans, Floats
from pipeline.study.parameters import LISTED, shorten

from ..sampling.pair_counts import differences_of, pairs_of


@dataclass(frozen=True, eq=False)
class Table:
    """Everybody's responses, checked.

    answers: (persons, items), False where not observed. observed: (persons,
    items), None is all. names: of items. subsets: whether a study takes
    random sets of the items, or all of them. differences, pairs: (items,
    items), Y and B of everybody. source: one sentence on where the
    responses are from.
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
        observed_block = None if observed is None else observed[None]
        differences = differences_of(answers[None], observed_block)[0]
        pairs = pairs_of(answers[None], observed_block)[0]
        remarks = [
            source,
            *_remarks(answers, observed),
            *_without_finite_estimate(answers, observed, differences, names),
        ]
        sentence = "; ".join(remarks) + "."
        return cls(answers, observed, tuple(names), subsets, differences, pairs, sentence)


def check_connected(observed: Booleans, names: Sequence[str]) -> None:
    """Refuse, by name, items that no chain of persons links to most of the others.

    And those that nobody answered.
    observed: (persons, items). Raises `Unreadable`.
    """
    is_answered = np.any(observed, axis=0)
    never = [name for name, answered in zip(names, is_answered, strict=True) if not answered]
    if never:
        listed = shorten(", ".join(never), LISTED)
        raise Unreadable(f"no person answered {listed}; leave such items out")
    persons, items = observed.shape
    person, item = np.nonzero(observed)
    apart = unconnected(person + items, item, persons + items, names)
    if apart:
        listed = shorten(", ".join(apart), LISTED)
        raise Unreadable(
            "no person answered items of both sides, so these cannot be compared with the others: "
            f"{listed}; leave them out"
        )


def _remarks(answers: Booleans, observed: Booleans | None) -> list[str]:
    """How many persons answered all alike, or nothing, and how much is missing."""
    answered = np.full(len(answers), answers.shape[1])
    if observed is not None:
        answered = observed.sum(axis=1)
    right = answers.sum(axis=1)
    alike = ((right == 0) | (right == answered)) & (answered > 0)
    remarks = [f"{alike.sum():,} persons with all answers alike, which say nothing of the items"]
    if observed is not None:
        missing = f"{1 - observed.mean():.2%} of answers missing"
        remarks.append(f"{missing}, {(answered == 0).sum():,} persons without any")
    return remarks


def _without_finite_estimate(
    answers: Booleans, observed: Booleans | None, differences: Floats, names: Sequence[str]
) -> list[str]:
    """A remark on items without a finite estimate from the counts.

    They are those outside the largest set that Y connects.
    """
    component = connected_components(differences > 0, directed=True, connection="strong")[1]
    apart = outside_largest(component, names)
    if len(set(component)) == len(names):
        apart = list(names)
    if not apart:
        return []
    answered = np.full(len(names), len(answers))
    if observed is not None:
        answered = observed.sum(axis=0)
    right = answers.sum(axis=0)
    all_wrong = np.where(right == 0, " (all wrong)", "")
    notes = np.where(right == answered, " (all right)", all_wrong)
    note_of = dict(zip(names, notes, strict=True))
    listed = shorten(", ".join(name + note_of[name] for name in apart), LISTED)
    return [f"no finite estimate without a pseudo-count: {listed}"]
