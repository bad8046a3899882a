"""What users foretell of their own ratings from public clusters: one value per replication."""

import numpy as np

from pipeline.study.arrays import Floats, Integers
from pipeline.study.metric import share
from pipeline.study.parameters import parameter

from ..design import block_law
from ..estimators.clustering import ClusteringEstimate
from ..model import BlockTruth
from ..theory.recommendations import foretold_rightly

RATED = parameter("items that a user has rated", unit="items", low=1)
TASTES = parameter("probabilities b_kl of a positive rating, a row for each class of users")
CLASSES = parameter("shares of the classes of users", default="1")
CLUSTERS = parameter("shares of the clusters of items", default="0.5, 0.5")


@share("a user's own guess of a rating is right, from the public clusters")
def recommended_rightly(
    truth: BlockTruth,
    estimate: ClusteringEstimate,
    *,
    w: int = RATED,
    b: str = TASTES,
    alpha: str = CLASSES,
    beta: str = CLUSTERS,
) -> Floats:
    """Chance that a user foretells her rating of an item rightly, exact given the clustering.

    She takes what most of her own w ratings in the item's public cluster say. Source: Banerjee,
    Hegde and Massoulié, §1; `theory.recommendations`.
    """
    return _foretold(truth, estimate.clusters, w, (alpha, beta, b))


@share("a user's own guess of a rating is right, from the true clusters")
def recommended_by_truth(
    truth: BlockTruth,
    *,
    w: int = RATED,
    b: str = TASTES,
    alpha: str = CLASSES,
    beta: str = CLUSTERS,
) -> Floats:
    """The same from the true clusters: what no estimate improves upon."""
    return _foretold(truth, truth.clusters, w, (alpha, beta, b))


@share("a user's own guess of a rating is right, without clusters")
def recommended_alone(
    truth: BlockTruth,
    *,
    w: int = RATED,
    b: str = TASTES,
    alpha: str = CLASSES,
    beta: str = CLUSTERS,
) -> Floats:
    """The same from all of a user's ratings, whatever the item: as if there was one cluster."""
    return _foretold(truth, np.zeros_like(truth.clusters), w, (alpha, beta, b))


def _foretold(truth: BlockTruth, clusters: Integers, w: int, texts: tuple[str, str, str]) -> Floats:
    """(reps,): `foretold_rightly` by clusters (reps, N). texts: alpha, beta and b of the model."""
    law = block_law(*texts)
    reps, items = clusters.shape
    if w >= items:
        return np.full(reps, np.nan)  # nothing is left to foretell
    count = 1 + int(max(clusters.max(), truth.count - 1))
    cell = (np.arange(reps)[:, None] * truth.count + truth.clusters) * count + clusters
    total = reps * truth.count * count
    tables = np.bincount(cell.ravel(), minlength=total).reshape(reps, truth.count, count)
    chances = [foretold_rightly(table, w, law.alpha, law.b) for table in tables]
    return np.array(chances)
