"""The first task's label, which the model `tilted` makes wrong often, and how much such a replication weighs."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.study.arrays import Floats

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..tilted import TiltedTruth
from .labels import Share


@dataclass(frozen=True)
class FirstLabelWrong(Share):
    """1 where the first task's label is wrong, else 0; its mean under a tilted law is no probability of an error."""

    long_name: ClassVar[str] = "first label wrong"

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps)."""
        wrong: Floats = (estimate.labels[:, 0] != truth.labels[:, 0]).astype(float)
        return wrong


@dataclass(frozen=True)
class FirstLabelWrongWeighted:
    """Weight · 1{first label wrong}: its mean is the probability that a label is wrong, however small.

    The weight is that of the answers to the first task, `log_weights`; 1 for models that tilt nothing, where this is
    `first_label_wrong`. By a tilt with tilt_by=vote a wrong majority has weight 1 at most.
    """

    long_name: ClassVar[str] = "probability of a wrong label, by tilted answers"
    units: ClassVar[str] = "1"
    least: ClassVar[float] = 0.0

    def __call__(
        self, truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
    ) -> Floats:
        """One value per replication, (reps,). O(reps · n)."""
        wrong = FirstLabelWrong()(truth, release, estimate)
        if not isinstance(truth, TiltedTruth):
            return wrong
        weights: Floats = np.exp(np.where(wrong > 0, log_weights(truth, release), -np.inf))
        return weights


def log_weights(truth: TiltedTruth, release: ReleasedAnswers) -> Floats:
    """(reps,): Σ_i log P(x_i | p_i)/P(x_i | p'_i) of the released answers x_i to the first task; missing ones count 0.

    A released answer is right with probability ½ + (1 − 2f)(p − ½), f: the probability of a flip. Source: Wang and Xu,
    eq. (22).
    """
    right = release.answers[:, :, 0] * (2 * truth.labels[:, :1] - 1)  # +1, −1, or 0 for none
    lean = (1 - 2 * release.flip) * (2 * np.stack([truth.abilities, truth.proposal]) - 1)
    with np.errstate(divide="ignore"):  # what cannot be has weight 0
        plain, tilted = np.log(np.maximum((1 + right * lean) / 2, 0))
    total: Floats = np.where(right == 0, 0.0, plain - tilted).sum(axis=1)
    return total
