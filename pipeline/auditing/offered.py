"""A score from a log-density that the person who brings the mechanism offers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pipeline.auditing.scores import Score
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, shorten

LogDensity: TypeAlias = Callable[[Floats, Any], Any]
LARGEST = 1e300  # stands for infinite ratios


@dataclass(frozen=True, eq=False)
class DensityScore(Score):
    """The log ratio of the densities of an output on both data sets, as they are offered.

    A wrong density makes a poor score, and no wrong bound.
    """

    log_density: LogDensity
    first: Any
    second: Any

    def __call__(self, outputs: Floats) -> Floats:
        """The ratio of each output; 0 where it is not defined. Raises InvalidInput."""
        ours = self._of(outputs, self.first)
        theirs = self._of(outputs, self.second)
        with np.errstate(invalid="ignore"):
            ratios = ours - theirs
        return np.nan_to_num(ratios, nan=0.0, posinf=LARGEST, neginf=-LARGEST)

    def describe(self) -> str:
        """The density, in words."""
        return "the log-density that is offered"

    def _of(self, outputs: Floats, dataset: object) -> Floats:
        """(samples,): what is offered for one data set."""
        try:
            with np.errstate(all="ignore"):
                values = np.asarray(self.log_density(outputs, dataset), float)
        except Exception as error:
            allowed = f"fails: {type(error).__name__}: {shorten(error, 120)}"
            raise InvalidInput("log_density", _name(self.log_density), allowed) from error
        if values.shape != (len(outputs),):
            allowed = f"must give an array of shape ({len(outputs)},), not {values.shape}"
            raise InvalidInput("log_density", _name(self.log_density), allowed)
        return values


def checked(log_density: object) -> LogDensity | None:
    """The function, if there is one. Raises InvalidInput for what cannot be called."""
    if log_density is None or callable(log_density):
        return log_density
    allowed = "must be a function of outputs (samples, numbers) and a data set, giving (samples,)"
    raise InvalidInput("log_density", shorten(log_density), allowed)


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
