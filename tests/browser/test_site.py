"""The list of versions of the documentation as a site: shown where versions stand beside each other, else hidden."""

import functools
import http.server
import json
import re
import shutil
import threading
import time
import warnings
from pathlib import Path

import pytest

from tests.helpers.chromium import BROWSER, Chromium

if BROWSER is None:
    warnings.warn("no chromium here: the site was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium here: the site was NOT looked at in a browser"
)
THEME = Path(__file__).parents[2] / "docs" / "theme"
SHOWN = "[...document.querySelectorAll('.versions option')].map(e => [e.value, e.selected])"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two versions of a site of two pages, one of them in a folder, and the address of a server of it."""
    folder = tmp_path_factory.mktemp("site")
    template = (THEME / "versions.html").read_text("utf-8")
    template = re.sub(r"{#.*?#}", "", template, flags=re.S)
    for version, names in {"0.4": ("guide", "deep/page"), "0.3": ("guide", "index")}.items():
        for name in names:
            root = "../" * name.count("/") or "./"
            label = template.replace("{{ pagename }}", name).replace("{{ release }}", version)
            page = folder / version / f"{name}.html"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(
                f'<!DOCTYPE html><html data-content_root="{root}"><title>{name} {version}</title>{label}'
                f'<script src="{root}versions.js"></script></html>'
            )
        shutil.copy(THEME / "static" / "versions.js", folder / version)
    (folder / "versions.json").write_text(json.dumps(["0.4", "0.3"]))
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nothing is told."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


def until(browser, script, wanted):
    """The value of a script, which is waited for."""
    end = time.monotonic() + 60
    while (value := browser.run(script)) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    return value


@pytest.mark.parametrize(("page", "then"), [("guide", "guide 0.3"), ("deep/page", "index 0.3")])
def test_another_version_of_the_page_is_chosen(site, browser, page, then):
    """Its first page where it lacks this one."""
    _, server = site
    browser.open(f"{server}/0.4/{page}.html")
    wanted = [["0.4", True], ["0.3", False]]
    assert until(browser, SHOWN, wanted) == wanted
    assert all(address.startswith(server) for address in browser.asked_for())
    choose = "(e => { e.value = '0.3'; e.dispatchEvent(new Event('change')) })"
    browser.run(f"{choose}(document.querySelector('.versions select')), 1")
    assert until(browser, "document.title", then) == then


def test_nothing_is_shown_from_a_disk(site, browser):
    folder, _ = site
    browser.open((folder / "0.4" / "guide.html").as_uri())
    assert browser.run("document.querySelector('.versions').checkVisibility()") is False
    assert not any("versions.json" in address for address in browser.asked_for())
