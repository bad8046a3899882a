"""Refinement in a command: the grid that follows from what is sealed, and where curves cross.

The levels of a round are a function of the moments of the cells of the rounds before it, which
`summary.zarr` holds. Nothing else is kept: an interrupted study walks through its rounds again, on
the moments that are there.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipeline.storage import results
from pipeline.storage.replications import Store
from pipeline.study.grid import Grid
from pipeline.study.study import Study
from pipeline.workflow.events import Crossed
from pipeline.workflow.lines import lines_of
from pipeline.workflow.sealed import is_current, reduced_by
from pipeline.workflow.studies import StoredStudy

if TYPE_CHECKING:  # loaded where there is a refinement
    import xarray as xr


def continued(stored: StoredStudy) -> StoredStudy:
    """The study with the levels of all rounds that follow from its sealed results, from that with
    the levels given.
    """
    study = stored.study
    if not study.refine:
        return stored
    grids = (_walked(study, moments) for moments in _sealed(stored.store))
    grid = max(grids, key=len, default=study.grid)
    return stored.grown(dataclasses.replace(study, grid=grid))


def crossings(stored: StoredStudy) -> list[Crossed]:
    """Where every curve of sealed results crosses, and every boundary over a second axis.

    None without a refinement.
    """
    study = stored.study
    refinement = study.refine
    if not refinement or not is_current(stored.store):
        return []
    from pipeline.analysis.crossings import statements
    from pipeline.analysis.refined_levels import unresolved

    moments = results.load(stored.store, results.place(stored.store) + results.SUMMARY)
    sentences = [*statements(moments, refinement), *unresolved(moments, refinement)]
    return [
        Crossed(study.name, refinement.metric, refinement.level, place, says)
        for place, says in sentences
    ]


def boundary_lines(stored: StoredStudy) -> list[str]:
    """Where curves and boundaries cross, a line each."""
    lines = []
    for crossing in crossings(stored):
        lines += lines_of(crossing)
    return lines


def _walked(study: Study, moments: "xr.Dataset") -> Grid:
    """The grid after all rounds that follow from some moments, and that of the first round that is
    not among them.
    """
    from pipeline.analysis.crossings import bounds_of, curves_of
    from pipeline.analysis.refined_levels import walked

    assert study.refine
    return walked(
        study.grid,
        curves_of(moments, study.refine),
        bounds_of(moments, study.refine.metric),
        study.refine,
    )


def _sealed(store: Store) -> "Iterator[xr.Dataset]":
    """Moments of all sealed results of these replications and targets, by the code here, whatever
    their levels.

    Without damaged ones, which are made again.
    """
    study = store.study
    backend = store.backend
    wanted = {
        "study": json.dumps(study.description, sort_keys=True),
        "replications": study.replications,
        "precision": list(map(str, study.precision)),
        "reduced_by": reduced_by(study),
    }
    for where in results.places(backend):
        attributes = {"precision": [], **results.root_attributes(backend, where)}
        if any(attributes.get(name) != value for name, value in wanted.items()):
            continue
        moments = results.load_sound(store, where + results.SUMMARY)
        if moments is not None:
            yield moments
