"""Errors of labels; one value per replication.

From answers alone (p*, y*) and (1 − p*, 1 − y*) cannot be
distinguished: metrics "up to a flip" take the better of the
two.
"""

import numpy as np

from pipeline.study.arrays import Array, Booleans, Floats
from pipeline.study.metric import metric, share

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth


def share_of_wrong_labels(truth: CrowdTruth, labels: Array) -> Floats:
    """(reps,): share of labels (reps, m) that are wrong."""
    wrong: Floats = (labels != truth.labels).mean(axis=1)
    return wrong


def distance_from_labels(truth: CrowdTruth, probabilities: Floats) -> Floats:
    """(reps,): mean distance of probabilities of label 1, (reps, m), from the labels."""
    distance: Floats = np.abs(probabilities - truth.labels).mean(axis=1)
    return distance


@share("share of wrong labels")
def label_error(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """m⁻¹ Σ_j |ŷ_j − y*_j|, the share of wrong labels. Source: Wang and Xu, Theorem 2, eq. (16)."""
    return share_of_wrong_labels(truth, estimate.labels)


@metric("share of wrong labels, up to a flip of all", least=0.0, most=0.5)
def label_error_flip(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """The smaller of the shares of labels and of opposite labels that are wrong."""
    wrong = share_of_wrong_labels(truth, estimate.labels)
    return np.minimum(wrong, 1 - wrong)


@share("all labels right")
def label_recovered(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """1 if no label is wrong, 0 otherwise."""
    recovered: Booleans = (estimate.labels == truth.labels).all(axis=1)
    return recovered.astype(float)


@share("labels come out flipped")
def label_flipped(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """1 if the opposite labels are nearer to the truth, ½ if they are as near, 0 otherwise."""
    tasks = truth.labels.shape[1]
    wrong = (estimate.labels != truth.labels).sum(axis=1)
    flipped: Floats = (1 + np.sign(2 * wrong - tasks)) / 2
    return flipped


@share("mean distance of the posterior from the labels")
def soft_label_error(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """m⁻¹ Σ_j |y_j − y*_j| of the posterior, which the proof of Theorem 2 bounds.

    Source: Wang and Xu, eq. (33).
    """
    return distance_from_labels(truth, estimate.posterior)


@share("mean distance of the initial vector from the labels")
def start_error(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """m⁻¹ Σ_j |y⁽⁰⁾_j − y*_j| of the initial vector in use. Source: Wang and Xu, eq. (14)."""
    return distance_from_labels(truth, estimate.start)
