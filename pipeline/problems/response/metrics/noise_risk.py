"""The noise that was released in each replication: its variance, and the error that it adds."""

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Booleans, Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..model import ItemParameters
from ..releases import Differences
from ..theory import noise_risk as theory

OBSERVED: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)


@metric("variance of the noise that was drawn, over that stated")
def noise_drawn(truth: ItemParameters, release: object, *, p: float = OBSERVED) -> Floats:
    """Mean over released Y_ij of ((Y_ij − E Y_ij)² − Var Y_ij)/σ², given abilities.

    (reps,); noise of variance σ² makes it 1. E and Var are those of the persons'
    own counts; σ² is the variance that the release states. NaN for other releases,
    for one without edges, and where the truth has no abilities. O(reps · n · m²).
    Source: Nguyen and Zhang, eqs. (1), (2) and (4).
    """
    if not isinstance(release, Differences) or not truth.ability.size:
        return np.full(len(truth.theta), np.nan)
    right = expit(truth.ability[:, :, None] - truth.theta[:, None])
    expected = p**2 * (right.mT @ (1 - right))
    variance = expected - p**4 * (np.square(right).mT @ np.square(1 - right))
    spread = np.square(release.counts - expected) - variance
    pairs = np.broadcast_to(_released_pairs(release), spread.shape)
    stated = release.variance * pairs.sum(axis=(1, 2))
    drawn = np.where(pairs, spread, 0).sum(axis=(1, 2))
    ratio: Floats = np.divide(drawn, stated, out=np.full(len(drawn), np.nan), where=stated > 0)
    return ratio


def _released_pairs(release: Differences) -> Booleans:
    """(reps or 1, m, m): pairs of which counts were released."""
    if release.edges is not None:
        return release.edges
    everything: Booleans = ~np.eye(release.counts.shape[1], dtype=bool)[None]
    return everything


@metric("predicted squared error that the noise adds", units="logits²", least=0.0)
def noise_risk(
    truth: ItemParameters,
    release: object,
    *,
    estimator: str = parameter("estimator, whose error is predicted", choices=theory.ESTIMATORS),
    p: float = OBSERVED,
) -> Floats:
    """First-order mean of what noise on all pairs adds to ‖β̂ − β*‖₂²/m, (reps,).

    0 for a release without such noise; NaN on a sparse graph, and where the truth has
    neither abilities nor counts. Of recorded responses β* is the fit to everybody's.
    O(reps · (n · m² + m³)).
    Source: `theory.noise_risk`.
    """
    if not isinstance(release, Differences):
        return np.zeros(len(truth.theta))
    if release.edges is not None or not truth.has_counts:
        return np.full(len(truth.theta), np.nan)
    counts = p**2 * truth.expected_counts
    return theory.noise_risk(estimator, truth.theta, counts, release.variance)
