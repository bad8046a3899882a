"""Writes docs/statements.md: what each paper says, statement by statement, and what was found.

`python -m tools.statements FOLDER... full=FOLDER` reads the verdicts of all finished studies below
these folders, as `pipeline suite=xu size=quick outputs=FOLDER` leaves them; full= names folders of
studies at full size. A claim that was judged in several studies is that of the last folder named,
but a verdict at full size is replaced by another one at full size only. Verdicts of claims that
none of them judged stay as the page has them, unless the claim changed.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pipeline.analysis.claims import NOT_TESTED, Claim
from pipeline.analysis.estimate import Estimate
from pipeline.identity.registry import problems
from tools.places import ABOUT, OURS, PAPERS, Paper, Place

PAGE = Path(__file__).resolve().parent.parent / "docs/statements.md"
BEYOND = "not in the paper"
RARE = r"no case, where \1 would show"
BEYOND_WORDS = (
    "not in the paper",
    "finding",
    "beyond",
    "improves",
    "not in the edition",
    "the paper has",
)
OTHERS = "Beyond the four papers"
NOT_RUN = "not run"
FULL = ", full"  # behind a verdict
NOTHING = "–"
Cells: TypeAlias = tuple[str, ...]  # of a row
ROW = re.compile(r", [A-Z]\d+$")  # behind a verdict
IN_SUPPLEMENT = r"(\w+ [\d.]+\d) in the supplement"
INTRODUCTION = """# What the papers say, and what was found

One table for each paper, in the order of the paper: every definition, lemma, theorem, corollary, table and figure that
has a number. What is judged beyond a paper comes last in its table; *corrected* and sharpened statements stand where
the paper has its own.

- *asked*: the values that support the claim, *in each cell* of its grid or of all cells together. *Each meets 1*: the
  interval of every cell contains 1, at confidence 1 − 10⁻⁶.
- *verdict*: at the quick size (`size=quick`), unless it says *full*. A small grid may leave a claim inconclusive that
  the full one decides; claims on people's files were judged on these files. *Identity*: true by construction. *Not
  refuted*: a bound that no plausible data could support. *Tested*: compared with an exact law or an enumeration by the
  test that is named, below `tests/problems`. A name such as X6 is that of a row of [papers.md](papers.md), which shows
  a mistake or a gap.
- *interval*: the estimate that decides, with its 99 % interval; of cells, all at once.
- *figure*: of the paper. The report of an experiment draws its own.

`python -m tools.statements FOLDER` writes this page from finished studies.
"""
HEAD = (
    "| where | what is judged | experiment and claim | asked | verdict | interval | figure |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


@dataclass(frozen=True)
class Found:
    """What was found about a claim: cells of its row. asked: what the claim allowed then."""

    asked: str
    verdict: str
    interval: str


def main(words: Sequence[str], page: Path = PAGE) -> None:
    """Write the page from the verdicts below some folders, and from what it has."""
    found = kept(page.read_text("utf-8")) if page.is_file() else {}
    for word in words:
        is_full = word.startswith("full=")
        folder = Path(word.removeprefix("full="))
        if not folder.is_dir():
            sys.exit(f"no folder of finished studies: {folder}")
        for path in sorted(folder.rglob("verdicts.csv")):
            for name, one in _verdicts(path, is_full):
                before = found.get(name)
                if before is None or _is_news(one, before):
                    found[name] = one
    page.write_text(document(found), "utf-8")


def _is_news(one: Found, before: Found) -> bool:
    """Whether what a study found takes the place of what was found before."""
    if before.verdict == NOT_RUN or before.asked != one.asked:
        return True
    if NOT_TESTED in one.verdict:  # by a study of other data, or of too few cells
        return False
    return FULL in one.verdict or FULL not in before.verdict


def document(found: Mapping[str, Found]) -> str:
    """The page. found: claim -> what was found."""
    tables = [_table(paper.authors, _rows(paper, found)) for paper in PAPERS]
    placed = {claim.id for paper in PAPERS for claim in _claims_of(paper)}
    others = [_claim_row(claim, found, None) for claim in claims() if claim.id not in placed]
    return "\n".join([INTRODUCTION, *tables, _table(OTHERS, others)])


def kept(page: str) -> dict[str, Found]:
    """Claim -> what a page says was found."""
    found = {}
    for line in page.splitlines():
        cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
        named = re.fullmatch(r"`[\w/]+`, `([\w.]+)`", cells[2]) if len(cells) == 7 else None
        if named:
            allowed, verdict, interval = (cell.replace("\\|", "|") for cell in cells[3:6])
            found[named[1]] = Found(allowed, ROW.sub("", verdict), interval)
    return found


def _verdicts(path: Path, is_full: bool) -> Iterator[tuple[str, Found]]:
    """Claims that a study judged, and what was found."""
    known = {claim.id: claim for claim in claims()}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            claim = known.get(row["id"])
            if claim is None:
                continue
            verdict = f"**{row['verdict']}**" + FULL * is_full
            yield claim.id, Found(asked(claim), verdict, _interval(row))


def _interval(row: Mapping[str, str]) -> str:
    """The estimate that decides, with its interval."""
    if not row["estimate"]:
        return NOTHING
    return str(Estimate(*(float(row[key]) for key in ("estimate", "low", "high"))))


def asked(claim: Claim) -> str:
    """What a claim allows, in short."""
    return shortened(claim.claimed)


def shortened(text: str) -> str:
    """What a claim allows, without words that many claims share.

    >>> shortened("1 ± 0.1 in every cell (simultaneous intervals)")
    '1 ± 0.1 in each cell'
    """
    for long, short in (
        ("each cell, simultaneously at confidence 1 − 10⁻⁶: an interval that meets", "each meets"),
        (
            "each cell, simultaneously at confidence 1 − 10⁻⁶: an interval that contains 1",
            "each meets 1",
        ),
        (" (simultaneous intervals)", ""),
        ("all cells together", "together"),
        (" in every cell", " in each cell"),
    ):
        text = text.replace(long, short)
    return re.sub(r"none, in enough data to exclude a share of ([\d.]+ %)", RARE, text)


def _table(title: str, rows: Sequence[Cells]) -> str:
    lines = [f"## {title}", "", *HEAD]
    for cells in rows:
        escaped = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {' | '.join(escaped)} |")
    return "\n".join(lines) + "\n"


def _rows(paper: Paper, found: Mapping[str, Found]) -> list[Cells]:
    """Rows of a paper's table: of each place what is said without a claim, and then its claims."""
    placed: dict[int, list[Claim]] = {}
    for claim in _claims_of(paper):
        placed.setdefault(place_of(claim, paper), []).append(claim)
    rows: list[Cells] = []
    for number, place in enumerate(paper.places):
        own = [_row_without_claim(place)] if place.says else []
        own.extend(_claim_row(claim, found, place) for claim in placed.get(number, []))
        if place.row and own:
            where, *others = own[0]
            own[0] = (f"{where} ({place.row})", *others)
        rows.extend(own)
    rows.extend(_claim_row(claim, found, None) for claim in placed.get(len(paper.places), []))
    return rows


def shown(place: Place) -> str:
    """The name of a place without the sign that ends it in sources."""
    name = place.name.rstrip(",")
    if name.count(")") > name.count("("):
        name = name.rstrip(")")
    return name


def _row_without_claim(place: Place) -> Cells:
    named, verdict = NOTHING, place.why
    if place.test:
        file, _, test = place.test.removeprefix("problems/").partition("::")
        named, verdict = f"`{file}`", "tested"
        if test:
            named += f": `{test}`"
    return (shown(place), place.says, named, NOTHING, verdict, NOTHING, place.figure or NOTHING)


def _claim_row(claim: Claim, found: Mapping[str, Found], place: Place | None) -> Cells:
    """The row of a claim. place: None for one that is not in the paper."""
    allowed = asked(claim)
    one = found.get(claim.id)
    if one is None or one.asked != allowed:
        one = Found(allowed, NOT_RUN, NOTHING)
    verdict = f"{one.verdict}, {claim.row}" if claim.row else one.verdict
    drawn = re.search(r"Figure (\d+)", claim.source)
    figure = NOTHING
    if place is not None and (place.figure or drawn):
        figure = place.figure or str(drawn and drawn[1])
    where = BEYOND if place is None else shown(place)
    named = f"`{claim.experiment}`, `{claim.id}`"
    return (where, claim.statement, named, allowed, verdict, one.interval, figure)


def claims() -> Iterator[Claim]:
    """All claims that ship."""
    for problem in problems().values():
        yield from problem.load(problem.claims)


def _claims_of(paper: Paper) -> Iterator[Claim]:
    for claim in claims():
        is_of_paper = claim.id.startswith(f"{paper.key}.")
        if is_of_paper or paper.authors in claim.source:
            yield claim


def place_of(claim: Claim, paper: Paper) -> int:
    """Number of the place that the source of a claim names first; that after the last for none."""
    if claim.id in OURS or any(word in claim.source for word in BEYOND_WORDS):
        return len(paper.places)
    if claim.id in ABOUT:
        return [place.name for place in paper.places].index(ABOUT[claim.id])
    source = each_named(re.sub(IN_SUPPLEMENT, r"supplement, \1", claim.source))
    found = []
    for number, place in enumerate(paper.places):
        starts = re.search(rf"{re.escape(place.name)}(?![\d.]*\d)", source)
        if starts and not (place.says and place.why):
            found.append((starts.start(), -len(place.name), number))
    if not found:
        return len(paper.places)
    return min(found)[2]


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


if __name__ == "__main__":
    main(sys.argv[1:])
