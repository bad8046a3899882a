"""The figure that several studies share: relative loss against effective sample size, and where it crosses ½."""

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.summary import summarise
from pipeline.reporting import common_figure, common_spec
from pipeline.reporting.drawn import files_of
from pipeline.study.parameters import InvalidInput

AXES = {"m": [10, 20], "x": [1.0, 2.0, 4.0, 8.0, 16.0], "estimator": ["one", "other"]}
SHAPES = {
    "a/falls": (AXES, ["share"], ["error"]),
    "b/rises": ({"n": [5, 30, 50, 320]}, [], ["success"]),
}


def series():
    """An error 2/(1 + xm·share²/30), 2 without data; and a chance of success n/(n + 40)."""
    return [
        {
            "experiment": "a/falls",
            "name": "first",
            "loss": "error over 2",
            "size": "xm",
            "metric": "error",
            "along": "x",
            "by": ["m"],
            "select": {"estimator": "one"},
            "effective": {"x": 1, "m": 1, "share": 2},
            "without": 2,
        },
        {
            "experiment": "b/rises",
            "name": "second",
            "loss": "chance of an error",
            "size": "half of n",
            "metric": "success",
            "along": "n",
            "effective": {"n": 1},
            "times": 0.5,
            "without": 0,
            "best": 1,
        },
    ]


def summaries():
    rng = np.random.default_rng(0)

    def noisy(mean, dims, axes, name, coordinates):
        values = mean[..., None] * (1 + 0.02 * rng.standard_normal((*mean.shape, 50)))
        status = np.ones(values.shape, "int8")
        dims = (*dims, "replication")
        return summarise(
            xr.Dataset(
                {name: (dims, values, {"units": "1"}), "status": (dims, status)},
                {**axes, **coordinates},
            )
        )

    share = np.array([1.0, 0.5])  # of the estimators
    size = np.array(AXES["m"])[:, None, None] * np.array(AXES["x"])[None, :, None] * share**2
    n = np.array(SHAPES["b/rises"][0]["n"], float)
    return {
        "a/falls": noisy(
            2 / (1 + size / 30), [*AXES], AXES, "error", {"share": ("estimator", share)}
        ),
        "b/rises": noisy(n / (n + 40), ["n"], {"n": n}, "success", {}),
    }


@pytest.fixture(scope="module")
def drawing():
    return common_figure.draw(
        common_spec.read({"title": "All", "series": series()}, SHAPES), summaries()
    )


def test_loss_and_size_are_on_common_scales(drawing):
    table = drawing.table.set_index("curve")
    first, second = table.loc["first"], table.loc["second"]
    assert len(first) == 10 and len(second) == 4
    np.testing.assert_allclose(
        first["mean"].astype(float), 1 / (1 + first["effective"] / 30), rtol=0.03
    )
    np.testing.assert_allclose(second["effective"], np.array([5, 30, 50, 320]) / 2)
    np.testing.assert_allclose(
        second["mean"].astype(float), 20 / (20 + second["effective"]), rtol=0.05, atol=0.03
    )
    assert (table["low"] < table["mean"]).all() and (table["mean"] < table["high"]).all()


def test_crossings_are_said_with_their_intervals(drawing):
    """The error crosses at 30; the chance of an error at n = 40, an effective 20."""
    parts = drawing.caption.split(". ")
    one, two = (
        next(part for part in parts if part.startswith(name)) for name in ("First", "Second")
    )
    shown = [float(part.partition(" [")[0]) for part in one.split(" at ")[1].split(" to ")]
    assert shown == pytest.approx([30] * len(shown), rel=0.1) and "(2 of 2 curves)" in one
    assert float(two.split(" at ")[1].partition(" [")[0]) == pytest.approx(20, rel=0.1)
    legend = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert [text.split("\n")[0] for text in legend] == ["first", "second"]
    assert all(text.split("\n")[1] in part for text, part in zip(legend, (one, two), strict=True))


def test_every_value_can_be_read_and_the_same_numbers_give_the_same_bytes(drawing):
    drawn = files_of(drawing)
    assert len(drawn.points) == 14 and all(
        "effective" in text and "[" in text for *_, text in drawn.points
    )
    again = files_of(
        common_figure.draw(
            common_spec.read({"title": "All", "series": series()}, SHAPES), summaries()
        )
    )
    assert drawn.files == again.files and drawn.description.startswith(
        "All. Curves of several studies of 14 values"
    )


@pytest.mark.parametrize(
    ("change", "key", "advice"),
    [
        ({"experiment": "c"}, "common.series.0.experiment", "is not in this suite"),
        ({"metric": "eror"}, "common.series.0.metric", "did you mean 'error'"),
        ({"select": {}}, "common.series.0.select", "axis estimator has 2 levels"),
        ({"effective": {"L": 1}}, "common.series.0.effective", "no such axis"),
        ({"effective": {"m": "x"}}, "common.series.0.effective.m", "must be a power"),
        ({"without": 0}, "common.series.0.without", "must be another number"),
        ({"without": None}, "common.series.0.without", "is needed"),
        ({"colour": "red"}, "common.series.0.colour", "no such key"),
    ],
)
def test_mistakes_name_their_key(change, key, advice):
    first, second = series()
    with pytest.raises(InvalidInput, match=advice) as caught:
        common_spec.read({"series": [first | change, second]}, SHAPES)
    assert caught.value.key == key


def test_without_a_figure_there_is_none():
    assert common_spec.read(None, SHAPES) is None
    with pytest.raises(InvalidInput, match="must be a list of mappings"):
        common_spec.read({"series": []}, SHAPES)
