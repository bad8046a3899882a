"""One study on a page: what those who write the page know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipeline.study.until import EndedCells
from pipeline.study.untyped import ParameterValues

if TYPE_CHECKING:
    import xarray as xr

    from pipeline.analysis.claims import Judgement
    from pipeline.reporting.drawn import Drawn
    from pipeline.reporting.protocol import Protocol


@dataclass(frozen=True)
class Failure:
    """A unit that failed: its name, what happened, and the command that shows it again."""

    unit: str
    error: str
    replay: str


@dataclass(frozen=True)
class Contributor:
    """A person whose units were merged. units: theirs; share: of all units.

    recomputed: units of theirs that were simulated again before; most_false: share of their units
    that could be false, with confidence 95 %.
    """

    name: str
    date: str
    units: int
    share: float
    recomputed: int
    most_false: float


@dataclass(frozen=True)
class CellOfCost:
    """A cell that cost much: its labels, replications that ran, and its share of all work."""

    cell: str
    run: int
    share: float


@dataclass(frozen=True)
class Effort:
    """Seconds of work of all sessions, 0 where none measured them, and the cells that cost most."""

    seconds: float
    rows: Sequence[CellOfCost]


@dataclass(frozen=True)
class PastSession:
    """A session of work on a study.

    seconds: that it lasted. lost: of its workers. machine: in words, "–" where it is not known.
    versions: package -> version.
    """

    started: str
    seconds: float
    units: int
    workers: int
    lost: int
    state: str
    machine: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Protection:
    """What a mechanism of a study promises, and what its cells spend.

    guarantee: (aspect, text), such as ("unit", "one answer"), of each guarantee that it has in a
    cell, in order. spent: whose budget it is -> (least, greatest) over the cells, of the person who
    spends most, in nats; empty for a mechanism that does not state it. remarks: on its cells.
    trust: who must be trusted, a key of `TRUSTS`; unit: what the budget is that of, one of `UNITS`.
    audits: of its promise, in sentences.
    """

    mechanism: str
    guarantee: Sequence[tuple[str, str]]
    spent: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    trust: str = ""
    unit: str = ""
    audits: Sequence[str] = ()


@dataclass(frozen=True)
class Facts:
    """What is known of how a study was run; all of it is optional.

    seed; units, of work; missing: units, of an interim report; replications of a cell. folder: of
    the results. config: YAML text. source: of the data, a sentence. experiment: command that runs
    it. privacy: of each mechanism. shortfalls: what did not converge or is not finite, by part.
    crossings: sentences; crossing_confidence: of each. ends: replications after which cells ended.
    contributors: other people whose units are among these.
    protocol: that was written before, with what deviates from it; None without one.
    parts: role -> name -> meaning; constants: name -> value; paired: axes on the same data.
    """

    seed: int | None = None
    units: int | None = None
    missing: int | None = None
    replications: int | None = None
    folder: str | None = None
    config: str | None = None
    source: str | None = None
    experiment: str | None = None
    failures: Sequence[Failure] = ()
    sessions: Sequence[PastSession] = ()
    privacy: Sequence[Protection] = ()
    shortfalls: str | None = None
    crossings: Sequence[str] = ()
    crossing_confidence: float | None = None
    effort: Effort | None = None
    ends: Sequence[EndedCells] = ()
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    constants: ParameterValues = field(default_factory=dict)
    paired: Sequence[str] = ()
    protocol: "Protocol | None" = None
    contributors: Sequence[Contributor] = ()


@dataclass(frozen=True)
class Section:
    """One study on the page.

    summary: of its results, as `pipeline.analysis.summary.summarise` gives it. figures: drawn.
    verdicts: what `pipeline.analysis.claims.judge` gives. paper: whose claims these are. facts: see
    `Facts`.
    """

    name: str
    title: str
    question: str
    summary: "xr.Dataset"
    figures: "Sequence[Drawn]" = ()
    verdicts: "Sequence[Judgement]" = ()
    facts: Facts = field(default_factory=Facts)
    paper: str = ""
