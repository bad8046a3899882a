"""The first task's label, which the model `tilted` makes wrong often, and how much
such a replication weighs.
"""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric, share

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from ..tilted import TiltedTruth


@share("first label wrong")
def first_label_wrong(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """1 where the first task's label is wrong, else 0. O(reps).

    Its mean under a tilted law is not the probability of an
    error.
    """
    return _first_is_wrong(truth, estimate)


@metric("probability of a wrong label, by tilted answers", least=0.0)
def first_label_wrong_weighted(
    truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
) -> Floats:
    """Weight · 1{first label wrong}: its mean is the probability that a label is
    wrong, however small.

    The weight is that of the answers to the first task,
    `log_weights`; 1 for models that tilt nothing, where
    this is `first_label_wrong`. By a tilt with tilt_by=vote
    a wrong majority has weight 1 at most. O(reps · n).
    """
    wrong = _first_is_wrong(truth, estimate)
    if not isinstance(truth, TiltedTruth):
        return wrong
    weights: Floats = np.exp(np.where(wrong > 0, log_weights(truth, release), -np.inf))
    return weights


def log_weights(truth: TiltedTruth, release: ReleasedAnswers) -> Floats:
    """(reps,): Σ_i log P(x_i | p_i)/P(x_i | p'_i) of the released answers x_i to the first task.

    Missing answers count 0. A released answer is right with
    probability ½ + (1 − 2f)(p − ½), f: the probability of a
    flip.
    Source: Wang and Xu, eq. (22).
    """
    sign = 2 * truth.labels[:, :1] - 1
    right = release.answers[:, :, 0] * sign  # +1, −1, or 0 for no answer
    abilities = np.stack([truth.abilities, truth.proposal])
    lean = (1 - 2 * release.flip) * (2 * abilities - 1)
    with np.errstate(divide="ignore"):  # what cannot be has weight 0
        plain, tilted = np.log(np.maximum((1 + right * lean) / 2, 0))
    total: Floats = np.where(right == 0, 0.0, plain - tilted).sum(axis=1)
    return total


def _first_is_wrong(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """(reps,): 1 where the first task's label is wrong, else 0."""
    wrong: Floats = (estimate.labels[:, 0] != truth.labels[:, 0]).astype(float)
    return wrong
