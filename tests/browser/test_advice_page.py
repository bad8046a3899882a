"""The page over the atlas in a real browser: Python's numbers, by keyboard, on a phone, in the dark and in grey."""

import importlib.util
import io
import json
import math
import shlex
import warnings
from pathlib import Path

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.advice import atlas, interpolation
from pipeline.advice.first import first
from pipeline.advice.question import read
from tests.helpers.chromium import BROWSER, Chromium
from tests.helpers.letters import letters

if BROWSER is None:
    warnings.warn("no chromium here: the page was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: the page was NOT looked at in a browser"
)

ASKED = {
    "problem": "ranking",
    "m": 13,
    "L": 333,
    "unknown": "epsilon",
    "target": "kendall<=0.12",
}
AXE = next(
    (
        Path(spec.submodule_search_locations[0]) / "axe.min.js"
        for name in ("axe_core_python",)
        if (spec := importlib.util.find_spec(name))
    ),
    None,
)
ANSWER = "document.getElementById('answer').textContent"
LEAST = "[...document.querySelectorAll('#rows td[data-value]')].map(e => +e.dataset.value)"


@pytest.fixture(scope="module", autouse=True)
def usable():
    """Cells that other code made are used as well: what they show is no matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "current", lambda *_: True)
        yield


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page that a question's command writes."""
    where = tmp_path_factory.mktemp("advice") / "page.html"
    words = [f"{name}={value}" for name, value in ASKED.items()]
    assert main(["task=advise", *words, f"save={where}", "quick=true"]) == 0
    return where


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


def test_the_page_is_one_small_file_that_asks_for_nothing(page, browser):
    assert page.stat().st_size < 2e6
    browser.open(page.as_uri())
    assert (
        browser.asked_for() == [page.as_uri()]
        and browser.run("document.title") == "How small may ε be?"
    )
    errors = [
        event
        for event in browser.events
        if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
    ]
    assert errors == [] and "not certified" in browser.run("document.body.textContent")


def test_it_shows_what_python_says(page, browser):
    """Between cells, for every mechanism; the values of the question that the command was asked."""
    browser.open(page.as_uri())
    rows = {one["mechanism"]: one["boundary"] for one in first(read(ASKED)).record()["mechanisms"]}
    shown = browser.run(LEAST)
    assert len(shown) == len(rows) == 2 and np.allclose(shown, [*rows.values()], rtol=3e-3)
    assert f"from ε = {min(rows.values()):.3g} on" in browser.run(ANSWER)
    words = shlex.split(browser.run("document.getElementById('command').textContent"))
    again = read(
        dict(word.split("=", 1) for word in words[2:] if not word.startswith(("m=", "L=")))
        | {"m": int(words[4][2:]), "L": int(words[3][2:])}
    )
    assert first(again).boundary == first(read(ASKED)).boundary
    table = browser.run(
        "decodeURIComponent(document.getElementById('csv').href.split(',').slice(1).join(','))"
    )
    head, *lines = table.strip().splitlines()
    assert (
        head == "problem,mechanism,estimator,L,m,epsilon,metric,mean,low,high" and len(lines) == 480
    )
    bands = first(read(ASKED)).curve
    mine = [line.split(",") for line in lines if line.split(",")[1] == "randomized_response"]
    for which in range(3):
        mean = np.interp(
            [float(one[5]) for one in mine], bands.levels, bands.bands["kendall"][which]
        )
        assert np.allclose([float(one[7 + which]) for one in mine], mean, rtol=5e-3, atol=1e-4)


def test_the_page_interpolates_as_python_does(page, browser):
    """Tables of three axes with one of them left, shares and other metrics: equal but for rounding.

    As a control, linear interpolation in place of the cubic one is seen.
    """
    browser.open(page.as_uri())
    rng = np.random.default_rng(5)
    axes = [np.cumsum(rng.uniform(0.2, 1, n)) for n in (4, 3, 6)]
    mean = rng.uniform(0.05, 0.95, (4, 3, 6))
    error = rng.uniform(0.001, 0.02, mean.shape)
    for limits in ((0, 1), (0, math.inf)):
        for left in range(3):
            at = [float(axis[0] + 0.37 * np.ptp(axis)) for axis in axes]
            at[left] = None
            positions = np.linspace(axes[left][0], axes[left][-1], 23)
            exact = np.array(interpolation.band(mean, error, limits, axes, at, positions))
            shown = _bands(browser, (mean, error), limits, axes, at, positions, "true")
            linear = _bands(browser, (mean, error), limits, axes, at, positions, "false")
            np.testing.assert_allclose(shown, exact, rtol=1e-9, atol=1e-12)
            assert np.abs(linear - exact).max() > 1e-3


def _bands(browser, cells, limits, axes, at, positions, smooth):
    """Mean, low and high end at the positions, by the functions of the page."""
    mean, error = (values.ravel().tolist() for values in cells)
    words = {
        "mean": mean,
        "error": error,
        "limits": [limits[0], None if math.isinf(limits[1]) else limits[1]],
        "axes": [axis.tolist() for axis in axes],
        "at": at,
        "positions": positions.tolist(),
    }
    script = f"""(w => {{
      const values = w.mean.map(scale(w.limits)[0]), errors = w.error.map(Math.log);
      const tables = {{
        axes: w.axes.filter((_, k) => w.at[k] === null),
        smooth: reduced(values, w.axes, w.at, {smooth}),
        straight: reduced(values, w.axes, w.at, false),
        error: reduced(errors, w.axes, w.at, false)}};
      return bands(tables, {{limits: w.limits}}, w.positions);
    }})({json.dumps(words)})"""
    return np.array(browser.run(script)).T


@pytest.mark.parametrize(
    ("problem", "target", "sizes"),
    [
        ("response", "kendall<=0.2", {"m": 17, "n": 300, "p": 0.55}),
        ("crowd", "label_error<=0.1", {"m": 23, "n": 77, "answered": 0.8}),
        ("clustering", "misclassified<=0.15", {"N": 14, "U": 5000, "w": 7, "b": "0.9,0.1", "Q": 2}),
    ],
)
def test_every_problem_is_on_it(page, browser, problem, target, sizes):
    """Chosen on the page, with sizes set by script as sliders set them."""
    browser.open(page.as_uri())
    browser.run(
        f"$('problem').value = '{problem}', $('problem').dispatchEvent(new Event('change')), 1"
    )
    numbers = [sizes[one] for one in browser.run("problem.axes.slice(0, -1).map(one => one.name)")]
    browser.run(f"sizes = {json.dumps(numbers)}, target = {target.split('=')[1]}, draw(), 1")
    exact = []
    for name, axes in browser.run("problem.mechanisms.map(one => [one.name, one.axes])"):
        known = {size: value for size, value in sizes.items() if size in [*axes, "b"]}
        known["unknown"] = "epsilon"
        exact.append(
            first(read({**known, "problem": problem, "target": target, "mechanism": name})).boundary
        )
    assert np.allclose(browser.run(LEAST), exact, rtol=3e-3) and min(exact) > 0


def test_the_number_of_questions_is_in_the_command_as_a_whole_number(page, browser):
    """Private clusterings ask each user Q questions, so that the command says how many."""
    browser.open(page.as_uri())
    browser.run(
        "$('problem').value = 'clustering', $('problem').dispatchEvent(new Event('change')), 1"
    )
    command = browser.run("document.getElementById('command').textContent")
    assert all(float(size) == int(size) for size in browser.run("sizes"))
    words = dict(word.split("=", 1) for word in shlex.split(command)[2:])
    asked = read(
        {name: int(value) if value.isdecimal() else value for name, value in words.items()}
    )
    assert f"{asked.values['Q']}" == words["Q"] and "mechanism" not in words


@pytest.mark.parametrize(("problem", "is_known"), [("clustering", 1), ("clustering, person", 0)])
def test_risk_is_shown_where_the_atlas_knows_it(page, browser, problem, is_known):
    browser.open(page.as_uri())
    browser.run(
        f"$('problem').value = '{problem}', $('problem').dispatchEvent(new Event('change')), 1"
    )
    assert browser.run("+($('risk').options.length > 0)") == is_known
    seen = "[...document.querySelectorAll('.of-risk')].filter(e => e.checkVisibility()).length"
    assert bool(browser.run(seen)) == is_known


def test_sliders_move_by_keyboard(page, browser):
    """A smaller target needs more ε, more people less; all with nothing but keys."""
    browser.open(page.as_uri())
    focused, seen = "document.activeElement.id", []
    for _ in range(12):
        browser.press("Tab")
        seen.append(browser.run(focused))
        if seen[-1] == "csv":
            break
    assert [one for one in seen if one] == [
        "problem",
        "metric",
        "target",
        "size-0",
        "size-1",
        "look",
        "risk",
        "csv",
    ]
    before = browser.run(LEAST)[0]
    browser.run("document.getElementById('target').focus()")
    browser.press("ArrowLeft", 10)
    smaller = browser.run(LEAST)[0]
    browser.run("document.getElementById('size-0').focus()")
    browser.press("ArrowRight", 20)
    assert before < smaller > browser.run(LEAST)[0]
    assert (
        int(
            browser.run("document.getElementById('size-0').getAttribute('aria-valuetext')").replace(
                ",", ""
            )
        )
        > 333
    )
    browser.press("End")
    assert browser.run("sizes[0]") == 10_000


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, False), (390, True)])
def test_nothing_runs_out_of_the_page(page, browser, width, dark):
    import matplotlib.image

    browser.open(page.as_uri(), width, dark=dark)
    assert browser.run("innerWidth") == width >= browser.run("document.documentElement.scrollWidth")
    out = (
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.wide')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.run(out) == []
    assert all(one.is_legible and one.texts > 8 for one in letters(browser))
    assert browser.run(
        "document.querySelector('#chart svg').getBoundingClientRect().width"
    ) > 0.8 * min(width, 800)
    pixels = matplotlib.image.imread(io.BytesIO(browser.picture(whole=True)))[..., :3]
    assert (np.median(pixels) < 0.3) == dark and (np.ptp(pixels, axis=2) > 0.3).mean() > 0.001


def test_mechanisms_differ_without_colour(page, browser):
    """In grey: each has a line, marks and a lightness of its own."""
    browser.open(page.as_uri())
    lines = browser.run(
        "[...document.querySelectorAll('#rows .line')].map(e => e.getAttribute('stroke-dasharray'))"
    )
    marks = browser.run(
        "[...document.querySelectorAll('#rows .mark')].map(e => e.getAttribute('d'))"
    )
    assert len(lines) == len(set(lines)) == len(set(marks)) == 2


@pytest.mark.skipif(AXE is None, reason="no axe-core here: accessibility was NOT checked")
@pytest.mark.parametrize(("width", "dark"), [(1200, True), (390, False)])
def test_axe_finds_no_violation(page, browser, width, dark):
    browser.open(page.as_uri(), width, dark=dark)
    browser.run(AXE.read_text("utf-8") + "; 1")
    violations = "axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 99))]))"
    assert browser.run(violations) == []
