"""Figures: what is drawn is what the reductions say, and odd data neither fail nor warn."""

import math
import warnings

import numpy as np
import pytest

from pipeline.reduce.phase import boundary_exponent, collapse, crossing
from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import summarise
from pipeline.report import specs, style
from pipeline.report.figures import draw

PHASE = dict(kind="phase_diagram", metric="error", along="x", at="budget", size=["m", "L"], level=0.5, theory=-0.5,
             select={"rule": "plain"})
COLLAPSE = dict(kind="collapse", metric="error", along="x", at="budget", size=["m", "L"], exponent=0.5,
                select={"rule": "plain"})
CURVES = dict(kind="curves", metric="error", along="x", by=["m", "L"], split="rule")
RATIO = dict(kind="ratio", metric="error", yardstick="bound", along="x", by=["m", "L"], panels="rule")
ALL = (PHASE, COLLAPSE, CURVES, RATIO)


def drawn(data, *figures):
    """Drawings, made with every warning an error, and rendered."""
    axes = {name: data[name].values.tolist() for name in data["status"].dims if name != "replication"}
    found = specs.read(list(figures), axes, ["budget"], ["error", "bound"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawings = [draw(spec, data) for spec in found]
        with style.applied():
            for drawing in drawings:
                drawing.figure.draw_without_rendering()
    return drawings


def rows(table, **labels):
    """The rows with these labels."""
    return table[np.logical_and.reduce([table[name] == level for name, level in labels.items()])]


def test_curves_table_is_the_summary(make):
    data = make()
    (drawing,) = drawn(data, CURVES)
    summary = summarise(data)
    assert len(drawing.table) == summary["error"].size
    for _, row in drawing.table.iterrows():
        cell = summary.sel(m=row["m"], L=row["L"], x=row["x"], rule=row["rule"])
        for column, name in (("mean", "error"), ("mcse", "error_mcse"), ("low", "error_low"),
                             ("high", "error_high"), ("replications", "error_n")):
            assert row[column] == cell[name].item()


def test_curves_draw_the_table(make):
    (drawing,) = drawn(make(), dict(CURVES, by=["m"], select={"L": 400}))
    (axes,) = drawing.figure.axes
    line = rows(drawing.table, m=20, rule="other_one")
    assert any(np.array_equal(drawn_.get_ydata(), line["mean"]) and np.array_equal(drawn_.get_xdata(), line["x"])
               for drawn_ in axes.get_lines())
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_curves_caption_says_what_the_bars_are(make):
    (drawing,) = drawn(make(replications=40, noise=0.5), CURVES)
    assert "Bars: 95 % confidence interval of the mean over 40 replications (t)." in drawing.caption
    assert "error of it (logits)" in drawing.caption and "m: meaning of m" in drawing.caption
    (small,) = drawn(make(noise=0.001), CURVES)
    assert "shorter than the marks" in small.caption


def test_phase_table_is_the_crossing(make):
    data = make()
    (drawing,) = drawn(data, PHASE)
    summary = summarise(data).sel(rule="plain")
    boundary = crossing(summary["error"], summary["error_mcse"], "x", 0.5, summary["budget"])
    edge = rows(drawing.table, layer="boundary")
    assert len(edge) == 4 and len(rows(drawing.table, layer="cell")) == 16
    for _, row in edge.iterrows():
        cell = boundary.sel(m=row["m"], L=row["L"])
        assert row["boundary"] == cell["value"].item()
        assert (row["boundary_low"], row["boundary_high"]) == (cell["low"].item(), cell["high"].item())
        assert row["product"] == row["m"] * row["L"]
    theory = rows(drawing.table, layer="theory")
    slope = np.diff(np.log(theory["boundary"])) / np.diff(np.log(theory["product"]))
    assert slope[0] == pytest.approx(-0.5)
    assert edge["boundary"].min() <= theory["boundary"].max() and theory["boundary"].min() <= edge["boundary"].max()


def test_phase_caption_has_the_exponent_and_its_interval(make):
    data = make()
    (drawing,) = drawn(data, PHASE)
    summary = summarise(data).sel(rule="plain")
    boundary = crossing(summary["error"], summary["error_mcse"], "x", 0.5, summary["budget"])
    size = (boundary["m"] * boundary["L"]).astype(float)
    found = str(boundary_exponent(boundary, size=size).exponents["size"]).replace("-", "−")
    assert f"Boundary exponent in mL {found}, theory −0.5" in drawing.caption
    assert "Held: rule = plain." in drawing.caption


def test_collapse_caption_and_table(make):
    data = make()
    (drawing,) = drawn(data, COLLAPSE)
    summary = summarise(data).sel(rule="plain")
    size = (summary["m"] * summary["L"]).astype(float)
    found = collapse(summary["error"], summary["error_mcse"], summary["budget"] * size**0.5, ("m", "L"))
    assert f"quality {found.quality:.2g}" in drawing.caption and "1 is perfect" in drawing.caption
    assert "Best exponent" in drawing.caption
    table = drawing.table
    assert np.allclose(table["rescaled"], table["budget"] * np.sqrt(table["m"] * table["L"]), rtol=1e-12)
    assert len(drawing.figure.axes) == 2


def test_ratio_table_is_the_risk_ratio(make):
    data = make()
    (drawing,) = drawn(data, RATIO)
    ratio = risk_ratio(data, "error", "bound")
    for _, row in drawing.table.iterrows():
        cell = ratio.sel(m=row["m"], L=row["L"], x=row["x"], rule=row["rule"])
        assert (row["ratio"], row["low"], row["high"]) == tuple(cell[n].item() for n in ("ratio", "low", "high"))
    assert "Dashed: 1, where they are equal." in drawing.caption


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure["kind"])
def test_the_same_numbers_give_the_same_bytes(make, figure):
    first, second = ({kind: content for kind, content in _images(drawn(make(), figure)[0]).items()}
                     for _ in range(2))
    assert first == second
    assert b"<metadata>" not in first["svg"] and b"Date" not in first["svg"] + first["pdf"]


def _images(drawing):
    with style.applied():
        return style.images(drawing.figure)


def test_a_persons_matplotlibrc_changes_nothing(make):
    import matplotlib

    plain = _images(drawn(make(), CURVES)[0])["svg"]
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "axes.grid": False}):
        assert _images(drawn(make(), CURVES)[0])["svg"] == plain
        assert matplotlib.rcParams["font.size"] == 20


def _without_values(data):
    return data.where(~((data["m"] == 10) & (data["x"] == 2.0))).assign(status=data["status"])


def _failed(data):
    status = data["status"].where(~((data["m"] == 10) & (data["L"] == 100)), 3)
    return data.assign(status=status.transpose(*data["status"].dims).astype("int8"))


def _not_rectangular(data):
    there = ~((data["m"] == 10) & (data["L"] == 400))
    status = data["status"].where(there, 0).transpose(*data["status"].dims).astype("int8")
    return data.where(there).assign(status=status).assign_coords(budget=data["budget"].where(there))


def _nothing(data):
    return data.where(False).assign(status=data["status"] * 0 + 3)


ODD = {
    "values missing": lambda make: _without_values(make()),
    "failed cells": lambda make: _failed(make()),
    "not rectangular": lambda make: _not_rectangular(make()),
    "all failed": lambda make: _nothing(make()),
    "one replication": lambda make: make(replications=1),
    "two replications": lambda make: make(replications=2),
    "no noise": lambda make: make(noise=0.0),
    "one m": lambda make: make(m=[10]),
    "one size": lambda make: make(m=[10], L=[100]),
    "one x": lambda make: make(x=[2.0]),
    "two x": lambda make: make(x=[2.0, 4.0]),
    "no crossing": lambda make: make(x=[0.1, 0.2]),
    "negative": lambda make: make().assign(error=lambda d: (d["error"] - 0.5).assign_attrs(d["error"].attrs)),
    "zero": lambda make: make().assign(error=lambda d: (d["error"] * 0).assign_attrs(d["error"].attrs)),
    "tiny": lambda make: make().assign(error=lambda d: (d["error"] * 1e-200).assign_attrs(d["error"].attrs)),
    "not converged": lambda make: make().assign(status=lambda d: d["status"].where(d["replication"] > 3, 2)),
    "many lines": lambda make: make(m=[10, 11, 12, 13, 14], L=[100, 200, 400], replications=3),
    "wide": lambda make: make(noise=3.0),
    "infinite budget": lambda make: make(x=[1.0, 2.0, 8.0, math.inf]),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_data(make, odd):
    for drawing in drawn(ODD[odd](make), *ALL):
        assert drawing.caption and "nan" not in drawing.caption.lower(), drawing.caption
        assert drawing.title and len(drawing.table)


def test_axes_may_be_called_n_and_size(make):
    names = {"m": "n", "L": "size"}
    figures = [{key: [names[axis] for axis in value] if key in ("by", "size") else value
                for key, value in figure.items()} for figure in ALL]
    phase, *_ = drawn(make().rename(names), *figures)
    assert "exponent in n·size" in phase.caption
    assert (phase.table["product"].dropna()[:16] == (phase.table["n"] * phase.table["size"])[:16]).all()


def test_captions_count_what_is_not_drawn(make):
    curves = drawn(_without_values(make()), CURVES)[0]
    assert "8 cells" not in curves.caption and "4 cells of 32 without a value: not drawn." in curves.caption
    assert "One replication per cell: no intervals." in drawn(make(replications=1), CURVES)[0].caption
    assert "without a crossing in the grid" in drawn(make(x=[0.1, 0.2]), PHASE)[0].caption
    assert "not determined" in drawn(make(m=[10], L=[100]), PHASE)[0].caption
    assert len(drawn(_not_rectangular(make()), CURVES)[0].table) == 24


def test_names_along_the_abscissa(make):
    (drawing,) = drawn(make(), dict(kind="curves", metric="error", along="rule", by=["m", "x"], select={"L": 100}))
    (axes,) = drawing.figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["plain", "other_one"]


def test_a_legend_stays_short(make):
    drawing = drawn(make(m=list(range(10, 34)), replications=2), CURVES)[0]
    (legend,) = drawing.figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(texts) < 28 and "m (9 of 24)" in texts and "other_one" in texts


def test_panels_share_axes_and_are_named(make):
    drawing = drawn(make(), dict(kind="curves", metric="error", along="x", by=["m", "L"], panels="rule"))[0]
    assert [axes.get_title() for axes in drawing.figure.axes] == ["rule = plain", "rule = other_one"]
    assert len({axes.get_ylim() for axes in drawing.figure.axes}) == 1


@pytest.mark.parametrize("values, low, high, room, expected", [
    ([100, 200, 400], 90, 450, 6, [100, 200, 400]),
    (range(1, 100), 1, 100, 8, [1, 2, 5, 10, 20, 50, 100]),
    ((), 1e-6, 1e6, 7, [1e-6, 1e-4, 1e-2, 1, 100, 1e4, 1e6]),
    ((), 0.9, 1.4, 6, [1, 1.5]),
])
def test_ticks(values, low, high, room, expected):
    if expected == [1, 1.5]:
        assert 2 <= len(style.ticks(values, low, high, room)) <= room
    else:
        assert style.ticks(values, low, high, room) == expected
