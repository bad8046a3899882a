import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.analysis.rates import fit_rate

pytestmark = pytest.mark.filterwarnings("error")


def axis(name, values):
    return xr.DataArray(np.asarray(values, float), {name: values}, name, name=name)


M, L = axis("m", [10, 20, 40]), axis("L", [100, 200, 400, 800])


def power_law(rng, noise=0.01, scatter=0.0):
    """Means 3 m^-0.5 L^-1/3 with Monte Carlo error about `noise` and lack of fit `scatter`, both relative."""
    law = 3 * M**-0.5 * L ** (-1 / 3)
    mcse = (
        noise * law * np.geomspace(0.2, 2, law.size)[rng.permutation(law.size)].reshape(law.shape)
    )
    true = law * np.exp(scatter * rng.standard_normal(law.shape))
    return true + mcse * rng.standard_normal(law.shape), mcse


@pytest.mark.parametrize("scatter", [0, 0.05])
def test_exponents_and_constant_cover(covered, scatter):
    rng = np.random.default_rng(0)
    fits = [fit_rate(*power_law(rng, scatter=scatter), m=M, L=L) for _ in range(600)]
    # The scatter is estimated: more than none where there is none, where intervals are wider on purpose.
    level, most = (0.95, 1) if not scatter else (0.94, 0.96)
    for name, truth, found in (
        ("m", -0.5, [fit.exponents["m"] for fit in fits]),
        ("L", -1 / 3, [fit.exponents["L"] for fit in fits]),
        ("constant", 3, [fit.constant for fit in fits]),
    ):
        assert covered(
            [one.covers(truth) for one in found], level, f"{name}, {scatter=}", most=most
        )
        size = np.mean([((one.value - truth) / one.standard_error) ** 2 for one in found]) ** 0.5
        print(f"error of {name} over its standard error, {scatter=}: n=600 rms={size:.3f}")
        assert (
            0.75 < size < 1.15
        )  # 1 with a standard deviation of 0.03: neither too short nor too wide
    control = [fit.exponents["L"].covers(-0.5) for fit in fits]
    assert sum(control) < 0.3 * len(control), "negative control: exponent off by 1/6"


@pytest.mark.parametrize("cells, confidence", [(3, 0.95), (4, 0.99)])
def test_few_cells_have_t_intervals(cells, confidence):
    """By normal quantiles 99 % intervals of three cells would cover as rarely as in 84 %."""
    law = (L**-0.5).isel(L=slice(cells))
    fit = fit_rate(law * [1, 1.05, 0.97, 1.02][:cells], 0.01 * law, L=L, confidence=confidence)
    exponent, quantile = fit.exponents["L"], stats.t.ppf(0.5 + confidence / 2, cells - 2)
    assert exponent.high - exponent.value == pytest.approx(quantile * exponent.standard_error)
    assert quantile > 1.5 * stats.norm.ppf(
        0.5 + confidence / 2
    )  # negative control: far from normal


def test_lack_of_fit_is_measured_and_must_be_in_the_interval(covered):
    rng = np.random.default_rng(1)
    fits = [fit_rate(*power_law(rng, scatter=0.05), m=M, L=L) for _ in range(200)]
    typical = np.mean([fit.scatter**2 for fit in fits]) ** 0.5
    print(f"scatter: n=200 rms={typical:.4f} expected=0.05")
    assert 0.045 < typical < 0.055 and all(fit.inflation > 1 for fit in fits)
    naive = []
    for fit in fits:
        exponent = fit.exponents["m"]
        naive.append(abs(exponent.value + 0.5) * fit.inflation <= exponent.high - exponent.value)
    assert not covered(naive, what="negative control: Monte Carlo error only")


@pytest.mark.parametrize(
    "errors, least, most",
    [
        ([0.02, 0.02, 0.02, 0.02, 0.02], 0.94, 1),
        (np.geomspace(0.005, 0.05, 5), 0.94, 1),
        ([0.002, 0.05, 0.05, 0.05, 0.002], 0.5, 0.75),
    ],
    ids=["alike", "tenfold", "a 25th at both ends"],
)
def test_intervals_cover_as_often_as_the_documentation_says(covered, errors, least, most):
    rng, x, errors = np.random.default_rng(3), axis("L", [1, 2, 4, 8, 16]), np.asarray(errors)
    hits = []
    for _ in range(600):
        mean = np.exp(np.hypot(errors, 0.03) * rng.standard_normal(5)) / x
        hits.append(fit_rate(mean, errors * mean, L=x).exponents["L"].covers(-1))
    assert covered(hits, least, most=most)


def test_groups_share_the_exponent_but_not_the_constant():
    scheme = xr.DataArray([1.0, 5.0], {"scheme": ["log", "critical"]}, "scheme")
    mean = scheme * L**-0.5
    fit = fit_rate(mean, 0.01 * mean, groups=("scheme",), L=L)
    assert fit.exponents["L"].value == pytest.approx(-0.5)
    assert fit.constants[("log",)].value == pytest.approx(1)
    assert fit.constants[("critical",)].value == pytest.approx(5)
    assert fit.dof == 8 - 3 and fit.inflation == 1
    assert (
        fit_rate(mean, 0.01 * mean, L=L).inflation > 10
    )  # negative control: one constant for both


def test_derived_predictors_and_labels():
    epsilon = (axis("x", [1, 2, 4, 8]) / np.sqrt(M * L)).rename("epsilon")
    mean = epsilon**-2
    fit = fit_rate(mean.transpose("x", "L", "m").isel(m=[2, 0]), 0, epsilon=epsilon, L=L)
    assert fit.exponents["epsilon"].value == pytest.approx(-2)
    assert fit.exponents["L"].value == pytest.approx(0, abs=1e-9)
    assert fit.n == 32 and fit.dropped == 0
    with pytest.raises(ValueError, match="lacks"):
        fit_rate(M, 0, L=L)
    with pytest.raises(ValueError, match="not numbers"):
        fit_rate(M, 0, m=xr.DataArray(["a", "b", "c"], {"m": M.m}, "m"))


@pytest.mark.parametrize("cells", [0, 1, 2, 3])
def test_too_few_cells_give_infinite_intervals(cells):
    law = M**-0.5 * L**-0.5
    flat = law.values.ravel()
    flat[np.arange(12) >= cells] = np.nan
    fit = fit_rate(law.copy(data=flat.reshape(law.shape)), 0.01, m=M, L=L)
    assert fit.n == cells and fit.dropped == 12 - cells
    assert np.isnan(fit.exponents["m"].value)  # the first cells share one m
    assert fit.exponents["m"].low == -np.inf and fit.exponents["m"].high == np.inf
    assert (fit.exponents["L"].high == np.inf) == (cells < 3)  # the exponent of L and one constant
    if cells >= 2:
        assert fit.exponents["L"].value == pytest.approx(-0.5)
    assert "n=" in str(fit)


def test_undetermined_exponents_do_not_hide_the_others():
    mean = M**-0.5 * L**-0.25
    fit = fit_rate(mean.sel(m=[20]), 0.01, m=M, L=L)
    assert np.isnan(fit.exponents["m"].value) and fit.exponents["m"].high == np.inf
    assert fit.exponents["L"].value == pytest.approx(-0.25) and fit.exponents["L"].high < np.inf


def test_useless_cells_are_dropped_and_exact_ones_kept():
    mean = M**-0.5 * L**-0.5
    mcse = 0.01 * mean
    mean.values[0, :4], mcse.values[1, :3] = [0, -1, np.nan, np.inf], [np.nan, np.inf, 0]
    fit = fit_rate(mean, mcse, m=M, L=L)
    assert fit.n == 6 and fit.dropped == 6 and fit.exponents["L"].covers(-0.5)
    exact = fit_rate(M**-0.5 * (1 + 0.01 * np.sin(L)), 0, m=M)
    assert 0 < exact.exponents["m"].standard_error < 0.01 and exact.exponents["m"].covers(-0.5)
    assert 0.005 < exact.scatter < 0.01 and np.isnan(exact.chi2) and np.isnan(exact.inflation)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.floats(1e-3, 1e3), st.randoms())
def test_invariances(seed, factor, random):
    mean, mcse = power_law(np.random.default_rng(seed))
    fit = fit_rate(mean, mcse, m=M, L=L)
    scaled = fit_rate(mean, mcse, m=M * factor, L=L)
    assert scaled.constant.value == pytest.approx(
        fit.constant.value * factor ** -fit.exponents["m"].value, rel=1e-6
    )
    order = list(range(4))
    random.shuffle(order)
    permuted = fit_rate(mean.isel(L=order).transpose("L", "m"), mcse, m=M, L=L)
    wider = mean.reindex(L=[50, *L.values])  # cells that were not run
    extended = fit_rate(wider, mcse.reindex_like(wider), m=M, L=wider.L.astype(float))
    for other in (scaled, permuted, extended):
        for name, exponent in fit.exponents.items():
            assert other.exponents[name].low == pytest.approx(exponent.low, rel=1e-6)
            assert other.exponents[name].high == pytest.approx(exponent.high, rel=1e-6)
