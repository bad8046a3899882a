"""People and releases simulated from a clustering, for the bootstrap through the mechanism."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.study.arrays import Array, Floats

from .model import BlockTruth, Users
from .releases import Redrawing


@dataclass(frozen=True)
class Origin(Redrawing):
    """Where a release is from. mechanism: which. rated: w, items that each user has rated."""

    mechanism: Any
    rated: int

    def again(
        self, clusters: Array, likes: Floats, users: int, times: int, rng: np.random.Generator
    ) -> Any:  # noqa: ANN401  (a release of the mechanism)
        """See the base."""
        truth = BlockTruth(np.tile(clusters, (times, 1)), len(likes))
        chances = np.clip(likes, 0, 1)[None]
        people = Users(truth, np.array([users]), self.rated, chances, rng.spawn(1)[0])
        return self.mechanism.release(people, rng)
