"""Curves of a figure: their styles, the legend, and their error bars."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pipeline.reporting import style
from pipeline.reporting.formatting import number, symbol
from pipeline.reporting.lettering import LETTERS_OF_AN_INCH, width
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from pandas import DataFrame

Levels = tuple[Any, ...]  # one level for each of several axes
PlotOption: TypeAlias = Any  # of matplotlib's lines and bars
Style = dict[str, PlotOption]
Column: TypeAlias = "list[tuple[Line2D, str]]"  # entries of a legend
MOST_ENTRIES = 9  # of one list in a legend
LINE_AND_GAP = 8  # letters that would stand where an entry has its line
LONGEST = 22  # letters of an entry on one line


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
        marked = of_by[1:] if len(self.by) > 1 else of_by
        return {
            "color": self._colour(of_by[:1]),
            "marker": self._marker(marked),
            "linestyle": self._line(of_split),
        }

    def _colour(self, levels: Levels) -> object:
        if not self.by:
            return self.colours[0]
        return self.colours[self.first.index(levels)]

    def _marker(self, levels: Levels) -> str:
        if not self.by:
            return style.MARKERS[0]
        return style.MARKERS[self.rest.index(levels) % len(style.MARKERS)]

    def _line(self, levels: Levels) -> object:
        if not self.split:
            return style.LINES[0]
        return style.LINES[self.lines.index(levels) % len(style.LINES)]

    @property
    def has_gaps(self) -> bool:
        """Whether some combinations of the levels that occur do not occur."""
        rest = self.rest if len(self.by) > 1 else ()
        combinations = math.prod(len(levels) or 1 for levels in (self.first, rest, self.lines))
        return 0 < len(self.curves) < combinations

    def legend(self, figure: "Figure", others: Mapping[str, Style] | None = None) -> None:
        """Lists of colours, marks and lines, side by side above the panels.

        others: lines that are no curves, by name, which stand last.
        """
        columns = list(self._columns)
        if others:
            columns.append([_entry(name, **options) for name, options in others.items()])
        if not columns:
            return
        entries, wide = _side_by_side(columns)
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
    def _columns(self) -> list[Column]:
        return [_column(part) for part in self._lists()]

    @property
    def height(self) -> float:
        """About how much of a figure's height the legend takes, in inches."""
        columns = self._columns
        if not columns:
            return 0.0
        entries = list(itertools.chain.from_iterable(columns))
        if len(columns) == 1:
            wide = max(1, int(style.layout().letters / _letters(entries)))
        elif _fit(columns):
            return 0.18 * max(map(_lines, columns))
        else:
            wide = max(1, min(2, int(style.layout().letters / _letters(entries))))
        return 0.18 * math.ceil(_lines(entries) / wide)

    def _lists(self) -> "Iterator[_List]":
        """The lists of the legend."""
        if self.has_gaps and len(self.curves) <= MOST_ENTRIES:
            yield _List((*self.by, *self.split), self.curves, self.__getitem__)
            return
        if len(self.by) == 1:
            yield _List(self.by, self.first, self._of_first)
        elif self.by:
            yield _List(self.by[:1], self.first, self._of_colour)
            yield _List(self.by[1:], self.rest, self._of_mark)
        if self.split:
            yield _List(self.split, self.lines, self._of_line)

    def _of_first(self, levels: Levels) -> Style:
        """Of the only axis of `by`: as the curve with the first line."""
        line = self.lines[0] if self.split else ()
        return self[(*levels, *line)]

    def _of_colour(self, levels: Levels) -> Style:
        return {"color": self._colour(levels), "linewidth": 3, "marker": "", "linestyle": "-"}

    def _of_mark(self, levels: Levels) -> Style:
        return {"color": "0.35", "linestyle": "none", "marker": self._marker(levels)}

    def _of_line(self, levels: Levels) -> Style:
        return {"color": "0.35", "linestyle": self._line(levels)}


@dataclass(frozen=True)
class _List:
    """A list of the legend: the axes that it explains, their levels, and the style of a level."""

    names: tuple[str, ...]
    levels: list[Levels]
    style_of: Callable[[Levels], Style]


def _column(part: _List) -> Column:
    """One list of a legend under its heading; of many levels only some, evenly spread."""
    shown = part.levels
    last = len(part.levels) - 1
    heading = ", ".join(map(symbol, part.names))
    if last >= MOST_ENTRIES:
        places = [round(i * last / (MOST_ENTRIES - 1)) for i in range(MOST_ENTRIES)]
        shown = [part.levels[place] for place in places]
        heading += f" ({len(shown)} of {len(part.levels)})"
    entries = [_entry(_name(levels), **part.style_of(levels)) for levels in shown]
    return [_entry(heading), *entries]


def _side_by_side(columns: list[Column]) -> tuple[Column, int]:
    """Entries of a legend in the order of its columns, and how many columns it has."""
    if len(columns) == 1:  # its heading, then entries in a few columns
        entries = columns[0]
        return entries, max(1, min(len(entries), int(style.layout().letters / _letters(entries))))
    if _fit(columns):
        return _filled(columns), len(columns)
    entries = list(columns[0])
    for column in columns[1:]:
        entries += [_entry(""), *column]
    return entries, 1 if _letters(entries) * 2 > style.layout().letters else 2


def _fit(columns: list[Column]) -> bool:
    """Whether columns fit side by side."""
    return sum(map(_letters, columns)) <= style.layout().letters


def _filled(columns: list[Column]) -> Column:
    """Entries of all columns, each filled with empty lines to the length of the longest."""
    longest = max(map(len, columns))
    entries = []
    for column in columns:
        entries += column
        entries += [_entry("") for _ in range(longest - len(column))]
    return entries


def _letters(entries: Column) -> int:
    """Width of a column of a legend in letters, with that of its lines."""
    longest = 0
    for _, label in entries:
        longest = max(longest, *map(width, label.split("\n")))
    return LINE_AND_GAP + longest


def _lines(entries: Column) -> int:
    return sum(1 + label.count("\n") for _, label in entries)


def _entry(
    label: str,
    **options: PlotOption,  # as those of matplotlib.lines.Line2D
) -> "tuple[Line2D, str]":
    """An entry of a legend; without options, a heading or an empty line."""
    from matplotlib.lines import Line2D

    if not options:
        options = {"linestyle": "none"}
    return Line2D([], [], **options), label


def _name(levels: Levels) -> str:
    """Levels of a curve, on a line each if they are long."""
    room = (style.layout().letters - LINE_AND_GAP) / LETTERS_OF_AN_INCH
    names = [style.wrapped(number(level), room, most=2) for level in levels]
    if sum(map(len, names)) <= LONGEST:
        return ", ".join(names)
    return ",\n".join(names)


def distinct(table: "DataFrame", names: Sequence[str]) -> list[Levels]:
    """Combinations of levels that occur, numbers rising, words in the order of the table.

    None for no names.
    """
    if not names:
        return []
    columns = [table[name].tolist() for name in names]
    ranks = [_ranks(column) for column in columns]

    def place(combination: Levels) -> list[int]:
        return [rank[level] for rank, level in zip(ranks, combination, strict=True)]

    return sorted(dict.fromkeys(zip(*columns, strict=True)), key=place)


def _ranks(column: list[Any]) -> dict[Any, int]:
    """The place of each level of an axis: numbers rising, words in the order of the table."""
    levels = list(dict.fromkeys(column))
    if all(isinstance(level, (int, float)) for level in levels):
        levels.sort()
    return {level: rank for rank, level in enumerate(levels)}


def curves_of(table: "DataFrame", names: Sequence[str]) -> "Iterator[tuple[Levels, DataFrame]]":
    """Levels of `names` and the rows that have them, in the order of the table."""
    if not names:
        yield (), table
        return
    yield from table.groupby(list(names), sort=False)


def error_bars(
    axes: "Axes",
    x: Floats,
    rows: "DataFrame",
    **options: PlotOption,  # as those of Axes.errorbar
) -> None:
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
    ends = ends[np.isfinite(ends)]
    if log:
        ends = ends[ends > 0]
        near = np.clip(ends, y.min() / 2, y.max() * 2)
    else:
        near = np.clip(ends, y.min() - np.ptp(y), y.max() + np.ptp(y))
    return np.concatenate([y, near])
