"""The page of what papers say: every claim once, in the order of the paper, with its verdict."""

import re

import pytest

from tests.helpers.engine import ROOT
from tests.helpers.papers import ROW
from tools import statements

PAGE = (ROOT / "docs/statements.md").read_text("utf-8")
STALE = "docs/statements.md is of other claims: run python -m tools.statements"


def written(folder, verdict, text="1.0,0.99,1.01", full=""):
    """The page that a study makes of one verdict on Lemma 1."""
    path = folder / "xu" / "verdicts.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"id,verdict,estimate,low,high\nxu.lemma_1,{verdict},{text}\n", "utf-8")
    page = folder / "statements.md"
    statements.main([f"{full}{folder}"], page)
    return page.read_text("utf-8")


def test_the_page_is_that_of_the_claims_that_ship():
    assert statements.document(statements.kept(PAGE)) == PAGE, STALE


def test_every_claim_has_one_row_and_every_row_a_claim_a_test_or_a_reason():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and " --- " not in line]
    named = re.findall(r"\| `[\w/]+`, `([\w.]+)` \|", PAGE)
    assert sorted(named) == sorted(claim.id for claim in statements.claims())
    tested = sum("| tested |" in line for line in rows)
    reasons = sum(bool(place.why) for paper in statements.PAPERS for place in paper.places)
    heads = len(statements.PAPERS) + 1
    assert len(rows) == len(named) + tested + reasons + heads


@pytest.mark.parametrize("paper", statements.PAPERS, ids=lambda paper: paper.key)
def test_every_statement_of_a_paper_has_a_row_in_its_order(paper):
    table = PAGE.split(f"## {paper.authors}\n")[1].split("\n## ")[0]
    places = [
        re.sub(r" \([A-Z]\d.*\)$", "", line.split(" | ")[0][2:]) for line in table.splitlines()[3:]
    ]
    wanted = [statements.shown(place) for place in paper.places] + [statements.BEYOND]
    assert list(dict.fromkeys(places)) == wanted


@pytest.mark.parametrize("paper", statements.PAPERS, ids=lambda paper: paper.key)
def test_what_a_place_names_is_there(paper):
    for place in paper.places:
        assert not (place.test and place.why) and bool(place.says) == bool(place.test or place.why)
        file, _, name = place.test.partition("::")
        if file:
            assert f"def {name}" in (ROOT / "tests" / file).read_text("utf-8"), place


def test_every_mistake_is_named_where_the_paper_makes_it():
    named = {
        row
        for paper in statements.PAPERS
        for place in paper.places
        for row in place.row.split(", ")
    }
    assert named - {""} == set(ROW)
    assert {claim.row for claim in statements.claims()} - {""} <= set(ROW)


def test_verdicts_of_a_study_are_written_and_stay(tmp_path):
    row = "| `xu/lemmas`, `xu.lemma_1` | together: 1 ± 0.01; each meets 1 |"
    assert f"{row} **supported** | 1.000 [0.990, 1.010] |" in written(tmp_path, "supported")
    assert f"{row} **supported**, full | 1.000 [0.990, 1.010] |" in written(
        tmp_path, "supported", full="full="
    )
    page = written(tmp_path, "not tested", ",,")  # says nothing beside a verdict that is there
    assert f"{row} **supported**, full |" in page
    assert "`xu.lemma_3` | no case, where 0.1 % would show | not run | – |" in page


def test_a_quick_verdict_does_not_replace_a_full_one(tmp_path):
    written(tmp_path, "supported", full="full=")
    assert "**supported**, full" in written(tmp_path, "inconclusive")
    assert "**contradicted**, full" in written(tmp_path, "contradicted", full="full=")


def test_a_verdict_on_something_else_does_not_stay(tmp_path):
    page = written(tmp_path, "supported")
    other = page.replace("together: 1 ± 0.01; each meets 1 | **", "together: 1 ± 0.5 | **", 1)
    assert other != page
    assert statements.document(statements.kept(other)) == page.replace(
        "each meets 1 | **supported** | 1.000 [0.990, 1.010]", "each meets 1 | not run | –", 1
    )


def test_a_folder_that_is_not_there_is_told_in_one_line(tmp_path):
    with pytest.raises(SystemExit, match="no folder of finished studies: .*nowhere"):
        statements.main([str(tmp_path / "nowhere")], tmp_path / "page.md")
