"""The page of a promise in a real browser: wide, on a phone, and on one sheet of A4."""

import base64
import re
import warnings

import pytest

from pipeline.privacy.attacks import GaussianShifts
from pipeline.workflow.promise_page import page_of_release
from tests.browser.test_answer_in_browser import AXE
from tests.helpers.chromium import BROWSER, Chromium
from tests.helpers.letters import letters
from tests.workflow.test_promise_page import released

if BROWSER is None:
    warnings.warn("no chromium here: the page was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: the page was NOT looked at in a browser"
)
LONG = {  # the longest that releases say
    "unit": "all responses of one person, and which of them are missing: of all rows of one name; a name that "
    "several rows have counts as not there; of a person's answers 1,000 count, drawn at random",
    "neighbours": "one person's row, answers and which of them are missing, replaced by another, whatever name it "
    "has; or all rows of one name",
    "public": "names in data.items, law of the noise; every pair has its counts, whether anybody answered or not",
    "comparisons.csv": "comparisons that first won against second, and second against first, plus noise; may be "
    "negative",
    "items.csv": "scores in logits, centred, of the Bradley-Terry-Luce fit to comparisons.csv alone: counts "
    "below 0 as 0, ridge λ = 1",
    "not released": "the number of persons, who answered what, any count without noise",
    "rows left out": "rows that cannot be read by themselves, or say what is not listed, count as not there; "
    "whether there are some is not said",
    "spent": {"rho": 1.2, "delta": 1e-6, "epsilon": 10.5, "epsilon_bun_steinke": 11.25},
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    where = tmp_path_factory.mktemp("release") / "promise.html"
    where.write_text(page_of_release(released(GaussianShifts(9.0, 8, 1e-6), **LONG)), "utf-8")
    return where


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_nothing_runs_out_of_the_page(page, browser, width, dark):
    browser.open(page.as_uri(), width, dark=dark)
    assert browser.asked_for() == [page.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") <= width
    (measured,) = letters(browser)
    assert measured.is_legible and measured.texts > 8
    if AXE is not None:
        browser.run(AXE.read_text("utf-8") + "; 1")
        violations = "axe.run().then(r => r.violations.map(v => [v.id, v.help]))"
        assert browser.run(violations) == []


def test_it_is_one_sheet_of_paper(page, browser, tmp_path):
    """And a page with much more text is two: the control."""
    longer = tmp_path / "longer.html"
    longer.write_text(
        page.read_text("utf-8").replace("</main>", "<p>more</p>" * 40 + "</main>"), "utf-8"
    )
    assert [sheets(browser, where) for where in (page, longer)] == [1, 2]


def sheets(browser, where):
    browser.open(where.as_uri(), media="print")
    pdf = base64.b64decode(browser("Page.printToPDF", preferCSSPageSize=True)["data"])
    return len(re.findall(rb"/Type /Page\n", pdf))
