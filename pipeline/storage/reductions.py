"""Regions of a study's results that jobs of an array reduced, until the job that seals the results copies them.

Each job keeps its own in `reductions/SHARD/`: two datasets like those that are sealed, and a record of their regions.
A region counts while the units that it was made from, the request and the code are the same; else it is reduced again.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from pipeline.storage.backend import Unreachable
from pipeline.storage.datasets import file_digest
from pipeline.storage.layout import Layout, Region, positions
from pipeline.storage.replications import Listing, Store
from pipeline.storage.results import REDUCTIONS, SEALED, SUMMARY
from pipeline.study.arrays import Array
from pipeline.study.study import Study

RECORD = "regions.json"


class Staged(NamedTuple):
    """Keys under which the datasets are being built."""

    results: str
    summary: str


class Reduced(NamedTuple):
    """What came of a region: key -> digest of the files written, and names of the writers of its units.

    excess: of every group of cells, with targets of precision, first cell -> greatest half-width over its target; NaN
    where blocks are missing.
    """

    digests: dict[str, str]
    writers: set[str]
    excess: dict[int, float]


class Ready(NamedTuple):
    """A region that a job of an array reduced, and where its files are."""

    staged: Staged
    reduced: Reduced


def staged_in(folder: str) -> Staged:
    """Where a job of an array writes its regions. folder: such as "2-of-8"."""
    return Staged(*(f"{REDUCTIONS}/{folder}/{name}" for name in (SEALED, SUMMARY)))


def cells_of(study: Study, layout: Layout) -> Array:
    """(grid…) number of the cell at every combination of levels, −1 outside of the grid."""
    cells = np.full(int(np.prod(layout.shape)), -1)
    cells[positions(study, layout)] = np.arange(len(study.grid))
    return cells.reshape(layout.shape)


def states(study: Study, listing: Listing, regions: Iterable[Region], code: str) -> dict[Region, str]:
    """For every region a digest of all that its files depend on: which of its units are done, which failed, code."""
    cells = cells_of(study, Layout.of(study))
    digests = {}
    for region in regions:
        inside = cells[region.slices]
        inside = inside[inside >= 0]
        marks = np.packbits([listing.done[inside], listing.failed[inside]]).tobytes()
        digests[region] = file_digest(code.encode() + marks)
    return digests


def record(store: Store, folder: str, reduced: Mapping[Region, Reduced], state: Mapping[Region, str]) -> None:
    """Record the regions that a job of an array reduced, after their files."""
    content = json.dumps([
        {"starts": region.starts, "stops": region.stops, "state": state[region], "digests": one.digests,
         "writers": sorted(one.writers), "excess": [*one.excess.items()]} for region, one in reduced.items()]).encode()
    store.backend.put(f"{REDUCTIONS}/{folder}/{RECORD}", file_digest(content).encode() + b"\n" + content)


def ready(store: Store, state: Mapping[Region, str]) -> dict[Region, Ready]:
    """The regions that jobs of an array reduced and that still count. A damaged record counts as none."""
    keys = (key.partition("/") for key in store.backend.keys(REDUCTIONS))
    found: dict[Region, Ready] = {}
    for folder in (folder for folder, _, name in keys if name == RECORD):
        with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found |= _recorded(store, folder, state)
    return found


def _recorded(store: Store, folder: str, state: Mapping[Region, str]) -> dict[Region, Ready]:
    """The regions in the record of a job that still count; errors of JSON where it is not what `record` wrote."""
    found, staged = {}, staged_in(folder)
    digest, _, content = (_read(store, f"{REDUCTIONS}/{folder}/{RECORD}") or b"").partition(b"\n")
    for one in json.loads(content) if digest.decode("ascii", "replace") == file_digest(content) else ():
        region = Region(tuple(one["starts"]), tuple(one["stops"]))
        here = all(key.startswith((f"{staged.results}/", f"{staged.summary}/")) for key in one["digests"])
        if state.get(region) == one["state"] and here:  # a copied or renamed folder names files of another
            found[region] = Ready(staged, Reduced(dict(one["digests"]), {*one["writers"]}, dict(one["excess"])))
    return found


def _read(store: Store, key: str) -> bytes | None:
    """Content of a file; None where there is none, or one that cannot be read, such as a folder of that name."""
    try:
        return store.backend.read(key)
    except Unreachable:
        raise
    except OSError:
        return None


def copy(store: Store, one: Ready, staged: Staged) -> Reduced | None:
    """Copy the files of a region to where the datasets are built; None where one is not what was written."""
    digests = {}
    for key, digest in one.reduced.digests.items():
        content = _read(store, key)
        if content is None or file_digest(content) != digest:
            return None
        source, target = next(pair for pair in zip(one.staged, staged, strict=True) if key.startswith(f"{pair[0]}/"))
        copied = target + key.removeprefix(source)
        store.backend.put(copied, content)
        digests[copied] = digest
    return one.reduced._replace(digests=digests)
