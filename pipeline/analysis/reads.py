"""Which cells of a study a claim reads, so that the others need no more replications for it.

`select` records the cells that a claim gets. An estimate whose label names levels, such as "n=3,
epsilon=1", then reads those of them at these levels: which is tried, as no rule keeps a measure
from mixing cells. Where it does mix them, all its estimates read all recorded cells; and where
there is none, or others matter, too, all cells of the study.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import level_label
from pipeline.analysis.selection import NUMBER, InsufficientEvidence, recording
from pipeline.analysis.summary import REPLICATION
from pipeline.study.arrays import Booleans

Parts = Mapping[str, tuple[Estimate, ...]]  # by label


def cells_read(measure: Callable[[xr.Dataset], Parts], results: xr.Dataset) -> dict[str, Booleans]:
    """(grid…) for each label of what is measured on results, the cells that its estimates read.

    O(log labels) measurements. Raises what `measure` does.
    """
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    shape = tuple(results.sizes[axis] for axis in axes)
    plain, everything = measure(results), np.ones(shape, bool)
    numbers = np.arange(everything.size).reshape(shape)
    with recording() as used:
        measure(results.assign({NUMBER: (axes, numbers)}))
    recorded = np.isin(numbers, [*used]) if used else everything
    own = {label: recorded & _at(label, results, axes) for label in plain}
    for cells in (own, dict.fromkeys(plain, recorded)):
        if _only_these_matter(measure, results, plain, cells):
            return cells
    return dict.fromkeys(plain, everything)


def _at(label: str, results: xr.Dataset, axes: Iterable[object]) -> Booleans:
    """(grid…) cells at the levels that a label names."""
    words, each = {*label.split(", ")}, []
    for axis in axes:
        named = np.array(
            [level_label(axis, level) in words for level in results[axis].values.tolist()]
        )
        each.append(named if named.any() else np.ones_like(named))
    found: Booleans = functools.reduce(np.logical_and.outer, each, np.ones((), bool))
    return found


def _only_these_matter(
    measure: Callable[[xr.Dataset], Parts],
    results: xr.Dataset,
    plain: Parts,
    cells: Mapping[str, Booleans],
) -> bool:
    """Whether estimates do not change with the values of cells that they are not said to read.

    Labels that read the same cells have one number, cells that none reads another. In cells whose
    numbers have a bit 0, then in those that have it 1, the first half of the replications is put in
    place of the second, then the second in place of the first: either changes a mean, and one of
    them a maximum. As any two numbers differ in a bit, every label is seen without a change in its
    own cells while those of any other change.
    """
    sets = [*{one.tobytes(): one for one in cells.values()}.values()]
    if any((np.sum(sets, 0) > 1).ravel()):  # some overlap: no bits tell them apart
        return False
    number = np.full(sets[0].shape, len(sets))
    for k, one in enumerate(sets):
        number[one] = k
    for bit, value, half in itertools.product(range(len(sets).bit_length()), (0, 1), (0, 1)):
        moved = (number >> bit & 1) == value
        fixed = [label for label, own in cells.items() if not (moved & own).any()]
        if not fixed or not moved.any():
            continue
        try:
            changed = measure(_moved(results, moved, half))
        except InsufficientEvidence:
            return False
        if not all(_same(plain[label], changed.get(label, ())) for label in fixed):
            return False
    return True


def _moved(results: xr.Dataset, where: Booleans, half: int) -> xr.Dataset:
    """Results in which some cells have one half of their replications twice. where: (grid…).

    half: 0 for the first.
    """
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    size = results.sizes[REPLICATION]
    twice = results.isel({REPLICATION: (np.arange(size) + half * size) // 2}).drop_vars(
        REPLICATION, errors="ignore"
    )
    kept = xr.DataArray(~where, dims=axes)
    return results.assign(
        {
            name: one.where(kept, twice[name]).transpose(*one.dims).astype(one.dtype)
            for name, one in results.data_vars.items()
            if {*axes, REPLICATION} == {*one.dims}
        }
    )


def _same(some: tuple[Estimate, ...], others: tuple[Estimate, ...]) -> bool:
    """Whether estimates are equal up to rounding."""
    pairs = [
        (a, b)
        for one, other in zip(some, others, strict=False)
        for a, b in ((one.value, other.value), (one.low, other.low), (one.high, other.high))
    ]
    return len(some) == len(others) and all(
        a == b or math.isclose(a, b, rel_tol=1e-9) or math.isnan(a) and math.isnan(b)
        for a, b in pairs
    )
