"""Writes docs/statements.md: what each paper says, statement by statement, and what was found.

`python -m tools.statements FOLDER...` reads the verdicts of all finished studies below these
folders, as `pipeline suite=xu outputs=FOLDER` leaves them. A claim that was judged in several
studies is that of the last folder named.
"""

import csv
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.analysis.claims import Claim
from pipeline.identity.registry import problems

PAGE = Path(__file__).resolve().parent.parent / "docs/statements.md"
BEYOND = "not in the paper"
NOT_RUN = "not run at full size"
INTRODUCTION = """# What the papers say, and what was found

One table for each paper, in the order of the paper. *Found* is the verdict at full size, with the estimate, its
95 % interval, and what the claim allows. `python -m tools.statements` writes this page from the verdicts of finished
studies. Where a row of [papers.md](papers.md) shows a mistake or a gap, its name is given. What is judged beyond a
paper comes last.
"""


@dataclass(frozen=True)
class Paper:
    """A paper. key: first word of its claims. places: its statements, in its order."""

    key: str
    authors: str
    places: Sequence[str]


PAPERS = (
    Paper(
        "xu",
        "Xu, Sun and Cheng",
        (
            "section 3.1",
            "Lemma 1",
            "Example 1",
            "Lemma 2",
            "Lemma 3",
            "Theorem 1",
            "Theorem 2",
            "remark after Theorem 2",
            "Corollary 1",
            "Corollaries 1 and 2",
            "Theorem 3",
            "between Theorems 2 and 3",
            "Corollary 2",
            "Table 1",
            "Theorem 4",
            "Lemma 4",
            "Theorem 5",
            "Theorem 6",
            "Scenario I,",
            "Scenario II)",
            "Scenario III",
            "Scenario IV",
            "Scenario V,",
            "§5.2",
            "MovieLens",
            "section 5.4",
            "Lemma S5",
            "Lemma S6",
            "Lemma S7",
            "Lemma S8",
        ),
    ),
    Paper(
        "nguyen",
        "Nguyen and Zhang",
        (
            "§3.1",
            "Theorem 3.1",
            "Theorem 3.2",
            "Theorem 3.3",
            "Theorem 3.4",
            "Lemma 4.1",
            "§4.3",
            "§5.1",
            "§5.2",
            "§7",
            "last section",
            "supplement, Theorem 1.7",
            "supplement, Lemma 3.2",
            "supplement, Theorem 3.3",
            "supplement, Lemma 4.1",
            "supplement, Lemma 4.2",
            "supplement, below Lemma 4.3",
            "supplement, find_effective_epsilon0_rr",
            "supplement, Figure 1",
        ),
    ),
    Paper(
        "banerjee",
        "Banerjee, Hegde and Massoulié",
        (
            "Informal Theorem 2",
            "Informal Theorems 2 and 4",
            "§1.1",
            "first sentences of Theorems 8, 15 and 16",
            "Lemma 6",
            "Theorem 7",
            "Theorem 8",
            "§3",
            "Lemma 9",
            "Theorem 10",
            "§4.2",
            "Lemma 11",
            "Lemma 12",
            "Theorem 13",
            "Theorem 14",
            "Theorem 15",
            "§5",
            "Theorem 16",
            "Theorem 17",
            "Theorem 23",
            "Figure 2",
        ),
    ),
    Paper(
        "wang",
        "Wang and Xu",
        (
            "Theorem 1",
            "eqs. (9) and (22)",
            "after eq. (10)",
            "§3.3",
            "Theorem 2",
            "Theorem 3",
            "eq. (18)",
            "Theorem 4",
            "eq. (14)",
            "conclusion",
        ),
    ),
)


def main(folders: Sequence[str], page: Path = PAGE) -> None:
    """Write the page from the verdicts below some folders."""
    if not folders:
        sys.exit("give folders of finished studies: python -m tools.statements outputs/2026-11-26")
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("verdicts.csv")):
            found.update(_verdicts(path))
    tables = [_table(paper, found) for paper in PAPERS]
    page.write_text("\n".join([INTRODUCTION, *tables]), "utf-8")


def _verdicts(path: Path) -> Iterator[tuple[str, str]]:
    """Claims that a study judged, and what was found, in words."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["id"], f"**{row['verdict']}**: {row['text']}"


def _table(paper: Paper, found: dict[str, str]) -> str:
    claims = sorted(_claims_of(paper), key=lambda claim: _place(claim, paper))
    lines = [
        f"## {paper.authors}",
        "",
        "| where | what is said | experiment | found |",
        "| --- | --- | --- | --- |",
    ]
    for claim in claims:
        row = f" ({claim.row})" if claim.row else ""
        cells = (
            _where(claim, paper),
            claim.statement,
            f"`{claim.experiment}`, `{claim.id}`",
            found.get(claim.id, NOT_RUN) + row,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _claims_of(paper: Paper) -> Iterator[Claim]:
    for problem in problems().values():
        for claim in problem.load(problem.claims):
            is_of_paper = claim.id.startswith(f"{paper.key}.")
            if is_of_paper or paper.authors in claim.source:
                yield claim


def _matches(claim: Claim, paper: Paper) -> list[int]:
    """Numbers of the places that the source of a claim names; the most exact ones come first."""
    named = []
    for number, place in enumerate(paper.places):
        if re.search(rf"{re.escape(place)}(?![\d.]*\d)", claim.source):
            named.append(number)
    return sorted(named, key=lambda number: -len(paper.places[number]))


def _is_beyond(claim: Claim) -> bool:
    words = ("not in the paper", "finding", "beyond", "improves", "not in the edition")
    return any(word in claim.source for word in words)


def _place(claim: Claim, paper: Paper) -> int:
    matches = _matches(claim, paper)
    if not matches or _is_beyond(claim):
        return len(paper.places)
    return matches[0]


def _where(claim: Claim, paper: Paper) -> str:
    place = _place(claim, paper)
    if place == len(paper.places):
        return BEYOND
    return paper.places[place].rstrip(",)")


if __name__ == "__main__":
    main(sys.argv[1:])
