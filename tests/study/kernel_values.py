"""Prints where the package is and a digest of what a kernel computes, for tests: `kernel_values.py newton`."""

import hashlib
import sys

import numpy as np

import pipeline


def newton():
    """Fits of both layouts: near and far minimisers, without a ridge, of more and fewer replications than lanes."""
    from pipeline.problems.ranking.estimators.newton import minimise, scores

    rng = np.random.default_rng(1)
    for m, reps in ((2, 5), (7, 9), (40, 6), (170, 2)):
        for spread in (0.3, 3.0, 300.0):
            for ridge in (0.0, 1e-6, 0.1):
                s = (m - 1) / 2 + spread * rng.standard_normal((reps, m))
                yield from minimise(s, ridge)
        yield scores(rng.random((reps, m * (m - 1) // 2)), m)


def risk():
    """Sandwich and Cramér–Rao risk, one of them out of reach."""
    from pipeline.problems.ranking.theory.risk import risks

    for m in (2, 9, 30):
        theta = np.random.default_rng(m).standard_normal((6, m))
        theta[3, 0] = 90
        yield risks(theta - theta.mean(axis=1, keepdims=True), [0.5, 2.0], [10, 20], 0.01)


def ordering():
    """Excess risks of small, usual and huge errors."""
    from pipeline.problems.ranking.theory.ordering import excess_risk

    for m in (2, 9, 30):
        rng = np.random.default_rng(m)
        theta, error = rng.standard_normal((2, 7, m))
        yield from (excess_risk(theta + size * error, theta) for size in (1e-6, 0.01, 1, 100))


digest = hashlib.blake2b(digest_size=16)
for array in globals()[sys.argv[1]]():
    digest.update(np.ascontiguousarray(array).tobytes())
print(pipeline.__file__, digest.hexdigest())
