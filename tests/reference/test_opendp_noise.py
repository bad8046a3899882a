"""Seeded integer noise and its formulas against OpenDP: samples of both at alpha = 1e-6, budgets, zeros noised too."""

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy import vetted_noise as vetted
from pipeline.privacy.integer_laws import gaussian_renyi
from pipeline.privacy.integer_noise import discrete_gaussian, discrete_laplace

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: noise is NOT compared with the vetted sampler"
)

DRAWS, MORE, ALPHA = 60_000, 2_000_000, 1e-6


def agree(ours, theirs, what):
    """Two-sample chi-square over the joint cells of at most 40 quantiles (single numbers where they are few)."""
    edges = np.unique(
        np.quantile(
            np.concatenate([ours[: len(theirs)], theirs]), np.linspace(0, 1, 41)[1:-1]
        ).round()
    )
    cells = [
        np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) for x in (ours, theirs)
    ]
    table = np.array(cells)[:, np.minimum(*cells) >= 10]
    rest = np.array([[len(ours)], [len(theirs)]]) - table.sum(axis=1, keepdims=True)
    if rest.sum():
        table = np.hstack([table, rest])
    statistic, _, freedom, _ = stats.chi2_contingency(table, correction=False)
    bound = stats.chi2.isf(ALPHA, freedom)
    print(
        f"{what}: n={len(ours)}, {len(theirs)} cells={table.shape[1]} statistic={statistic:.4g} bound={bound:.4g} "
        f"alpha={ALPHA:g}"
    )
    return statistic <= bound


@pytest.mark.parametrize("sigma", [0.3, 1.0, 10.0, 302.0, 4290.0])
def test_discrete_gaussian(sigma):
    rng = np.random.default_rng(1)
    theirs = vetted.release(np.zeros(DRAWS, int), variance=sigma**2)
    assert agree(discrete_gaussian(rng, sigma**2, MORE), theirs, f"N_Z(0, {sigma}²)")
    assert not agree(
        discrete_gaussian(rng, (1.1 * sigma) ** 2, MORE), theirs, "control: σ 10 % wider"
    )
    if sigma <= 1:
        assert not agree(
            np.rint(rng.normal(0, sigma, MORE)).astype(int), theirs, "control: rounded normal"
        )


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0, 302.0, 4290.0])
def test_discrete_laplace(scale):
    rng = np.random.default_rng(2)
    theirs = vetted.release(np.zeros(DRAWS, int), scale=scale)
    assert agree(discrete_laplace(rng, scale, MORE), theirs, f"discrete Laplace({scale})")
    assert not agree(discrete_laplace(rng, 1.1 * scale, MORE), theirs, "control: scale 10 % wider")
    if scale <= 10:
        control = (rng.geometric(-np.expm1(-1 / scale), MORE) - 1) * rng.choice([-1, 1], MORE)
        assert not agree(control, theirs, "control: zero counted twice")


def test_noise_is_added_to_every_entry_zeros_too():
    counts = np.array([[0, 5_000], [-3, 0]])
    noise = np.array([vetted.release(counts, variance=1e4) for _ in range(50)]) - counts
    assert noise.shape == (50, 2, 2) and noise.dtype == np.int64
    assert (np.abs(noise) < 1000).all() and ((noise != 0).mean(axis=0) > 0.8).all()  # P(0) = 0.004
    assert (noise.std(axis=0) > 50).all()


@pytest.mark.parametrize(
    "variance, sensitivity", [(0.25, 1.0), (100.0, 1.0), (9.0, np.sqrt(24)), (1e6, 17.0)]
)
def test_budgets_are_those_of_the_closed_forms(variance, sensitivity):
    rho = vetted.spent(sensitivity, variance=variance)
    assert rho == pytest.approx(sensitivity**2 / (2 * variance), rel=1e-12)
    assert vetted.spent(sensitivity, scale=variance) == pytest.approx(
        sensitivity / variance, rel=1e-12
    )
    shift = int(sensitivity)
    for order in (1.1, 2.0, 7.5):
        assert gaussian_renyi(order, shift, variance) <= order * rho * (1 + 1e-12)
    assert gaussian_renyi(2.0, shift, variance) > 2 * vetted.spent(
        0.9 * shift, variance=variance
    )  # control: 0.9 Δ
