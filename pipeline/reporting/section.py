"""One study on a page: what those who write the page know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import xarray as xr

from pipeline.reporting.drawn import Drawn

if TYPE_CHECKING:
    from pipeline.analysis.claims import Judgement

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Facts:
    """What is known of how a study was run; all of it is optional.

    seed; units, of work; missing: units, of an interim report; replications of a cell. folder: of
    the results. config: YAML text. source: of the data, a sentence. experiment: command that runs
    it. failures: unit, error, replay of each. sessions: started, seconds, units, workers, lost,
    state, machine, versions of each. privacy: mechanism and guarantee of each, with
    spent (whose budget it is -> least and greatest, nats) and remarks. shortfalls: what did not
    converge or is not finite, by part. crossings: sentences; crossing_confidence: of each. effort:
    seconds of work, rows of the cells that cost most. ends: replications after which cells ended.
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
    failures: Rows = ()
    sessions: Rows = ()
    privacy: Rows = ()
    shortfalls: str | None = None
    crossings: Sequence[str] = ()
    crossing_confidence: str | None = None
    effort: Mapping[str, Any] | None = None
    ends: Rows = ()
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    paired: Sequence[str] = ()

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> "Facts":
        """From a mapping, of which only what a page shows is read."""
        names = [declared.name for declared in fields(cls)]
        return cls(**{name: facts[name] for name in names if name in facts})


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
    summary: xr.Dataset
    figures: Sequence[Drawn] = ()
    verdicts: "Sequence[Judgement]" = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""
