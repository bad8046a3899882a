"""`task=compare` in the terminal: how two studies differ, metric by metric."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.reporting.formatting import count, levels, number
from pipeline.study.parameters import printable
from pipeline.study.untyped import JsonObject
from pipeline.workflow.compare import CONFIDENCE, Comparison, MetricDifference, compare
from pipeline.workflow.settings import Storage

MOST = 5  # cells shown of a metric


def perform(outputs: Path, names: str | None, storage: Storage, as_json: bool = False) -> int:
    """Print how two studies differ, the first less the second; returns the exit code."""
    comparison = compare(outputs, names, storage)
    if as_json:
        return print_json(EXIT_DONE, record(comparison))
    for line in _opening(comparison):
        print(line)
    for metric in comparison.metrics:
        for line in _lines(metric, comparison.cells):
            print(printable(line))
    return EXIT_DONE


def record(comparison: Comparison) -> JsonObject:
    """A comparison as one object of JSON; of each metric all cells, those first that differ by most
    standard errors.
    """
    return {
        "first": comparison.first,
        "second": comparison.second,
        "cells": comparison.cells,
        "left_out": list(comparison.left_out),
        "paired": comparison.paired,
        "variants": list(comparison.variants),
        "confidence": CONFIDENCE,
        "metrics": [_record_of_metric(metric) for metric in comparison.metrics],
    }


def _record_of_metric(metric: MetricDifference) -> JsonObject:
    cells = metric.furthest(metric.known)
    return {
        "metric": metric.metric,
        "label": metric.label,
        "unit": metric.unit,
        "known": metric.known,
        "apart": metric.apart,
        "cells": [dataclasses.asdict(cell) for cell in cells],
    }


def _opening(comparison: Comparison) -> Iterator[str]:
    """What is compared, and how."""
    yield f"{comparison.first} less {comparison.second}"
    names = (comparison.first, comparison.second)
    for name, variant in zip(names, comparison.variants, strict=True):
        if variant:
            yield f"  {name}: {variant}"
    yield "; ".join([f"{count(comparison.cells, 'cell')} in common", *comparison.left_out])
    if comparison.paired:
        yield "paired replication by replication: both drew from the same streams of random numbers"
    else:
        yield "not paired: seed, block or axes differ, so each has random numbers of its own"


def _lines(metric: MetricDifference, cells: int) -> Iterator[str]:
    """How many cells differ, and those that differ by most standard errors."""
    unit = "" if metric.unit == "1" else f" ({metric.unit})"
    yield f"{metric.metric}: {metric.label}{unit}"
    yield (
        f"  {metric.apart:,} of {metric.known:,} cells differ at {100 * CONFIDENCE:g} % "
        "confidence for all together"
    )
    for cell in metric.furthest(MOST):
        interval = f"[{number(cell.low, 3)}, {number(cell.high, 3)}]"
        yield f"  {levels(cell.labels)}: {number(cell.mean, 3)} {interval}"
    if cells > MOST:
        yield f"  the {MOST} of {cells:,} cells that differ by most standard errors"
