"""The page: one file that needs nothing else, with everything escaped and every link resolved."""

import base64
import csv
import dataclasses
import hashlib
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from types import SimpleNamespace as Plain

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.claims import Judgement
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import Within
from pipeline.reporting import archive, endings, methods, page, specs
from pipeline.reporting.drawn import render
from pipeline.reporting.findings import findings
from pipeline.reporting.formatting import check_lines, with_interval
from pipeline.reporting.section import CellOfCost, Effort, Facts, Failure, PastSession, Protection
from pipeline.reporting.specs import FORMATS

FIGURES = [
    dict(
        kind="phase_diagram",
        metric="error",
        along="x",
        at="budget",
        size=["m", "L"],
        level=0.5,
        select={"rule": "plain"},
    ),
    dict(
        kind="curves", metric="error", along="x", by=["m", "L"], split="rule", title="<i>T</i> & co"
    ),
]
EVIL = "<script>alert('x')</script>"


class Judged(Plain):
    """Says of plain claims and checks what a judgement says of real ones."""

    verdict, text = Judgement.verdict, Judgement.text


def verdict(name, word, estimate=None, control="contradicted"):
    claim = Plain(
        id=name,
        statement=f"Statement of {name} {EVIL}",
        source="Theorem 1",
        conditions="always",
        estimand="exponent",
        claimed="0.05",
        why="because",
        measure=Plain(compute=sections),
        headline=False,
        row="X3",
        control_of=lambda verdict: Plain(description="data scaled"),
    )
    check = Plain(
        verdict=word,
        estimate=estimate,
        text="exponent -0.5 found",
        detected="seen from 0.1 on",
        tolerance=None if estimate is None else Within(-0.5, 0.05),
        cells=(("m=10", Estimate(-0.4, -0.5, -0.3), "contradicted"),)
        if word == "contradicted"
        else (),
    )
    return Judged(
        claim=claim,
        check=check,
        control=Plain(verdict=control, text="control text"),
        sound=control == "contradicted",
    )


SESSION = PastSession(
    started="2026-01-01",
    seconds=61.0,
    units=3,
    workers=2,
    lost=0,
    state="stopped",
    machine="Linux",
    versions={"numpy": "2.4"},
)
FACTS = {
    "seed": 7,
    "units": 8,
    "config": f"a: 1\nb: {EVIL}\n",
    "folder": "outputs/a",
    "sessions": [
        SESSION,
        PastSession(
            "2026-01-02", 10, units=5, workers=4, lost=0, state="finished", machine="–", versions={}
        ),
    ],
    "failures": [Failure("c1-0", f"ValueError: {EVIL}", "pipeline task=replay unit=c1-0")],
    "privacy": [
        Protection(
            "flip_it",
            [("unit", "one answer"), ("neighbours", "replaced"), ("budget", "ε")],
            {"one answer": (0.25, 4.0), "all of a user": (1234.5, float("inf"))},
            unit="answer",
        ),
        Protection("silent", [("unit", "one row"), ("budget", "ρ")]),
    ],
    "source": f"A synthetic stand-in {EVIL}.",
}


class Reader(HTMLParser):
    """Tags, attributes and text of a page; checks that tags are closed in order."""

    VOID = {"meta", "link", "br", "img", "hr", "input"}

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text += data


def sections(data, **changes):
    figures = specs.read(
        FIGURES,
        {d: data[d].values.tolist() for d in ("m", "L", "x", "rule")},
        ["budget"],
        ["error", "bound"],
    )
    summary = summarise(data)
    drawn = [render(spec, data, summary, FORMATS) for spec in figures]
    judged = [
        verdict("a.one", "supported", Estimate(-0.498, -0.503, -0.493)),
        verdict("a.two", "contradicted", Estimate(1.0, 0.9, 1.1)),
        verdict("a.three", "inconclusive", None, "inconclusive"),
    ]
    first = dict(
        name="a/one",
        title=f"One {EVIL}",
        question="Why?",
        summary=summary,
        figures=drawn,
        verdicts=judged,
        facts=Facts(**FACTS),
        paper="Paper & Co",
    )
    return [
        page.Section(**first | changes),
        page.Section(
            "a/two",
            "Two",
            "",
            summarise(data.isel(m=[0])),
            facts=Facts(privacy=FACTS["privacy"][:1]),
        ),
    ]


@pytest.fixture(scope="module")
def written(make, tmp_path_factory):
    data = make(replications=10)
    status = data["status"].copy(deep=True)
    status[0, 0, 0, 0, :3], status[0, 0, 1, 0, :2] = 2, 3
    data = data.assign(status=status)
    folder = tmp_path_factory.mktemp("report")
    facts = Facts(**FACTS | {"folder": str(folder.parent / "a")})
    about = page.About(
        command="pipeline suite=demo",
        version="1.2",
        commit="abc-dirty",
        bibtex="@software{it}",
        files={"a-one.yaml": b"name: a/one"},
    )
    path = page.write(folder, f"All {EVIL}", sections(data, facts=facts), about)
    assert path == folder / "report.html"
    return folder, path.read_text(), Reader(path.read_text()), data


def test_nothing_is_loaded_from_anywhere(written):
    _, text, reader, _ = written
    for tag, attributes in reader.tags:
        assert tag not in ("iframe", "object", "embed", "base") and (
            tag != "script" or not attributes
        )
        for name in ("src", "href", "xlink:href", "data", "srcset", "action"):
            value = attributes.get(name) or ""
            assert not re.match(r"(https?:)?//", value), (tag, value)
    assert "@import" not in text and not re.search(r"url\((?!#)", text) and "http:" not in text


def test_one_script_may_run_and_nothing_may_be_sent(written):
    _, text, reader, _ = written
    (policy,) = [
        attributes["content"] for _, attributes in reader.tags if "http-equiv" in attributes
    ]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert (
        policy
        == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    )


def test_everything_is_escaped_and_resolved(written):
    _, text, reader, _ = written
    assert EVIL not in text and text.count("<script") == 1 and "&lt;script&gt;" in text
    assert "{{" not in text and "{%" not in text and "Undefined" not in text
    assert not re.search(r"\b(None|nan|inf)\b", reader.text), re.findall(
        r".{20}\b(?:None|nan|inf)\b.{20}", reader.text
    )


def test_links_lead_somewhere_and_ids_are_unique(written):
    folder, _, reader, _ = written
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        link = attributes.get("href") or ""
        if link.startswith("#"):
            assert link[1:] in ids, link
        elif tag == "a":
            assert link.startswith("data:application/zip;base64,")
    for stem in ("a-one-1-phase_diagram", "a-one-2-curves"):
        for kind in ("csv", "png", "pdf", "svg"):
            assert (folder / "figures" / f"{stem}.{kind}").stat().st_size > 100
    assert not list(folder.rglob("*.partial"))


def between(text, start, end):
    """Words of a part of the page."""
    part = text[text.index(start) :]
    return " ".join(re.sub("<[^>]*>", " ", part[: part.index(end)]).replace("&lt;", "<").split())


def test_the_first_screen_says_what_was_found(written):
    """Paper, verdicts and findings with their numbers come before the first figure, and that before the contents."""
    _, text, _, _ = written
    first = between(text, '<header id="top">', "</header>")
    order = [
        "Claims of Paper &amp; Co",
        "All",
        "Of 3 claims, 1 is supported , 1 is contradicted and 1 is inconclusive .",
        "✗ contradicted : Statement of a.two",
        "1.00 [0.90, 1.10] , claimed −½, tolerated ± 0.05. Estimated: exponent.",
        "✓ supported : Statement of a.one",
        "−0.498 [−0.503, −0.493] , claimed",
        "Where the error of it crosses",
        "480 replications in 48 cells were simulated in 71.00 s on 4 workers",
        "stopped once and resumed",
        "4 replications failed and 6 did not converge",
        "Every check noticed the change.",
    ]
    assert sorted(order, key=first.index) == order
    assert first.count("Statement of") == 2  # an undecided claim is no finding


def test_every_claim_and_every_figure_stands_once(written):
    _, text, _, _ = written
    assert re.findall(r'<details class="claim ([a-z -]*)" id="([^"]*)"( open)?>', text) == [
        ("contradicted", "a.two", " open"),
        ("inconclusive", "a.three", ""),
        ("supported", "a.one", ""),
    ]
    assert 2 * text.count("<figure") == text.count('<svg role="img"') == 4  # in two layouts
    assert text.index("<figure") < text.index("<table")
    assert "stands at the top of this page" in text


def test_a_contradicted_claim_shows_what_computed_it(written):
    claim = between(written[1], '<details class="claim contradicted"', "</table>")
    assert (
        "Computed by tests.reporting.test_page, line" in claim
        and "m=10 −0.40 [−0.50, −0.30] contradicted" in claim
    )
    assert "Control data scaled: contradicted, as it must be (control text)" in claim


def test_verdicts_have_a_word_and_a_symbol(written):
    _, text, reader, _ = written
    for word in ("supported", "contradicted", "inconclusive"):
        symbol = page.SYMBOLS[word]
        assert re.search(
            rf'verdict is-{word}"><span class="mark"[^>]*>{re.escape(symbol)}</span>{word}', text
        )
    assert "exponent −0.5 found" in reader.text


def test_contents_count_the_verdicts_of_every_section(written):
    contents = between(written[1], "<nav", "</nav>")
    assert "✓ 1 supported ✗ 1 contradicted ? 1 inconclusive Two" in contents
    assert "Show claims all 3 1 supported 1 contradicted 1 inconclusive" in contents


def test_findings_prefer_contradicted_claims_and_main_findings():
    rows = [
        Plain(id=k, verdict=word, shown="1", headline=main)
        for k, (word, main) in enumerate(
            [
                ("supported", False),
                ("supported", True),
                ("inconclusive", True),
                ("not refuted", False),
                *[("contradicted", False)] * 4,
                ("supported", True),
                ("supported", True),
            ]
        )
    ]
    assert [row.id for row in findings(rows)] == [4, 5, 6, 1]
    assert [row.id for row in findings(rows[:4])] == [1, 2]
    assert [row.id for row in findings([rows[0], rows[3]])] == [0, 3]


def test_claims_of_no_paper_are_not_said_to_be_of_one(make, tmp_path):
    (one, _) = sections(make(replications=10, noise=0), name="person/one")
    text = page.write(tmp_path, "T", [one], page.About()).read_text()
    assert "Of 3 claims" in between(text, '<header id="top">', "</header>")
    assert "Claims of" not in text


def test_without_claims_the_first_screen_has_the_ends_of_the_means(make, tmp_path):
    (one, _) = sections(make(replications=10, noise=0), verdicts=())
    text = page.write(tmp_path, "T", [one], page.About()).read_text()
    first = between(text, '<header id="top">', "</header>")
    assert (
        "Error of it (logits): 0.273, without an interval to 0.75, without an interval "
        "the least at m = 10, L = 100, x = 8, rule = plain; the greatest at m = 10"
    ) in first  # all agree
    assert "Claims of" not in text and "Show claims" not in text


def test_failures_come_first_and_the_first_picture_shows_something(make, tmp_path):
    data = make(replications=10)
    (one, _) = sections(data, verdicts=())
    empty = dataclasses.replace(one.figures[0], title="Empty", points=())
    some = data["status"].copy(deep=True)
    some[0, ..., 0] = 3
    for status, said in (
        (some, "16 of 320 replications failed. Means are of the others"),
        (some * 0 + 3, "All 320 replications failed. No mean is known."),
    ):
        changed = dataclasses.replace(
            one, figures=[empty, one.figures[1]], summary=summarise(data.assign(status=status))
        )
        text = page.write(tmp_path, "T", [changed], page.About()).read_text()
        assert said in between(text, '<p class="notice">', "</p>").replace(" .", ".")
        assert "<h2>Empty" not in text and "<h3>Empty" in text
    assert "failed</b>" not in page.write(tmp_path, "T", [one], page.About()).read_text()


def test_a_page_says_what_stopped_the_cells_and_what_they_cost(make, tmp_path):
    data = make(replications=12)
    status = data["status"].copy(deep=True)
    status[0, :, :, :, 7:] = 0
    data = data.assign(status=status).assign_attrs(
        precision=["error ± 1 %"],
        groups=4,
        groups_on_target=2,
        replications=12,
        above_target=[[{"m": 20, "L": 100}, 1.5], [{"m": 20, "L": 400}, None]],
    )
    effort = Effort(100.0, [CellOfCost("m = 20", run=12, share=0.25)])
    one = page.Section("a", "A", "", summarise(data), facts=Facts(effort=effort))
    text = page.write(tmp_path, "T", [one], page.About()).read_text()
    assert "2 of 4 groups of cells are above the target" in between(
        text, '<p class="notice">', "</p>"
    )
    said = between(text, '<h3 id="a-precision">', "</table>")
    assert "2 reached it; 16 cells stopped early, after 7 replications." in said
    assert said.endswith("m = 20, L = 100 1.50 m = 20, L = 400 unknown")
    assert "m = 20 12 25 % 25.00 s" in between(text, "<h3>What it cost</h3>", "</table>")


def test_crossings_are_said_with_their_confidence(make, tmp_path):
    facts = Facts(
        crossings=["error = 0.5 at m = 3: crosses at epsilon = 2.0 [1.9, 2.1]"],
        crossing_confidence=0.95,
    )
    text = page.write(
        tmp_path, "T", [page.Section("a", "A", "", summarise(make()), facts=facts)], page.About()
    ).read_text()
    said = between(text, '<h3 id="a-crossings">', "</p>")
    assert (
        "crosses at epsilon = 2.0 [1.9, 2.1]" in said
        and "Each interval has confidence 0.95." in said
    )
    assert (
        "a-crossings"
        not in page.write(
            tmp_path,
            "T",
            [page.Section("a", "A", "", summarise(make()), facts=Facts(crossings=[]))],
            page.About(),
        ).read_text()
    )


def test_every_paper_has_a_finding_before_any_has_a_second():
    """Also one of whose claims none is called a main finding, or none is decided as one."""

    def row(paper, number, verdict="supported", main=False):
        identity = f"{paper}{number}"
        return Plain(id=identity, section=paper, verdict=verdict, shown="1", headline=main)

    rows = [
        row("a", 1, main=True),
        row("a", 2, main=True),
        row("b", 1, "inconclusive", True),
        row("c", 1),
        row("c", 2),
        row("d", 1, "inconclusive"),
        row("", 1),
    ]
    papers = {name: f"paper {name}" for name in "abcd"}
    assert [row.id for row in findings(rows, papers)] == ["a1", "b1", "c1", "1"]
    assert [row.id for row in findings(rows[:3], papers)] == ["a1", "b1", "a2"]


def test_checks_that_are_too_weak_are_linked_from_the_first_screen(make, tmp_path):
    one, weak = (
        verdict(name, "supported", Estimate(-0.5, -0.6, -0.4)) for name in ("a.one", "a.weak")
    )
    weak.sound = False
    section = page.Section("a", "A", "", summarise(make()), verdicts=[one, weak])
    text = page.write(tmp_path, "T", [section], page.About()).read_text()
    first = text[: text.index("</header>")]
    assert (
        "1 is supported" in between(first, '<div id="answer">', "</div>")
        and "1 is checked too weakly" in first
    )
    weakest = next(
        row for row in csv.DictReader((tmp_path / "verdicts.csv").open()) if row["id"] == "a.weak"
    )
    assert weakest["verdict"] == "too weak" and weakest["text"].startswith(
        "supported, but the check is too weak: its"
    )
    assert (
        "1 of 2 checks noticed the change" in first
        and '<a href="#a.weak"><code>a.weak</code></a>.' in first
    )


def test_an_identity_is_called_so_and_is_no_finding(make, tmp_path):
    one, same = (
        verdict("a.one", "supported", Estimate(-0.5, -0.6, -0.4)),
        verdict("a.same", "identity", Estimate(1, 1, 1)),
    )
    section = page.Section("a", "A", "", summarise(make(replications=5)), (), [same, one])
    text = page.write(tmp_path, "T", [section], page.About()).read_text()
    first = text[: text.index("</header>")]
    assert (
        '<b class="is-identity">1 is an identity</b>' in first
        and "Statement of a.same" not in first
    )
    assert "body:has(#only-identity:checked)" in text and 'id="only-identity"' in text
    assert '<details class="claim identity" id="a.same">' in text


def test_an_interim_page_names_what_nothing_is_known_of(make, tmp_path):
    data = make(replications=4)
    status = data["status"].copy(deep=True)
    status[1], status[0, ..., 3:] = 0, 0
    one = page.Section(
        "a",
        "A",
        "",
        summarise(data.assign(status=status)),
        facts=Facts(missing=5, units=8, replications=4),
    )
    text = page.write(tmp_path, "T", [one], page.About()).read_text()
    assert "5 of 8 units are missing" in (first := between(text, '<header id="top">', "</header>"))
    assert "Nothing is known at m = 20." in first
    assert (
        "16 cells of the grid have no replication, the others have 3 of 4 replications."
        in between(text, "<b>Interim:</b>", "</p>")
    )


def test_budgets_per_section_and_statements_once(written):
    _, text, reader, _ = written
    assert between(text, "<h3>Privacy budget</h3>", "</table>").endswith(
        "Mechanism one answer all of a user flip it 0.25 to 4 1,234 to ∞"
    )
    assert text.count("<h3>Privacy budget</h3>") == 2 and text.count("<dd>one answer</dd>") == 1
    assert between(text, '<section id="privacy">', "</section>").endswith(
        "flip it unit one answer neighbours replaced budget ε silent unit one row budget ρ"
    )


def test_the_origin_of_the_data_is_said(written):
    assert "Data: A synthetic stand-in" in between(
        written[1], '<section class="study" id="a-one">', "<h3>"
    )
    assert written[1].count("<b>Data:</b>") == 1


def test_versions_are_said_once(make, tmp_path):
    first, second = sections(make(replications=5))
    newer = dataclasses.replace(SESSION, versions={"numpy": "2.5"})
    three = [
        first,
        page.Section("b", "B", "", second.summary, facts=Facts(sessions=[SESSION])),
        page.Section("c", "C", "", second.summary, facts=Facts(sessions=[SESSION, newer])),
    ]
    text = page.write(tmp_path, "T", three, page.About()).read_text()
    assert text.count("Versions: numpy 2.4.") == 1 and text.count("Versions of c: numpy 2.5.") == 1


def test_what_was_run_is_folded(written):
    _, text, _, _ = written
    assert text.count('<details class="run"><summary>What was run: ') == 2
    assert "What was run: 32 cells, 10 replications each, 8 units of work, seed 7</summary>" in text


def test_failures_and_what_they_could_change(written):
    _, _, reader, _ = written
    assert "pipeline task=replay unit=c1-0" in reader.text
    assert "2 failed, 3 did not converge" in reader.text and "its range has no end" in reader.text
    assert '\nxarray.open_zarr("../a/results.zarr")' in reader.text and "one answer" in reader.text


def test_the_page_holds_its_data(written):
    """The zip file in the page has the bytes of the tables beside it, and what was given."""
    folder, text, _, _ = written
    (link,) = re.findall(
        r'<a href="data:application/zip;base64,([^"]*)" download="data.zip">', text
    )
    content = zipfile.ZipFile(io.BytesIO(base64.b64decode(link)))
    assert content.namelist() == [
        "a-one.yaml",
        "figures/a-one-1-phase_diagram.csv",
        "figures/a-one-2-curves.csv",
        "summary.csv",
        "verdicts.csv",
    ]
    for name in content.namelist()[1:]:
        assert content.read(name) == (folder / name).read_bytes()
    assert content.read("a-one.yaml") == b"name: a/one"
    said = between(text, '<section id="repeat">', "</section>")
    assert "version 1.2 of the program, commit abc-dirty" in said and "@software{it}" in said
    assert str(folder.parent) not in text  # no folder of the machine


def test_the_largest_files_stay_out_of_a_page_that_would_be_too_large(monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 5000)
    noise = np.random.default_rng(0).bytes(4000)
    link = archive.link({"a": noise[:3000], "b": noise, "c": b"1"})
    assert link.left_out == ["b"] and link.names == ["a", "c"]
    assert link.size < 5000 and len(link.href) < 7000
    assert archive.link({"a": noise[:3000]}) == archive.link({"a": noise[:3000]})


def test_methods_to_paste(make, tmp_path):
    data = make(replications=10, m=[10], L=[100, 400])
    data["status"][0, 0, 0, 0, :2] = 3
    facts = Facts(
        seed=7,
        paired=["rule"],
        constants={"lambda_scale": 0.5},
        parts={
            "model": {"btl": "A model."},
            "mechanism": {"flip_it": ""},
            "estimator": {"plain": "One. But not always.", "other": "Two."},
        },
    )
    (one, _) = sections(data, facts=facts, figures=())
    text = between(
        page.write(tmp_path, "T", [one], page.About()).read_text(),
        '<details class="methods">',
        "</details>",
    )
    order = [
        "Aims. Why?",
        "Data-generating mechanisms. Data-generating model: btl (A model).",
        "Factors varied: L ∈ {100, 400}; x ∈ {1, 2, 4, 8}; rule ∈ {plain, other one}; all combinations",
        "16 cells. Constants: lambda scale = 0.5.",
        "Estimands. The truth",
        "3 claims are judged. Estimated: exponent.",
        "Methods. Mechanism: flip it. Estimators: plain (One); other (Two).",
        "rule are compared on the same data",
        "95 % intervals, of: error of it (logits); bound (logits²).",
        "10 replications per cell, fixed in advance; they decide 2 of 3 claims.",
        "relative to the mean, in the median cell (and in the worst): error 1.5 % (",
        "; bound 0 % (0 %).",
        "Of 160 replications 2 failed and 0 did not converge",
        "seed 7.",
    ]
    assert not [part for part in order if part not in text], text
    assert sorted(order, key=text.index) == order


def test_methods_say_that_all_looks_keep_the_error():
    summary = xr.Dataset(
        {"n_run": ("cell", [100, 300])}, attrs={"until": json.dumps({"most": 1000})}
    )
    text = methods.precision(summary, [])
    assert "keep it; a verdict says where its values are too skewed for that." in text


def test_every_value_of_a_figure_can_be_pointed_at(written):
    """Each cell drawn is one place in the picture, with its labels, value and interval, and one line behind it."""
    _, text, _, data = written
    summary = summarise(data)
    figures = re.findall(r"<figure.*?</figure>", text, re.S)
    assert len(figures) == 2
    for figure, cells in zip(figures, (16, 32), strict=True):
        points = re.findall(
            r'<i style="--x:([\d.]+)%;--y:([\d.]+)%[^"]*" data-t="([^"]*)">', figure
        )
        own = [one for one in points if not one[2].startswith("boundary at")]
        assert len(own) == cells and all(
            0 < float(x) < 100 and 0 < float(y) < 100 for x, y, _ in points
        )
        assert re.findall(r"<li>(.*?)</li>", figure) == [words for _, _, words in points]
    cell = summary.sel(m=20, L=100, x=8.0, rule="plain")
    mean, low, high = (f"{cell[name].item():.3g}" for name in ("error", "error_low", "error_high"))
    said = [one for one in own if one[2].startswith("m = 20, L = 100, rule = plain, x = 8")]
    assert said[0][2] == f"m = 20, L = 100, rule = plain, x = 8: {mean} [{low}, {high}]"
    left, right = (
        float(x)
        for x, _, words in own
        if words.startswith("m = 10, L = 100, rule = plain, x = ")
        for level in ("1:", "8:")
        if f"x = {level}" in words
    )
    assert left < right
    tops = [
        float(y) for _, y, words in own if words.startswith("m = 10, L = 100, rule = plain, x = ")
    ]
    assert tops == sorted(tops)  # the error falls, so the marks go down
    assert len(list(re.findall('data-t="(boundary at [^"]*)"', figures[0]))) > 0


def test_summary_csv_has_every_cell_and_metric(written):
    folder, _, _, data = written
    lines = list(csv.DictReader((folder / "summary.csv").open()))
    assert len(lines) == (32 + 16) * 2
    summary = summarise(data)
    for line in lines[:32]:
        cell = summary.sel(
            m=int(line["m"]), L=int(line["L"]), x=float(line["x"]), rule=line["rule"]
        )
        assert float(line["mean"]) == cell[line["metric"]].item()
        assert float(line["mcse"]) == cell[line["metric"] + "_mcse"].item()
        assert int(line["n_failed"]) == cell["n_failed"].item()


def test_verdicts_csv(written):
    lines = list(csv.DictReader((written[0] / "verdicts.csv").open()))
    assert [line["verdict"] for line in lines] == ["supported", "contradicted", "inconclusive"]
    assert (
        float(lines[0]["low"]) == -0.503
        and lines[2]["estimate"] == ""
        and EVIL in lines[0]["statement"]
    )


def test_writing_again_gives_the_same_bytes_and_leaves_nothing_old(make, tmp_path):
    data = make(replications=5)
    page.write(tmp_path, "T", sections(data), page.About(command="c"))
    first = {
        path.relative_to(tmp_path): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    page.write(tmp_path, "T", sections(data), page.About(command="c"))
    assert first == {
        path.relative_to(tmp_path): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    page.write(tmp_path, "T", sections(data, figures=()), page.About())
    assert not list((tmp_path / "figures").iterdir())


def test_a_broken_figure_leaves_the_old_report(make, tmp_path, monkeypatch):
    data = make(replications=5)
    path = page.write(tmp_path, "Old", sections(data), page.About())
    before = path.read_text()
    monkeypatch.setattr("pipeline.reporting.inline.inline", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        page.write(tmp_path, "New", sections(data), page.About())
    assert path.read_text() == before and len(list((tmp_path / "figures").iterdir())) == 10
    assert not list(tmp_path.rglob("*.partial"))


def test_a_page_without_anything_to_say(make, tmp_path):
    data = make(replications=1, m=[10], L=[100], x=[1.0], rule=["plain"])
    text = page.write(
        tmp_path, "Bare", [page.Section("bare", "", "", summarise(data))], page.About()
    ).read_text()
    reader = Reader(text)
    assert "1 replication in 1 cell" in " ".join(reader.text.split())
    assert "claim" not in reader.text


def test_findings_are_lines_with_bold_estimates():
    lines = check_lines(
        "exponent <x> -0.5 [-0.6, -0.4], claimed -0.5; slope nan [-inf, inf]; ratio 2 [1.5, inf]; little"
    )
    assert [str(line) for line in lines] == [
        "exponent &lt;x&gt; <b>−0.5 [−0.6, −0.4]</b>, claimed −0.5",
        "slope not determined",
        "ratio <b>2 [1.5, ∞]</b>",
        "little",
    ]


def test_a_number_without_monte_carlo_error_has_no_interval():
    (line,) = check_lines(f"{Estimate(2.0271, 2.0271, 2.0271)} at m=10, claimed at most 1.5")
    assert line == "<b>2.027 (no Monte Carlo error)</b> at m=10, claimed at most 1.5"
    assert with_interval(2.0271, 2.0271, 2.0271) == "2.03 (no Monte Carlo error)"
    assert with_interval(2.0271, 2.0, 2.06) == "2.03 [2, 2.06]"


def test_an_estimate_is_said_once_and_a_weak_check_is_named(make, tmp_path):
    found = verdict("a.b", "supported", Estimate(-0.5, -0.6, -0.4), "inconclusive")
    found.check.text = "exponent -0.50 [-0.60, -0.40], claimed -0.5"
    section = page.Section("a", "A", "", summarise(make(replications=5)), (), [found])
    text = page.write(tmp_path, "T", [section], page.About()).read_text()
    assert text.count("exponent <b>−0.50 [−0.60, −0.40]</b>, claimed −0.5") == 1
    assert "inconclusive: the check is too weak" in text and "with 99 % confidence" in text


def test_letters_are_defined_once_for_all_figures_and_every_reference_has_its_target(written):
    text = written[1]
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    assert used <= set(ids) and sum(name.startswith("D-") for name in used) > 20
    references = re.findall(r"<use [^>]*>", text)  # half of a page of many figures
    assert sum(map(len, references)) < 40 * len(references)


def test_on_a_dark_screen_colours_keep_their_hue_and_can_be_seen(written):
    """Greys are turned over; the letters on coloured tiles, chosen for these, are not."""
    text = written[1]
    at_night = dict(re.findall(r"--([0-9a-f]{6}):(#[0-9a-f]{6})", text))
    assert at_night["000000"] == "#e8e8ec" and at_night["ffffff"] == "#17171b"
    assert all(f"var(--{colour},#{colour})" in text for colour in at_night)
    assert '<g class="kept">' in text and "--000000:initial" in text
    assert "invert(" not in text


@pytest.mark.parametrize(
    "word, open_for_good, said",
    [
        (
            "supported",
            False,
            "All claims that can be decided were decided after 300 of at most 1,000",
        ),
        (
            "inconclusive",
            False,
            "All 1,000 replications that were allowed were simulated where they were needed",
        ),
        (
            "inconclusive",
            True,
            "were decided. No number of replications can decide 1 claim: add levels to the grid.",
        ),
    ],
)
def test_what_stopped_a_study_is_said(word, open_for_good, said):
    summary = xr.Dataset(attrs={"until": json.dumps({"most": 1000}), "replications": 300})
    judged = verdict(
        "a.one", word, Estimate(1, 0, 2), "contradicted" if word == "supported" else "inconclusive"
    )
    judged.check.open_for_good = open_for_good
    assert said in endings.what_stopped(summary, [judged], is_interim=False)
