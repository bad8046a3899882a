"""Control variate of crowds: a metric whose mean is 0 exactly, in every cell.

See `analysis.control_variates`.
"""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..model import CrowdTruth
from ..releases import ReleasedAnswers
from .yardsticks import exact_vote_error


@metric("share of labels that a vote gets wrong, less its mean", expected=0.0)
def vote_control(truth: CrowdTruth, release: ReleasedAnswers) -> Floats:
    """Share of labels that a majority vote on the same release gets wrong, less its exact mean.

    The mean is the one given the abilities. O(reps · n · (n
    + m)), as `majority_error_exact`.
    """
    votes = release.answers.sum(axis=1, dtype=np.int64)
    wrong = ((votes >= 0) != truth.labels).mean(axis=1)
    control: Floats = wrong - exact_vote_error(truth, release)
    return control
