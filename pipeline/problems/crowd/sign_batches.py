"""Released answers as matrices of signs, a few replications at a time, so that they stay in the processor's cache."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.study.arrays import Floats

Singles = NDArray[np.float32]

BATCH_BYTES = 1 << 22  # of signs in float32 at a time: more does not stay in a shared cache


class SignBatch(NamedTuple):
    """Signs of some replications. replications: which ones, so many as `reps` below.

    signs: (reps, n, m), +1 for label 1, −1 for label 0, 0 for no answer. answered: (reps, n), answers of each worker; a
    worker without answers counts as having one, so that it can be divided by.
    """

    replications: slice
    signs: Singles
    answered: Singles


def sign_batches(answers: NDArray[np.int8]) -> Iterator[SignBatch]:
    """Batches of all replications in order. answers: (reps, n, m) in {−1, 0, 1}.

    The signs of a batch are overwritten by the next. O(reps · n · m).
    """
    reps, n, m = answers.shape
    length = min(reps, max(1, BATCH_BYTES // (4 * n * m)))
    buffer = np.empty((length, n, m), np.float32)
    for first in range(0, reps, length):
        rows = slice(first, min(first + length, reps))
        signs = buffer[: rows.stop - first]
        signs[...] = answers[rows]
        if answers[rows].view(bool).all():
            yield SignBatch(rows, signs, np.full((len(signs), n), np.float32(m)))
        else:
            yield SignBatch(rows, signs, np.maximum(np.vecdot(signs, signs), 1))


def mean_vote(signs: Singles, answered: Singles) -> Floats:
    """(reps, m): mean sign of each task, 0 without answers; signs, answered as in `SignBatch`."""
    all_workers = np.ones((1, signs.shape[1]), np.float32)
    votes: Floats = np.vecmat(all_workers, signs).astype(float)
    if (answered == signs.shape[2]).all():
        votes /= signs.shape[1]
    else:
        votes /= np.maximum(np.vecmat(all_workers, np.abs(signs)), 1)
    return votes
