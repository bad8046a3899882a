"""Measures: estimates by cell and over cells, their confidence, and exact intervals of shares."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import ndtri

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.exact import law_ratios
from pipeline.analysis.intervals import skewed_mean, wilson
from pipeline.analysis.measures import (
    CONFIDENCE,
    confidence_for,
    exponent,
    exponent_cells,
    labelled,
    mean_cells,
    mean_over_cells,
    normal_cells,
    paired_cells,
    ratio_cells,
    share,
    share_above,
    share_of_exceptions,
)
from pipeline.analysis.selection import InsufficientEvidence, NotTested
from pipeline.analysis.summary import summarise


@pytest.fixture
def cells(sealed):
    values = np.random.default_rng(0).random((2, 3, 400)) * np.array([0.2, 0.4, 0.8])[:, None]
    return sealed(dict(arm=["a", "b"], L=[1, 2, 4]), v=values, w=2 * values)


def test_cells_share_the_error(cells):
    used = cells.assign(status=cells["status"].where(cells["L"] > 1, 0))
    assert confidence_for() == pytest.approx(CONFIDENCE) and confidence_for(
        error_share=0.5
    ) == pytest.approx(0.995)
    assert confidence_for(4) == pytest.approx(0.9975)
    assert confidence_for(used, 0.5) == pytest.approx(1 - 0.005 / 4)


def test_labelled_cells_without_a_value_are_left_out():
    cells = xr.Dataset(
        dict(v=("L", [1.0, np.nan]), low=("L", [0.0, 0.0]), high=2.0, e=0.5), {"L": [10, 20]}
    )
    assert labelled(cells, "v", "low", "high", "e") == {"L=10": Estimate(1.0, 0.0, 2.0, 0.5)}


def skewed(values, confidence):
    sums = (((values - values.mean()) ** k).sum() for k in (2, 3))
    return tuple(map(float, skewed_mean(values.mean(), *sums, np.array(len(values)), confidence)))


def test_intervals_of_means_are_simultaneous_over_cells(cells):
    values = cells["v"].sel(arm="a", L=2).values
    one = mean_cells(cells, "v")["arm=a, L=2"]
    assert one.value == pytest.approx(values.mean())
    assert one.standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(400))
    assert (one.low, one.high) == pytest.approx(skewed(values, 1 - 0.01 / 6))


def test_cells_without_any_error_have_the_interval_of_a_share(sealed):
    data = sealed(dict(L=[1]), v=np.zeros((1, 100)))
    data["v"].attrs |= {"least": 0, "most": 1}
    exact = stats.binomtest(0, 100).proportion_ci(0.99, method="exact")
    assert mean_cells(data, "v")["L=1"].high == pytest.approx(exact.high)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.9997])
def test_shares_of_many_cells_miss_as_seldom_as_promised(share, sealed):
    """The exact chance that an interval misses the truth, from a cell for each count; Wilson's is the control."""
    n = 200
    data = sealed(
        dict(L=[*range(n + 1)]), v=(np.arange(n) < np.arange(n + 1)[:, None]).astype(float)
    )
    data["v"].attrs |= {"least": 0, "most": 1}
    chances, confidence = stats.binom.pmf(np.arange(n + 1), n, share), 1 - 0.01 / (n + 1)
    ends = np.array([[one.low, one.high] for one in mean_cells(data, "v").values()])
    control = np.transpose(wilson(np.arange(n + 1) / n, np.full(n + 1, n), confidence))
    missed, by_wilson = (
        chances[(low > share) | (high < share)].sum() for low, high in (ends.T, control.T)
    )
    print(
        f"missed: n={n} statistic={missed:.2g} bound={1 - confidence:.2g}; control {by_wilson:.2g}"
    )
    assert missed <= 1 - confidence and (share < 0.9997 or by_wilson > 20 * (1 - confidence))


def test_means_of_skewed_values_cover(covered, sealed):
    """χ² values with one degree of freedom, 100 each: errors of cells with the largest skewness that occurs."""
    values = np.random.default_rng(6).standard_normal((4000, 100)) ** 2
    data = sealed(dict(m=np.arange(4000)), v=values)
    ends = summarise(data, 0.99)
    assert covered(
        (ends.v_low <= 1) & (1 <= ends.v_high), nominal=0.99, what="means of 100 squares"
    )
    normal = abs(ends.v - 1) <= ndtri(0.995) * ends.v_mcse
    assert not covered(normal, nominal=0.99, what="negative control: normal intervals")


def test_functions_of_means_have_normal_intervals(cells):
    ratio = summarise(cells)["w"] / 2
    one = normal_cells(cells, ratio, 0 * ratio + 0.1)["arm=a, L=2"]
    half = pytest.approx(0.1 * ndtri(1 - 0.01 / 6 / 2))
    assert one.high - one.value == half and one.value - one.low == half
    alike = normal_cells(cells, 0 * ratio, 0 * ratio)["arm=a, L=2"]
    assert alike.high == pytest.approx(stats.beta.ppf(1 - 0.01 / 6 / 2, 1, 400))


def test_where_all_are_alike_the_cell_with_fewest_replications_sets_the_width(sealed):
    """(1 + |v|)(1 − (α/2)^(1/R)) at α = 0.01 for both cells together, of R = 10 of 50."""
    status = np.ones((2, 50))
    status[1, 10:] = 0
    data = sealed(dict(L=[1, 2]), status, v=np.full((2, 50), 0.5))
    value = xr.DataArray([0.5, 0.5], {"L": [1, 2]}, "L")
    half = 1.5 * (1 - (0.01 / 2 / 2) ** (1 / 10))
    assert [
        one.high - one.value for one in normal_cells(data, value, 0 * value).values()
    ] == pytest.approx([half] * 2)


def test_paired_differences(cells):
    apart = paired_cells(cells, "v", "arm", "a", "b")["L=1"]
    difference = (cells["v"].sel(arm="a", L=1) - cells["v"].sel(arm="b", L=1)).values
    assert apart.value == pytest.approx(difference.mean())
    assert (apart.low, apart.high) == pytest.approx(skewed(difference, 1 - 0.01 / 6))
    with pytest.raises(NotTested, match="needs arm=c"):
        paired_cells(cells, "v", "arm", "a", "c")


def test_exponents_of_means_in_every_cell(cells):
    """−log of the mean and of the ends of its interval, at half the error of the claim; it may be 0."""
    exponent = xr.DataArray([2.0, 4.0, 8.0], {"L": [1, 2, 4]}, "L")
    one = exponent_cells(cells, "v", exponent, 0.5)["arm=b, L=4"]
    values = cells["v"].sel(arm="b", L=4).values
    low, high = skewed(values, 1 - 0.005 / 6)
    assert (one.value, one.low, one.high) == pytest.approx(
        (*(-math.log(v) / 8 for v in (values.mean(), high, low)),)
    )
    assert one.standard_error == pytest.approx(
        values.std(ddof=1) / math.sqrt(400) / values.mean() / 8
    )
    seldom = cells.assign(v=cells["v"] * (cells["replication"] == 7))
    assert exponent_cells(seldom, "v", exponent)["arm=a, L=1"].high == math.inf
    with pytest.raises(InsufficientEvidence, match="v is 0 in all replications of a cell"):
        exponent_cells(cells.assign(v=cells["v"] * (cells["L"] > 1)), "v", exponent)


def test_ratios(cells):
    ratios = ratio_cells(cells, "w", "v", power=1)
    assert len(ratios) == 6 and all(one.value == pytest.approx(2) for one in ratios.values())


def test_the_error_of_a_mean_over_cells_falls_with_their_number():
    mean, mcse = (
        xr.DataArray([1.0, 2.0, 6.0, np.nan], dims="L"),
        xr.DataArray([0.3, 0.4, 1.2, 1.0], dims="L"),
    )
    one = mean_over_cells(mean, mcse)
    assert (one.value, one.standard_error) == pytest.approx((3, 1.3 / 3))
    assert one.high == pytest.approx(3 + ndtri(0.995) * 1.3 / 3)
    with pytest.raises(InsufficientEvidence, match="no cell has a value"):
        mean_over_cells(mean * np.nan, mcse)


def test_an_exponent_is_that_of_the_first_predictor(sealed):
    L = np.array([1.0, 2.0, 4.0, 8.0])
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal((2, 4, 200))
    data = sealed(
        dict(m=[1, 5], L=L), v=np.array([1.0, 9.0])[:, None, None] * L[:, None] ** -0.5 * noise
    )
    assert exponent(data, "v", ("m",), L=data["L"]).value == pytest.approx(-0.5, abs=0.01)


@pytest.mark.parametrize("k, n", [(0, 100), (3, 100), (100, 100)])
def test_shares_have_the_exact_interval(k, n):
    flags = xr.DataArray(
        np.where(np.arange(n + 5) < n, np.arange(n + 5) < k, np.nan)
    )  # the last 5 not in use
    one, exact = share(flags), stats.binomtest(k, n).proportion_ci(0.99, method="exact")
    assert (one.value, one.low, one.high) == pytest.approx((k / n, exact.low, exact.high))


@pytest.mark.parametrize("k, n", [(0, 100), (3, 100), (100, 100)])
def test_shares_of_exceptions(k, n):
    one = share_of_exceptions(xr.DataArray(np.arange(n) < k), xr.DataArray(np.full(n, True)))
    if k:
        exact = stats.binomtest(k, n).proportion_ci(0.99, method="exact")
        assert (one.low, one.high) == pytest.approx((exact.low, exact.high))
    else:
        assert (1 - one.high) ** n == pytest.approx(0.01) and one.low == 0
    assert one.value == k / n


def test_only_replications_in_use_can_be_above_a_bound(cells):
    used = cells.assign(status=cells["status"].where(cells["L"] < 4, 0))
    assert share_above(used, "v", xr.DataArray(0.5)).value == 0
    assert share_above(cells, "v", xr.DataArray(0.5)).value == float((cells["v"] > 0.5).mean())


@pytest.mark.parametrize("jitter", [0, 1e-16, 1e-3])
def test_values_that_differ_by_rounding_alone_show_nothing_of_others(sealed, jitter):
    """Whatever is measured of them had an interval as short as their rounding, which decided any claim.

    Negative control: values that do differ.
    """
    rng = np.random.default_rng(7)
    alike = 1.998 * (1 + jitter * rng.standard_normal((3, 200)))
    share_of = rng.random((3, 200)) + 0.5
    levels = dict(n=[10, 20, 40])
    data = sealed(levels, v=alike, w=alike * share_of, y=share_of)
    beside = sealed(dict(arm=["a", "b"]), v=np.stack([alike[0] + share_of[0], share_of[0]]))
    summary = summarise(data[["v", "status"]])
    measured = {
        "mean": mean_cells(data, "v")["n=10"],
        "ratio": ratio_cells(data, "w", "y", power=1)["n=10"],
        "paired": paired_cells(beside, "v", "arm", "a", "b")[""],
        "over cells": mean_over_cells(summary["v"], summary["v_mcse"]),
        "exponent": exponent(data.assign(v=data["v"] * data["n"]), "v", (), n=data["n"]),
    } | {part: cells["n=10"] for part, cells in law_ratios(data, "w", "y", 1, "n").items()}
    for name, estimate in measured.items():
        print(name, estimate)
        assert np.isinf(estimate.high - estimate.low) == (jitter < 1e-12), name
