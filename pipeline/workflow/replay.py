"""`task=replay`: one unit, simulated here and stored nowhere."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.execution.schedule import Unit, find_unit
from pipeline.study.arrays import Array
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import OK
from pipeline.study.study import Study
from pipeline.study.untyped import CellLabels


@dataclass(frozen=True)
class UnitReplay:
    """A unit that is to be simulated again. labels: of its cell, axis -> level."""

    study: Study
    unit: Unit
    labels: CellLabels

    def values(self) -> dict[str, Array]:
        """(replications,) of every metric, and `status`; raises what the unit raises."""
        with np.errstate(all="ignore"):
            return self.study.simulate(self.labels, self.unit.block)


def replay_of(study: Study, name: str | None) -> UnitReplay:
    """The unit of a name, as a failure printed it. Raises InvalidInput where there is none."""
    if name is None:
        raise InvalidInput(
            "unit", None, "is needed with task=replay; task=status prints those that failed"
        )
    unit = find_unit(study, name)
    if unit is None:
        raise InvalidInput(
            "unit", name, f"no such unit in {study.name}; task=status prints those that failed"
        )
    return UnitReplay(study, unit, study.grid.labels(unit.cell))


@dataclass(frozen=True)
class ReplayedMetric:
    """A metric of a unit. mean: of its finite values, NaN without one; infinite: how many are not.

    size: replications.
    """

    name: str
    mean: float
    infinite: int
    size: int


def metrics_of(values: Mapping[str, Array]) -> list[ReplayedMetric]:
    """What a unit gave, metric by metric."""
    metrics = []
    for name, array in values.items():
        finite = array[np.isfinite(array)]
        mean = float(finite.mean()) if finite.size else float("nan")
        metrics.append(ReplayedMetric(name, mean, array.size - finite.size, array.size))
    return metrics


def converged(values: Mapping[str, Array]) -> int:
    """How many replications of a unit converged."""
    return int((values["status"] == OK).sum())
