"""The page of a certified answer in a real browser: wide, on a phone, in the dark and on paper."""

import importlib.util
import warnings
from pathlib import Path

import pytest

from pipeline.__main__ import main
from tests.helpers.chromium import BROWSER, Chromium
from tests.helpers.letters import letters

if BROWSER is None:
    warnings.warn("no chromium here: the page was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: the page was NOT looked at in a browser"
)

AXE = next(
    (
        Path(spec.submodule_search_locations[0]) / "axe.min.js"
        for name in ("axe_core_python",)
        if (spec := importlib.util.find_spec(name))
    ),
    None,
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page that a question's command writes."""
    where = tmp_path_factory.mktemp("answer") / "page.html"
    words = [
        "problem=ranking",
        "m=5",
        "L=100",
        "unknown=epsilon",
        "mechanism=randomized_response",
        "target='kendall<=0.2'",
    ]
    assert main(["task=advise", *words, f"save={where}"]) == 0
    return where


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.parametrize(
    ("width", "dark", "media"),
    [(1200, False, "screen"), (390, False, "screen"), (390, True, "screen"), (760, False, "print")],
)
def test_nothing_runs_out_of_the_page(page, browser, width, dark, media):
    browser.open(page.as_uri(), width, media=media, dark=dark)
    assert browser.asked_for() == [page.as_uri()] and browser.run("document.title").startswith(
        "How small may ε be"
    )
    assert browser.run("innerWidth") == width >= browser.run("document.documentElement.scrollWidth")
    out = (
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.wide')"
        " && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.run(out) == []
    figure = "document.querySelector('figure svg')"
    assert browser.run(f"{figure}.getBoundingClientRect().width") > 0.8 * min(width, 544) - 40
    (measured,) = letters(browser)
    print(f"letters of the figure: {measured.least:.1f} pixels")
    assert measured.is_legible and measured.texts > 8


@pytest.mark.skipif(AXE is None, reason="no axe-core here: accessibility was NOT checked")
@pytest.mark.parametrize(("width", "dark"), [(1200, True), (390, False)])
def test_axe_finds_no_violation(page, browser, width, dark):
    browser.open(page.as_uri(), width, dark=dark)
    browser.run(AXE.read_text("utf-8") + "; 1")
    violations = "axe.run().then(r => r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 99))]))"
    assert browser.run(violations) == []
