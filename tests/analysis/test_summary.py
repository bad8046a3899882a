import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.summary import (
    mean_over_replications,
    paired_difference,
    summarise,
    t_interval,
)
from tests.helpers.checks import mean_agrees

RESPONSE = json.dumps({"problem": "response"})  # study of results

pytestmark = pytest.mark.filterwarnings("error")


def cells(rng, size):
    return {"m": np.arange(size)}, rng.standard_normal((size, 8)) + 3


def test_interval_of_a_mean_covers(covered, sealed):
    axes, sample = cells(np.random.default_rng(0), 4000)
    summary = summarise(sealed(axes, error=sample))
    assert covered(
        (summary.error_low <= 3) & (3 <= summary.error_high), what="t interval, 8 normal values"
    )
    normal = abs(summary.error - 3) <= 1.96 * summary.error_mcse
    assert not covered(normal, what="negative control: normal quantile with 8 values")
    wide = abs(summary.error - 3) <= 2 * (summary.error_high - summary.error)
    assert not covered(wide, what="negative control: twice as wide")


@pytest.mark.parametrize("n, quantile", [(2, 12.7062047), (3, 4.3026527), (10, 2.2621572)])
def test_quantiles_are_those_of_the_tables(n, quantile):
    """Student's t with n − 1 degrees of freedom, 95 %, two-sided."""
    low, high = t_interval(xr.DataArray(0.0), xr.DataArray(1.0), xr.DataArray(n), 0.95)
    assert (float(-low), float(high)) == pytest.approx((quantile, quantile), rel=1e-6)


def test_standard_error_is_unbiased_for_the_variance(sealed):
    axes, sample = cells(np.random.default_rng(1), 4000)
    variances = summarise(sealed(axes, error=sample)).error_mcse ** 2
    assert mean_agrees(variances, 1 / 8, "squared mcse")
    assert not mean_agrees(variances * 7 / 8, 1 / 8, "negative control: divided by n")


def test_failures_are_counted_and_bounded(sealed):
    values = np.array(
        [
            [0.25, 0.75, np.nan, 0.5],
            [np.nan] * 4,
            [0.5, 0.5, np.nan, np.nan],
            [np.nan] * 4,
            [np.inf, 0.5, 0.5, 0.5],
        ]
    )
    status = np.array([[1, 1, 3, 2], [3, 3, 3, 3], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    results = sealed({"scheme": ["log", "critical", "a", "b", "c"]}, status, h=values, loss=values)
    results["h"].attrs |= {"least": 0, "most": 1}
    results["loss"].attrs |= {"least": 0}
    summary = summarise(results)
    assert summary.n_run.values.tolist() == [4, 4, 2, 0, 4]
    assert summary.n_ok.values.tolist() == [2, 0, 2, 0, 4]
    assert summary.n_not_converged.values.tolist() == [1, 0, 0, 0, 0]
    assert summary.n_failed.values.tolist() == [1, 4, 0, 0, 0]
    assert summary.n_not_finite.values.tolist() == [0, 0, 0, 0, 1]
    assert summary.h_n.values.tolist() == [3, 0, 2, 0, 3]
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(summary.h, [0.5, nan, 0.5, nan, 0.5])
    np.testing.assert_array_equal(summary.h_least, [0.25, 0, 0.5, nan, 0.375])
    np.testing.assert_array_equal(summary.h_most, [0.75, 1, 0.5, nan, 0.625])
    np.testing.assert_array_equal(summary.loss_least, [0.25, 0, 0.5, nan, 0.375])
    np.testing.assert_array_equal(summary.loss_most, [inf, inf, 0.5, nan, inf])
    assert summary.loss_most.attrs["units"] == "1" and summary.attrs["confidence"] == 0.95


def test_one_replication_has_no_standard_error(sealed):
    summary = summarise(sealed({"m": [1]}, error=np.array([[2.0]])))
    assert [summary[v].item() for v in ("error", "error_mcse", "error_low", "error_high")] == [
        2,
        np.inf,
        -np.inf,
        np.inf,
    ]


def test_equal_values_are_exact_but_not_certain(sealed):
    values = np.full((2, 50), 0.1)
    values[1] = 0
    results = sealed({"m": [1, 2]}, kendall=values, error=values)
    results["kendall"].attrs |= {"least": 0, "most": 1}
    summary = summarise(results)
    assert summary.kendall_mcse.values.tolist() == [0, 0] and summary.kendall.values.tolist() == [
        0.1,
        0,
    ]
    assert (
        np.isinf(summary.error_low).all() and np.isinf(summary.error_high).all()
    )  # of others nothing is known
    assert float(summary.kendall_low[1]) == 0 and float(summary.kendall_high[1]) == pytest.approx(
        ndtri(0.975) ** 2 / (50 + ndtri(0.975) ** 2)
    )  # Wilson's, as for every share
    p = 1 - 0.025 ** (1 / 50)
    ends = float(summary.kendall_low[0]), float(summary.kendall_high[0])
    assert ends == pytest.approx((0.1 - p * 0.1, 0.1 + p * 0.9))
    rare = (
        np.random.default_rng(2).random((2000, 20)) < 0.13
    )  # most cells that see nothing must cover 0.13
    results = sealed({"m": np.arange(2000)}, failed=rare)
    results["failed"].attrs |= {"least": 0, "most": 1}
    summary = summarise(results)
    unseen = summary.failed_mcse == 0
    assert unseen.any() and (summary.failed_high[unseen] > 0.13).all()
    exact = results.assign(person_spent=results["failed"].drop_attrs()).assign_attrs(study=RESPONSE)
    control = summarise(exact)
    assert not (
        control.person_spent_high[unseen] > 0.13
    ).any()  # negative control: a metric that says it is exact


@pytest.mark.parametrize(
    "ends, low, high",
    [
        ({}, -np.inf, np.inf),
        ({"least": 0}, 0.996, np.inf),
        ({"most": 3}, -np.inf, 1.0074),
        ({"least": 0, "most": 3}, 0.996, 1.0074),
    ],
)
def test_equal_values_do_not_exclude_rare_other_ones(sealed, ends, low, high):
    """A metric that is 1, and 1,000 in one replication of 1,001, has mean 2: a thousand of 1 do not exclude it."""
    results = sealed({"m": [1]}, loss=np.ones((1, 1000)))
    results["loss"].attrs |= ends
    summary = summarise(results)
    assert (summary.loss_low.item(), summary.loss_high.item()) == pytest.approx(
        (low, high), abs=5e-4
    )
    assert summary.loss_high.item() > 1 > summary.loss_low.item()


def test_exact_metrics_are_numbers(sealed):
    results = sealed({"m": [1]}, person_spent=np.ones((1, 50)), local_budget=np.ones((1, 50)))
    for study, width in ((RESPONSE, 0), (json.dumps({"problem": "ranking"}), np.inf)):
        summary = summarise(results.assign_attrs(study=study))
        assert (summary.person_spent_high - summary.person_spent_low).item() == width
        assert (summary.local_budget_high - summary.local_budget_low).item() == width


def test_paired_difference_covers_and_is_sharper_than_unpaired(sealed, covered):
    rng = np.random.default_rng(3)
    shared = rng.standard_normal((3000, 1, 10)) * 5
    values = shared + rng.standard_normal((3000, 2, 10)) * 0.1 + np.array([1.0, 0.8])[:, None]
    results = sealed({"m": np.arange(3000), "estimator": ["mle", "plain"]}, error=values)
    results = results.assign_coords(cost=("estimator", [1.0, 2.0]))
    difference = paired_difference(results, "error", "estimator", "mle", "plain")
    assert difference["mean"].dims == ("m",) and "cost" not in difference.coords
    assert covered((difference.low <= 0.2) & (0.2 <= difference.high), what="paired difference")
    assert not covered(
        (difference.low <= 0.3) & (0.3 <= difference.high), what="negative control: off by half"
    )
    assert (difference.mcse < summarise(results).error_mcse.isel(estimator=0) / 5).all()


def test_pairs_need_both_values(sealed):
    values = np.array([[[1.0, 2, 3, np.nan], [1, 1, np.nan, np.nan]]])
    results = sealed(
        {"m": [1], "estimator": ["a", "b"]}, error=values, status=np.array([1, 1, 1, 3])
    )
    difference = paired_difference(results, "error", "estimator", "a", "b")
    assert int(difference.pairs[0]) == 2 and float(difference["mean"][0]) == 0.5
    with pytest.raises(KeyError):
        paired_difference(results, "error", "estimator", "a", "c")


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9), st.randoms(), st.integers(0, 4))
def test_order_and_missing_replications_change_nothing(values, random, missing):
    mixed = values + [np.nan] * missing
    random.shuffle(mixed)
    one, two = (
        mean_over_replications(xr.DataArray(v, dims="replication")) for v in (values, mixed)
    )
    assert float(one[2]) == float(two[2]) == len(values)
    np.testing.assert_allclose(one[:2], two[:2], rtol=1e-9, atol=1e-9)


def test_estimate_prints_two_digits_of_its_width():
    assert str(Estimate(-0.4981, -0.5032, -0.4929)) == "-0.498 [-0.503, -0.493]"
    assert str(Estimate(12345.6, 12000, 13000)) == "12346 [12000, 13000]"
    assert str(Estimate(1.0, -np.inf, np.inf)) == "1 [-inf, inf]"
    assert (
        str(Estimate(2.0, 2.0, 2.0))
        == "2 (no Monte Carlo error)"
        == str(Estimate(2.0, 2 - 1e-15, 2.0))
    )
    assert str(Estimate(0.0, 0.0, 1e-9)) == "0 [0, 1e-09]"
    assert str(Estimate(0.0, 0.0, 0.0012)) == "0 [0, 0.0012]"
    assert Estimate(0, -1, 1).covers(1) and not Estimate(0, -1, 1).covers(1.1)
