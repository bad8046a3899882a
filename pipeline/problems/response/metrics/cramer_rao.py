"""The Cramér–Rao bound of each replication's truth, and squared errors in units of it."""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric
from pipeline.study.parameters import parameter

from ..estimators.pair_count_estimator import ItemEstimate
from ..model import ItemParameters

OBSERVED: float = parameter("probability that a response is observed", default=1.0, above=0, high=1)


@metric("Cramér–Rao bound on the squared error, without privacy", units="logits²", least=0.0)
def item_bound(truth: ItemParameters, *, p: float = OBSERVED) -> Floats:
    """Cramér–Rao bound on ‖β̂ − β*‖₂²/m of unbiased estimators that see the responses.

    (reps,), logits²; abilities are unknown. NaN for recorded responses,
    whose law is not known. O(reps · n · m²). Source: `theory.cramer_rao`.
    """
    return truth.bound / p


@metric("squared error over the Cramér–Rao bound without privacy", least=0.0)
def error_over_bound(
    truth: ItemParameters, estimate: ItemEstimate, *, p: float = OBSERVED
) -> Floats:
    """‖β̂ − β*‖₂²/m over its Cramér–Rao bound without privacy, (reps,).

    1 is the best that unbiased estimators can do. O(reps · n · m²).
    """
    error: Floats = np.square(estimate.theta - truth.theta).mean(axis=1)
    return error / (truth.bound / p)
