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
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import Study
from pipeline.study.until import recorded
from pipeline.workflow.sealed import reduced_by
from pipeline.workflow.studies import StoredStudy

if TYPE_CHECKING:  # loaded where a study stops by its claims
    import xarray as xr

    from pipeline.analysis.looks import Ends

Judged: TypeAlias = dict[str, "Ends"]  # study -> its looks so far
NAMED = 6  # cells that are named of those that ended alike


def reached(stored: StoredStudy, judged: Judged) -> StoredStudy:
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
    found = judged.setdefault(
        study.name, Ends(claims, study.until.looks(study.block), layout.shape)
    )
    cells = np.zeros(layout.shape, bool)
    cells.flat[positions(study, layout)] = True
    for data in _sealed(stored.store):
        while not found.over and found.known(data, cells):
            with dask.config.set(scheduler="synchronous"):
                found.look(data)
        if found.over:
            break
    stops = tuple(
        (int(end) * bool(there), claims[by].id if by >= 0 else "")
        for end, by, there in zip(found.ends.flat, found.by.flat, cells.flat, strict=True)
    )
    return stored.grown(
        dataclasses.replace(
            study,
            replications=int(found.ends[cells].max()),
            until=dataclasses.replace(study.until, stops=stops),
        )
    )


def _sealed(store: Store) -> Iterator["xr.Dataset"]:
    """Sealed results of the same cells, by the code here, the smallest first; without damaged ones."""
    study = store.study
    backend = store.backend
    found = []
    for where in results.places(backend):
        said = results.root_attributes(backend, where)
        if said.get("reduced_by") == reduced_by(study) and said["request"] == _request(study, said):
            found.append((said["replications"], where + results.SEALED))
    for _, name in sorted(found):
        data = results.load_sound(store, name)
        if data is not None:
            yield data


def _request(study: Study, said: Mapping[str, Any]) -> str | None:
    """The request for as many replications of the study's cells as results have: fixed in advance,
    or at a look.
    """
    assert study.until and study.until.most
    until = recorded(said["until"]) if "until" in said else None
    if until and until.most != study.until.most:
        return None
    return results.request(
        dataclasses.replace(study, replications=said["replications"], until=until)
    )


def ends(study: Study) -> list[dict[str, Any]]:
    """Which cells ended after how many replications, and for which claim they had gone on.

    Of some, the labels.
    """
    if not study.until or not study.until.stops:
        return []
    groups: dict[tuple[int, str], list[int]] = {}
    for cell, position in enumerate(positions(study, Layout.of(study)).tolist()):
        groups.setdefault(study.until.stops[position], []).append(cell)
    varying = [axis for axis, levels in study.grid.axes.items() if len(levels) > 1]
    return [
        {
            "replications": end,
            "claim": claim,
            "cells": len(cells),
            "labels": [
                {axis: study.grid.labels(cell)[axis] for axis in varying} for cell in cells[:NAMED]
            ],
        }
        for (end, claim), cells in sorted(groups.items())
    ]


def ends_in_words(stops: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each of what `ends` gives."""
    return [
        f"{one['cells']:,} cells × {one['replications']:,} replications, "
        + (f"the last for {one['claim']}" if one["claim"] else "for the first look")
        for one in stops
    ]
