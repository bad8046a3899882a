"""Errors of a clustering of items, up to relabelling: one value per replication."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from pipeline.study.arrays import Floats, Integers
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..estimators.clustering import ClusteringEstimate
from ..model import BlockTruth


@metric("all items clustered rightly", units="probability", least=0.0, most=1.0)
def recovered(truth: BlockTruth, estimate: ClusteringEstimate) -> Floats:
    """1 where every item is in the right cluster, up to relabelling, else 0.

    Its mean is the chance of success.
    Source: Banerjee, Hegde and Massoulié, §1.1.
    """
    is_right: Floats = (misplaced(truth.clusters, estimate.clusters) == 0).astype(float)
    return is_right


@metric("misclassified items", units="share of items", least=0.0, most=1.0)
def misclassified(truth: BlockTruth, estimate: ClusteringEstimate) -> Floats:
    """Share of items in a wrong cluster under the relabelling that makes it least."""
    share: Floats = misplaced(truth.clusters, estimate.clusters) / truth.clusters.shape[1]
    return share


@metric("clustered rightly up to the distortion", units="probability", least=0.0, most=1.0)
def recovered_within(
    truth: BlockTruth,
    estimate: ClusteringEstimate,
    *,
    distortion: float = parameter(
        "tolerated share of misclassified items", unit="share of items", low=0, below=1
    ),
) -> Floats:
    """1 where at most distortion · N items are in a wrong cluster, else 0.

    Source: Banerjee, Hegde and Massoulié, Theorem 23, d = distortion · N.
    """
    wrong = misplaced(truth.clusters, estimate.clusters)
    items = truth.clusters.shape[1]
    tolerated = np.floor(distortion * items + 1e-9)  # as 0.29 · 100 is below 29
    is_within: Floats = (wrong <= tolerated).astype(float)
    return is_within


def misplaced(truth: Integers, estimated: Integers) -> Integers:
    """(reps,) int: items in a wrong cluster under the best one-to-one relabelling.

    truth, estimated: (reps, N). O(reps · (N + Lc³)), about 10 µs a
    replication for the matching.
    """
    reps, items = truth.shape
    count = 1 + int(max(truth.max(), estimated.max()))
    cell = (np.arange(reps)[:, None] * count + truth) * count + estimated
    table = np.bincount(cell.ravel(), minlength=reps * count**2).reshape(reps, count, count)
    # Exact where no two rows have their largest entry in one column.
    right: Integers = table.max(axis=2).sum(axis=1)
    columns = np.sort(table.argmax(axis=2), axis=1)
    clashes = (np.diff(columns, axis=1) == 0).any(axis=1)
    for r in np.flatnonzero(clashes):
        right[r] = table[r][linear_sum_assignment(table[r], maximize=True)].sum()
    wrong: Integers = items - right
    return wrong
