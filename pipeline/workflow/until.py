"""Stopping when claims are decided: how many replications of every cell follow from what is sealed.

At every look the study with as many replications is sealed, of those cells that go on, and its
claims are judged on it. Nothing else is kept: an interrupted study goes through its looks again, on
the replications that are there. So what counts is a function of the results, whatever else was
simulated.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pipeline.storage import results
from pipeline.storage.layout import Layout, positions
from pipeline.storage.replications import Store
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from pipeline.study.until import EndedCells, recorded
from pipeline.workflow.sealed import reduced_by
from pipeline.workflow.studies import StoredStudy, varying_labels

if TYPE_CHECKING:  # loaded where a study stops by its claims
    import xarray as xr

    from pipeline.analysis.looks import Ends

Judged: TypeAlias = dict[str, "Ends"]  # study -> its looks so far
NAMED = 6  # cells that are named of those that ended alike


def continued(stored: StoredStudy, judged: Judged) -> StoredStudy:
    """The study with the replications that every cell has when its claims are decided, or at the
    next look.

    The latter is the first that no sealed results hold. judged: looks of this command, used and
    added to. Raises InvalidInput where no claim is judged.
    """
    import dask

    from pipeline.analysis.looks import Ends
    from pipeline.workflow.assess import claims_of

    study = stored.study
    claims = claims_of(stored.experiment)
    assert study.until
    if not claims:
        raise InvalidInput(
            "until",
            "claims",
            f"{study.name} has no claims to decide, or claims=false; leave it out, "
            "or give precision",
        )
    layout = Layout.of(study)
    looks = study.until.looks(study.block)
    ends = judged.setdefault(study.name, Ends(claims, looks, layout.shape))
    cells = np.zeros(layout.shape, bool)
    cells.flat[positions(study, layout)] = True
    for data in _sealed(stored.store):
        while not ends.over and ends.known(data, cells):
            with dask.config.set(scheduler="synchronous"):
                ends.look(data)
        if ends.over:
            break
    names = [claim.id for claim in claims]
    stops = _stops(np.where(cells, ends.ends, 0), ends.by, names)
    until = dataclasses.replace(study.until, stops=stops)
    most = int(ends.ends[cells].max())
    return stored.grown(dataclasses.replace(study, replications=most, until=until))


def _stops(
    replications: Integers, last_claims: Integers, names: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """Of every position its replications, 0 without a cell, and the claim for which it went on.

    last_claims: number of that claim, -1 where there is none.
    """
    stops = []
    for count, number in zip(replications.flat, last_claims.flat, strict=True):
        claim = ""
        if number >= 0:
            claim = names[int(number)]
        stops.append((int(count), claim))
    return tuple(stops)


def _sealed(store: Store) -> Iterator["xr.Dataset"]:
    """Sealed results of the same cells that the code here made, the smallest first, without
    damaged ones.
    """
    study = store.study
    backend = store.backend
    sealed = []
    for where in results.places(backend):
        attributes = results.root_attributes(backend, where)
        if attributes.get("reduced_by") != reduced_by(study):
            continue
        if attributes["request"] == _request(study, attributes):
            sealed.append((attributes["replications"], where + results.SEALED))
    for _, name in sorted(sealed):
        data = results.load_sound(store, name)
        if data is not None:
            yield data


def _request(study: Study, attributes: Mapping[str, Any]) -> str | None:
    """The request for as many replications of the study's cells as results have: fixed in advance,
    or at a look. None where the results are of another study. attributes: of the results.
    """
    assert study.until and study.until.most
    until = None
    if "until" in attributes:
        until = recorded(attributes["until"])
        if until.most != study.until.most:
            return None
    replications = attributes["replications"]
    return results.request(dataclasses.replace(study, replications=replications, until=until))


def ends(study: Study) -> list[EndedCells]:
    """Which cells ended after how many replications, and for which claim they had gone on."""
    if not study.until or not study.until.stops:
        return []
    groups: dict[tuple[int, str], list[int]] = {}
    for cell, position in enumerate(positions(study, Layout.of(study)).tolist()):
        groups.setdefault(study.until.stops[position], []).append(cell)
    ended = []
    for (replications, claim), cells in sorted(groups.items()):
        labels = [varying_labels(study, cell) for cell in cells[:NAMED]]
        ended.append(EndedCells(replications, claim, len(cells), labels))
    return ended


def ends_in_words(stops: Sequence[EndedCells]) -> list[str]:
    """A line for each of what `ends` gives."""
    return list(map(_end_in_words, stops))


def _end_in_words(ended: EndedCells) -> str:
    reason = "for the first look"
    if ended.claim:
        reason = f"the last for {ended.claim}"
    return f"{ended.cells:,} cells × {ended.replications:,} replications, {reason}"
