import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.analysis.boundaries import boundary_exponent, crossing
from pipeline.analysis.collapse import collapse, collapse_exponent

pytestmark = pytest.mark.filterwarnings("error")


def axis(name, values):
    return xr.DataArray(np.asarray(values, float), {name: values}, name, name=name)


X, N = axis("x", np.geomspace(0.25, 16, 13)), axis("N", [50, 100, 200, 400])


def success(rng, truth, reps=200, slope=3.0):
    """Shares of successes whose probability is logistic in log x and 1/2 at `truth`, and their
    errors.
    """
    probability = 1 / (1 + (X / truth) ** -slope)
    share = probability.copy(data=rng.binomial(reps, probability) / reps)
    return share, np.sqrt(share * (1 - share) / (reps - 1))


def collapsing(rng, noise=0.01):
    """Means 1/(1 + ε√N/3) with relative Monte Carlo error `noise`, on budgets that differ between
    the N.
    """
    epsilon = X / N**0.5 * (1 + 0.15 * np.log(N / 100))
    law = 1 / (1 + epsilon * N**0.5 / 3)
    return law * (1 + noise * rng.standard_normal(law.shape)), noise * law, epsilon


@pytest.mark.parametrize("slope", [3.0, -1.5])
def test_crossing_covers_the_known_one(covered, slope):
    rng = np.random.default_rng(0)
    truths = xr.DataArray(rng.uniform(1, 4, 500), dims="curve")
    share, mcse = success(rng, truths, slope=slope)
    found = crossing(share, mcse, "x", 0.5, draws=200)
    assert (found.side == 0).all() and (found.crossed == 1).all()
    assert covered((found.low <= truths) & (truths <= found.high), 0.94, f"crossing, {slope=}")
    z = np.log(found.value / truths) / found.standard_error
    print(
        f"standardised error of log crossing, {slope=}: n=500 rms={float((z**2).mean()) ** 0.5:.3f}"
    )
    assert 0.6 < float((z**2).mean()) ** 0.5 < 1.15
    off = truths * 1.2
    assert not covered((found.low <= off) & (off <= found.high), 0.94, "negative control: 20 % off")


def test_an_axis_may_have_the_name_of_a_parameter_of_models():
    """`spread` once was the name of a column of crossings, too."""
    mean = (1 / X).expand_dims(spread=[0.1, 0.2])
    assert crossing(mean, 0, "x", 0.7)["value"].dims == ("spread",)


def test_power_law_crosses_exactly_between_its_cells():
    mean = (1 / X).rename("error")
    found = crossing(mean, 0, "x", 0.7)  # log–log interpolation is exact
    assert float(found.value) == pytest.approx(1 / 0.7) and found.low < found.value < found.high


def test_step_has_its_bracket_as_interval():
    found = crossing((X > 1.1).astype(float), 0, "x", 0.5)
    before, after = X.values[X.values < 1.1].max(), X.values[X.values > 1.1].min()
    assert float(found.low) == pytest.approx(before) and float(found.high) == pytest.approx(after)


def test_censored_and_unknown_curves():
    curve = xr.DataArray(["left", "right", "empty", "lone"], dims="curve")
    mean = (1 / (1 + X**-2)).expand_dims(curve=curve).copy()
    mean.loc["left"] = 0.9 + 0.001 * X
    mean.loc["right"] = 0.1 + 0.001 * X
    mean.loc["empty"] = np.nan
    mean.loc["lone", X.values[1:]] = np.nan
    found = crossing(mean, 0.01, "x", 0.5)
    assert found.side.values.tolist() == [-1, 1, 2, 2] and found.value.isnull().all()
    assert found.low.values.tolist() == pytest.approx([0, 16, 0, 0])
    assert found.high.values.tolist() == pytest.approx([0.25, np.inf, np.inf, np.inf])
    flat = crossing(xr.full_like(mean, 0.0), 0, "x", 0.5)
    assert (flat.side == 2).all()
    one = crossing(mean, np.inf, "x", 0.5)  # one replication a cell: nothing is known
    assert (one.side == 2).all()


def test_interval_is_open_where_draws_do_not_cross():
    mean = 0.3 + 0.21 * (np.log(X) - np.log(X[0])) / np.log(64)  # ends at 0.51
    found = crossing(mean, 0.05, "x", 0.5)
    assert found.side == 0 and found.high == np.inf and 0.2 < found.crossed < 0.95
    assert found.standard_error == np.inf


def test_the_nearest_monotone_curve_weighs_cells_by_their_precision():
    """Two cells in the wrong order, of which one is ten times as precise: weights 1/mcse², by hand."""
    mean = xr.DataArray([-0.1, 0.7, 0.3, 0.9], {"x": [1.0, 2.0, 4.0, 8.0]}, "x")
    found = crossing(mean, xr.DataArray([0.01, 0.1, 0.01, 0.01], mean.coords, "x"), "x", 0.5)
    pooled = (0.7 * 0.1**-2 + 0.3 * 0.01**-2) / (0.1**-2 + 0.01**-2)
    assert float(found["value"]) == pytest.approx(4 * 2 ** ((0.5 - pooled) / (0.9 - pooled)))


def test_derived_position_and_missing_cells():
    rng = np.random.default_rng(4)
    share, mcse = success(rng, 2 + 0 * N)
    share = share.assign_coords(epsilon=X / N).where((N < 400) | (X > 0.4))
    found = crossing(share, mcse, "x", 0.5, at=share.epsilon)
    assert "epsilon" not in found.coords and found.value.dims == ("N",)
    fit = boundary_exponent(found, N=N)
    assert fit.exponents["N"].covers(-1) and not fit.exponents["N"].covers(-1 + 1 / 6)


def test_boundary_exponent_covers(covered):
    rng = np.random.default_rng(5)
    truths = (2 * (N / 100) ** 0.5).expand_dims(study=150)
    found = crossing(*success(rng, truths), "x", 0.5, draws=150)
    fits = [boundary_exponent(found.isel(study=k), N=N) for k in range(150)]
    assert covered(
        [fit.exponents["N"].covers(0.5) for fit in fits], 0.95, "exponent of the boundary"
    )
    assert not covered(
        [fit.exponents["N"].covers(0.5 + 1 / 6) for fit in fits], 0.95, "negative control: 1/6 off"
    )


def test_perfect_collapse_has_quality_one_and_a_wrong_one_not():
    rng = np.random.default_rng(6)
    perfect, wrong = [], []
    for _ in range(50):
        mean, mcse, epsilon = collapsing(rng)
        perfect.append(collapse(mean, mcse, epsilon * N**0.5, ("N",)))
        wrong.append(collapse(mean, mcse, epsilon * N ** (0.5 + 1 / 6), ("N",)))
    quality, control = (np.mean([c.quality for c in cs]) for cs in (perfect, wrong))
    spread, wide = (np.mean([c.spread for c in cs]) for cs in (perfect, wrong))
    print(
        f"collapse: n=50 quality={quality:.3f} spread={spread:.4f}; negative control "
        f"{control:.1f}, {wide:.3f}"
    )
    assert 0.85 < quality < 1.15 and spread < 0.003
    assert control > 30 and wide > 0.05


def test_spread_is_the_distance_between_the_curves():
    mean, mcse, epsilon = collapsing(np.random.default_rng(7), noise=0.001)
    shifted = mean * xr.DataArray([1, 1.02, 1, 1.02], {"N": N.N}, "N")
    found = collapse(shifted, mcse, epsilon * N**0.5, ("N",))
    assert 0.009 < found.spread < 0.021 and found.quality > 20


@pytest.mark.parametrize("apart, noise, error", [(0.0, 0.01, 0.03), (0.05, 0.01, 0.03)])
def test_collapse_carries_the_error_of_the_boundary(apart, noise, error, covered):
    """Curves in units of an estimated boundary: the spread's interval covers, and not where its
    error is left out.
    """
    rng, factor = (
        np.random.default_rng(13),
        xr.DataArray(1 + apart * np.array([1, -1, 1, -1]), {"N": N.N}, "N"),
    )
    position = X * (1 + 0.15 * np.log(N / 100))
    exact = factor / (1 + position / 3)
    true, fits, without = collapse(exact, 0, position, ("N",)).spread, [], []
    for _ in range(60):
        mean = exact * (1 + noise * rng.standard_normal(exact.shape))
        estimated = position * np.exp(error * xr.DataArray(rng.standard_normal(4), {"N": N.N}, "N"))
        fits.append(collapse(mean, noise * exact, estimated, ("N",), error=error))
        without.append(collapse(mean, noise * exact, estimated, ("N",)))
    assert covered(
        [fit.low <= true <= fit.high for fit in fits],
        0.95,
        f"spread {true:.3f}, boundary to {error}",
    )
    assert all(fit.low <= fit.spread <= fit.high for fit in fits if fit.spread)
    assert not covered(
        [fit.low <= true <= fit.high for fit in without], 0.95, "negative control: error left out"
    )
    if not apart:
        quality = float(np.mean([fit.quality for fit in fits]))
        print(
            f"quality with the boundary's error: n=60 mean={quality:.3f}, without "
            f"{without[0].quality:.2f}"
        )
        assert 0.8 < quality < 1.2 < np.mean([fit.quality for fit in without])


def test_collapse_exponent_covers(covered):
    rng = np.random.default_rng(8)
    fits = []
    for _ in range(60):
        mean, mcse, epsilon = collapsing(rng)
        fits.append(collapse_exponent(mean, mcse, epsilon, N, ("N",), (0, 1), draws=100))
    assert covered([fit.covers(0.5) for fit in fits], 0.95, "exponent of collapse")
    assert not covered([fit.covers(0.5 + 1 / 6) for fit in fits], 0.95, "negative control: 1/6 off")
    assert np.mean([fit.standard_error for fit in fits]) < 0.02


def test_curves_that_do_not_collapse_widen_the_exponents_interval():
    """Every other curve 2 % higher, twenty times the Monte Carlo error: wider by the root of the
    quality.
    """
    mean, mcse, epsilon = collapsing(np.random.default_rng(12), noise=0.001)
    shifted = mean * xr.DataArray([1, 1.02, 1, 1.02], {"N": N.N}, "N")
    one, other = (
        collapse_exponent(curves, mcse, epsilon, N, ("N",), (0, 1), draws=50)
        for curves in (mean, shifted)
    )
    quality = collapse(shifted, mcse, epsilon * N**other.value, ("N",)).quality
    assert quality > 20 and other.standard_error == pytest.approx(
        quality**0.5 * one.standard_error, rel=0.5
    )


def test_curves_pushed_apart_have_nothing_to_disagree_about():
    """Exponents at which hardly a point is in the range of another curve do not count."""
    for seed in range(3):
        mean, mcse, epsilon = collapsing(np.random.default_rng(seed))
        fit = collapse_exponent(mean, mcse, epsilon, N, ("N",), (-4, 4), draws=20)
        assert fit.value == pytest.approx(0.5, abs=0.05)


def symmetric_curves(error):
    """Two bells in log x that collapse at ½ but for ± error, opposite in both, and the position of
    their cells.
    """
    two, wave = N[[0, 2]], (-1.0) ** np.arange(13)
    wave[[0, -1]] = 0.0  # their ends agree exactly
    law = np.exp(-(np.log(X / 2) ** 2) / 2) + 0 * two
    signs = xr.DataArray(np.outer(wave, [1, -1]), law.coords, law.dims)
    return law * (1 + error * signs), error * law, X / (two / two[0]) ** 0.5, two / two[0]


def test_an_exponent_at_which_two_points_agree_by_chance_does_not_count():
    """Pushed apart by their length, curves touch at their equal ends: without any deviation, but by
    2 points of 26.
    """
    mean, mcse, at, size = symmetric_curves(0.02)
    apart = 0.5 + np.log(64) / np.log(4)
    there, here = (collapse(mean, mcse, at * size**alpha, ("N",)) for alpha in (apart, 0.5))
    assert (there.n, here.n) == (2, 26) and there.quality < 1e-6 < 1 < here.quality
    fit = collapse_exponent(mean, mcse, at, size, ("N",), (0, apart), draws=20)
    assert fit.value == pytest.approx(0.5, abs=0.02) and fit.high < 0.6


def test_the_interval_is_as_much_wider_as_the_root_of_the_quality():
    """Two bells, one 4 % higher, which no exponent mends: the error of the exact ones times the
    root.
    """
    two = N[[0, 2]]
    position = X * (1 + 0.19 * (two > 100))
    law, size = np.exp(-(np.log(position / 2) ** 2) / 2), two / two[0]
    at, higher, mcse = position / size**0.5, law * (1 + 0.04 * (two > 100)), 0.005 * law
    one, other = (
        collapse_exponent(mean, mcse, at, size, ("N",), (0, 1), draws=100) for mean in (law, higher)
    )
    quality = collapse(higher, mcse, at * size**other.value, ("N",)).quality
    assert quality > 25 and other.standard_error == pytest.approx(
        quality**0.5 * one.standard_error, rel=0.05
    )


def test_collapse_exponent_at_a_bound_is_open():
    mean, mcse, epsilon = collapsing(np.random.default_rng(9))
    fit = collapse_exponent(mean, mcse, epsilon, N, ("N",), (0.6, 1))
    assert fit.value == 0.6 and fit.low == -np.inf


def test_collapse_of_nothing_zeros_and_exact_values():
    mean, mcse, epsilon = collapsing(np.random.default_rng(10), noise=0)
    exact = collapse(mean, mcse, epsilon * N**0.5, ("N",))
    assert np.isnan(exact.quality) and exact.spread < 1e-3 and exact.n > 40
    assert collapse_exponent(mean, 0, epsilon, N, ("N",), (0, 1)).value == pytest.approx(
        0.5, abs=1e-3
    )
    zeros = collapse(0 * mean, 0, epsilon, ("N",))
    assert zeros.spread == 0
    nothing = collapse(mean * np.nan, mcse, epsilon, ("N",))
    assert nothing.n == 0 and np.isnan(nothing.quality)
    assert np.isnan(collapse_exponent(mean * np.nan, 0, epsilon, N, ("N",), (0, 1)).value)
    with pytest.raises(ValueError, match="two cells"):
        collapse(mean, mcse, X, ())
    share, error = success(
        np.random.default_rng(11), 2 + 0 * N, slope=6
    )  # has exact zeros and ones
    assert (share == 0).any() and 0.3 < collapse(share, error, X, ("N",)).quality < 2


@settings(max_examples=10, deadline=None)
@given(
    st.integers(0, 2**32),
    st.floats(1e-3, 1e3),
    st.permutations(range(4)),
    st.permutations(range(13)),
)
def test_invariances(seed, factor, curves, positions):
    mean, mcse, epsilon = collapsing(np.random.default_rng(seed))
    found, fell = (
        crossing(mean, mcse, "x", 0.5, draws=40),
        collapse(mean, mcse, epsilon * N**0.5, ("N",)),
    )
    permuted = mean.isel(N=curves, x=positions).transpose("x", "N")
    other = crossing(permuted, mcse, "x", 0.5, draws=40).sel(N=N.N)
    again = collapse(permuted, mcse, epsilon * N**0.5, ("N",))
    moved = crossing(mean, mcse, "x", 0.5, at=X * factor, draws=40)
    wider = mean.reindex(N=[25, *N.values], x=[0.1, *X.values])  # cells that were not run
    wider_error = mcse.reindex_like(wider)
    extended = crossing(wider, wider_error, "x", 0.5, draws=40).sel(N=N.N)
    for name in ("value", "low", "high"):
        np.testing.assert_allclose(other[name], found[name], rtol=1e-9)
        np.testing.assert_allclose(extended[name], found[name], rtol=1e-9)
        np.testing.assert_allclose(moved[name], found[name] * factor, rtol=1e-9)
    for same in (
        again,
        collapse(wider, wider_error, epsilon.reindex_like(wider) * wider.N**0.5, ("N",)),
        collapse(mean, mcse, factor * epsilon * N**0.5, ("N",)),
    ):
        assert same.n == fell.n and same.quality == pytest.approx(fell.quality, rel=1e-6)
