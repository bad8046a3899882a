"""Steps of expectation–maximisation on crowds as NumPy computes them: the reference of `crowd/signed_sums.c`."""

import numpy as np

NAMES = "labels", "abilities", "answered", "change", "unsure", "taken"


def em_steps(answers, start, limit, steps, least):
    """As `pipeline.problems.crowd.estimators.signed_sums.em_steps`, one replication at a time, in float64; by name."""
    found = [
        _one(signs, u, limit, steps, least)
        for signs, u in zip(answers.astype(float), start, strict=True)
    ]
    return {
        name: np.array(each) for name, each in zip(NAMES, zip(*found, strict=True), strict=True)
    }


def _one(signs, u, limit, steps, least):
    answered = np.maximum(np.abs(signs).sum(axis=1), 1)
    c, step, change = np.inf, 0, np.inf
    while step < steps and change >= least:
        before, c = c, np.clip(signs @ u / answered, -limit, limit)
        u = np.tanh(np.arctanh(c) @ signs)
        change, step = np.abs(c - before).max(), step + 1
    return u, c, answered, change, (1 - u**2).sum(), step
