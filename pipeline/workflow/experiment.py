"""An experiment: a study, and how its report presents it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.reporting import specs
from pipeline.study.grid import Level
from pipeline.study.parameters import Checked, parameter, path_of
from pipeline.study.study import Study
from pipeline.workflow.settings import Settings


@dataclass(frozen=True)
class Text(Checked):
    """What the report of an experiment says and judges.

    claims_at: axis -> the level at which claims are judged, where the grid has several.
    """

    title: str = parameter("heading of its report", default="")
    question: str = parameter("what it asks, in a sentence", default="")
    claims: bool = parameter("judge the claims that its problem has on it", default=True)
    claims_at: Mapping[str, Level] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A study and how it is presented. figures: see `pipeline.reporting.specs`."""

    study: Study
    text: Text
    figures: tuple[specs.Spec, ...] = ()

    def folder(self, settings: Settings) -> Path:
        """The study's own folder, the same for the same statistics."""
        return path_of(settings.outputs, "outputs") / f"{self.study.name}-{self.study.key}"

    def address(self, settings: Settings) -> tuple[Path, str | None, float]:
        """What the study's `Store` is made of: its folder, its URL if it is in a bucket, seconds of
        patience.
        """
        url = settings.store.url and f"{settings.store.url}/{self.study.name}-{self.study.key}"
        return self.folder(settings), url, settings.store.timeout
