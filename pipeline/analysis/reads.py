"""Which cells of a study a claim reads, so that the others need no more replications
for it.

`select` records the cells that a claim gets. An estimate whose label names levels, such
as "n=3, epsilon=1", then reads those of them at these levels: which is tried, as no
rule keeps a measure from mixing cells. Where it does mix them, all its estimates read
all recorded cells; and where there is none, or others matter, too, all cells of the
study.
"""

import itertools
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
    """(grid…) for each label of what is measured on results, the cells that its
    estimates read.

    O(log labels) measurements. Raises what `measure` does.
    """
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    shape = tuple(results.sizes[axis] for axis in axes)
    plain = measure(results)
    everything = np.ones(shape, bool)
    numbers = np.arange(everything.size).reshape(shape)
    with recording() as used:
        measure(results.assign({NUMBER: (axes, numbers)}))
    recorded = np.isin(numbers, [*used]) if used else everything
    by_label = {label: recorded & _at(label, results, axes) for label in plain}
    for cells in (by_label, dict.fromkeys(plain, recorded)):
        if _only_these_matter(measure, results, plain, cells):
            return cells
    return dict.fromkeys(plain, everything)


def _at(label: str, results: xr.Dataset, axes: Iterable[object]) -> Booleans:
    """(grid…) cells at the levels that a label names."""
    words = {*label.split(", ")}
    cells: Booleans = np.ones((), bool)
    for axis in axes:
        levels = results[axis].values.tolist()
        named = np.array([level_label(axis, level) in words for level in levels])
        if not named.any():
            named[...] = True
        cells = np.logical_and.outer(cells, named)
    return cells


def _only_these_matter(
    measure: Callable[[xr.Dataset], Parts],
    results: xr.Dataset,
    plain: Parts,
    cells: Mapping[str, Booleans],
) -> bool:
    """Whether estimates do not change with the values of other cells than those that
    they read.

    Labels that read the same cells have one number, cells that none reads another. In
    cells whose numbers have a bit 0, then in those that have it 1, the first half of
    the replications is put in place of the second, then the second in place of the
    first: either changes a mean, and one of them a maximum. As any two numbers differ
    in a bit, every label is seen without a change in its own cells while those of any
    other change.
    """
    different = {read.tobytes(): read for read in cells.values()}
    sets = [*different.values()]
    if any((np.sum(sets, 0) > 1).ravel()):  # some overlap: no bits tell them apart
        return False
    number = np.full(sets[0].shape, len(sets))
    for k, read in enumerate(sets):
        number[read] = k
    for bit, value, half in itertools.product(range(len(sets).bit_length()), (0, 1), (0, 1)):
        moved = (number >> bit & 1) == value
        fixed = [label for label, read in cells.items() if not (moved & read).any()]
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
    """Results in which some cells have one half of their replications twice. where:
    (grid…).

    half: 0 for the first.
    """
    axes = [axis for axis in results["status"].dims if axis != REPLICATION]
    size = results.sizes[REPLICATION]
    of_half = (np.arange(size) + half * size) // 2
    twice = results.isel({REPLICATION: of_half}).drop_vars(REPLICATION, errors="ignore")
    unmoved = xr.DataArray(~where, dims=axes)
    moved = {}
    for name, values in results.data_vars.items():
        if {*axes, REPLICATION} == {*values.dims}:
            mixed = values.where(unmoved, twice[name])
            moved[name] = mixed.transpose(*values.dims).astype(values.dtype)
    return results.assign(moved)


def _same(estimates: tuple[Estimate, ...], others: tuple[Estimate, ...]) -> bool:
    """Whether estimates are equal up to rounding."""
    if len(estimates) != len(others):
        return False
    return all(map(_equal, estimates, others))


def _equal(estimate: Estimate, other: Estimate) -> bool:
    """Whether value and interval of two estimates are equal up to rounding."""
    numbers = np.array([estimate.value, estimate.low, estimate.high])
    others = np.array([other.value, other.low, other.high])
    return np.allclose(numbers, others, rtol=1e-9, atol=0.0, equal_nan=True)
