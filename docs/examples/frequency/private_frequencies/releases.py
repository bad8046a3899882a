"""What mechanisms release of people's values."""

from dataclasses import dataclass
from typing import Annotated

from pipeline.study.arrays import Integers

from .theory.reports import Support


@dataclass(frozen=True)
class Supports:
    """How many of all reports support each value: all that linear estimators need of them.

    supports: (reps, k). people: n, the number of reports. support: how likely a report is to
    support a value.
    """

    supports: Annotated[Integers, "reps", "k"]
    people: int
    support: Support
