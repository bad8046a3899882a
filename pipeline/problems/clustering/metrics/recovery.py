"""Errors of a clustering of items, up to relabelling: each metric gives one value per replication.

A metric is called with (truth, release, estimate) of a block.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import Checked, parameter

from ..estimators.clustering import ClusteringEstimate
from ..model import BlockTruth


@dataclass(frozen=True)
class Recovered:
    """1 where every item is in the right cluster, up to relabelling, else 0; its mean is the chance of success.

    Source: Banerjee, Hegde and Massoulié, §1.1.
    """

    long_name: ClassVar[str] = "all items clustered rightly"
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: BlockTruth, release: object, estimate: ClusteringEstimate) -> Floats:
        recovered: Floats = (misplaced(truth.clusters, estimate.clusters) == 0).astype(float)
        return recovered


@dataclass(frozen=True)
class Misclassified:
    """Share of items in a wrong cluster under the relabelling that makes it least."""

    long_name: ClassVar[str] = "misclassified items"
    units: ClassVar[str] = "share of items"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: BlockTruth, release: object, estimate: ClusteringEstimate) -> Floats:
        share: Floats = misplaced(truth.clusters, estimate.clusters) / truth.clusters.shape[1]
        return share


@dataclass(frozen=True)
class RecoveredWithin(Checked):
    """1 where at most distortion · N items are in a wrong cluster, else 0. Source: Theorem 23, d = distortion · N."""

    distortion: float = parameter(
        "tolerated share of misclassified items", unit="share of items", low=0, below=1
    )

    long_name: ClassVar[str] = "clustered rightly up to the distortion"
    units: ClassVar[str] = "probability"
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def __call__(self, truth: BlockTruth, release: object, estimate: ClusteringEstimate) -> Floats:
        wrong, items = misplaced(truth.clusters, estimate.clusters), truth.clusters.shape[1]
        within: Floats = (wrong <= np.floor(self.distortion * items + 1e-9)).astype(
            float
        )  # 0.29 · 100 is below 29
        return within


def misplaced(truth: Integers, estimated: Integers) -> Integers:
    """(reps,) int: items in a wrong cluster under the best one-to-one relabelling; truth, estimated (reps, N).

    O(reps · (N + Lc³)), about 10 µs a replication for the matching.
    """
    reps, items = truth.shape
    count = 1 + int(max(truth.max(), estimated.max()))
    cell = (np.arange(reps)[:, None] * count + truth) * count + estimated
    table = np.bincount(cell.ravel(), minlength=reps * count**2).reshape(reps, count, count)
    right: Integers = table.max(axis=2).sum(axis=1)  # exact where no two rows have it in one column
    clash = np.sort(table.argmax(axis=2), axis=1)
    for r in np.flatnonzero((np.diff(clash, axis=1) == 0).any(axis=1)):
        right[r] = table[r][linear_sum_assignment(table[r], maximize=True)].sum()
    wrong: Integers = items - right
    return wrong
