"""Errors of two abilities of each worker, and their first order; one value per replication."""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.estimate import CrowdEstimate
from ..estimators.two_coins import TwoCoinEstimate
from ..releases import ReleasedAnswers
from ..two_coins import TwoCoinTruth


@metric("root mean square error of both abilities", units="probability", least=0.0)
def coin_error_l2(truth: TwoCoinTruth, estimate: CrowdEstimate) -> Floats:
    """√ of the mean square of sensitivities and specificities less the true ones.

    An estimate of one ability counts as both of them.
    """
    sensitivities = estimate.abilities
    specificities = estimate.abilities
    if isinstance(estimate, TwoCoinEstimate):
        sensitivities = estimate.sensitivities
        specificities = estimate.specificities
    squares = np.square(sensitivities - truth.sensitivities)
    squares = squares + np.square(specificities - truth.specificities)
    root: Floats = np.sqrt(squares.mean(axis=1) / 2)
    return root


@metric("mean square error of both abilities to first order", units="probability²", least=0.0)
def coin_risk(truth: TwoCoinTruth, release: ReleasedAnswers) -> Floats:
    """Mean of p̂(1 − p̂)/(k t²), p̂ = ½ + t(p − ½): as if labels were known, k tasks of a label.

    t = tanh(ε/2) = 1 − 2 flip. Infinite where a label has no task, or t is 0.
    """
    attenuation = 1 - 2 * release.flip
    ones = truth.labels.sum(axis=1, keepdims=True)
    zeros = truth.labels.shape[1] - ones
    total = np.zeros(truth.sensitivities.shape)
    with np.errstate(divide="ignore"):
        for abilities, tasks in ((truth.sensitivities, ones), (truth.specificities, zeros)):
            lean = attenuation * (2 * abilities - 1)
            total += (1 - lean**2) / (4 * tasks * attenuation**2)
    risk: Floats = total.mean(axis=1) / 2
    return risk
