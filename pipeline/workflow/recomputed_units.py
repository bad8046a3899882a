"""Units that are simulated again and compared with what is stored of them.

Archives are checked and other people's units are taken in by this one comparison.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pipeline.analysis.intervals import clopper_pearson
from pipeline.execution import sweep
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import Executor
from pipeline.execution.schedule import Unit, unit_in_words
from pipeline.identity.registry import adopt, registrations
from pipeline.storage.units import Record
from pipeline.study.arrays import Array
from pipeline.study.status import FAILED
from pipeline.study.study import Study
from pipeline.workflow.replay import UnitReplay

CONFIDENCE = 0.95  # of the bound on what could be false
NEAR = 1e-9  # of the largest value of a metric in a unit: other arithmetic differs by less
LEAST = 1e-6  # that counts as the largest value: what should be 0 is a rounding error

EQUAL = "equal"
CLOSE = "close"
FALSE = "false"

# (metrics, block) values and (block,) status; None for a unit that raised.
Values: TypeAlias = "tuple[Array, Array] | None"


@dataclass(frozen=True)
class Numbered:
    """A unit of one of several studies. study: its number."""

    study: int
    unit: Unit


@dataclass(frozen=True)
class Compared:
    """What comparing some units showed.

    units: from which they were drawn. false: those that differ, in words. close: of the others, how
    many are equal within 1e-9 and not to the last bit, as with other arithmetic.
    """

    units: int
    drawn: int
    close: int
    false: tuple[str, ...]

    @property
    def equal(self) -> int:
        """How many are equal, to the last bit or within 1e-9."""
        return self.drawn - len(self.false)

    @property
    def most_false(self) -> float:
        """Share of all units that could be false, with confidence 95 %: Clopper and Pearson's
        bound.

        It holds for units that are drawn without replacement, too, where it is rather too large.
        """
        wrong = len(self.false)
        if self.drawn == self.units:
            return wrong / max(self.units, 1)
        two_sided = 2 * CONFIDENCE - 1
        _, most = clopper_pearson(np.array(wrong), np.array(max(self.drawn, 1)), two_sided)
        return float(most)


class Recompute:
    """Callable that simulates units again; for each, its values. Nothing is stored."""

    def __init__(self, studies: Sequence[Study]):
        self.studies = studies

    def __getstate__(self) -> tuple[Any, ...]:
        """A worker learns the problems and parts that were registered here."""
        return registrations(), self.studies

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        brought, self.studies = state
        adopt(brought)

    def __call__(self, units: list[Numbered]) -> list[Values]:
        return [self._values(numbered) for numbered in units]

    def _values(self, numbered: Numbered) -> Values:
        study = self.studies[numbered.study]
        labels = study.grid.labels(numbered.unit.cell)
        try:
            values = UnitReplay(study, numbered.unit, labels).values()
        except Exception:  # as a unit that is stored as failed did
            return None
        *metrics, status = values.values()
        return np.array(metrics), status


def compare(
    studies: Sequence[Study],
    units: Iterable[Numbered],
    stored: Callable[[Numbered], Record],
    executor: Executor,
    of_all: int,
) -> Compared:
    """Simulate some units again, and compare them with what is stored.

    stored: gives what is stored of a unit. of_all: units from which these were drawn.
    """
    outcomes: dict[Numbered, str] = {}

    def collect(some: list[Values], bundle: Bundle, _: int) -> None:
        for numbered, values in zip(bundle.units, some, strict=True):
            outcomes[numbered] = outcome_of(values, stored(numbered))

    costs = [(numbered, _cost(studies, numbered)) for numbered in units]
    total = sum(cost for _, cost in costs)
    bundling = sweep.Bundling(total_cost=total)
    sweep.run(executor, Recompute(studies), costs, bundling=bundling, on_done=collect)
    return Compared(
        units=of_all,
        drawn=len(outcomes),
        close=sum(outcome == CLOSE for outcome in outcomes.values()),
        false=tuple(sorted(_false(studies, outcomes))),
    )


def outcome_of(values: Values, record: Record) -> str:
    """Whether a unit that was simulated is what is stored: equal, close or false."""
    if values is None:
        return EQUAL if (record.status == FAILED).all() else FALSE
    metrics, status = values
    if status.tobytes() != record.status.tobytes():
        return FALSE
    if metrics.tobytes() == record.metrics.tobytes():
        return EQUAL
    return CLOSE if near(metrics, record.metrics) else FALSE


def near(first: Array, second: Array) -> bool:
    """Whether (metrics, …) values differ by no more than another arithmetic does.

    By 1e-9 of the largest finite value of each metric, or of 1e-6 where all are smaller.
    """
    if first.shape != second.shape:
        return False
    is_finite = np.isfinite(first)
    if not np.array_equal(is_finite, np.isfinite(second)):
        return False
    is_same = (first == second) | (np.isnan(first) & np.isnan(second))
    if not (is_finite | is_same).all():
        return False
    sizes = np.maximum(np.abs(np.where(is_finite, first, 0.0)), LEAST)
    largest = sizes.reshape(len(sizes), -1).max(1)
    scale = largest.reshape(-1, *[1 for _ in first.shape[1:]])
    distance = np.abs(np.where(is_finite, first, 0.0) - np.where(is_finite, second, 0.0))
    return bool((distance <= NEAR * scale).all())


def _cost(studies: Sequence[Study], numbered: Numbered) -> float:
    """Predicted cost of a unit."""
    return float(studies[numbered.study].costs[numbered.unit.cell])


def _false(studies: Sequence[Study], outcomes: Mapping[Numbered, str]) -> list[str]:
    """The units that differ, in words."""
    words = []
    for numbered, outcome in outcomes.items():
        if outcome == FALSE:
            study = studies[numbered.study]
            words.append(f"{study.name}: {unit_in_words(study, numbered.unit)}")
    return words
