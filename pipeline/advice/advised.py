"""What any answer says: the advised value, the promise, and how a person reads it."""

import dataclasses
import html
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from pipeline.advice import text, words
from pipeline.advice.axis import Axis
from pipeline.advice.question import Question
from pipeline.advice.records import MechanismRow, Promise, promise_of
from pipeline.advice.targets import Target
from pipeline.study.parameters import DataFile
from pipeline.study.strict_json import strict
from pipeline.study.untyped import JsonObject


@runtime_checkable
class Recorded(Protocol):
    """What says itself how it is recorded."""

    def record(self) -> JsonObject:
        """For JSON."""


@dataclass(frozen=True, repr=False)
class Advised(ABC):
    """Any answer. level: the advised level of the unknown's parameter; value: the same, as the
    person names it.

    boundary: where the targets begin to be met, with the ends low and high of its interval or
    band. better: whether larger values are better. mechanisms: side by side.
    """

    interval: ClassVar[str]  # what low and high are the ends of
    recorded: ClassVar[
        tuple[str, ...]
    ]  # attributes that follow the question and the promise in JSON
    question: Question
    level: float
    value: float
    boundary: float
    low: float | None
    high: float | None
    better: Literal["more", "less"]
    mechanisms: Sequence[MechanismRow]

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether fresh replications showed that all targets are met."""

    @property
    @abstractmethod
    def result(self) -> str:
        """What is learned, and how sure that is, in one sentence."""

    @property
    def problem(self) -> str:
        """Name of the problem."""
        return self.question.problem.name

    @property
    def unknown(self) -> str:
        """The word of the unknown, such as "epsilon"."""
        return self.question.word

    @property
    def parameter(self) -> str:
        """Name of the unknown's parameter in the problem."""
        return self.question.parameter

    @property
    def target(self) -> Sequence[Target]:
        """The targets."""
        return self.question.targets

    @property
    def given(self) -> dict[str, Any]:
        """Name -> value of all that was not unknown; of a file, its path and digest."""
        entries = {}
        for name, value in sorted(self.question.values.items()):
            entries[name] = str(value) if isinstance(value, DataFile) else value
        return entries

    @property
    def seed(self) -> int:
        """The seed of all simulations."""
        return self.question.seed

    @property
    def promise(self) -> Promise:
        """What the mechanism promises at the advised level."""
        return promise_of(self.question, self.level)

    @property
    def in_words(self) -> list[str]:
        """The answer in three sentences."""
        return [
            words.survey(self.question, self.level),
            words.privacy(self.question, self.level),
            self.result,
        ]

    @property
    def warning(self) -> str | None:
        """That hardly any privacy is left; None where some is."""
        return words.warning(self.question, self.level)

    @property
    def remark(self) -> str | None:
        """That the value lies far beyond the boundary, and why; None where it does not."""
        return None

    @abstractmethod
    def basis(self) -> list[str]:
        """Where the numbers come from, and the means at the value; lines for a person."""

    def aside(self) -> list[str]:
        """What would be with one thing changed; lines for a person."""
        return []

    @property
    def side(self) -> str:
        """On which side of the value the targets are met, in words."""
        return "at least" if self.better == "more" else "at most"

    @property
    def headline(self) -> str:
        """What is advised, in one line."""
        advised = self.unknown
        if self.parameter != self.unknown:
            advised += f" ({self.parameter})"
        targets = ", ".join(
            f"{target.metric} {target.relation} {target.value:g}" for target in self.target
        )
        return f"{self.problem}: {advised} {self.side} {self.value:,g}, for {targets}"

    def opening(self) -> list[str]:
        """Three sentences, and the warning, if there is one."""
        return [*self.in_words, self.warning] if self.warning else self.in_words

    def boundary_line(self) -> str:
        """Where the targets are just met."""
        ends = text.between(self.low, self.high)
        return f"  the targets are just met at {self.boundary:,.4g}, {self.interval} {ends}"

    def numbers(self) -> list[str]:
        """The answer in numbers, line by line."""
        entries = [f"{name}={value}" for name, value in self.given.items() if value is not None]
        lines = [self.headline, self.boundary_line()]
        if self.remark:
            lines.append(f"  {self.remark}")
        lines += self.basis()
        lines += text.promise_lines(self.promise)
        lines += self.aside()
        lines += text.mechanism_lines(self.mechanisms, self.unknown)
        lines.append(f"  with {', '.join(entries)}")
        return lines

    def __repr__(self) -> str:
        """The sentences, then the numbers; terms are explained where they come first."""
        sentences = "\n".join(self.opening())
        return "\n".join(text.explained([sentences, "", *self.numbers()]))

    def _repr_html_(self) -> str:
        """The same for a notebook: sentences as paragraphs, and the numbers below, folded away."""
        sentences = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.opening())
        numbers = html.escape("\n".join(text.explained(self.numbers())))
        return (
            f"<div><p><strong>{html.escape(self.headline)}</strong></p>{sentences}"
            f"<details><summary>numbers</summary><pre>{numbers}</pre></details></div>"
        )

    def record(self) -> JsonObject:
        """The answer as one object of strict JSON; see docs/advise.md."""
        entries = self._begin_record()
        for name in self.recorded:
            entries[name] = _entry(getattr(self, name))
        record: JsonObject = strict(entries)
        return record

    def _begin_record(self) -> JsonObject:
        """The first entries of JSON: sentences, the question, and the promise."""
        targets = [
            {"metric": target.metric, "relation": target.relation, "value": target.value}
            for target in self.target
        ]
        return {
            "in_words": self.in_words,
            "warning": self.warning,
            "remark": self.remark,
            "problem": self.problem,
            "unknown": self.unknown,
            "parameter": self.parameter,
            "target": targets,
            "given": self.given,
            **dataclasses.asdict(self.promise),
            "seed": self.seed,
        }


def _entry(value: object) -> object:
    """An attribute of an answer as an entry of JSON: records as mappings of their fields."""
    if isinstance(value, Recorded):
        return value.record()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {name: _entry(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_entry(part) for part in value]
    return value


def better_side(axis: Axis) -> Literal["more", "less"]:
    """On which side of an advised value the targets are met, as the person names the unknown."""
    is_larger = (axis.better > 0) != axis.question.unknown.left
    return "more" if is_larger else "less"
