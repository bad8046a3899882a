import numpy as np
import pytest
from scipy import stats

from pipeline.analysis.ratio import risk_ratio

pytestmark = pytest.mark.filterwarnings("error")


def study(sealed, rng, cells=2000, reps=60, truth=1.0):
    """Errors whose square is a chi-square mean around a prediction that varies between replications."""
    predicted = rng.uniform(0.5, 4, (cells, reps))
    squared = truth * predicted * rng.chisquare(10, (cells, reps)) / 10
    return sealed({"m": np.arange(cells)}, error=np.sqrt(squared), predicted=predicted)


def test_ratio_of_measured_to_predicted_risk_covers_one(sealed, covered):
    ratio = risk_ratio(study(sealed, np.random.default_rng(0)), "error", "predicted")
    assert covered((ratio.low <= 1) & (1 <= ratio.high), 0.95, "ratio, level .95")
    wrong = risk_ratio(study(sealed, np.random.default_rng(1), truth=4 / 3), "error", "predicted")
    assert not covered(
        (wrong.low <= 1) & (1 <= wrong.high), 0.95, "negative control: constant off by a third"
    )


def test_simultaneous_intervals_of_skewed_cells_cover(sealed, covered):
    """2,000 sets of 20 cells of 100 squares of normal variables at 99 % together: with fewer than 1,444 sets, all of
    them covered would be within the bounds. Wrong variants: t intervals, and an error shared by 50 times as many.
    """
    sets, cells, reps = 2000, 20, 100
    squares = np.random.default_rng(5).standard_normal((sets, cells, reps)) ** 2
    results = sealed(
        {"set": np.arange(sets), "m": np.arange(cells)}, v=squares, one=np.ones_like(squares)
    )

    def hits(shared):
        ratio = risk_ratio(results, "v", "one", 1, 1 - 0.01 / shared)
        return ((ratio.low <= 1) & (1 <= ratio.high)).all("m")

    ratio = risk_ratio(results, "v", "one", 1)
    half = stats.t.isf(0.005 / cells, reps - 1) * ratio.mcse
    assert covered(hits(cells), 0.99, "sets of skewed cells, level .99")
    assert not covered(
        (abs(ratio.ratio - 1) <= half).all("m"), 0.99, "negative control: t intervals"
    )
    assert not covered(hits(50 * cells), 0.99, "negative control: too wide")


def test_pairing_sharpens_the_ratio(sealed):
    results = study(sealed, np.random.default_rng(2), cells=200)
    paired = risk_ratio(results, "error", "predicted")
    shuffled = results.assign(predicted=results.predicted.roll(replication=1))
    assert float((paired.mcse / risk_ratio(shuffled, "error", "predicted").mcse).mean()) < 0.7
    np.testing.assert_allclose(paired.ratio, risk_ratio(shuffled, "error", "predicted").ratio)


def test_power_and_scale(sealed):
    values = np.array([[1.0, 2.0, 3.0]])
    results = sealed({"m": [1]}, error=values, predicted=2 * values)
    ratio = risk_ratio(results, "error", "predicted", power=1)
    assert float(ratio.ratio[0]) == 0.5 and float(ratio.mcse[0]) == 0  # perfectly paired
    assert int(ratio.pairs[0]) == 3


@pytest.mark.parametrize(
    "ends, low, high",
    [({}, -np.inf, np.inf), ({"least": 0}, 0.498, np.inf), ({"least": 0, "most": 2}, 0.498, 0.502)],
)
def test_a_ratio_that_is_the_same_in_all_replications_is_not_certain(sealed, ends, low, high):
    results = sealed({"m": [1]}, error=np.ones((1, 1000)), predicted=np.full((1, 1000), 2.0))
    results["error"].attrs |= ends
    ratio = risk_ratio(results, "error", "predicted", power=1)
    assert (float(ratio.low[0]), float(ratio.high[0])) == pytest.approx((low, high), abs=5e-4)


def test_missing_single_and_degenerate_cells(sealed):
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    predicted = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, np.inf], [1.0, 1.0], [0.0, 0.0]])
    status = np.array([[1, 3], [3, 3], [1, 1], [1, 2], [1, 1]])
    ratio = risk_ratio(
        sealed({"m": list("abcde")}, status, error=values, predicted=predicted),
        "error",
        "predicted",
    )
    np.testing.assert_array_equal(ratio.ratio, [1, np.nan, 1, 0, np.nan])
    np.testing.assert_array_equal(ratio.mcse, [np.inf, np.nan, np.inf, 0, np.nan])
    assert ratio.pairs.values.tolist() == [1, 0, 1, 2, 2]
