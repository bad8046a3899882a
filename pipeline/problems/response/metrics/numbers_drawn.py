"""What a release costs, counted: random numbers, whatever a computer needs for one."""

import numpy as np

from pipeline.study.arrays import Floats
from pipeline.study.metric import metric

from ..model import ItemParameters
from ..releases import Differences, FlippedResponses, OpenResponses


@metric("random numbers that a release takes", least=0.0)
def numbers_drawn(truth: ItemParameters, release: object) -> Floats:
    """One for each count that is released, or for each response that may be flipped; (reps,).

    0 without privacy; NaN for other releases. The graph of a sparse release takes
    m(m − 1)/2 more, which are not counted.
    Source: Nguyen and Zhang, supplement, section 4.
    """
    reps = len(truth.theta)
    if isinstance(release, OpenResponses):
        return np.zeros(reps)
    if isinstance(release, Differences):
        m = truth.theta.shape[1]
        if release.edges is None:
            return np.full(reps, float(m * (m - 1)))
        counts: Floats = release.edges.sum(axis=(1, 2)).astype(float)
        return counts
    if isinstance(release, FlippedResponses):
        answers: Floats = release.item_counts().answered.sum(axis=1).astype(float)
        return answers
    return np.full(reps, np.nan)
