"""Risk and ranking metrics of the private Bradley–Terry–Luce model, one value per replication."""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..estimators.moments import PreferenceEstimate
from ..model import Preferences
from ..releases import ReleasedWins
from ..theory import ordering as theory


@metric("excess risk e_L(θ̂, θ*)", units="nats", least=0.0)
def excess_risk(truth: Preferences, estimate: PreferenceEstimate) -> Floats:
    """Excess risk e_L(θ̂, θ*), the mean divergence of estimated from true comparisons.

    O(reps · m²).
    Source: Xu, Sun and Cheng, eq. (4).
    """
    return theory.excess_risk(estimate.theta, truth.theta)


@metric("predicted Kendall distance, Gaussian scores", units="share of pairs", least=0.0, most=1.0)
def kendall_predicted(
    truth: Preferences, release: ReleasedWins, estimate: PreferenceEstimate
) -> Floats:
    """Prediction of the debiased estimator's mean Kendall distance from Gaussian scores.

    O(reps · m²). NaN where users compared only some pairs: the formula is
    for the complete graph.
    """
    if release.compared is not None:
        return np.full(len(truth.theta), np.nan)
    return theory.kendall_prediction(
        truth.theta, release.equivalent_epsilon, release.users, estimate.weights
    )


@metric("released wins over the next item", units="share of wins")
def lean_next(truth: Preferences, release: ReleasedWins) -> Floats:
    """Mean released share of wins of an item over the one next below it.

    With θ* evenly spaced all such pairs have one law.
    Source: Xu, Sun and Cheng, Example 1.
    """
    return _wins_apart(truth, release, 1)


@metric("released wins over the item two ranks below", units="share of wins")
def lean_two_apart(truth: Preferences, release: ReleasedWins) -> Floats:
    """Mean released share of wins of an item over the one two ranks below it.

    With θ* evenly spaced all such pairs have one law.
    Source: Xu, Sun and Cheng, Example 1.
    """
    return _wins_apart(truth, release, 2)


def _wins_apart(truth: Preferences, release: ReleasedWins, apart: int) -> Floats:
    """Mean released share of wins over the item so many ranks below.

    NaN where there are no such items.
    """
    m = truth.theta.shape[1]
    if m <= apart:
        return np.full(len(truth.theta), np.nan)
    order = np.argsort(-truth.theta, axis=1)
    better = order[:, :-apart]
    worse = order[:, apart:]
    first = np.minimum(better, worse)
    second = np.maximum(better, worse)
    # Position of the pair in the order of triu_indices(m, 1).
    pair = first * (2 * m - first - 1) // 2 + second - first - 1
    share = np.take_along_axis(release.raw_mean(), pair, axis=1)
    mean: Floats = np.where(better < worse, share, 1 - share).mean(axis=1)
    return mean
