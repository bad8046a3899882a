"""Falsified archives: in how many of 1,000 trials does a check of 60 units find one, and as often as it must?

In each trial some units hold false numbers, chosen before the check; the check draws its units by a nonce of
its own, simulates them and compares, by the code of `pipeline reproduce`. What a unit gives when it is
simulated again is computed once, as it is the same each time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import pipeline as pl
from pipeline.execution.schedule import Unit
from pipeline.storage.units import Record
from pipeline.study.arrays import Booleans
from pipeline.workflow.recomputed_units import (
    CONFIDENCE,
    FALSE,
    Compared,
    Numbered,
    Recompute,
    Values,
    outcome_of,
)
from pipeline.workflow.reproduce import drawn_units

TRIALS = 1_000
SHARES = (0.001, 0.01, 0.05, 0.1)  # of false units
CHECKED = 0.01  # share of all units that a check draws, 60 at least
SLIGHT = 1e-6  # by which a false value differs, relative to it
SURE = 3.3  # standard errors: 99.9 % of right checks are within

STUDY = pl.Study(
    "falsification",
    "ranking",
    seed=5,
    replications=5_000,
    block=10,
    grid={"m": [3, 4], "epsilon": [0.5, 1.0, 2.0, 4.0]},
    metrics=("error_l2",),
    parameters={
        "model": "btl",
        "L": 20,
        "mechanism": "randomized_response",
        "estimator": "debiased",
    },
)


@dataclass(frozen=True)
class Units:
    """The units of an archive: all count."""

    counted: Booleans


@dataclass(frozen=True)
class Row:
    """What some trials showed. share: of false units. refused: trials in which one was found.

    expected: probability of that. misled: trials in which the bound on the share was too small.
    """

    share: float
    trials: int
    refused: int
    expected: float
    misled: int

    @property
    def is_as_expected(self) -> bool:
        """Whether the trials agree with the probability, and the bound with its confidence."""
        spread = math.sqrt(self.expected * (1 - self.expected) / self.trials)
        is_near = abs(self.refused / self.trials - self.expected) <= SURE * spread
        most = (1 - CONFIDENCE) * self.trials
        return is_near and self.misled <= most + SURE * math.sqrt(most)


@cache
def simulated(unit: Unit) -> Values:
    """What a unit gives when it is simulated again."""
    (values,) = Recompute([STUDY])([Numbered(0, unit)])
    return values


def stored(unit: Unit, is_false: bool) -> Record:
    """What the archive holds of a unit."""
    values = simulated(unit)
    assert values is not None
    metrics, status = values
    if is_false:
        metrics = metrics * (1 + SLIGHT)
    return Record(metrics, status, "", "", False)


def rows(trials: int, shares: tuple[float, ...] = SHARES) -> Iterator[Row]:
    """The table, row by row."""
    units = Units(np.ones((len(STUDY.grid), STUDY.blocks), bool))
    total = units.counted.size
    for number, share in enumerate(shares):
        row = Row(share, trials, 0, _probability(total, round(share * total)), 0)
        for trial in range(trials):
            rng = np.random.default_rng([number, trial])
            row = _after_trial(row, units, rng, f"{number} {trial}")
        yield row


def _after_trial(row: Row, units: Units, rng: np.random.Generator, nonce: str) -> Row:
    """The row with one more trial."""
    total = units.counted.size
    chosen = rng.choice(total, round(row.share * total), replace=False)
    is_false = np.zeros(total, bool)
    is_false[chosen] = True
    drawn = drawn_units([units], CHECKED, nonce, "falsification")  # type: ignore[list-item]
    wrong = []
    for numbered in drawn:
        unit = numbered.unit
        record = stored(unit, is_false[unit.cell * STUDY.blocks + unit.block])
        if outcome_of(simulated(unit), record) == FALSE:
            wrong.append(str(unit))
    compared = Compared(total, len(drawn), 0, tuple(wrong))
    is_misled = compared.most_false < row.share
    return replace(row, refused=row.refused + (len(wrong) > 0), misled=row.misled + int(is_misled))


def _probability(total: int, false: int, drawn: int = 60) -> float:
    """That one of some units drawn without replacement is false."""
    none = math.comb(total - false, drawn) / math.comb(total, drawn)
    return 1 - none


def main(trials: int = TRIALS) -> None:
    """Print the table."""
    total = len(STUDY.grid) * STUDY.blocks
    print(f"{total:,} units, 60 drawn; a false value differs by {SLIGHT:g} of it")
    print("false units   refused     expected   bound too small (5 % allowed)")
    for row in rows(trials):
        judged = "" if row.is_as_expected else "   NOT AS EXPECTED"
        print(
            f"{row.share:11.1%} {row.refused:6,} of {row.trials:,}   {row.expected:6.1%}"
            f"{row.misled:14,}{judged}"
        )


if __name__ == "__main__":
    main()
