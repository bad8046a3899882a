"""Data sets of responses that a test gives itself, for tests of mechanisms."""

import numpy as np

from pipeline.problems.response.model import Responses
from tests.helpers.checks import counts_agree

REPS, MISSING = 60_000, 2


def rng(seed=1):
    return np.random.Generator(np.random.Philox(seed))


class Known(Responses):
    """Responses that are not drawn."""

    def __init__(self, answers, observed=None):
        self._drawn, self.complete = (answers, observed), observed is None
        self.persons, self.items = answers.shape[1:]
        self._people_asked, self._p = None, 1.0 if observed is None else float(np.mean(observed))


def of_rows(rows, reps=1):
    """(reps · rows) one-person data sets of rows of 0, 1 and missing."""
    rows = np.tile(np.asarray(rows), (reps, 1))[:, None]
    return Known(rows == 1, None if (rows < MISSING).all() else rows != MISSING)


def off_diagonal(m):
    return [(i, j) for i in range(m) for j in range(m) if i != j]


def follows(noise, pmf, what):
    """Chi-square of whole numbers against a law, tails in cells of their own."""
    far = int(np.abs(noise).max()) + 1
    probability = pmf(np.arange(-far, far + 1))
    probability[[0, -1]] += (1 - probability.sum()) / 2
    return counts_agree(np.bincount(noise + far, minlength=2 * far + 1), probability, what)


def random_graphs(m, count, seed):
    """(count, m, m): random graphs with one edge at least."""
    generator = np.random.default_rng(seed)
    upper = np.triu(generator.random((count, m, m)) < generator.uniform(0.15, 1, (count, 1, 1)), 1)
    upper[:, 0, 1] = True
    return upper | np.swapaxes(upper, 1, 2)
