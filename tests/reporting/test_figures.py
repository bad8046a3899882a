"""Figures: what is drawn is what the reductions say, and odd data neither fail nor warn."""

import math
import warnings

import numpy as np
import pytest

from pipeline.analysis.boundaries import boundary_exponent, crossing
from pipeline.analysis.collapse import collapse
from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.summary import summarise
from pipeline.reporting import specs, style, tiles
from pipeline.reporting.figures import draw
from pipeline.reporting.formatting import three

PHASE = dict(
    kind="phase_diagram",
    metric="error",
    along="x",
    at="budget",
    size=["m", "L"],
    level=0.5,
    theory=-0.5,
    select={"rule": "plain"},
)
COLLAPSE = dict(
    kind="collapse",
    metric="error",
    along="x",
    at="budget",
    size=["m", "L"],
    exponent=0.5,
    select={"rule": "plain"},
)
CURVES = dict(kind="curves", metric="error", along="x", by=["m", "L"], split="rule")
RATIO = dict(
    kind="ratio", metric="error", yardstick="bound", along="x", by=["m", "L"], panels="rule"
)
MAP = dict(kind="map", metric="error", along="x", across="m", panels="rule", select={"L": 100})
RATIO_MAP = dict(
    kind="map",
    metric="error",
    yardstick="bound",
    along="x",
    at="budget",
    across="rule",
    panels="m",
    select={"L": 100},
)
MARKED = (
    PHASE | {"marks": {"least": 0.05}, "crossings": {"bound": 0.25, "budget": 0.04}},
    CURVES | {"marks": {"least": 3}, "reference": "bound"},
    RATIO | {"marks": 3},
    MAP | {"marks": {"least": 3}},
    RATIO_MAP | {"marks": 0.02},
    dict(CURVES, by=(), reference="budget", select={"m": 10, "L": 100}),
)
ZIP = dict(kind="zip", metric="error", along="x", select={"m": 10, "L": 100, "rule": "plain"})
NESTED = dict(kind="nested_loop", metric="error", along="x", loops=["m", "L"], by=["rule"])
ALL = (COLLAPSE, RATIO_MAP, MAP, *MARKED[:4], ZIP, NESTED)


def drawn(data, *figures):
    """Drawings, made with every warning an error, and rendered."""
    axes = {
        name: data[name].values.tolist() for name in data["status"].dims if name != "replication"
    }
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
        for column, name in (
            ("mean", "error"),
            ("mcse", "error_mcse"),
            ("low", "error_low"),
            ("high", "error_high"),
            ("replications", "error_n"),
        ):
            assert row[column] == cell[name].item()


def test_curves_draw_the_table(make):
    (drawing,) = drawn(make(), dict(CURVES, by=["m"], select={"L": 400}))
    (axes,) = drawing.figure.axes
    line = rows(drawing.table, m=20, rule="other_one")
    assert any(
        np.array_equal(drawn_.get_ydata(), line["mean"])
        and np.array_equal(drawn_.get_xdata(), line["x"])
        for drawn_ in axes.get_lines()
    )
    assert axes.get_xscale() == axes.get_yscale() == "log"


def test_curves_caption_says_what_the_bars_are(make):
    (drawing,) = drawn(make(replications=40, noise=0.5), CURVES)
    said = (
        "Bars: 95 % confidence interval of the mean over 40 replications (corrected for skewness)."
    )
    assert said in drawing.caption
    assert "error of it (logits)" in drawing.caption and "m: meaning of m" in drawing.caption
    (small,) = drawn(make(noise=0.001), CURVES)
    assert "shorter than the marks" in small.caption
    alike = make(noise=0)
    alike["error"].attrs |= {"least": 0, "most": 100}
    assert (
        "replications (corrected for skewness; exact where they all agree)"
        in drawn(alike, CURVES)[0].caption
    )


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
        assert (row["boundary_low"], row["boundary_high"]) == (
            cell["low"].item(),
            cell["high"].item(),
        )
        assert row["product"] == row["m"] * row["L"]
    theory = rows(drawing.table, layer="theory")
    slope = np.diff(np.log(theory["boundary"])) / np.diff(np.log(theory["product"]))
    assert slope[0] == pytest.approx(-0.5)
    assert (
        edge["boundary"].min() <= theory["boundary"].max()
        and theory["boundary"].min() <= edge["boundary"].max()
    )


@pytest.mark.parametrize("level, arrow", [(1e-9, "↑"), (1e9, "↓")])
def test_boundaries_beyond_the_grid_are_arrows_and_not_in_the_legend(level, arrow, make):
    (drawing,) = drawn(make(), dict(PHASE, level=level))
    axes, *_ = drawing.figure.axes
    assert [text.get_text() for text in axes.texts].count(arrow) == 4
    assert not any(
        "boundary" in text.get_text()
        for legend in drawing.figure.legends
        for text in legend.get_texts()
    )


def test_phase_caption_has_the_exponent_and_its_interval(make):
    data = make()
    (drawing,) = drawn(data, PHASE)
    summary = summarise(data).sel(rule="plain")
    boundary = crossing(summary["error"], summary["error_mcse"], "x", 0.5, summary["budget"])
    size = (boundary["m"] * boundary["L"]).astype(float)
    found = str(boundary_exponent(boundary, size=size).exponents["size"]).replace("-", "−")
    assert f"Exponent of the boundary in mL: {found}, theory −0.5" in drawing.caption
    assert "Fixed: rule = plain." in drawing.caption


def test_collapse_caption_and_table(make):
    data = make()
    (drawing,) = drawn(data, COLLAPSE)
    summary = summarise(data).sel(rule="plain")
    size = (summary["m"] * summary["L"]).astype(float)
    found = collapse(
        summary["error"], summary["error_mcse"], summary["budget"] * size**0.5, ("m", "L")
    )
    assert (
        f"(root mean square difference: {found.quality**0.5:.2g} standard errors;"
        in drawing.caption
    )
    assert "Best exponent" in drawing.caption
    table = drawing.table
    assert np.allclose(
        table["rescaled"], table["budget"] * np.sqrt(table["m"] * table["L"]), rtol=1e-12
    )
    assert len(drawing.figure.axes) == 2


def test_ratio_table_is_the_risk_ratio(make):
    data = make()
    (drawing,) = drawn(data, RATIO)
    ratio = risk_ratio(data, "error", "bound")
    for _, row in drawing.table.iterrows():
        cell = ratio.sel(m=row["m"], L=row["L"], x=row["x"], rule=row["rule"])
        assert (row["ratio"], row["low"], row["high"]) == tuple(
            cell[n].item() for n in ("ratio", "low", "high")
        )
    assert "Dashed: 1, where they are equal." in drawing.caption


def numbers(axes):
    """What is written in the tiles: (x, y) -> text."""
    return {text.get_position(): text.get_text() for text in axes.texts}


def test_a_map_is_the_summary(make):
    data = make()
    (drawing,) = drawn(data, MAP)
    summary = summarise(data)
    assert (
        len(drawing.table) == 16 and len(drawing.figure.axes) == 3
    )  # two panels and the colour bar
    for _, row in drawing.table.iterrows():
        cell = summary.sel(m=row["m"], L=100, x=row["x"], rule=row["rule"])
        assert (row["mean"], row["low"], row["high"]) == tuple(
            cell[f"error{end}"].item() for end in ("", "_low", "_high")
        )
    axes = drawing.figure.axes[0]
    assert axes.get_title() == "rule = plain"
    mean = summary["error"].sel(L=100, rule="plain").transpose("m", "x").values
    assert np.array_equal(axes.collections[0].get_array().reshape(2, 4), mean)
    assert numbers(axes) == {(x, y): three(mean[y, x]) for y in range(2) for x in range(4)}
    half = ((drawing.table["high"] - drawing.table["low"]) / 2).max()
    assert (
        f"reach at most {half:.2g} to either side" in drawing.caption
        and "Colour and number" in drawing.caption
    )
    assert (
        f"Means: {three(drawing.table['mean'].min())} to {three(drawing.table['mean'].max())}."
        in drawing.caption
    )


@pytest.mark.parametrize("power", [None, 1])
def test_a_map_of_ratios_is_the_risk_ratio(make, power):
    data = make()
    (drawing,) = drawn(data, dict(RATIO_MAP, power=power))
    ratio = risk_ratio(data, "error", "bound", power or 2).sel(L=100)
    for _, row in drawing.table.iterrows():
        cell = ratio.sel(m=row["m"], x=row["x"], rule=row["rule"])
        assert (row["ratio"], row["low"], row["high"]) == tuple(
            cell[n].item() for n in ("ratio", "low", "high")
        )
        assert row["budget"] == data["budget"].sel(m=row["m"], L=100, x=row["x"]).item()
    assert "over the mean of the bound" in drawing.caption and ("square of" in drawing.caption) == (
        power is None
    )
    # positions differ between panels: tiles stand at them, in logarithms
    x, y = next(iter(numbers(drawing.figure.axes[0])))
    assert x == pytest.approx(data["budget"].sel(m=10, L=100, x=1.0).item()) and y == 0
    assert drawing.figure.axes[0].get_xscale() == "log"


def test_a_map_of_names_reads_from_the_top_and_has_holes(make):
    data = _not_rectangular(make())
    (drawing,) = drawn(
        data,
        dict(kind="map", metric="error", along="L", across="rule", panels="x", select={"m": 10}),
    )
    assert (
        "Empty tiles were not run."
        in drawn(data, dict(MAP, along="L", select={"x": 2.0}))[0].caption
    )
    assert [tick.get_text() for tick in drawing.figure.axes[0].get_yticklabels()] == [
        "other one",
        "plain",
    ]
    lost = drawn(_without_values(make()), MAP)[0]
    assert "2 cells of 16 without a value: a cross." in lost.caption
    large = drawn(make(m=list(range(10, 40)), replications=2), MAP)[0]
    assert not numbers(large.figure.axes[0]) and "and number" not in large.caption


def test_ink_is_seen_on_every_colour():
    """Contrast by the formula of WCAG 2: at least 4.5 everywhere, which neither ink alone has."""
    import matplotlib
    from matplotlib.colors import Normalize

    def luminance(colour):
        return np.dot(
            [0.2126, 0.7152, 0.0722],
            [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]],
        )

    worst = {"chosen": 99.0, "k": 99.0, "w": 99.0}
    for value in np.linspace(0, 1, 101):
        ground = luminance(matplotlib.colormaps[tiles.COLOURS](value))
        contrast = {"k": (ground + 0.05) / 0.05, "w": 1.05 / (ground + 0.05)}
        contrast["chosen"] = contrast[tiles.ink(value, Normalize(0, 1))]
        worst = {ink: min(worst[ink], contrast[ink]) for ink in worst}
    assert worst["chosen"] > 4.5 > max(worst["k"], worst["w"])


def test_linear_positions(make):
    for figure in (CURVES, RATIO):
        (drawing,) = drawn(make(), figure | {"linear": True})
        assert drawing.figure.axes[0].get_xscale() == "linear"
        assert drawn(make(), figure)[0].figure.axes[0].get_xscale() == "log"
    assert drawn(make(), CURVES | {"linear": True})[0].figure.axes[0].get_yscale() == "log"


def test_the_guide_has_its_slope_and_passes_through_the_first_curve(make):
    (drawing,) = drawn(make(), CURVES | {"theory": -0.5})
    (axes,) = drawing.figure.axes
    (guide,) = (line for line in axes.get_lines() if line.get_color() == style.GUIDE["color"])
    x, y = np.log(guide.get_xdata()), np.log(guide.get_ydata())
    assert np.diff(y)[0] / np.diff(x)[0] == pytest.approx(-0.5) and x == pytest.approx(
        np.log([1, 8])
    )
    first = np.log(rows(drawing.table, m=10, L=100, rule="plain")[["x", "mean"]]).mean()
    assert np.interp(first["x"], x, y) == pytest.approx(first["mean"])
    (legend,) = drawing.figure.legends
    assert "slope −½" in [text.get_text() for text in legend.get_texts()]
    negative = drawn(ODD["negative"](make), CURVES | {"theory": -0.5})[0]
    assert "slope −½" not in [text.get_text() for text in negative.figure.legends[0].get_texts()]


def test_the_line_of_the_theory_and_the_crossings_are_named(make):
    """Who predicts the slope, which one was measured, and where the smallest and the largest curve cross."""
    data = make()
    (drawing, curves) = drawn(
        data, PHASE | {"source": "A and B, Theorem 1"}, CURVES | {"theory": -1, "source": "C"}
    )
    summary = summarise(data).sel(rule="plain")
    boundary = crossing(summary["error"], summary["error_mcse"], "x", 0.5, summary["budget"])
    size = (boundary["m"] * boundary["L"]).astype(float)
    slope = str(boundary_exponent(boundary, size=size).exponents["size"]).replace("-", "−")
    legend = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert f"measured: slope {slope}" in legend and "theory: slope −0.5" in legend
    assert (
        "the slope is that of the theory (A and B, Theorem 1), the height is fitted."
        in drawing.caption
    )
    said = [
        f"m = {m}, L = {L}: budget = "
        + "{:.3g} [{:.3g}, {:.3g}]".format(
            *(boundary[name].sel(m=m, L=L).item() for name in ("value", "low", "high"))
        )
        for m, L in ((10, 100), (20, 400))
    ]
    assert f"Crossings: {'; '.join(said)}." in drawing.caption
    assert [one.replace(":\n", ": ") for one in legend[-2:]] == said
    assert "Line without marks: slope −1, C." in curves.caption
    middle = [f"{rows(curves.table, x=x)['mean'].median():.3g}" for x in (1.0, 8.0)]
    assert curves.description.endswith(
        f" The median goes from {middle[0]} at x = 1 to {middle[1]} at x = 8."
    )


@pytest.mark.parametrize(
    "spec",
    [*ALL, CURVES | {"by": ["m"], "split": None, "panels": "L", "select": {"rule": "plain"}}],
)
def test_legends_cover_nothing(make, spec):
    (drawing,) = drawn(make(m=[10, 20, 40, 80]), spec)
    figure = drawing.figure
    whole, boxes = figure.bbox, [one.get_window_extent() for one in figure.legends]
    for one in boxes:
        assert whole.x0 - 1 <= one.x0 and one.x1 <= whole.x1 + 1 and one.y1 <= whole.y1 + 1
        for axes in filter(lambda axes: axes.get_visible(), figure.axes):
            inside = axes.get_tightbbox().padded(-2)
            assert not inside.overlaps(one), (inside, one)


def thin(axes):
    """Ends of the thin lines in data coordinates, and their names."""
    lines = [line for line in axes.get_lines() if line.get_color() == style.MARK["color"]]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in lines], [
        text.get_text()
        for text in axes.texts
        if text.get_position()[1] == 1.01 or text.get_position()[0] == 1.01
    ]


def test_marks_stand_at_their_positions(make):
    phase, curves, ratio, tiles, scaled, _ = drawn(make(), *MARKED)
    assert thin(phase.figure.axes[0]) == ([([0, 1], [0.05, 0.05])], ["least"])
    for drawing, name in ((curves, "least"), (ratio, "3")):
        for axes in drawing.figure.axes:
            assert thin(axes) == ([([3, 3], [0, 1])], [name])
    for axes in tiles.figure.axes[:2]:  # between the tiles of 2 and 4
        assert thin(axes) == ([([1.5, 1.5], [0, 1])], ["least"])
    assert thin(scaled.figure.axes[0]) == ([([0.02, 0.02], [0, 1])], ["0.02"])
    assert "Thin line: least, x = 3." in curves.caption and "Thin line: x = 3." in ratio.caption
    assert "Thin line: budget = 0.02." in scaled.caption
    far = drawn(make(), CURVES | {"marks": {"a": 30, "b": 0.1}})[0]
    assert (
        far.figure.axes[0].get_xlim()[1] > 30
        and "Thin lines: a, x = 30; b, x = 0.1." in far.caption
    )


def test_a_reference_is_beside_every_curve(make):
    data = make()
    _, curves, *_, coordinate = drawn(data, *MARKED)
    summary = summarise(data)
    for m, L, rule in ((10, 400, "plain"), (20, 100, "other_one")):
        wanted = summary["bound"].sel(m=m, L=L, rule=rule)
        assert (rows(curves.table, m=m, L=L, rule=rule)["bound"] == wanted).all()
        assert any(
            np.array_equal(line.get_ydata(), wanted)
            and line.get_linewidth() == style.REFERENCE["linewidth"]
            for line in curves.figure.axes[0].get_lines()
        )
    assert "Dashed, without marks: bound (logits²)." in curves.caption
    assert "bound (logits²)" in [text.get_text() for text in curves.figure.legends[0].get_texts()]
    assert np.array_equal(
        rows(coordinate.table, rule="plain")["budget"], data["budget"].sel(m=10, L=100)
    )


def test_crossings_are_where_the_level_is_crossed(make):
    data = make()
    drawing = drawn(data, MARKED[0])[0]
    for _, row in rows(
        drawing.table, layer="bound (logits²) = 0.25"
    ).iterrows():  # bound = 1/(1 + x/3)²
        assert row["boundary"] * math.sqrt(row["product"]) == pytest.approx(3, rel=0.04)
    found = rows(drawing.table, layer="budget (bits) = 0.04")["boundary"]
    assert len(found) == 4 and np.allclose(found.dropna(), 0.04) and found.notna().any()
    assert (
        "Steps: bound (logits²) = 0.25; budget (bits) = 0.04, interpolated between cells."
        in drawing.caption
    )
    assert len(drawing.figure.axes[0].collections) >= 2


def test_a_legend_lists_the_combinations_that_were_run(make):
    def ran(data):
        there = (data["rule"] == "plain") | (data["m"] == 20)
        status = data["status"].where(there, 0).transpose(*data["status"].dims).astype("int8")
        return data.where(there).assign(status=status)

    figure = dict(
        kind="curves", metric="error", along="x", by=["m"], split="rule", select={"L": 100}
    )
    (whole,), (part,) = drawn(make(), figure), drawn(ran(make()), figure)
    texts = [[text.get_text() for text in d.figure.legends[0].get_texts()] for d in (whole, part)]
    assert texts[0] == ["m", "10", "20", "rule", "plain", "other one"]
    assert texts[1] == ["m, rule", "10, plain", "20, plain", "20, other one"]
    styles = [
        {
            (line.get_color(), line.get_marker())
            for line in handles
            if line.get_marker() not in ("", "None")
        }
        for handles in (d.figure.legends[0].get_lines() for d in (whole, part))
    ]
    assert styles[0] == styles[1]
    assert "Not all combinations were run." in part.caption and "combinations" not in whole.caption


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure["kind"])
def test_the_same_numbers_give_the_same_bytes(make, figure):
    first, second = (dict(_images(drawn(make(), figure)[0]).items()) for _ in range(2))
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
    "negative": lambda make: make().assign(
        error=lambda d: (d["error"] - 0.5).assign_attrs(d["error"].attrs)
    ),
    "zero": lambda make: make().assign(
        error=lambda d: (d["error"] * 0).assign_attrs(d["error"].attrs)
    ),
    "tiny": lambda make: make().assign(
        error=lambda d: (d["error"] * 1e-200).assign_attrs(d["error"].attrs)
    ),
    "not converged": lambda make: make().assign(
        status=lambda d: d["status"].where(d["replication"] > 3, 2)
    ),
    "many lines": lambda make: make(m=[10, 11, 12, 13, 14], L=[100, 200, 400], replications=3),
    "wide": lambda make: make(noise=3.0),
    "infinite budget": lambda make: make(x=[1.0, 2.0, 8.0, math.inf]),
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_data(make, odd):
    for drawing in drawn(ODD[odd](make), *ALL):
        assert drawing.caption and "nan" not in drawing.caption.lower(), drawing.caption
        assert drawing.title and len(drawing.table)
        only_text = [text.get_text() for text in drawing.figure.texts] == ["No cell has a value."]
        assert (
            only_text == (not drawing.figure.axes) == (not drawing.marks) == (odd == "all failed")
        )


def test_names_keep_the_order_of_the_grid(make):
    """Also where the first curve has only some of them."""
    data = make()
    there = (data["rule"] == "other_one") | (data["m"] == 20)
    status = data["status"].where(there, 0).transpose(*data["status"].dims).astype("int8")
    (drawing,) = drawn(
        data.where(there).assign(status=status),
        dict(kind="curves", metric="error", along="rule", by=["m"], select={"L": 100, "x": 1.0}),
    )
    assert [tick.get_text() for tick in drawing.figure.axes[0].get_xticklabels()] == [
        "plain",
        "other one",
    ]


def test_axes_may_be_called_n_and_size(make):
    names = {"m": "n", "L": "size"}
    figures = [
        {
            key: [names[axis] for axis in value] if key in ("by", "size") else value
            for key, value in figure.items()
        }
        for figure in (PHASE, COLLAPSE, CURVES, RATIO)
    ]
    phase, *_ = drawn(make().rename(names), *figures)
    assert "Exponent of the boundary in n·size" in phase.caption
    assert (
        phase.table["product"].dropna()[:16] == (phase.table["n"] * phase.table["size"])[:16]
    ).all()


def test_captions_count_what_is_not_drawn(make):
    curves = drawn(_without_values(make()), CURVES)[0]
    assert (
        "8 cells" not in curves.caption
        and "4 cells of 32 without a value: not drawn." in curves.caption
    )
    assert (
        "One replication per cell: no intervals." in drawn(make(replications=1), CURVES)[0].caption
    )
    assert "do not cross the level in the grid" in drawn(make(x=[0.1, 0.2]), PHASE)[0].caption
    assert "not determined" in drawn(make(m=[10], L=[100]), PHASE)[0].caption
    assert len(drawn(_not_rectangular(make()), CURVES)[0].table) == 24


def test_names_along_the_abscissa(make):
    (drawing,) = drawn(
        make(), dict(kind="curves", metric="error", along="rule", by=["m", "x"], select={"L": 100})
    )
    (axes,) = drawing.figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["plain", "other one"]


def test_a_legend_stays_short(make):
    drawing = drawn(make(m=list(range(10, 34)), replications=2), CURVES)[0]
    (legend,) = drawing.figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert len([*filter(None, texts)]) < 17 and "m (9 of 24)" in texts and "other one" in texts


def test_panels_share_axes_and_are_named(make):
    drawing = drawn(
        make(), dict(kind="curves", metric="error", along="x", by=["m", "L"], panels="rule")
    )[0]
    assert [axes.get_title() for axes in drawing.figure.axes] == [
        "rule = plain",
        "rule = other one",
    ]
    assert len({axes.get_ylim() for axes in drawing.figure.axes}) == 1


def test_titles_of_panels_of_a_map_stand_apart(make):
    """Long names of mechanisms beside each other overlapped before they were wrapped."""
    names = ["randomized response with a shuffler", "noisy counts by a trusted curator"]
    long = make().assign_coords(rule=names)
    (drawing,) = drawn(long, MAP)
    boxes = [axes.title.get_window_extent() for axes in drawing.figure.axes if axes.get_title()]
    assert len(boxes) == 2
    assert not boxes[0].overlaps(boxes[1])


@pytest.mark.parametrize(
    "values, low, high, room, expected",
    [
        ([100, 200, 400], 90, 450, 6, [100, 200, 400]),
        (range(1, 100), 1, 100, 8, [1, 2, 5, 10, 20, 50, 100]),
        ((), 1e-6, 1e6, 7, [1e-6, 1e-4, 1e-2, 1, 100, 1e4, 1e6]),
        ((), 0.9, 1.4, 6, [1, 1.5]),
    ],
)
def test_ticks(values, low, high, room, expected):
    if expected == [1, 1.5]:
        assert 2 <= len(style.ticks(values, low, high, room)) <= room
    else:
        assert style.ticks(values, low, high, room) == expected


def test_a_zip_counts_errors_within_the_quantile(make):
    """Its numbers are shares of errors of at most 1.96; confidence moves them."""
    data = make()
    data["error"] = 4 * data["error"]
    part = data["error"].sel(ZIP["select"])
    for confidence, quantile in ((0.95, 1.959964), (0.5, 0.674490)):
        (drawing,) = drawn(data, ZIP | {"confidence": confidence})
        assert len(drawing.table) == data.sizes["x"]
        for row in drawing.table.to_dict("records"):
            errors = part.sel(x=row["x"]).values
            expected = (np.abs(errors) <= quantile).mean()
            assert row["mean"] == pytest.approx(expected)


def test_a_nested_loop_has_every_cell_in_its_order(make):
    """Steps from left to right: the axis `along` changes first, then the last of the loops."""
    data = make()
    (drawing,) = drawn(data, NESTED)
    marks = sorted(drawing.marks, key=lambda mark: mark.x)
    summary = summarise(data)["error"]
    first = summary.isel(m=0, L=0, rule=0).values
    of_first = [mark.y for mark in marks if "plain" in mark.text][: len(first)]
    np.testing.assert_allclose(of_first, first)
    assert len(marks) == summary.size


BOUNDARIES = dict(
    kind="boundaries",
    metric="error",
    along="x",
    at="budget",
    across="L",
    level=0.5,
    by=["m"],
    split="rule",
    theory=1.0,
    source="nobody",
)


def test_boundaries_in_one_diagram_are_the_crossings(make):
    """Of every curve its crossing, and the position of the level of theory beside it."""
    data = make()
    (drawing,) = drawn(data, BOUNDARIES)
    summary = summarise(data)
    crossed = crossing(summary["error"], summary["error_mcse"], "x", 0.5, summary["budget"])
    rows = drawing.table
    assert len(rows) == summary.sizes["m"] * summary.sizes["L"] * summary.sizes["rule"]
    for row in rows.to_dict("records"):
        place = {axis: row[axis] for axis in ("m", "L", "rule")}
        where = crossed.sel(place)
        assert row["mean"] == pytest.approx(where["value"].item(), nan_ok=True)
        assert row["low"] == pytest.approx(where["low"].item(), nan_ok=True)
    steps = np.log(summary["x"].values)
    first = rows.iloc[0]
    budget = summary["budget"].sel(
        {axis: first[axis] for axis in summary["budget"].dims if axis in first}
    )
    expected = np.exp(np.interp(0.0, steps, np.log(budget.values)))
    assert first["predicted"] == pytest.approx(expected)
    assert "Dotted: where theory puts each of them (nobody)" in drawing.caption
    (without,) = drawn(data, {**BOUNDARIES, "theory": None, "source": ""})
    assert without.table["predicted"].isna().all() and "Dotted" not in without.caption
