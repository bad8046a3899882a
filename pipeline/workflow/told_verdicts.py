"""What a run tells of its verdicts: one line each, the worst last, and how many there are of each."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.study.files import read_regular
from pipeline.workflow.events import Event, Judged, NotTestedAlike, Tallied

NOT_TESTED = "not tested"
# Those of `pipeline.analysis.tolerances`, which a run with nothing to do must not load.
VERDICTS = (
    "supported",
    "identity",
    "not refuted",
    NOT_TESTED,
    "too weak",
    "inconclusive",
    "contradicted",
)  # the worst last
FEW = 3  # claims from which on those that lack the same are told in one line
SHIELD = "'"  # in front of a text that a spreadsheet would take for a formula
SHIELDED = ("-", "+", "=", "@")


@dataclass(frozen=True)
class Told:
    """A verdict as it is told. section: the study; text: the result in words."""

    section: str
    claim: str
    verdict: str
    text: str


def told(verdicts: Sequence[Told]) -> Iterator[Event]:
    """Verdicts, the worst last, then how many there are of each, in every study and in all.

    >>> rows = [Told("s", "a", "supported", "1"), Told("s", "b", "contradicted", "9")]
    >>> [event.__class__.__name__ for event in told(rows)]
    ['Judged', 'Judged', 'Tallied']
    """
    for verdict in VERDICTS:
        alike = [row for row in verdicts if row.verdict == verdict]
        if verdict == NOT_TESTED:
            yield from _not_tested(alike)
            continue
        for row in alike:
            yield Judged(row.section, row.claim, row.verdict, row.text)
    if len(verdicts) > 1:
        yield from _tallies(verdicts)


def kept(folder: Path) -> list[Told]:
    """The verdicts of the report in a folder; none where it has no table of them."""
    try:
        text = read_regular(folder / "verdicts.csv").decode()
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [
            Told(row["section"], row["id"], row["verdict"], _unshielded(row["text"]))
            for row in rows
        ]
    except (OSError, ValueError, KeyError, csv.Error):
        return []


def _unshielded(text: str) -> str:
    """A text without the sign that keeps spreadsheets from computing it."""
    rest = text.removeprefix(SHIELD)
    return rest if rest.startswith(SHIELDED) else text


def _not_tested(rows: Sequence[Told]) -> Iterator[Event]:
    """A line for each claim that is not tested, or one for those that lack the same."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        alike.setdefault((row.section, row.text), []).append(row.claim)
    for (section, reason), claims in alike.items():
        if len(claims) >= FEW:
            yield NotTestedAlike(section, tuple(claims), reason)
            continue
        for claim in claims:
            yield Judged(section, claim, NOT_TESTED, reason)


def _tallies(rows: Sequence[Told]) -> Iterator[Tallied]:
    """How many claims have each verdict: in every study, where there are several, and in all."""
    sections = dict.fromkeys(row.section for row in rows)
    if len(sections) > 1:
        for section in sections:
            yield _tally(section, [row for row in rows if row.section == section])
    yield _tally("", rows)


def _tally(section: str, rows: Sequence[Told]) -> Tallied:
    counts = Counter(row.verdict for row in rows)
    return Tallied(section, {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]})
