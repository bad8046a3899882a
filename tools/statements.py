"""Writes docs/statements.md: what each paper says, statement by statement, and what was found.

`python -m tools.statements FOLDER...` reads the verdicts of all finished studies below these
folders, as `pipeline suite=xu outputs=FOLDER` leaves them. A claim that was judged in several
studies is that of the last folder named.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
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
class Tested:
    """A statement that tests compare with exact laws or enumerations, and no claim judges.

    test: its file below tests/problems, and its name. row: of papers.md, where there is one.
    """

    place: str
    statement: str
    test: str
    row: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper. key: first word of its claims. places: its statements, in its order."""

    key: str
    authors: str
    places: Sequence[str]
    tested: Sequence[Tested] = ()


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
            "§3.2",
            "Theorem 3.2",
            "Theorem 3.3",
            "Theorem 3.4",
            "after Theorem 3.4",
            "Lemma 4.1",
            "§4.3",
            "§5.1",
            "§5.2",
            "§7",
            "last section",
            "supplement, Lemma 1.1",
            "supplement, Lemma 1.2",
            "supplement, Lemma 1.3",
            "supplement, Lemma 1.4",
            "supplement, Theorem 1.5",
            "supplement, Lemma 1.6",
            "supplement, Theorem 1.7",
            "supplement, Lemma 1.8",
            "supplement, Lemma 1.9",
            "supplement, Theorem 1.10",
            "supplement, Lemma 2.1",
            "supplement, Lemma 2.2",
            "supplement, Lemma 2.3",
            "supplement, Lemma 2.4",
            "supplement, Lemma 2.5",
            "supplement, Lemma 2.6",
            "supplement, Lemma 3.1",
            "supplement, Lemma 3.2",
            "supplement, Theorem 3.3",
            "supplement, section 4",
            "supplement, Lemma 4.1",
            "supplement, Lemma 4.2",
            "supplement, below Lemma 4.3",
            "supplement, find_effective_epsilon0_rr",
            "supplement, Figure 1",
        ),
        (
            Tested(
                "supplement, Lemma 1.1",
                "With high probability all pairs are answered by np²/2 to 3np²/2 persons.",
                "response/test_rows_nguyen.py",
                "N12",
            ),
            Tested(
                "supplement, Lemma 1.2",
                "The same of the number of items that a person answers.",
                "response/test_supplement_nguyen.py::test_lemma_1_2_for_one_person",
                "N12",
            ),
            Tested(
                "supplement, Lemma 1.3",
                "Bounds of I₂, I₃ and I₄ on the event that all counts are near their means.",
                "response/test_lemmas_nguyen.py::test_lemma_1_3",
            ),
            Tested(
                "supplement, Lemma 1.4",
                "A bound of I₁.",
                "response/test_supplement_nguyen.py::test_steps_of_lemma_1_4",
            ),
            Tested(
                "supplement, Theorem 1.5",
                "A bound of ‖π − π*‖∞/‖π‖∞.",
                "response/test_supplement_nguyen.py::test_theorems_1_5_1_7_1_10_and_3_1",
                "N16",
            ),
            Tested(
                "supplement, Lemma 1.6",
                "‖β̂ − β*‖∞ from ‖π − π*‖∞.",
                "response/test_rows_nguyen.py",
                "N13",
            ),
            Tested(
                "supplement, Lemma 1.8",
                "Sharper bounds of I₂, I₃ and I₄ where mp ≳ log n.",
                "response/test_supplement_nguyen.py::test_lemma_1_8",
            ),
            Tested(
                "supplement, Lemma 1.9",
                "A sharper bound of I₁.",
                "response/test_rows_nguyen.py",
                "N19",
            ),
            Tested(
                "supplement, Theorem 1.10",
                "A sharper bound of ‖π − π*‖∞/‖π‖∞.",
                "response/test_supplement_nguyen.py::test_theorems_1_5_1_7_1_10_and_3_1",
                "N16",
            ),
            Tested(
                "supplement, Lemma 2.1",
                "Fano's inequality of pairs of models.",
                "response/test_rows_nguyen.py",
                "N14",
            ),
            Tested(
                "supplement, Lemma 2.2",
                "Many binary vectors that are far apart.",
                "response/test_supplement_nguyen.py::test_lemma_2_2",
                "N18",
            ),
            Tested(
                "supplement, Lemma 2.3",
                "The reverse of Pinsker's inequality.",
                "response/test_rows_nguyen.py",
                "N15",
            ),
            Tested(
                "supplement, Lemma 2.4",
                "Divergence of two of the models that Theorem 3.3 is shown with.",
                "response/test_lemmas_nguyen.py::test_lemmas_2_4_and_2_6",
            ),
            Tested(
                "supplement, Lemma 2.5",
                "Fano's inequality of a test.",
                "response/test_supplement_nguyen.py::test_lemma_2_5",
            ),
            Tested(
                "supplement, Lemma 2.6",
                "Divergence of two of the models that Theorem 3.4 is shown with.",
                "response/test_lemmas_nguyen.py::test_lemmas_2_4_and_2_6",
                "N17",
            ),
            Tested(
                "supplement, Lemma 3.1",
                "Concentrated privacy adds up, and no processing undoes it.",
                "response/test_supplement_nguyen.py::test_supplement_lemma_3_1",
            ),
        ),
    ),
    Paper(
        "banerjee",
        "Banerjee, Hegde and Massoulié",
        (
            "Informal Theorem 2",
            "Informal Theorems 2 and 4",
            "§1.1",
            "§1,",
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
            "Lemma 18",
            "Lemma 19",
            "Corollary 21",
            "Theorem 23",
            "Lemma 25",
            "Lemma 28",
            "Lemma 30",
            "Lemma 31",
            "Lemma 32",
            "Figure 2",
        ),
        (
            Tested(
                "Lemma 18",
                "Lemma 9 for any law of the clusters and of the items that a user rates.",
                "clustering/test_lemmas_banerjee.py::test_lemmas_18_and_25",
            ),
            Tested(
                "Lemma 19",
                "Var[F | answers] is at most max{20, 10δ} times Var[F], δ what they tell (also Lemma 29).",
                "clustering/test_lemmas_banerjee.py::test_lemma_32_and_19",
                "B13",
            ),
            Tested(
                "Lemma 25",
                "The same as Lemma 18, in the appendix.",
                "clustering/test_lemmas_banerjee.py::test_lemmas_18_and_25",
            ),
            Tested(
                "Lemma 28",
                "Extremal points of the laws that are near the uniform one.",
                "clustering/test_lemmas_banerjee.py::test_lemma_28",
            ),
            Tested(
                "Lemma 30",
                "What answers tell is at least the divergence of F's law from its prior one.",
                "clustering/test_lemmas_banerjee.py::test_lemmas_30_and_31",
            ),
            Tested(
                "Lemma 31",
                "A bound of the largest variance of F by its partition function.",
                "clustering/test_lemmas_banerjee.py::test_lemmas_30_and_31",
            ),
            Tested(
                "Lemma 32",
                "Z(ν) is at most 1 + 4νσ²/(1 − 2νσ²).",
                "clustering/test_lemmas_banerjee.py::test_lemma_32_and_19",
            ),
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
    placed = [
        (_place(claim, paper), _cells_of_claim(claim, paper, found)) for claim in _claims_of(paper)
    ]
    placed += [(paper.places.index(held.place), _cells_of_test(held)) for held in paper.tested]
    placed.sort(key=lambda row: row[0])
    lines = [
        f"## {paper.authors}",
        "",
        "| where | what is said | experiment | found |",
        "| --- | --- | --- | --- |",
    ]
    for _, cells in placed:
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cells_of_claim(claim: Claim, paper: Paper, found: Mapping[str, str]) -> Sequence[str]:
    verdict = found.get(claim.id, NOT_RUN) + _row(claim.row)
    named = f"`{claim.experiment}`, `{claim.id}`"
    return (_where(claim, paper), claim.statement, named, verdict)


def _cells_of_test(held: Tested) -> Sequence[str]:
    compared = "compared with exact laws or enumerations" + _row(held.row)
    return (held.place, held.statement, f"`tests/problems/{held.test}`", compared)


def _row(name: str | None) -> str:
    return f" ({name})" if name else ""


def _claims_of(paper: Paper) -> Iterator[Claim]:
    for problem in problems().values():
        for claim in problem.load(problem.claims):
            is_of_paper = claim.id.startswith(f"{paper.key}.")
            if is_of_paper or paper.authors in claim.source:
                yield claim


def _matches(claim: Claim, paper: Paper) -> list[int]:
    """Numbers of the places that the source of a claim names; the most exact ones come first."""
    source = each_named(claim.source)
    named = []
    for number, place in enumerate(paper.places):
        if re.search(rf"{re.escape(place)}(?![\d.]*\d)", source):
            named.append(number)
    return sorted(named, key=lambda number: -len(paper.places[number]))


def each_named(source: str) -> str:
    """A source with statements that are named together, each by itself as well.

    >>> each_named("Theorems 4 to 6; Theorems 3.2 and 3.4")
    'Theorems 4 to 6; Theorems 3.2 and 3.4; Theorem 4; Theorem 5; Theorem 6; Theorem 3.2; Theorem 3.4'
    """
    names = [source]
    for kind, numbers in re.findall(
        r"(Theorem|Lemma|Corollarie)s ((?:[\dS.]+(?:, | and | to )?)+)", source
    ):
        one = kind.replace("ie", "y")
        listed = re.findall(r"S?\d+(?:\.\d+)?", numbers)
        ends = re.fullmatch(r"(\d+) to (\d+)\W*", numbers)
        if ends:
            listed = [str(number) for number in range(int(ends[1]), int(ends[2]) + 1)]
        names += [f"{one} {number}" for number in listed]
    return "; ".join(names)


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
