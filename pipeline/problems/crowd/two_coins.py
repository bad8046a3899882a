"""Crowds that are not equally able on both labels: Dawid and Skene's confusion matrices."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, parameter

from .model import CrowdTruth, DawidSkene


@dataclass(frozen=True)
class TwoCoinTruth(CrowdTruth):
    """Truth of the model. sensitivities, specificities: (reps, n), chances to be right on a
    task of label 1, and of label 0. abilities: both, weighted by the labels that were drawn.
    """

    sensitivities: Annotated[Floats, "reps", "n"]
    specificities: Annotated[Floats, "reps", "n"]


@dataclass(frozen=True)
class TwoCoinCrowd(DawidSkene):
    """`dawid_skene` with two abilities of each worker: on tasks of label 1, and of label 0.

    Both are uniform and independent. What `ability_law` and its numbers say is not used. With
    equal ranges and perfect dependence it would be `dawid_skene`. Source: Wang and Xu, §2.2,
    the confusion matrix, of which they treat the symmetric case.
    """

    sensitivity_low: float = parameter(
        "least chance to be right on a task of label 1", default=0.3, low=0, high=1
    )
    sensitivity_high: float = parameter(
        "greatest chance to be right on a task of label 1", default=0.75, low=0, high=1
    )
    specificity_low: float = parameter(
        "least chance to be right on a task of label 0", default=0.55, low=0, high=1
    )
    specificity_high: float = parameter(
        "greatest chance to be right on a task of label 0", default=0.9, low=0, high=1
    )

    by_replication: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("sensitivity", "specificity"):
            low = getattr(self, f"{name}_low")
            high = getattr(self, f"{name}_high")
            if low > high:
                raise InvalidInput(f"{name}_low", low, f"must be at most {name}_high={high:g}")

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> TwoCoinTruth:
        """Two abilities (reps, n) and y* (reps, m) of a block of replications."""
        shape = reps, self.n
        sensitivities = rng.uniform(self.sensitivity_low, self.sensitivity_high, shape)
        specificities = rng.uniform(self.specificity_low, self.specificity_high, shape)
        labels = (rng.random((reps, self.m)) < self.label_prior).astype(np.int8)
        share = labels.mean(axis=1, keepdims=True)
        abilities = share * sensitivities + (1 - share) * specificities
        return TwoCoinTruth(abilities, labels, sensitivities, specificities)

    def _right(self, truth: CrowdTruth) -> Floats:
        """Chance that a worker is right on a task, (reps, n, m)."""
        if not isinstance(truth, TwoCoinTruth):
            return super()._right(truth)
        is_one = truth.labels[:, None] == 1
        return np.where(is_one, truth.sensitivities[:, :, None], truth.specificities[:, :, None])
