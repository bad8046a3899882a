"""Medians, quantiles and trimmed means in sealed summaries: the same bytes however they are made."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.summary import summarise
from pipeline.execution.clusters import Executor
from pipeline.reporting import specs
from pipeline.reporting.figures import draw
from pipeline.storage import layout, results
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce
from tests.helpers import engine
from tests.helpers.engine import stored, study

NAMES = ["median", "quantile_0.9", "trimmed_0.1"]
WANTED = {"error_l2": NAMES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sealed")
    engine.sealed(study(statistics=WANTED), folder)
    return folder


def summary_of(folder):
    return xr.open_zarr(folder / results.SUMMARY).load()


def test_they_are_those_of_the_replications(folder):
    summary = summary_of(folder)
    values = xr.open_zarr(folder / results.SEALED).load()["error_l2"].values
    sample = {
        "median": np.quantile(values, 0.5, axis=-1, method="inverted_cdf"),
        "quantile_0.9": np.quantile(values, 0.9, axis=-1, method="inverted_cdf"),
        "trimmed_0.1": stats.trim_mean(values, 0.1, axis=-1),
    }
    for name, expected in sample.items():
        value, error, low, high = np.moveaxis(summary[f"error_l2_{name}"].values, -1, 0)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        assert ((low < value) & (value < high) & (error > 0)).all()


def test_bytes_depend_on_neither_order_nor_shards(folder, tmp_path, monkeypatch):
    """Units backwards, one worker after the other, and spans of one block in place of all."""
    what = study(statistics=WANTED)
    monkeypatch.setattr(layout, "SHARD_BYTES", 1)
    assert len([*layout.Layout.of(what).spans()]) == 3
    engine.advance(what, tmp_path, order=lambda units: reversed(units))
    reduce.seal(stored(what, tmp_path), Executor())
    again = summary_of(tmp_path)
    for name in NAMES:
        there = summary_of(folder)[f"error_l2_{name}"]
        assert again[f"error_l2_{name}"].values.tobytes() == there.values.tobytes()


def test_a_summary_of_results_has_them_too(folder):
    sealed = xr.open_zarr(folder / results.SEALED).load()
    cells = summarise(sealed)
    median = summary_of(folder)["error_l2_median"]
    for suffix, part in (("", "value"), ("_mcse", "mcse"), ("_low", "low"), ("_high", "high")):
        there = median.sel(estimate=part).values
        assert cells[f"error_l2_median{suffix}"].values.tobytes() == there.tobytes()
    assert cells["error_l2_median"].attrs["long_name"].endswith(", median")
    in_chunks = results.in_chunks(sealed, {"replication": 20})
    xr.testing.assert_identical(summarise(in_chunks)["error_l2_median"], cells["error_l2_median"])
    assert "error_l2_median" not in summarise(sealed[["kendall", "status"]])


def test_missing_values_may_move_them_anywhere(folder):
    sealed = xr.open_zarr(folder / results.SEALED).load()
    sealed["error_l2"][0, 0, 0, 0, :3] = np.nan
    cells = summarise(sealed)
    assert cells["error_l2_median_most"].values[0, 0, 0, 0] == np.inf
    assert cells["error_l2_median_least"].values[0, 0, 0, 0] == 0
    others = cells["error_l2_median_most"].values.ravel()[1:]
    assert (others == cells["error_l2_median"].values.ravel()[1:]).all()


def test_identity_is_the_same_and_the_request_another():
    plain = study()
    with_them = study(statistics=WANTED)
    assert plain.key == with_them.key and plain.description == with_them.description
    assert results.request(plain) != results.request(with_them)
    assert study(statistics={}).statistics == ()


def test_a_figure_shows_them(folder):
    sealed = xr.open_zarr(folder / results.SEALED).load()
    figure = {
        "kind": "curves",
        "metric": "error_l2_median",
        "along": "L",
        "by": ["estimator"],
        "select": {"m": 3, "epsilon": 2.0},
    }
    axes = study().grid.axes
    wanted = study(statistics=WANTED)
    variables = [statistic.variable for statistic in wanted.statistics]
    (spec,) = specs.read([figure], axes, (), wanted.metrics, variables)
    drawing = draw(spec, sealed, summarise(sealed))
    assert (
        "Root mean square error" in drawing.caption and "interval of the median" in drawing.caption
    )
    with pytest.raises(InvalidInput, match="is a statistic, which curves, map, nested_loop"):
        specs.read(
            [figure | {"kind": "ratio", "yardstick": "sandwich_risk"}],
            axes,
            (),
            wanted.metrics,
            variables,
        )


@pytest.mark.parametrize(
    "wrong, key",
    [
        ({"error": ["median"]}, "statistics"),
        ({"error_l2": ["mode"]}, "statistics.error_l2"),
        ({"error_l2": ["quantile_1.5"]}, "statistics.error_l2"),
        ({"error_l2": ["trimmed_0.5"]}, "statistics.error_l2"),
        ({"error_l2": ["median", "median"]}, "statistics.error_l2"),
        (["median"], "statistics"),
    ],
)
def test_mistakes_are_named(wrong, key):
    with pytest.raises(InvalidInput) as error:
        study(statistics=wrong)
    assert error.value.key == key
