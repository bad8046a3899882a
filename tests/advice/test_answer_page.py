"""The certified answer as a page: it says what was certified, repeats itself, and is never about
anything else.
"""

import html
import itertools
import json
import re
import shlex

import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.advice import certificate
from pipeline.identity import registry
from tests.advice.test_advise import OWN

ASKED = {"problem": "own_mean", "n": 20, "target": "error_squared<=0.1"}
WORDS = [f"{name}={value}" for name, value in ASKED.items()]


@pytest.fixture(autouse=True)
def own(monkeypatch, tmp_path):
    """A problem of one's own, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with registry.registered(OWN):
        yield


def text_of(path):
    """What a page says, without its markup."""
    body = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", path.read_text("utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_the_page_says_what_the_command_prints_and_repeats_it(tmp_path, capsys):
    """The question, the sentences, the numbers; its own command gives the same answer.

    The library the same bytes.
    """
    assert main(["task=advise", *WORDS, "seed=3", "save=answer.html", "--json"]) == 0
    printed = capsys.readouterr()
    record, page = json.loads(printed.out), tmp_path / "answer.html"
    assert "answer.html: the answer as a page, certified" in printed.err
    said = text_of(page)
    for part in (
        *record["in_words"],
        "How small may ε be, so that the squared error of the mean is at most 0.1?",
        "Certified by fresh simulations",
        f"{record['replications']:,}, shown with 95 % confidence",
        f"at least {record['value']:g}",
        "half of the people",
        "What is assumed",
        record["guarantee"]["budget"],
    ):
        assert part in said, part
    content = page.read_text("utf-8")
    assert (
        "<script" not in content
        and "default-src 'none'" in content
        and not re.search(r"(src|href)=.http", content)
    )
    (command,) = re.findall(r"<pre><code>(.*?)</code>", content)
    words = shlex.split(html.unescape(command))
    assert words[:2] == ["pipeline", "task=advise"] and main([*words[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == record
    known = {**ASKED}
    pl.advise(known.pop("problem"), known.pop("target"), **known, seed=3, save="again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_what_was_not_certified_says_so(tmp_path, monkeypatch, capsys):
    real = certificate._measured
    monkeypatch.setattr(certificate, "_measured", lambda *words: real(*words)._replace(shown=False))
    assert main(["task=advise", *WORDS, "save=answer.html"]) == 1
    said = text_of(tmp_path / "answer.html")
    assert "NOT certified: fresh simulations did not show it" in said and "could NOT show" in said
    assert "the answer as a page, NOT certified" in capsys.readouterr().out


def test_no_page_about_anything_else_is_written(tmp_path, capsys):
    """Where the atlas has no cells for a question, or the question has no answer, nothing is."""
    for words, said in (
        ([*WORDS, "quick=true"], "has nothing to write about this question: this problem has none"),
        (["problem=own_mean", "n=20", "target='error_squared<=1e6'"], "is met already"),
    ):
        assert main(["task=advise", *words, "save=answer.html"]) == 2
        assert said in capsys.readouterr().err and not [*tmp_path.iterdir()]


def test_own_data_get_a_page_about_their_own_answer(tmp_path, capsys):
    """Never the atlas's, which knows nothing of them: with quick=true one line says so, and for
    curves, too.
    """
    items = [f"item {k}" for k in range(3)]
    rows = [
        f"u{user},{','.join(pair if (user * 7 + k) % 3 else pair[::-1])}\n"
        for user in range(60)
        for k, pair in enumerate(itertools.combinations(items, 2))
    ]
    (tmp_path / "comparisons.csv").write_text("user,winner,loser\n" + "".join(rows))
    words = [
        "task=advise",
        "problem=ranking",
        "data.path=comparisons.csv",
        "mechanism=randomized_response",
        "target='kendall<=0.2'",
    ]
    for more in (["save=page.html", "quick=true"], ["save=page.csv"]):
        assert main([*words, *more]) == 2
        line = capsys.readouterr().err
        assert (
            "no cells for data of one's own" in line
            and line.count("\n") == 1
            and "Traceback" not in line
        )
        assert [path.name for path in tmp_path.iterdir()] == ["comparisons.csv"]
    assert main([*words, "save=page.html"]) == 0
    said = text_of(tmp_path / "page.html")
    for part in (
        "nobody is asked anew, only what privacy adds is random",
        "comparisons.csv, SHA-256",
        "The data are as they are",
        "data.path=comparisons.csv",
        "a single release meets it",
    ):
        assert part.lower() in said.lower(), part
    assert "atlas" not in said
