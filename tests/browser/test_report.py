"""The page in a real browser: it shows, in full, and asks nobody for anything."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import warnings
from types import SimpleNamespace as Plain

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.summary import summarise
from pipeline.reporting import page, specs
from pipeline.reporting.drawn import render

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --hide-scrollbars --virtual-time-budget=5000").split()

if BROWSER is None:
    warnings.warn("no chromium here: the page was not looked at in a browser", stacklevel=1)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium here: the page was NOT looked at in a browser")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A written report on made-up data."""
    axes = {"m": [10, 20], "x": [1.0, 2.0, 4.0, 8.0]}
    values = 1 / (1 + np.array(axes["x"]))[None, :, None] * np.random.default_rng(0).uniform(0.9, 1.1, (2, 4, 20))
    dims = (*axes, "replication")
    data = xr.Dataset({"error": (dims, values, {"units": "logits", "long_name": "error"}),
                       "status": (dims, np.ones((2, 4, 20), "int8"))}, axes)
    figures = specs.read([{"kind": "curves", "metric": "error", "along": "x", "by": ["m"]},
                          {"kind": "phase_diagram", "metric": "error", "along": "x", "size": ["m"], "level": 0.3},
                          {"kind": "map", "metric": "error", "along": "x", "across": "m"}],
                         axes, (), ["error"])
    summary = summarise(data)
    drawn = [render(spec, data, summary) for spec in figures]
    section = page.Section("a/b", "A title <b>", "Why?", summary, drawn, [verdict("a.b", "supported")], {"seed": 1})
    spent = {"one comparison": (0.1, 4.0), "all comparisons of a user": (1.0, np.inf)}
    privacy = [{"mechanism": "flip", "unit": "one", "neighbours": "other", "budget": "ε", "spent": spent}]
    last = page.Section("a/c", "Another title, rather longer than what fits into a line of a small screen", "", summary,
                        verdicts=[verdict("a.c", "contradicted"), verdict("a.d", "inconclusive"),
                                  verdict("a.e", "supported")], facts={"privacy": privacy})
    folder = tmp_path_factory.mktemp("report")
    return page.write(folder, "A title <b>", [section, last], {"command": "pipeline"})


def verdict(name, word):
    """A verdict of two findings."""
    claim = Plain(id=name, statement="It falls.", source="Theorem 1", conditions="", estimand="slope",
                  claimed="0.1", why="so", measure=Plain(compute=verdict), headline=False,
                  control_of=lambda verdict: Plain(description="flat data"))
    check = Plain(verdict=word, estimate=Estimate(-0.5, -0.6, -0.4), text="slope; exponent of nothing 0.1 [0, 0.2]",
                  detected="a slope of 0.3", tolerance=None, cells=())
    return Plain(claim=claim, check=check, control=Plain(verdict="contradicted", text="slope 0"), sound=True)


def browse(folder, address, *flags):
    """What the browser prints for an address, with a profile of its own."""
    return subprocess.run([BROWSER, *FLAGS, f"--user-data-dir={folder}/profile", *flags, address],
                          capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module")
def served(report):
    """Address of the report on a server of this test, and the list of paths that were asked for."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=str(report.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/report.html", asked
    server.shutdown()
    server.server_close()


def opened(folder, address):
    """The DOM of a page, and the addresses that the page (not the browser for itself) asked for."""
    log = folder / "net.json"
    dom = browse(folder, address, "--dump-dom", f"--log-net-log={log}", "--net-log-capture-mode=Everything",
                 "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
    origin = address.rsplit("/", 1)[0]
    found = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    return dom, {params["url"] for params in found if "url" in params and params.get("initiator") == origin}


def test_the_log_shows_a_page_that_does_ask(served, report, tmp_path):
    (report.parent / "wrong.html").write_text('<img src="http://elsewhere.invalid/x.png"><p>hello')
    _, urls = opened(tmp_path, served[0].replace("report", "wrong"))
    assert "http://elsewhere.invalid/x.png" in urls
    served[1].clear()


def test_dom_and_requests(served, tmp_path):
    address, asked = served
    dom, urls = opened(tmp_path, address)
    assert "<title>A title &lt;b&gt;</title>" in dom
    for word, n in {"supported": 2, "contradicted": 1, "inconclusive": 1}.items():
        assert len(re.findall(f'<details class="claim {word}"', dom)) == n
    assert len(re.findall("<figure", dom)) == len(re.findall("<svg", dom)) == 3
    assert set(asked) == {"/report.html"}
    assert not urls - {address}


@pytest.mark.parametrize("width", [1200, 400])
def test_picture_is_not_blank(report, tmp_path, width):
    import matplotlib.image

    picture, frame = tmp_path / "page.png", tmp_path / "frame.html"
    frame.write_text(f'<body style="margin: 0"><iframe src="{report.as_uri()}" style="border: 0; width: {width}px; '
                     'height: 3600px">')  # a window is never as narrow as a telephone
    browse(tmp_path, frame.as_uri(), f"--screenshot={picture}", f"--window-size={max(width, 600)},3600")
    pixels = matplotlib.image.imread(picture)[:, :width, :3]
    assert pixels.shape[:2] == (3600, width)
    assert pixels.min() < 0.2 and pixels.std() > 0.05
    assert (np.ptp(pixels, axis=2) > 0.3).mean() > 0.005  # the figures have colours
    margin = pixels[:, -4:]  # nothing runs out of the page to the right
    assert np.allclose(margin, margin[0, 0], atol=0.02)


def test_prints_to_pdf(report, tmp_path):
    browse(tmp_path, report.as_uri(), f"--print-to-pdf={tmp_path}/page.pdf", "--no-pdf-header-footer")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
