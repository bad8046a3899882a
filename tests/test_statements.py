"""The page of what papers say: every claim of a paper once, in the order of the paper, with its verdict."""

import csv

import pytest

from pipeline.identity.registry import problems
from tests.helpers.engine import ROOT
from tools import statements

CLAIMS = [claim for one in problems().values() for claim in one.load(one.claims)]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    with (folder / "verdicts.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, ["id", "verdict", "text"])
        rows.writeheader()
        rows.writerow(dict(id="xu.lemma_1", verdict="supported", text="1.00 [0.99, 1.01]"))
    path = folder / "statements.md"
    statements.main([str(folder)], path)
    return path.read_text("utf-8")


@pytest.mark.parametrize("paper", statements.PAPERS, ids=lambda paper: paper.key)
def test_every_claim_of_a_paper_is_in_its_table_once(page, paper):
    table = page.split(f"## {paper.authors}\n")[1].split("\n## ")[0]
    for claim in CLAIMS:
        times = 1 if claim.id.startswith(f"{paper.key}.") or paper.authors in claim.source else 0
        assert table.count(f", `{claim.id}` |") == times, claim.id


def test_places_are_in_the_order_of_the_paper_and_verdicts_are_there(page):
    places = [line.split(" | ")[0] for line in page.splitlines() if "`xu/" in line]
    first = [
        places.index(f"| {place}") for place in ("Lemma 1", "Lemma 2", "Theorem 1", "Theorem 6")
    ]
    assert first == sorted(first) and places[-1] == "| not in the paper"
    assert "`xu.lemma_1` | **supported**: 1.00 [0.99, 1.01] |" in page
    assert "`xu.lemma_3` | not run at full size |" in page


def test_no_folder_is_told_in_one_line():
    with pytest.raises(SystemExit, match="give folders of finished studies"):
        statements.main([])


@pytest.mark.parametrize("paper", statements.PAPERS, ids=lambda paper: paper.key)
def test_tests_that_are_named_are_there(paper):
    for held in paper.tested:
        file, _, name = held.test.partition("::")
        text = (ROOT / "tests/problems" / file).read_text("utf-8")
        assert f"def {name}" in text, held
        rows = (ROOT / "docs/papers.md").read_text("utf-8")
        assert not held.row or f"| {held.row} |" in rows, held.row


def test_every_place_of_nguyen_and_zhang_has_a_claim_or_a_test(page):
    paper = next(paper for paper in statements.PAPERS if paper.key == "nguyen")
    table = page.split(f"## {paper.authors}\n")[1].split("\n## ")[0]
    missing = [place for place in paper.places if f"\n| {place.rstrip(',)')} |" not in table]
    assert not missing
    assert (
        sum(
            f"supplement, {kind}" in place
            for place in paper.places
            for kind in ("Lemma", "Theorem")
        )
        == 21
    )
