"""What estimators of labels and abilities give."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Booleans, Floats, Integers

from ..releases import CrowdRelease


@dataclass(frozen=True)
class CrowdEstimate:
    """Labels of tasks and abilities of workers, as estimated.

    labels: (reps, m) int8, 1 where the posterior is at
    least ½, so also on ties and on tasks without answers
    (step 8 of Algorithm 1). posterior: (reps, m), y.
    abilities: (reps, n), unbiased for p* where the labels
    are right, so not cut to [0, 1]; ½ for workers without
    answers; NaN where released answers are coins (see
    `of`). start: (reps, m), y⁽⁰⁾. converged: (reps,).
    iterations: (reps,).
    """

    labels: Annotated[NDArray[np.int8], "reps", "m"]
    posterior: Annotated[Floats, "reps", "m"]
    abilities: Annotated[Floats, "reps", "n"]
    start: Annotated[Floats, "reps", "m"]
    converged: Annotated[Booleans, "reps"]
    iterations: Annotated[Integers, "reps"]

    @classmethod
    def of(
        cls,
        release: CrowdRelease,
        leaning: Floats,
        agreement: Floats,
        start: Floats,
        converged: Booleans,
        iterations: Integers,
    ) -> "CrowdEstimate":
        """From u = 2y − 1 (reps, m) and c = 2p − 1 (reps, n) of the released answers; start: u⁽⁰⁾.

        Debiased: a(ε)(p − 1/(e^ε + 1)) = ½ + a(ε) c/2, a(ε)
        = 1/(1 − 2 flip). Where flip is ½ in floating point,
        at ε below 2·10⁻¹⁶, answers say nothing about
        abilities: these are NaN, and no replication
        converged. Source: Wang and Xu, Algorithm 1, step 7.
        """
        attenuation = 1 - 2 * release.flip
        if attenuation > 0:
            abilities = 0.5 + agreement / (2 * attenuation)
        else:
            abilities = np.full_like(agreement, np.nan)
            converged = np.zeros_like(converged)
        return cls(
            (leaning >= 0).view(np.int8),
            (1 + leaning) / 2,
            abilities,
            (1 + start) / 2,
            converged,
            iterations,
        )
