"""The page in a real browser: it shows, in full, on every screen and on paper, and asks nobody for anything."""

import importlib.util
import io
import warnings
from pathlib import Path
from types import SimpleNamespace as Plain

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.summary import summarise
from pipeline.reporting import page, specs
from pipeline.reporting.drawn import render
from pipeline.reporting.section import Facts, Protection
from tests.helpers.chromium import BROWSER, Chromium

if BROWSER is None:
    warnings.warn("no chromium here: the page was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: the page was NOT looked at in a browser"
)

FIGURES = "[...document.querySelectorAll('svg[role=img]')].filter(e => e.checkVisibility())"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A written report on made-up data."""
    axes = {"m": [10, 20], "x": [1.0, 2.0, 4.0, 8.0]}
    values = (
        1
        / (1 + np.array(axes["x"]))[None, :, None]
        * np.random.default_rng(0).uniform(0.9, 1.1, (2, 4, 20))
    )
    dims = (*axes, "replication")
    data = xr.Dataset(
        {
            "error": (dims, values, {"units": "logits", "long_name": "error"}),
            "status": (dims, np.ones((2, 4, 20), "int8")),
        },
        axes,
    )
    figures = specs.read(
        [
            {"kind": "curves", "metric": "error", "along": "x", "by": ["m"]},
            {"kind": "phase_diagram", "metric": "error", "along": "x", "size": ["m"], "level": 0.3},
            {"kind": "map", "metric": "error", "along": "x", "across": "m"},
        ],
        axes,
        (),
        ["error"],
    )
    summary = summarise(data)
    drawn = [render(spec, data, summary) for spec in figures]
    section = page.Section(
        "a/b", "A title <b>", "Why?", summary, drawn, [verdict("a.b", "supported")], Facts(seed=1)
    )
    spent = {"one comparison": (0.1, 4.0), "all comparisons of a user": (1.0, np.inf)}
    summary.attrs |= {
        "precision": ["error ± 1 %"],
        "groups": 8,
        "groups_on_target": 7,
        "replications": 20,
        "above_target": [[{"m": 10}, 2.0]],
    }
    privacy = [Protection("flip", [("unit", "one"), ("budget", "ε")], spent)]
    last = page.Section(
        "a/c",
        "Another title, rather longer than what fits into a line of a small screen",
        "",
        summary,
        verdicts=[
            verdict("a.c", "contradicted"),
            verdict("a.d", "inconclusive"),
            verdict("a.e", "supported"),
        ],
        facts=Facts(privacy=privacy),
    )
    folder = tmp_path_factory.mktemp("report")
    return page.write(folder, "A title <b>", [section, last], page.About(command="pipeline"))


def verdict(name, word):
    """A verdict of two findings."""
    claim = Plain(
        id=name,
        statement="It falls.",
        source="Theorem 1",
        conditions="",
        estimand="slope",
        claimed="0.1",
        why="so",
        measure=Plain(compute=verdict),
        headline=False,
        row="X1",
        control_of=lambda verdict: Plain(description="flat data"),
    )
    check = Plain(
        verdict=word,
        estimate=Estimate(-0.5, -0.6, -0.4),
        text="slope; exponent of nothing 0.1 [0, 0.2]",
        detected="a slope of 0.3",
        tolerance=None,
        cells=(),
    )
    return Plain(
        claim=claim,
        check=check,
        control=Plain(verdict="contradicted", text="slope 0"),
        sound=True,
        verdict=word,
        text=check.text,
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


def test_the_page_asks_for_nothing(report, browser):
    """Neither by itself nor by a script that got into it; a page without the policy does ask."""
    sends = (
        "new Promise(done => { const i = new Image(); i.onload = i.onerror = () => done(1);"
        " i.src = 'http://127.0.0.1:9/x.png'; })"
    )
    browser.open(report.as_uri())
    assert browser.run("document.title") == "A title <b>"
    assert browser.run(f"{FIGURES}.length") == 3
    assert browser.run(sends) == 1 and browser.asked_for() == [report.as_uri()]
    wrong = report.with_name("wrong.html")
    wrong.write_text("<p>hello")
    browser.open(wrong.as_uri())
    assert browser.run(sends) == 1 and "http://127.0.0.1:9/x.png" in browser.asked_for()


@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), (768, False), (390, False), (390, True)]
)
def test_nothing_runs_out_of_the_page(report, browser, width, dark):
    import matplotlib.image

    browser.open(report.as_uri(), width, dark=dark)
    assert browser.run("innerWidth") == width >= browser.run("document.documentElement.scrollWidth")
    out = (
        "[...document.querySelectorAll('main *, header *, nav *')]"
        ".filter(e => !e.closest('.wide, caption, .points') && e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.run(out) == []
    wide = browser.run(f"{FIGURES}[1].getBoundingClientRect().width")
    assert wide > 0.8 * min(width, 800)
    side = browser.run(
        "document.querySelector('nav').getBoundingClientRect().right"
        " < document.querySelector('main').getBoundingClientRect().left"
    )
    assert side == (width == 1200)
    pixels = matplotlib.image.imread(io.BytesIO(browser.picture(whole=True)))[..., :3]
    assert (
        pixels.std() > 0.05 and (np.ptp(pixels, axis=2) > 0.3).mean() > 0.003
    )  # the figures have colours
    assert (np.median(pixels) < 0.3) == dark


def test_the_contents_stay_in_view(report, browser):
    browser.open(report.as_uri(), height=600)
    browser.run("scrollTo(0, document.body.scrollHeight)")
    assert browser.run("scrollY") > 1000
    assert 0 <= browser.run("document.querySelector('nav').getBoundingClientRect().top") < 20


def test_everything_works_by_keyboard(report, browser):
    """Skip link, filter, claims and the values of a figure, with nothing but keys."""
    browser.open(report.as_uri())
    focused = "(document.activeElement.className || document.activeElement.id || document.activeElement.tagName)"
    browser.press("Tab")
    assert browser.run(focused) == "skip"
    seen = []
    for _ in range(60):
        browser.press("Tab")
        seen.append(browser.run(focused))
        if seen[-1] == "frame has-narrow live":
            break
    first = browser.run("document.activeElement.parentNode.querySelector('output').textContent")
    browser.press("ArrowRight", 2)
    second = browser.run("document.activeElement.parentNode.querySelector('output').textContent")
    browser.press("End")
    browser.press("ArrowRight")
    last = browser.run("document.activeElement.parentNode.querySelector('output').textContent")
    points = browser.run("[...document.activeElement.querySelectorAll('i')].map(e => e.dataset.t)")
    assert [first, second, last] == [points[0], points[2], points[-1]]
    assert browser.run("document.activeElement.querySelectorAll('.on').length") == 1
    while browser.run(focused) != "only-all":
        browser.press("Tab")
    shown = (
        "[...document.querySelectorAll('.claim')].filter(e => e.checkVisibility()).map(e => e.id)"
    )
    assert browser.run(shown) == ["a.b", "a.c", "a.d", "a.e"]
    browser.press("ArrowDown")
    assert browser.run(shown) == ["a.b", "a.e"] and browser.run(focused) == "only-supported"
    browser.press("ArrowDown")
    assert browser.run(shown) == ["a.c"]
    assert (
        browser.run("document.getElementById('a-b').checkVisibility()") is False
    )  # a study without such a claim
    browser.press("ArrowUp", 2)
    assert browser.run("document.getElementById('a.e').open") is False
    while browser.run("document.activeElement.parentNode.id") != "a.e":
        browser.press("Tab")
    browser.press("Enter")
    assert browser.run("document.getElementById('a.e').open") is True


def test_without_script_the_page_says_the_same(report, browser):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report.as_uri())
        seen = browser("Accessibility.getFullAXTree")["nodes"]
        words = " ".join(str(node.get("name", {}).get("value", "")) for node in seen)
        assert (
            "Estimated: slope." in words
            and "Show claims" in words
            and "Numbers of this figure" in words
        )
        assert browser.picture()
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)


def test_paper_has_every_claim_open_and_no_contents(report, browser):
    browser.open(report.as_uri(), media="print")
    assert browser.run("document.querySelector('nav').checkVisibility()") is False
    assert browser.run(
        "[...document.querySelectorAll('.claim .how')].every(e => e.checkVisibility())"
    )
    pdf = browser("Page.printToPDF")["data"]
    assert len(pdf) > 20_000
    browser.open(report.as_uri())
    assert not browser.run("document.getElementById('a.e').querySelector('.how').checkVisibility()")


AXE = next(
    (
        Path(spec.submodule_search_locations[0]) / "axe.min.js"
        for name in ("axe_core_python",)
        if (spec := importlib.util.find_spec(name))
    ),
    None,
)


@pytest.mark.skipif(AXE is None, reason="no axe-core here: accessibility was NOT checked")
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False)])
def test_axe_finds_no_violation(report, browser, width, dark):
    browser.open(report.as_uri(), width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(e => e.open = true)")
    browser.run(AXE.read_text("utf-8") + "; 1")
    violations = "axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 99))]))"
    assert browser.run(violations) == []


@pytest.mark.skipif(AXE is None, reason="no axe-core here: accessibility was NOT checked")
def test_axe_sees_a_page_that_is_wrong(report, browser):
    wrong = report.with_name("wrong.html")
    wrong.write_text("<p style='color: #ccc; background: #fff'>pale <input>")
    browser.open(wrong.as_uri())
    browser.run(AXE.read_text("utf-8") + "; 1")
    assert {"color-contrast", "label"} <= set(
        browser.run("axe.run().then(r => r.violations.map(v => v.id))")
    )
