"""Theorems 5 and 6 of Xu, Sun and Cheng on errors that do not fall, or are not there: no warning, and no verdict.

Warnings of NumPy that come from the pipeline fail a test.
"""

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, check_of
from pipeline.analysis.selection import InsufficientEvidence
from pipeline.problems.ranking.claims import CLAIMS
from pipeline.problems.ranking.claims.recovery import _ratio_of_falls
from tests.helpers.ideal_ranking import ideal

METRICS = {"xu.theorem_5": "hamming_top_k", "xu.theorem_6": "kendall"}
STEADY = "the same over the fall in the first step"
BY_NAME = {claim.id: claim for claim in CLAIMS}


def with_errors(metric, level):
    """Ideal results in which the errors of a metric, in [0, 1], depend on the signal as told: signal -> factor."""
    results = ideal("xu/recovery", 0)
    noise = xr.DataArray(
        np.random.default_rng(0).uniform(0.1, 0.9, results.sizes["replication"]), dims="replication"
    )
    like = results[metric]
    errors = (noise * level(results["signal"])).broadcast_like(like).transpose(*like.dims)
    return results.assign({metric: errors})


@pytest.mark.parametrize("name, metric", METRICS.items())
def test_errors_that_do_not_fall(name, metric):
    claim = BY_NAME[name]
    same = with_errors(metric, lambda signal: 1 + 0 * signal)
    assert np.isnan(claim.measured(same)[STEADY].value)
    assert check_of(claim, same).verdict == CONTRADICTED  # by the other part: they do not fall
    rising = with_errors(metric, lambda signal: signal / 100)
    assert np.isnan(claim.measured(rising)[STEADY].value)
    assert check_of(claim, rising).verdict == CONTRADICTED


@pytest.mark.parametrize("name, metric", METRICS.items())
def test_no_errors_decide_nothing(name, metric):
    claim = BY_NAME[name]
    none = with_errors(metric, lambda signal: 0 * signal)
    with pytest.raises(InsufficientEvidence, match="no replication has an error at some signal"):
        claim.measured(none)
    assert check_of(claim, none).verdict == INCONCLUSIVE


def test_the_error_of_the_ratio_of_two_falls():
    """Against differences of the ratio in each log error, and with errors that rise in the second step."""
    signal, errors = np.array([8.0, 16.0, 32.0]), np.array([0.02, 0.03, 0.05])

    def ratio(logarithms):
        first, second = -np.diff(logarithms) / np.diff(signal)
        return first, second, second / first

    for logarithms in (
        np.array([-1.0, -2.0, -3.5]),
        np.array([-1.0, -2.0, -1.9]),
        np.array([-1.0, -2.0, -2.0]),
    ):
        first, second, expected = ratio(logarithms)
        step = 1e-6
        slopes = [
            (ratio(logarithms + step * unit)[2] - ratio(logarithms - step * unit)[2]) / (2 * step)
            for unit in np.eye(3)
        ]
        found = _ratio_of_falls(first, second, signal, errors, 0.99)
        assert found.value == expected and found.low < found.high
        assert found.standard_error == pytest.approx(np.linalg.norm(errors * slopes), rel=1e-6)
