"""From finished units to sealed results and their summary: reductions as tasks on the cluster of
the units.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.analysis.moments import COUNTS, STATISTICS, block_moments, merged
from pipeline.analysis.pairs import PAIR
from pipeline.execution import sweep
from pipeline.execution.bundles import Bundle
from pipeline.execution.clusters import FEW_FILES, Executor
from pipeline.execution.reduction import PackFiles, Reduce, Reduced, Staged
from pipeline.identity import own_files
from pipeline.storage import agreement, datasets, results
from pipeline.storage.datasets import ZarrLocation
from pipeline.storage.layout import Layout, Region
from pipeline.storage.replications import Store
from pipeline.storage.results import INTERIM, SEALED, SUMMARY
from pipeline.study.refinement import config_of
from pipeline.study.study import Study
from pipeline.workflow.precision import rule_of
from pipeline.workflow.sealed import is_current, reduced_by
from pipeline.workflow.studies import StoredStudy

MOST_ABOVE = 20  # groups of cells that a dataset names


def names(store: Store, interim: bool = False) -> tuple[str, str]:
    """Names of a study's datasets of replications and of moments, sealed or interim."""
    where = results.place(store)
    (data, summary) = INTERIM if interim else (SEALED, SUMMARY)
    return where + data, where + summary


def seal(stored: StoredStudy, executor: Executor) -> None:
    """Write results.zarr and summary.zarr, which count from their root documents on.

    The same numbers, the same bytes.

    Then the files of many units are packed. Nothing happens where they are sealed already, perhaps
    by another driver, whose readers must not be disturbed. Raises InvalidInput when a unit is
    damaged or missing.
    """
    with stored.store.locked():
        if not is_current(stored.store):
            _write(stored, executor, names(stored.store), partial=False)
        for name in names(stored.store, interim=True):
            stored.store.backend.remove(name)
        sweep.run(
            executor, PackFiles(stored.store), ((keys, 1.0) for keys in stored.store.unpacked())
        )


def interim(stored: StoredStudy, executor: Executor) -> None:
    """Write what is known so far to interim.zarr; replications that are missing have status 0."""
    with stored.store.locked():
        _write(stored, executor, names(stored.store, interim=True), partial=True)


def _write(stored: StoredStudy, executor: Executor, names: tuple[str, str], partial: bool) -> None:
    study = stored.study
    backend = stored.store.backend
    staged = Staged(*map(backend.stage, names))
    regions = [*Layout.of(study).regions()]
    reduced = _reduce(stored, executor, staged, regions, partial)
    digests = {key: digest for one in reduced.values() for key, digest in one.digests.items()}
    if staged.results != names[0]:  # in a bucket it is built where it stays
        backend.remove(names[0])  # never an older dataset beside a newer summary
    attributes = {
        **_attributes(
            stored, partial, {writer for one in reduced.values() for writer in one.writers}
        ),
        **_precision(study, reduced),
    }
    for name, where in reversed(
        [*zip(names, staged, strict=True)]
    ):  # results last: once they exist, everything does
        own = {
            key.removeprefix(f"{where}/"): digest
            for key, digest in digests.items()
            if key.startswith(f"{where}/")
        }
        results.finish(backend, where, name, attributes, own)


def _reduce(
    stored: StoredStudy,
    executor: Executor,
    staged: Staged,
    regions: Iterable[Region],
    partial: bool = False,
) -> dict[Region, Reduced]:
    """Make the datasets and write some of their regions."""
    study = stored.study
    backend = stored.store.backend
    datasets.template(study, ZarrLocation(backend, staged.results))
    datasets.summary_template(
        study, ZarrLocation(backend, staged.summary), STATISTICS, COUNTS, PAIR
    )
    reduced: dict[Region, Reduced] = {}

    def collect(some: list[Reduced], bundle: Bundle, _: int) -> None:
        reduced.update(zip(bundle.units, some, strict=True))

    reduce = Reduce(stored.store, staged, block_moments, merged, partial, rule_of(study))
    sweep.run(executor, reduce, ((region, 1.0) for region in regions), on_done=collect)
    return reduced


def _precision(study: Study, reduced: Mapping[Region, Reduced]) -> Mapping[str, Any]:
    """What was asked for, in how many groups of cells it was reached, and where its half-width is
    too large most.

    above_target: labels that a group has in common, and its half-width over its target, null where
    that is unknown.
    """
    if not study.precision:
        return {}
    excess = {cell: one for part in reduced.values() for cell, one in part.excess.items()}
    above = sorted(
        (-one if math.isfinite(one) else -math.inf, cell)
        for cell, one in excess.items()
        if not one <= 1
    )
    listed = [
        [
            {
                name: level
                for name, level in study.grid.labels(cell).items()
                if name not in study.paired
            },
            -one if math.isfinite(one) else None,
        ]
        for one, cell in above[:MOST_ABOVE]
    ]
    return {
        "precision": [str(target) for target in study.precision],
        "groups": len(excess),
        "groups_on_target": len(excess) - len(above),
        "above_target": listed,
    }


def _attributes(stored: StoredStudy, partial: bool, writers: set[str]) -> Mapping[str, Any]:
    """Attributes of a dataset: question, study, and what computed its numbers."""
    study = stored.study
    text = stored.experiment.text
    own = {file.name: file.sha256 for file in own_files.loaded()}
    return {
        "title": text.title,
        "question": text.question,
        "experiment": study.name,
        "request": "interim" if partial else results.request(study),
        "reduced_by": reduced_by(study),
        "study": json.dumps(study.identity, sort_keys=True),
        "cells": len(study.grid),
        "replications": study.replications,
        "versions": json.dumps(results.versions(), sort_keys=True),
        "writers": json.dumps(agreement.provenance(stored.store, writers), sort_keys=True),
        **({"refine": json.dumps(config_of(study.refine), sort_keys=True)} if study.refine else {}),
        **(
            {"until": json.dumps(dataclasses.asdict(study.until), sort_keys=True)}
            if study.until
            else {}
        ),
        **({"own_files": json.dumps(own)} if own else {}),
    }


def worth_a_cluster(stored: Iterable[StoredStudy]) -> bool:
    """Whether reading all units of some studies takes longer than starting worker processes does."""
    studies = [one.study for one in stored]
    return (
        any(map(results.is_large, studies))
        or sum(len(one.grid) * one.blocks for one in studies) > FEW_FILES
    )
