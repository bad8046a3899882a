"""Curves of a figure: what each looks like, the legend that says so, and their error bars."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.report import style
from pipeline.report.words import number, symbol

MOST_ENTRIES = 9  # of one list in a legend
LONGEST = 22  # letters of an entry on one line


class Looks:
    """Colour, mark and line of every curve, and the legend that explains them.

    The first axis of `by` has the colours, the others together the marks (the same if there is only one), and
    `split` the lines. So a legend has a list for each, and grows with their sum, not with their product; where
    some combinations do not occur and the others are few, it lists these instead.
    """

    def __init__(self, table: Any, by: tuple[str, ...], split: str | None = None):
        self.by, self.split = by, split
        self.first = distinct(table, by[:1])
        self.rest = distinct(table, by[1:] or by)
        self.lines = distinct(table, (split,) if split else ())
        self.curves = distinct(table, (*by, *((split,) if split else ())))
        self.colours = style.colours([key[0] for key in self.first] if by else [""])

    def __getitem__(self, key: tuple) -> dict[str, Any]:
        """Matplotlib's words for the curve with these levels of `by` and `split`."""
        levels_by = key[: len(self.by)]
        mark = self.rest.index(levels_by[1:] if len(self.by) > 1 else levels_by) if self.by else 0
        line = self.lines.index(key[len(self.by):]) if self.split else 0
        return {"color": self.colours[self.first.index(levels_by[:1])] if self.by else self.colours[0],
                "marker": style.MARKERS[mark % len(style.MARKERS)],
                "linestyle": style.LINES[line % len(style.LINES)]}

    @property
    def gaps(self) -> bool:
        """Whether some combinations of the levels that occur do not occur."""
        lists = (self.first, self.rest if len(self.by) > 1 else (), self.lines)
        return len(self.curves) < math.prod(len(keys) or 1 for keys in lists)

    def legend(self, figure: Any, *guides: dict[str, Any]) -> None:
        """Lists of colours, marks and lines to the right of the panels, outside the data; last other lines, by name."""
        from matplotlib.lines import Line2D

        entries: list[tuple[Any, str]] = []

        def section(names, keys, look):
            shown = keys if len(keys) <= MOST_ENTRIES else [
                keys[round(i * (len(keys) - 1) / (MOST_ENTRIES - 1))] for i in range(MOST_ENTRIES)]
            some = f" ({len(shown)} of {len(keys)})" if len(shown) < len(keys) else ""
            if entries:
                entries.append((Line2D([], [], linestyle="none"), ""))
            entries.append((Line2D([], [], linestyle="none"), ", ".join(map(symbol, names)) + some))
            entries.extend((Line2D([], [], **look(key)), _name(key)) for key in shown)

        if self.gaps and len(self.curves) <= MOST_ENTRIES:
            section((*self.by, self.split) if self.split else self.by, self.curves, lambda key: self[key])
        elif len(self.by) == 1:
            section(self.by, self.first, lambda key: self[(*key, *(self.lines[0] if self.split else ()))])
        elif self.by:
            section(self.by[:1], self.first, lambda key: {
                "color": self.colours[self.first.index(key)], "linewidth": 3, "marker": ""})
            section(self.by[1:], self.rest, lambda key: {
                "color": "0.35", "linestyle": "none",
                "marker": style.MARKERS[self.rest.index(key) % len(style.MARKERS)]})
        if self.split and not (self.gaps and len(self.curves) <= MOST_ENTRIES):
            section((self.split,), self.lines, lambda key: {
                "color": "0.35", "linestyle": style.LINES[self.lines.index(key) % len(style.LINES)]})
        entries.extend((Line2D([], [], **look), name) for guide in guides for name, look in guide.items())
        if entries:
            handles, labels = zip(*entries, strict=True)
            figure.legend(handles, labels, loc="outside right upper", handlelength=2.6, labelspacing=0.32)


def _name(key: tuple) -> str:
    """Levels of a curve, on a line each if they are long."""
    levels = [*map(number, key)]
    return (", " if sum(map(len, levels)) <= LONGEST else ",\n").join(levels)


def distinct(table: Any, names: tuple[str, ...]) -> list[tuple]:
    """Combinations of levels that occur, numbers rising, words in the order of the table; none for no names."""
    if not names:
        return []
    columns = [table[name].tolist() for name in names]
    ranks = []
    for column in columns:
        levels = list(dict.fromkeys(column))
        numeric = all(isinstance(level, (int, float)) for level in levels)
        ranks.append({level: rank for rank, level in enumerate(sorted(levels) if numeric else levels)})
    keys = dict.fromkeys(zip(*columns, strict=True))
    return sorted(keys, key=lambda key: [rank[level] for rank, level in zip(ranks, key, strict=True)])


def curves_of(table: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple, Any]]:
    """Levels of `names` and the rows that have them, in the order of the table."""
    if not names:
        yield (), table
        return
    yield from table.groupby(list(names), sort=False)


def error_bars(axes: Any, x: np.ndarray, rows: Any, **look: Any) -> None:
    """Means with their intervals; no bar where an interval is infinite."""
    y = rows["mean"].to_numpy(float)
    ends = np.array([y - rows["low"], rows["high"] - y], float)
    ends = np.where(np.isfinite(ends), np.maximum(ends, 0), np.nan)
    axes.errorbar(x, y, ends, elinewidth=0.9, markeredgecolor="w", markeredgewidth=0.5, **look)


def extent(table: Any, log: bool) -> np.ndarray:
    """Values an axis must hold: the means, and the ends of bars unless they are far out."""
    y = table["mean"].to_numpy(float)
    y = y[np.isfinite(y)]
    if not y.size:
        return y
    ends = table[["low", "high"]].to_numpy(float).ravel()
    reach = (y.min() / 2, y.max() * 2) if log else (y.min() - np.ptp(y), y.max() + np.ptp(y))
    ends = ends[np.isfinite(ends) & (ends > 0 if log else True)]
    return np.concatenate([y, np.clip(ends, *reach)])
