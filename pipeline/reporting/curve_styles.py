"""Curves of a figure: their styles, the legend, and their error bars."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.reporting import style
from pipeline.reporting.formatting import number, symbol
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame

Levels = tuple[Any, ...]  # one level for each of several axes
Style = dict[str, Any]  # arguments of Line2D
MOST_ENTRIES = 9  # of one list in a legend
LONGEST = 22  # letters of an entry on one line
LETTERS = 82  # in a line of a legend


class CurveStyles:
    """Colour, mark and line of every curve, and the legend that explains them.

    The first axis of `by` has the colours, the others together the marks (the same if there is only
    one), and `split` the lines. So a legend has a list for each, and grows with their sum, not with
    their product; where some combinations do not occur and the others are few, it lists these
    instead.
    """

    def __init__(self, table: "DataFrame", by: tuple[str, ...], split: str | None = None):
        self.by = by
        self.split = (split,) if split else ()
        self.first = distinct(table, by[:1])
        self.rest = distinct(table, by[1:] or by)
        self.lines = distinct(table, self.split)
        self.curves = distinct(table, (*by, *self.split))
        self.colours = style.colours([levels[0] for levels in self.first] if by else [""])

    def __getitem__(self, levels: Levels) -> Style:
        """Matplotlib's arguments for the curve with these levels of `by` and `split`."""
        of_by = levels[: len(self.by)]
        of_split = levels[len(self.by) :]
        return {
            "color": self._colour(of_by[:1]),
            "marker": self._marker(of_by[1:] if len(self.by) > 1 else of_by),
            "linestyle": self._line(of_split),
        }

    def _colour(self, levels: Levels) -> Any:
        return self.colours[self.first.index(levels) if self.by else 0]

    def _marker(self, levels: Levels) -> str:
        return style.MARKERS[self.rest.index(levels) % len(style.MARKERS) if self.by else 0]

    def _line(self, levels: Levels) -> Any:
        return style.LINES[self.lines.index(levels) % len(style.LINES) if self.split else 0]

    @property
    def gaps(self) -> bool:
        """Whether some combinations of the levels that occur do not occur."""
        lists = (self.first, self.rest if len(self.by) > 1 else (), self.lines)
        return 0 < len(self.curves) < math.prod(len(levels) or 1 for levels in lists)

    def legend(self, figure: "Figure", *guides: Mapping[str, Style]) -> None:
        """Lists of colours, marks and lines, side by side above the panels.

        Last other lines, by name.
        """
        others = [_entry(name, **options) for guide in guides for name, options in guide.items()]
        columns = [*self._columns, *([others] if others else [])]
        if not columns:
            return
        if len(columns) == 1:  # in one list: its heading, then entries in a few columns
            entries = columns[0]
            wide = max(1, min(len(entries), int(LETTERS / _letters(entries))))
        elif sum(map(_letters, columns)) <= LETTERS:
            most = max(map(len, columns))
            entries = [
                entry
                for column in columns
                for entry in [*column, *[_entry("")] * (most - len(column))]
            ]
            wide = len(columns)
        else:
            entries = [
                entry
                for k, column in enumerate(columns)
                for entry in [_entry("")] * (k > 0) + column
            ]
            wide = 1 if _letters(entries) * 2 > LETTERS else 2
        handles, labels = zip(*entries, strict=True)
        figure.legend(
            handles,
            labels,
            loc="outside upper center",
            handlelength=2.6,
            labelspacing=0.32,
            ncols=wide,
        )

    @cached_property
    def _columns(self) -> "list[list[tuple[Line2D, str]]]":
        return [_section(*one) for one in self._lists()]

    @property
    def height(self) -> float:
        """About how much of a figure's height the legend takes, in inches."""
        columns = self._columns
        if len(columns) > 1 and sum(map(_letters, columns)) <= LETTERS:
            lines = max(map(_lines, columns))
        else:
            entries = [entry for column in columns for entry in column]
            few = int(LETTERS / _letters(entries)) if entries else 1
            lines = -(-_lines(entries) // max(1, few if len(columns) == 1 else min(few, 2)))
        return 0.18 * lines

    def _lists(self) -> Iterator[tuple[tuple[str, ...], list[Levels], Callable[[Levels], Style]]]:
        """The lists of the legend: the axes that each explains, their levels, and the style of a
        level.
        """
        if self.gaps and len(self.curves) <= MOST_ENTRIES:
            yield (*self.by, *self.split), self.curves, self.__getitem__
            return
        if len(self.by) == 1:
            yield (
                self.by,
                self.first,
                lambda levels: self[(*levels, *(self.lines[0] if self.split else ()))],
            )
        elif self.by:
            yield (
                self.by[:1],
                self.first,
                lambda levels: {
                    "color": self._colour(levels),
                    "linewidth": 3,
                    "marker": "",
                    "linestyle": "-",
                },
            )
            yield (
                self.by[1:],
                self.rest,
                lambda levels: {
                    "color": "0.35",
                    "linestyle": "none",
                    "marker": self._marker(levels),
                },
            )
        if self.split:
            yield (
                self.split,
                self.lines,
                lambda levels: {"color": "0.35", "linestyle": self._line(levels)},
            )


def _section(
    names: tuple[str, ...], all_levels: list[Levels], options: Callable[[Levels], Style]
) -> list[Any]:
    """One list of a legend under its heading; of many levels only some, evenly spread."""
    shown = all_levels
    last = len(all_levels) - 1
    if last >= MOST_ENTRIES:
        shown = [all_levels[round(i * last / (MOST_ENTRIES - 1))] for i in range(MOST_ENTRIES)]
    some = f" ({len(shown)} of {len(all_levels)})" if len(shown) < len(all_levels) else ""
    heading = _entry(", ".join(map(symbol, names)) + some)
    return [heading, *(_entry(_name(levels), **options(levels)) for levels in shown)]


def _letters(entries: "list[tuple[Line2D, str]]") -> int:
    """Width of a column of a legend in letters, with that of its lines."""
    return 8 + max(len(line) for _, label in entries for line in label.split("\n"))


def _lines(entries: "list[tuple[Line2D, str]]") -> int:
    return sum(1 + label.count("\n") for _, label in entries)


def _entry(label: str, **options: Any) -> "tuple[Line2D, str]":
    """An entry of a legend; without options, a heading or an empty line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **(options or {"linestyle": "none"})), label


def _name(levels: Levels) -> str:
    """Levels of a curve, on a line each if they are long."""
    names = [*map(number, levels)]
    return (", " if sum(map(len, names)) <= LONGEST else ",\n").join(names)


def distinct(table: "DataFrame", names: Sequence[str]) -> list[Levels]:
    """Combinations of levels that occur, numbers rising, words in the order of the table.

    None for no names.
    """
    if not names:
        return []
    columns = [table[name].tolist() for name in names]
    ranks = []
    for column in columns:
        levels = list(dict.fromkeys(column))
        numeric = all(isinstance(level, (int, float)) for level in levels)
        ranks.append(
            {level: rank for rank, level in enumerate(sorted(levels) if numeric else levels)}
        )
    combinations = dict.fromkeys(zip(*columns, strict=True))
    return sorted(
        combinations, key=lambda one: [rank[level] for rank, level in zip(ranks, one, strict=True)]
    )


def curves_of(table: "DataFrame", names: Sequence[str]) -> "Iterator[tuple[Levels, DataFrame]]":
    """Levels of `names` and the rows that have them, in the order of the table."""
    if not names:
        yield (), table
        return
    yield from table.groupby(list(names), sort=False)


def error_bars(axes: "Axes", x: Floats, rows: "DataFrame", **options: Any) -> None:
    """Means with their intervals; no bar where an interval is infinite."""
    y = rows["mean"].to_numpy(float)
    ends = np.array([y - rows["low"], rows["high"] - y], float)
    ends = np.where(np.isfinite(ends), np.maximum(ends, 0), np.nan)
    axes.errorbar(x, y, ends, elinewidth=0.9, markeredgecolor="w", markeredgewidth=0.5, **options)


def extent(table: "DataFrame", log: bool) -> Floats:
    """Values that an axis must show: the means, and the ends of bars unless they are far out."""
    y: Floats = table["mean"].to_numpy(float)
    y = y[np.isfinite(y)]
    if not y.size:
        return y
    ends = table[["low", "high"]].to_numpy(float).ravel()
    reach = (y.min() / 2, y.max() * 2) if log else (y.min() - np.ptp(y), y.max() + np.ptp(y))
    ends = ends[np.isfinite(ends) & (ends > 0 if log else True)]
    return np.concatenate([y, np.clip(ends, *reach)])
