"""The fit without privacy: a reference for estimates from private answers of the same workers."""

import numpy as np

from ..releases import ReleasedAnswers
from .dawid_skene import DawidSkene
from .estimate import CrowdEstimate

STEPS = 10_000  # of EM, at most


def fit_without_privacy(answers: ReleasedAnswers, projection: float) -> CrowdEstimate:
    """Dawid and Skene's estimate, started at the mean vote, from answers that were
    released without privacy.

    projection: λ, as in `DawidSkene`. O(reps · n · m) a
    step.
    """
    _, n, m = answers.answers.shape
    return DawidSkene(n, m, projection=projection, iterations=STEPS).fit(
        answers, np.random.default_rng(0)
    )
