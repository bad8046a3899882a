"""Rows of the table of bars: what was measured, beside what it should be."""

import numpy as np

ROWS: list[str] = []  # of this process, to be printed once more at the end
HEAD = f"{'work':66s} {'median (range)':>22s}   bar"


def spread(values: np.ndarray) -> str:
    """Median, least and greatest."""
    few = f"{np.median(values):.3g}"
    return few if len(values) == 1 else f"{few} ({min(values):.3g}–{max(values):.3g})"


def row(work: str, values: np.ndarray, bar: str) -> None:
    """Print one line of the table, and keep it. values: of paired runs, ratios or seconds."""
    ROWS.append(f"{work:66s} {spread(np.asarray(values)):>22s}   {bar}")
    print(ROWS[-1], flush=True)
