"""Quantiles of errors with a curator's Laplace noise: their law, and what they cover."""

import numpy as np
import pytest
from scipy import stats

from pipeline.problems.common import inference
from pipeline.problems.common.heavy_tails import chance_beyond, heavy_quantile
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.model import BTL
from pipeline.study.parameters import InvalidInput


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 1 - 1e-9])
def test_the_law_is_that_of_the_sum(share: float) -> None:
    """By integration of the normal tail over the Laplace density."""
    scale = np.sqrt(share / 2)
    nodes = np.linspace(-60 * scale, 60 * scale, 400_001)
    density = np.exp(-np.abs(nodes) / scale) / (2 * scale)
    for reach in (0.5, 1.96, 3.5):
        tail = stats.norm.sf((reach - nodes) / np.sqrt(1 - share))
        expected = 2 * np.trapezoid(tail * density, nodes)
        np.testing.assert_allclose(chance_beyond(reach, share), expected, rtol=1e-4)


def test_quantiles_have_their_level() -> None:
    """Also between nodes, and far out."""
    for level in (0.5, 0.95, 0.9995):
        for excess in (0.0, 0.013, 0.7, 2.9, 3.0):
            reach = float(heavy_quantile(level, np.array(excess)))
            beyond = chance_beyond(reach, np.sqrt(excess / 3))
            np.testing.assert_allclose(beyond, 1 - level, rtol=2e-3)
    assert np.isnan(heavy_quantile(0.95, np.array([np.nan]))).all()
    with pytest.raises(InvalidInput, match="level=1"):
        heavy_quantile(1, np.zeros(1))


def test_kurtosis_is_that_of_the_noise() -> None:
    """Nearly all of the error is noise: of one draw 3, of a difference of two 1.5."""
    for compared_are, expected in (("public", 3.0), ("protected", 1.5)):
        model = BTL(m=2, L=1000, spread=0.0)
        mechanism = NoisyCounts(
            m=2, L=1000, person=0.01, person_delta=0.0, compared_are=compared_are
        )
        generator = np.random.default_rng(1)
        truth = model.truth(generator, 3, np.random.default_rng(0))
        release = mechanism.release(model.simulate(truth, generator), generator)
        scores = Debiased(m=2).fit(release, generator).corrected
        for of_differences in (False, True):
            excess = scores.excess_of(slice(None), of_differences)
            np.testing.assert_allclose(excess.reshape(3, -1)[:, 1], expected, rtol=0.05)


@pytest.mark.parametrize("kind", [NoisyCounts, NoisyScores])
def test_intervals_cover_where_noise_is_nearly_all(kind: type) -> None:
    """n = 20,000, α = 1e-6; the normal quantile covers less."""
    reps = 20_000
    settings = {"compared_are": "public"} if kind is NoisyCounts else {}
    items = 2 if kind is NoisyCounts else 5
    model = BTL(m=items, L=10**6, spread=0.0)
    mechanism = kind(m=items, L=10**6, person=0.001, person_delta=0.0, **settings)
    generator = np.random.default_rng(3)
    truth = model.truth(generator, reps, np.random.default_rng(0))
    release = mechanism.release(model.simulate(truth, generator), generator)
    estimate = Debiased(m=items).fit(release, generator)
    values = inference.coverage()(truth, release, estimate)
    scores = estimate.corrected
    normal = (np.abs(scores.theta - truth.theta) <= 1.959964 * scores.errors).mean()
    band = 4.9 * values.std() / np.sqrt(reps)
    print(
        f"{kind.__name__}: n={reps}, {values.mean():.4f} in .95 ± {band:.4f}; normal {normal:.4f}"
    )
    assert abs(values.mean() - 0.95) <= band
    assert normal < 0.95 - band
