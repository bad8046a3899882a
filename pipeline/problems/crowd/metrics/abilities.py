"""Errors of abilities; one value per replication. "Up to a flip": the better of p̂ and 1 − p̂.

Estimates that are debiased may leave [0, 1], so that errors
have no upper end.
"""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.estimate import CrowdEstimate
from ..model import CrowdTruth
from ..releases import ReleasedAnswers

UNIT = "probability"


def _largest(errors: Floats) -> Floats:
    """(reps,): largest absolute value of the errors (reps, n) of all workers."""
    largest: Floats = np.abs(errors).max(axis=1)
    return largest


def _root_mean_square(errors: Floats) -> Floats:
    """(reps,): root mean square of the errors (reps, n) of all workers."""
    root_mean_square: Floats = np.sqrt(np.square(errors).mean(axis=1))
    return root_mean_square


@metric("largest error of an ability", UNIT, least=0.0)
def ability_error_inf(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """max_i |p̂_i − p*_i|. Source: Wang and Xu, Theorem 3, eq. (17)."""
    return _largest(estimate.abilities - truth.abilities)


@metric("root mean square error of abilities", UNIT, least=0.0)
def ability_error_l2(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """‖p̂ − p*‖₂/√n."""
    return _root_mean_square(estimate.abilities - truth.abilities)


@metric("largest error of an ability, up to a flip of all", UNIT, least=0.0)
def ability_error_inf_flip(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """The smaller of max_i |p̂_i − p*_i| and max_i |1 − p̂_i − p*_i|."""
    as_estimated = _largest(estimate.abilities - truth.abilities)
    flipped = _largest(1 - estimate.abilities - truth.abilities)
    return np.minimum(as_estimated, flipped)


@metric("root mean square error of abilities, up to a flip of all", UNIT, least=0.0)
def ability_error_l2_flip(truth: CrowdTruth, estimate: CrowdEstimate) -> Floats:
    """The smaller of ‖p̂ − p*‖₂/√n and ‖1 − p̂ − p*‖₂/√n."""
    as_estimated = _root_mean_square(estimate.abilities - truth.abilities)
    flipped = _root_mean_square(1 - estimate.abilities - truth.abilities)
    return np.minimum(as_estimated, flipped)


@metric("largest error of an ability that is not debiased", UNIT, least=0.0)
def ability_error_inf_plain(
    truth: CrowdTruth, release: ReleasedAnswers, estimate: CrowdEstimate
) -> Floats:
    """max_i |p_i − p*_i| of abilities before step 7 of Algorithm 1, which debiases them."""
    lean = estimate.abilities - 0.5
    biased = 0.5 + (1 - 2 * release.flip) * lean
    return _largest(biased - truth.abilities)
