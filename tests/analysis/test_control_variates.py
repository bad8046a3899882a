"""Means with control variates: unbiased, covering, never much worse, and the plain mean where controls are no help."""

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.control_variates import controlled, controls_of
from pipeline.analysis.summary import summarise
from pipeline.storage.results import in_chunks
from tests.helpers.checks import mean_agrees


def with_control(sealed, y, *controls, expected=0.0):
    results = sealed(
        {"m": np.arange(len(y))}, y=y, **{f"c{k}": one for k, one in enumerate(controls)}
    )
    for k in range(len(controls)):
        results[f"c{k}"].attrs["expected"] = expected
    return results


def test_a_skewed_control_leaves_the_mean_unbiased(sealed):
    """y = c² + noise, c exponential: a coefficient from the same replications biases the mean, ours does not."""
    rng = np.random.default_rng(1)
    c = rng.standard_exponential((3000, 60))
    y = (c - 1) ** 2 + 0.1 * rng.standard_normal(c.shape)  # of mean 1
    results = with_control(sealed, y, c, expected=1.0)
    assert controls_of(results) == ["c0"]
    found, plain = controlled(results), summarise(results)
    error = found["y_controlled"] - 1
    spread = float(found["y_controlled_mcse"].mean())
    print(f"bias {float(error.mean()) / spread:.3f} of a standard error of {spread:.3f}")
    assert mean_agrees(error, 0, "controlled means") and abs(float(error.mean())) < 0.1 * spread
    own = np.array([np.cov(a, b)[0, 1] / np.var(b, ddof=1) for a, b in zip(y, c, strict=True)])
    wrong = y.mean(axis=1) - own * (c.mean(axis=1) - 1) - 1
    assert not mean_agrees(wrong, 0, "negative control: coefficient from the same replications")
    assert float(found["y_controlled"].var() / plain["y"].var()) < 0.75


def test_intervals_cover(sealed, covered):
    rng = np.random.default_rng(2)
    c = rng.standard_normal((2, 3000, 60))
    y = 3 + c[0] - 2 * c[1] + 0.5 * rng.standard_normal(c[0].shape)
    found = controlled(with_control(sealed, y, *c))
    assert covered(
        (found.y_controlled_low <= 3) & (3 <= found.y_controlled_high), what="controlled interval"
    )
    narrow = abs(found.y_controlled - 3) <= 1.5 * found.y_controlled_mcse
    assert not covered(narrow, what="negative control: 1.5 standard errors")
    assert mean_agrees((found.y_controlled - 3) / found.y_controlled_mcse, 0, "unbiased")
    gain = float(
        (summarise(with_control(sealed, y)).y_mcse ** 2 / found.y_controlled_mcse**2).median()
    )
    print(f"variance {gain:.1f} times smaller; 21 at the best coefficients")
    assert 16 < gain < 24


def test_controls_that_do_not_help_are_off(sealed):
    rng = np.random.default_rng(3)
    y, c = rng.standard_normal((2, 400, 200))
    results = with_control(sealed, y, c)
    found, plain = controlled(results), summarise(results)
    ratio = plain["y_mcse"] ** 2 / found["y_controlled_mcse"] ** 2
    print(
        f"off in {float((ratio == 1).mean()):.2f} of the cells; least ratio {float(ratio.min()):.3f}"
    )
    same = np.isclose(found["y_controlled"], plain["y"], rtol=1e-12, atol=1e-14)
    assert (
        same.mean() > 0.85
        and float(ratio.median()) == pytest.approx(1)
        and float(ratio.mean()) > 0.99
    )
    error = float((found["y_controlled"] ** 2).mean() / (plain["y"] ** 2).mean())
    print(f"mean squared error {error:.3f} times that of plain means")
    assert error < 1 / 0.95


def test_missing_constant_and_perfect_controls(sealed):
    rng = np.random.default_rng(4)
    y, c = rng.standard_normal((2, 4, 50))
    gap, flat = c.copy(), np.zeros_like(c)
    gap[1, 7] = np.nan
    for controls, cells in (([gap], [1]), ([flat], [0, 1, 2, 3]), ([c, flat], [])):
        results = with_control(sealed, y + c, *controls)
        found, plain = controlled(results).isel(m=cells), summarise(results).isel(m=cells)
        for end in ("", "_mcse", "_low", "_high", "_n"):
            np.testing.assert_allclose(found[f"y_controlled{end}"], plain[f"y{end}"], rtol=1e-12)
    found = controlled(with_control(sealed, 5 + 2 * c, c, c))  # two controls that are one
    assert float(abs(found["y_controlled"] - 5).max()) < 1e-12
    assert (
        found["y_controlled_high"] - found["y_controlled_low"] > 0.1
    ).all()  # another replication may differ
    assert controlled(with_control(sealed, y)).sizes == {}


def test_failed_replications_do_not_count_and_parts_agree(sealed):
    rng = np.random.default_rng(5)
    y, c = rng.standard_normal((2, 6, 90))
    status = np.ones((6, 90), int)
    status[2, 4:9], status[3, 50:] = 3, 0
    results = sealed({"m": np.arange(6)}, status, y=y + c, c=np.where(status == 3, np.nan, c))
    results["c"].attrs["expected"] = 0.0
    whole, part = controlled(results), controlled(in_chunks(results, {"m": 4, "replication": 40}))
    xr.testing.assert_allclose(whole, part, rtol=1e-12)
    assert whole["y_controlled_n"].values.tolist() == [90, 90, 85, 50, 90, 90]
    alone = controlled(results.isel(m=[3], replication=slice(50)))
    assert float(alone["y_controlled"][0]) == pytest.approx(
        float(whole["y_controlled"][3]), rel=1e-12
    )
    assert (whole["y_controlled_mcse"] < summarise(results)["y_mcse"]).all()
