"""How recorded comparisons came about: shares of all users' pairs, known beforehand."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.parts import BaseMetric

from ..data.recorded import RecordedPreferences


@dataclass(frozen=True)
class _Share(BaseMetric):
    """A share that the truth of recorded data holds by the name `share`."""

    model: str = parameter("model, whose truth must hold the shares")

    units: ClassVar[str] = "share of users' pairs"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0
    share: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model != "recorded":
            allowed = "shares of coin flips and ratings are known of model=recorded only"
            raise InvalidInput("model", self.model, allowed)

    def __call__(self, truth: RecordedPreferences, release: object, estimate: object) -> Floats:
        """The share, (reps,) times."""
        return np.full(len(truth.theta), getattr(truth, self.share))


@dataclass(frozen=True)
class ShareCoinFlips(_Share):
    """Share of users' pairs that a coin decides under the paper's rule: rated alike, or unrated.

    Source: Xu, Sun and Cheng, §5.4.
    """

    long_name: ClassVar[str] = "comparisons decided by a coin"
    share: ClassVar[str] = "coin_flips"


@dataclass(frozen=True)
class ShareTwoRatings(_Share):
    """Share of all users' pairs that two unequal ratings decide, or the user himself."""

    long_name: ClassVar[str] = "comparisons from two unequal ratings"
    share: ClassVar[str] = "two_ratings"


@dataclass(frozen=True)
class ShareOneRating(_Share):
    """Share of all users' pairs that are decided because one item only is rated."""

    long_name: ClassVar[str] = "comparisons because one item only was rated"
    share: ClassVar[str] = "one_rating"
