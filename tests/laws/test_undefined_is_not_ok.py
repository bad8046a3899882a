"""No estimate with a NaN counts as converged: every estimator, every release, budgets near 0 and without bounds."""

import dataclasses
import itertools

import numpy as np
import pytest

from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build

MODELS = {
    "ranking": "btl",
    "response": "rasch",
    "clustering": "block_model",
    "crowd": "dawid_skene",
}
SIZES = {
    "ranking": [dict(m=4, L=6), dict(m=2, L=1), dict(m=5, L=2, pairs=0.3)],
    "response": [dict(m=4, n=8), dict(m=2, n=2), dict(m=5, n=6, p=0.3)],
    "clustering": [dict(N=8, U=50, w=3), dict(N=4, U=3, w=1)],
    "crowd": [dict(n=5, m=6), dict(n=2, m=2), dict(n=4, m=5, answered=0.3)],
}
OTHERS = dict(alpha="1", beta="0.5, 0.5", b="0.9, 0.1", theta="redrawn", Q=1, rounds=2)
BUDGETS = (1e-300, 1e-18, 1e-3, 30.0, 1e6, 1e300)
REPS = 20


def released(problem, name, values):
    """A release of 20 replications; None where these values are refused."""
    try:
        model = build(problem.load(problem.models[MODELS[problem.name]]), values)
        mechanism = build(problem.load(problem.mechanisms[name]), values)
    except InvalidInput:
        return None
    rngs = [np.random.default_rng(seed) for seed in range(4)]
    data = model.simulate(model.truth(rngs[0], REPS, rngs[1]), rngs[2])
    return mechanism.release(data, rngs[3])


def undefined(estimate):
    """(reps,): is a number of the estimate NaN or infinite?"""
    found = np.zeros(REPS, bool)
    for field in dataclasses.fields(estimate):
        values = getattr(estimate, field.name)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and len(values) == REPS:
            found |= ~np.isfinite(values.reshape(REPS, -1)).all(axis=1)
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_undefined_has_not_converged(name):
    problem, fits, lost = problems()[name], 0, 0
    for mechanism, size, epsilon in itertools.product(problem.mechanisms, SIZES[name], BUDGETS):
        values = OTHERS | dict(epsilon=epsilon, epsilon_user=epsilon) | size
        values |= dict(theta=1.0) if name == "clustering" else {}
        release = released(problem, mechanism, values)
        for kind in map(problem.load, problem.estimators.values()) if release is not None else ():
            if not isinstance(release, kind.accepts):
                continue
            with np.errstate(all="ignore"):
                estimate = build(kind, values).fit(release, np.random.default_rng(4))
            assert not (undefined(estimate) & estimate.converged).any(), (mechanism, kind, values)
            fits, lost = fits + 1, lost + int((~estimate.converged).sum())
    print(f"{name}: {fits} fits, {lost} of {fits * REPS} replications not converged")
    assert fits > 20


def test_a_nan_is_noticed():
    @dataclasses.dataclass
    class Estimate:
        theta: np.ndarray
        converged: np.ndarray

    theta = np.zeros((REPS, 3))
    theta[4, 1] = np.nan
    assert undefined(Estimate(theta, np.ones(REPS, bool))).nonzero()[0].tolist() == [4]
