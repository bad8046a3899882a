"""What mechanisms release of a crowd's answers."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Floats


@dataclass(frozen=True)
class ReleasedAnswers:
    """What the public sees: answers after randomized response, or as they are.

    answers: (reps, n, m) int8, +1 says label 1, −1 says label 0, 0 is no answer;
    which tasks a worker answered is public. flip: probability that an answer was
    flipped, 1/(1 + e^ε), 0 without privacy. start: (reps, m) in [0, 1], the initial
    vector that the model supplies, or None; see `Answers`.
    """

    answers: Annotated[NDArray[np.int8], "reps", "n", "m"]
    flip: float
    start: Annotated[Floats | None, "reps", "m"] = None
