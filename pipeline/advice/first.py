"""A first answer, from the atlas alone: in a second or two, and never certified."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.advice import atlas, words
from pipeline.advice.answer import about
from pipeline.advice.atlas import NotInAtlas, Solved
from pipeline.advice.axis import Axis
from pipeline.advice.interpolation import band
from pipeline.advice.question import Question
from pipeline.advice.targets import Target
from pipeline.study.arrays import Floats

POINTS = 2001  # of a curve


class NotReached(NotInAtlas):
    """No level of the cells meets the targets."""


@dataclass(frozen=True)
class Curve:
    """A mechanism's means along the unknown. levels: of its parameter, ascending.

    bands: metric -> mean, low, high.
    """

    question: Question
    levels: Floats
    bands: Mapping[str, tuple[Floats, Floats, Floats]]

    def excess(self, side: int) -> Floats:
        """The greatest sign · (mean − value) of all targets.

        side: 1 at the ends of bands that are worse for a target,

        −1 at those that are better, 0 in between."""
        excesses = [
            target.sign * (self._end(target, side) - target.value)
            for target in self.question.targets
        ]
        worst: Floats = np.max(excesses, axis=0)
        return worst

    def _end(self, target: Target, side: int) -> Floats:
        """The mean, or the end of its band that is worse (1) or better (−1) for a target."""
        mean, low, high = self.bands[target.metric]
        if side == 0:
            return mean
        return high if side == target.sign else low


@dataclass(frozen=True)
class First:
    """A first answer; value, boundary, low and high are levels of the unknown's parameter. low,
    high: of the band, None

    where that meets no target within the cells."""

    question: Question
    curve: Curve
    axis: Axis
    value: float
    boundary: float
    low: float | None
    high: float | None
    others: tuple[Mapping[str, Any], ...]

    @property
    def reach(self) -> float:
        """How far along the unknown the targets are met."""
        return self.axis.reach(self.axis.position(self.boundary))

    def record(self) -> dict[str, Any]:
        """The answer as one object of JSON; see docs/advise.md."""
        at = np.log(self.value) * self.axis.better
        positions = np.log(self.curve.levels) * self.axis.better
        order = np.argsort(positions)
        measured = []
        for target in self.question.targets:
            mean, low, high = (
                float(np.interp(at, positions[order], part[order]))
                for part in self.curve.bands[target.metric]
            )
            measured.append({"metric": target.metric, "mean": mean, "low": low, "high": high})
        larger = (self.axis.better > 0) != self.question.unknown.left
        in_words = [
            words.survey(self.question, self.value),
            words.privacy(self.question, self.value),
            words.interpolated(self.question),
        ]
        return {
            "in_words": in_words,
            "warning": words.warning(self.question, self.value),
            "remark": None,
            **about(self.question, self.value),
            "value": self.question.shown(self.value),
            **_shown(self.question, self.low, self.boundary, self.high),
            "better": "more" if larger else "less",
            "source": "atlas",
            "certified": False,
            "confidence": None,
            "measured": measured,
            "mechanisms": list(self.others),
        }


def _shown(
    question: Question, low: float | None, boundary: float, high: float | None
) -> dict[str, float | None]:
    """Ends of a band and what lies between them, as the person names the unknown."""
    ends = [None if level is None else question.shown(level) for level in (low, boundary, high)]
    if question.unknown.left:
        ends.reverse()
    return dict(zip(("low", "boundary", "high"), ends, strict=True))


def first(question: Question) -> First:
    """The first answer to a question; NotInAtlas, and why, if the atlas has none."""
    best = None
    rows = list[dict[str, Any]]()
    refused = ""
    for name, (fitted, solved) in atlas.fitting(question).items():
        curve_ = curve(fitted, solved)
        row: dict[str, Any] = {
            "mechanism": name,
            "estimator": solved.estimator,
            "boundary": None,
            "low": None,
            "high": None,
            "why": None,
        }
        try:
            axis, low, boundary, high = crossing(curve_)
        except NotReached as error:
            row["why"] = str(error)
            refused = refused or str(error)
        else:
            row |= _shown(fitted, low, boundary, high)
            if best is None or axis.reach(axis.position(boundary)) > best.reach:
                safe = high if axis.better > 0 else low
                value = axis.advisable(axis.position(boundary if safe is None else safe))
                best = First(fitted, curve_, axis, value, boundary, low, high, ())
        rows.append(row)
    if best is None:
        raise NotInAtlas(refused)
    return replace(best, others=tuple(rows))


def curve(question: Question, solved: Solved) -> Curve:
    """Means and bands of a mechanism along the unknown.

    All other sizes are given, or have defaults.
    """
    along = question.parameter
    at = [
        None if name == along else float(np.log(atlas.size(question, name))) for name in solved.axes
    ]
    levels = solved.axes[along]
    positions = np.linspace(np.log(levels[0]), np.log(levels[-1]), POINTS)
    bands = {
        target.metric: band(
            solved.mean[target.metric],
            solved.error[target.metric],
            (target.least, target.most),
            solved.logarithms,
            at,
            positions,
        )
        for target in question.targets
    }
    return Curve(question, np.exp(positions), bands)


def crossing(curve_: Curve) -> tuple[Axis, float | None, float, float | None]:
    """The axis of the unknown, and where the targets begin to be met: low end, estimate and high
    end, as levels.

    NotReached where they are met at no level of the cells, NotInAtlas where they are at all.
    """
    question = curve_.question
    met = curve_.excess(0) <= 0
    helps = question.unknown.helps
    if helps is None:
        helps = not met[0]
    better = 1 if helps else -1
    ends = "{:.4g} to {:.4g}".format(*sorted(map(question.shown, curve_.levels[[0, -1]].tolist())))
    if met.all():
        raise NotInAtlas(f"the targets are met at every {question.word} of its cells, {ends}")
    if not met.any():
        near = ", but may be: they are within its band" if (curve_.excess(-1) <= 0).any() else ""
        raise NotReached(f"the targets are met at no {question.word} of its cells, {ends}{near}")
    middle = _begin(curve_, 0, better)
    if middle is None:
        raise NotInAtlas(f"of its cells, {ends}, the targets are met where least is learned")
    low = _begin(curve_, -better, better)
    high = _begin(curve_, better, better)
    return Axis(question, better), low, middle, high


def _begin(curve_: Curve, side: int, better: int) -> float | None:
    """The level from which on the targets are met, from the worse end on.

    None if they are not, or are at once.
    """
    excess = curve_.excess(side)[::better]
    levels = curve_.levels[::better]
    met = excess <= 0
    k = int(met.argmax())
    if not met[k] or k == 0:
        return None
    share = excess[k - 1] / (excess[k - 1] - excess[k])
    return float(f"{levels[k - 1] * (levels[k] / levels[k - 1]) ** share:.6g}")
