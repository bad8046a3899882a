"""Figures on a telephone, 390 pixels wide: letters of 11 pixels or more that overlap nothing, in any script."""

import warnings
from types import SimpleNamespace as Plain

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.summary import summarise
from pipeline.reporting import (
    audit_figure,
    common_figure,
    common_spec,
    page,
    specs,
    standing_figure,
)
from pipeline.reporting.audit_page import AuditPage
from pipeline.reporting.audit_page import page as audit_page
from pipeline.reporting.drawn import files_of, render
from pipeline.reporting.section import Facts, Protection
from tests.helpers.chromium import BROWSER, Chromium
from tests.helpers.letters import letters
from tests.reporting.test_common_figure import SHAPES, series, summaries

if BROWSER is None:
    warnings.warn("no chromium here: letters were not measured in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: letters were NOT measured in a browser"
)

QUESTION = "How often, if at all, do you worry that answers to surveys such as this one are kept, or sold? "
NAMES = [
    "all items",
    QUESTION * 2,
    "정부는 모든 시민에게 최소한의 소득을 보장해야 한다고 생각하십니까, 아니면 아닙니까? " * 4,
    "漢字の質問です",
    "שאלה על פרטיות",
    "سؤال عن الخصوصية",
    "😀 & <b> $x$ _y_",
    "one-word-that-is-longer-than-any-line-could-ever-be-" * 3,
]
AXES = {"m": [10, 20], "L": [100, 400], "x": [1.0, 2.0, 4.0, 8.0], "item": NAMES}
ONE = {"item": NAMES[0]}
CURVES = {"kind": "curves", "metric": "error", "along": "x"}
SIZES = {"metric": "error", "along": "x", "at": "budget", "size": ["m", "L"], "select": ONE}
FIGURES = [
    CURVES | {"by": ["item"], "select": {"m": 10, "L": 100}},
    CURVES | {"by": ["m", "L"], "select": ONE, "marks": {"least": 3}, "reference": "bound"},
    CURVES | {"by": ["m"], "panels": "item", "select": {"L": 100}},
    CURVES | {"along": "item", "by": ["m"], "select": {"L": 100, "x": 1.0}},
    {
        "kind": "ratio",
        "metric": "error",
        "yardstick": "bound",
        "along": "x",
        "by": ["m"],
        "panels": "L",
        "select": ONE,
    },
    {
        "kind": "map",
        "metric": "error",
        "along": "x",
        "across": "item",
        "panels": "m",
        "select": {"L": 100},
    },
    {
        "kind": "map",
        "metric": "error",
        "yardstick": "bound",
        "along": "x",
        "across": "m",
        "select": ONE | {"L": 100},
    },
    SIZES | {"kind": "phase_diagram", "level": 0.5, "theory": -0.5, "crossings": {"bound": 0.25}},
    SIZES | {"kind": "collapse", "exponent": 0.5},
    {
        "kind": "boundaries",
        "metric": "error",
        "along": "x",
        "at": "budget",
        "across": "m",
        "by": ["L"],
        "panels": "item",
        "level": 0.5,
        "theory": 2.0,
    },
    {"kind": "zip", "metric": "error", "along": "item", "select": {"m": 10, "L": 100, "x": 1.0}},
    {"kind": "nested_loop", "metric": "error", "along": "x", "loops": ["item", "m"], "by": ["L"]},
]


def results(replications=12):
    """A study of items with long names in several scripts: error = 1/(1 + x/3) with some noise."""
    rng = np.random.default_rng(0)
    data = xr.Dataset(coords=AXES)
    size = np.sqrt((data["m"] * data["L"]).astype(float))
    budget = (data["x"] / size).assign_attrs(long_name="privacy budget", units="nats")
    mean = 1 / (1 + data["x"] / 3) * xr.ones_like(size) * xr.ones_like(data["item"], float)
    mean = mean.transpose(*AXES).values[..., None]
    noisy = mean * (1 + 0.05 * rng.standard_normal((*mean.shape[:-1], replications)))
    dims = (*AXES, "replication")
    columns = {
        "error": (
            dims,
            noisy,
            {"units": "logits", "long_name": "distance of scores from the truth"},
        ),
        "bound": (
            dims,
            np.broadcast_to(mean, noisy.shape).copy(),
            {"long_name": "what theory bounds"},
        ),
        "status": (dims, np.ones(noisy.shape, "int8")),
    }
    return data.assign_coords(budget=budget).assign(columns)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every kind of figure, made with every warning an error."""
    data = results()
    summary = summarise(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = specs.read(FIGURES, AXES, ["budget"], ["error", "bound"])
        drawn = [render(spec, data, summary) for spec in found]
        shared = common_spec.read({"title": "All", "series": series()}, SHAPES)
        common = files_of(common_figure.draw(shared, summaries()))
    spent = {"one comparison of a person": (0.1, 4.0), "all comparisons of a person": (1.0, 2.0)}
    facts = Facts(seed=1, privacy=[Protection("randomized_response", [("unit", "one")], spent)])
    section = page.Section("a/b", "All kinds", "Why?", summary, drawn, [], facts)
    folder = tmp_path_factory.mktemp("letters")
    return page.write(folder, "All kinds", [section], page.About(command="pipeline"), common)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


def test_every_figure_can_be_read_on_a_telephone(report, browser):
    """As a control, the layout for wide pages, shown there, is too small."""
    browser.open(report.as_uri(), 390)
    measured = letters(browser)
    print([(one.texts, round(one.least, 2)) for one in measured])
    assert len(measured) == len(FIGURES) + 1 and min(one.texts for one in measured) > 8
    assert [one for one in measured if not one.is_legible] == []
    style = "document.head.insertAdjacentHTML('beforeend', '<style>.has-narrow .broad {display: block !important}"
    browser.run(f"{style} .has-narrow .narrow {{display: none !important}}</style>'), 1")
    assert all(one.least < 9 for one in letters(browser))


def test_names_are_written_as_text_where_the_figures_font_lacks_their_letters(report, browser):
    browser.open(report.as_uri(), 390)
    texts = browser.run("[...document.querySelectorAll('.narrow text')].map(e => e.textContent)")
    assert any(text.startswith("정부는") for text in texts) and "漢字の質問です" in texts
    assert not any("How often" in text for text in texts)  # which its font has
    assert "LastResort" not in report.read_text("utf-8")


def test_tables_do_not_scroll_on_a_telephone(report, browser):
    """All but the one with every mean."""
    browser.open(report.as_uri(), 390)
    browser.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    scrolling = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth)"
    names = browser.run(f"{scrolling}.map(e => e.getAttribute('aria-label'))")
    assert names == ["Means of every cell and metric"]
    assert browser.run("document.documentElement.scrollWidth") == 390


def test_marks_stand_where_the_narrow_figure_has_them(report, browser):
    """The place of a value on the page is that of a mark of its layout."""
    browser.open(report.as_uri(), 390)
    figure = "[...document.querySelectorAll('figure')].find(e => e.id.endsWith('-2-curves'))"
    points = f"[...{figure}.querySelectorAll('.points i')]"
    at = "(b => [b.left + b.width / 2, b.top + b.height / 2])(e.getBoundingClientRect())"
    shown = np.array(browser.run(f"{points}.map(e => {at})"))
    drawn = np.array(
        browser.run(f"[...{figure}.querySelectorAll('.narrow use[y]')].map(e => {at})")
    )
    nearest = np.abs(shown[:, None] - drawn[None]).max(axis=2).min(axis=1)
    assert len(shown) == 16 and nearest.max() < 1.5


def test_figures_of_other_pages_can_be_read_too(browser, tmp_path):
    curve = audit_figure.TradeOff([0.0, 0.5, 1.0], [0.0, 0.8, 1.0], [(0.1, 0.3)], [], "ε = 1", "ok")
    audit = tmp_path / "audit.html"
    content = AuditPage("An audit", "not refuted", False, "a bound", [], curve, [], "pipeline")
    audit.write_text(audit_page(content), "utf-8")
    cell = Plain(
        labels={"item": QUESTION, "m": 10}, mean=0.1, low=0.05, high=0.2, other_mean=1.0, wins=1
    )
    opponents = [Plain(opponent="randomized_response", cells=[cell] * 5)] * 2
    standing = tmp_path / "standing.svg"
    standing.write_bytes(standing_figure.draw("mine", "distance of scores", opponents))
    for where in (audit, standing):
        browser.open(where.as_uri(), 390)
        (one,) = letters(browser)
        assert one.texts > 8 and one.is_legible, (where, one)
