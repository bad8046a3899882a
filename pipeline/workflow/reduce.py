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
from pipeline.execution.reduction import Order, PackFiles, Reduce, Reduced, Staged
from pipeline.identity import own_files
from pipeline.storage import agreement, contributions, datasets, results
from pipeline.storage.datasets import ZarrLocation
from pipeline.storage.layout import Layout, Region
from pipeline.storage.replications import Store
from pipeline.storage.results import INTERIM, SEALED, SUMMARY
from pipeline.study.refinement import config_of
from pipeline.study.statistics import ESTIMATE, as_attribute
from pipeline.study.study import Study
from pipeline.workflow.precision import rule_of
from pipeline.workflow.sealed import is_current, reduced_by
from pipeline.workflow.studies import StoredStudy

MOST_ABOVE = 20  # groups of cells that a dataset names


def names(store: Store, interim: bool = False) -> tuple[str, str]:
    """Names of a study's datasets of replications and of moments, sealed or interim."""
    where = results.place(store)
    if interim:
        data, summary = INTERIM
        return where + data, where + summary
    return where + SEALED, where + SUMMARY


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
    digests: dict[str, str] = {}
    writers: set[str] = set()
    for part in reduced.values():
        digests.update(part.digests)
        writers.update(part.writers)
    if staged.results != names[0]:  # in a bucket it is built where it stays
        backend.remove(names[0])  # never an older dataset beside a newer summary
    attributes = {**_attributes(stored, partial, writers), **_precision(study, reduced)}
    data, summary = names
    results.finish(backend, staged.summary, summary, attributes, _within(staged.summary, digests))
    # Last: once the results exist, everything does.
    results.finish(backend, staged.results, data, attributes, _within(staged.results, digests))


def _within(where: str, digests: Mapping[str, str]) -> dict[str, str]:
    """Digests of the files of one dataset, by their names in it."""
    folder = f"{where}/"
    return {
        key.removeprefix(folder): digest
        for key, digest in digests.items()
        if key.startswith(folder)
    }


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
    columns = datasets.Columns(STATISTICS, COUNTS, PAIR, ESTIMATE)
    datasets.summary_template(study, ZarrLocation(backend, staged.summary), columns)
    reduced: dict[Region, Reduced] = {}

    def collect(some: list[Reduced], bundle: Bundle, _: int) -> None:
        reduced.update(zip(bundle.units, some, strict=True))

    reduce = Reduce(
        stored.store,
        staged,
        block_moments,
        merged,
        partial,
        rule_of(study),
        _order_of(study),
    )
    sweep.run(executor, reduce, ((region, 1.0) for region in regions), on_done=collect)
    return reduced


def _order_of(study: Study) -> Order | None:
    """What makes a study's statistics; None without any but means."""
    if not study.statistics:
        return None
    from pipeline.analysis.order_sums import OrderSums  # SciPy, xarray

    return OrderSums(study.statistics, study.metrics)


def _precision(study: Study, reduced: Mapping[Region, Reduced]) -> Mapping[str, Any]:
    """What was asked for, in how many groups of cells it was reached, and where its half-width is
    too large most.

    above_target: labels that a group has in common, and its half-width over its target, null where
    that is unknown.
    """
    if not study.precision:
        return {}
    ratios: dict[int, float] = {}
    for part in reduced.values():
        ratios.update(part.excess)
    above = [cell for cell, ratio in ratios.items() if not ratio <= 1]
    above.sort(key=lambda cell: (-_known_or_infinite(ratios[cell]), cell))
    above_target = [
        [_labels_of_group(study, cell), _known_or_none(ratios[cell])] for cell in above[:MOST_ABOVE]
    ]
    return {
        "precision": list(map(str, study.precision)),
        "groups": len(ratios),
        "groups_on_target": len(ratios) - len(above),
        "above_target": above_target,
    }


def _known_or_infinite(ratio: float) -> float:
    """A half-width over its target, infinite where that is unknown."""
    return ratio if math.isfinite(ratio) else math.inf


def _known_or_none(ratio: float) -> float | None:
    """The same as JSON has it: null where it is unknown."""
    return ratio if math.isfinite(ratio) else None


def _labels_of_group(study: Study, cell: int) -> dict[str, Any]:
    """The labels that all cells of a cell's group have in common."""
    labels = study.grid.labels(cell)
    return {name: level for name, level in labels.items() if name not in study.paired}


def _attributes(stored: StoredStudy, partial: bool, writers: set[str]) -> Mapping[str, Any]:
    """Attributes of a dataset: question, study, and what computed its numbers."""
    study = stored.study
    text = stored.experiment.text
    attributes = {
        "title": text.title,
        "question": text.question,
        "experiment": study.name,
        "request": "interim" if partial else results.request(study),
        "reduced_by": reduced_by(study),
        "study": json.dumps(study.description, sort_keys=True),
        "cells": len(study.grid),
        "replications": study.replications,
        "versions": json.dumps(results.versions(), sort_keys=True),
        "writers": json.dumps(agreement.provenance(stored.store, writers), sort_keys=True),
    }
    attributes.update(as_attribute(study.statistics))
    merged = contributions.all_of(stored.store)
    if merged:
        attributes["contributors"] = contributions.as_attribute(merged)
    if study.refine:
        attributes["refine"] = json.dumps(config_of(study.refine), sort_keys=True)
    if study.until:
        attributes["until"] = json.dumps(dataclasses.asdict(study.until), sort_keys=True)
    files = {file.name: file.sha256 for file in own_files.loaded()}
    if files:
        attributes["own_files"] = json.dumps(files)
    return attributes


def worth_a_cluster(stored: Iterable[StoredStudy]) -> bool:
    """Whether to read all units of some studies takes longer than to start worker processes."""
    studies = [waiting.study for waiting in stored]
    if any(map(results.is_large, studies)):
        return True
    return sum(len(study.grid) * study.blocks for study in studies) > FEW_FILES
