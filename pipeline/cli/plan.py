"""`task=plan` in the terminal: what a run would do, for a person or as JSON."""

from collections.abc import Iterable, Iterator, Sequence

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.execution import plan
from pipeline.execution.amounts import format_bytes, format_time
from pipeline.execution.clusters import Cluster
from pipeline.execution.clusters.batch_workers import BatchWorkers
from pipeline.execution.probe import BYTES, SECONDS
from pipeline.execution.systems.base import UNTRIED
from pipeline.study.machine import memory
from pipeline.study.refinement import LEVELS
from pipeline.study.study import Study
from pipeline.study.untyped import JsonObject
from pipeline.workflow.plan import StudyPlan, planned
from pipeline.workflow.studies import StoredStudy

MOST_REMARKS = 2  # on a mechanism's cells
TOTALS = ("cells", "units", "done", "to_do", "seconds", "seconds_of_work", "bytes")


def perform(studies: Sequence[StoredStudy], cluster: Cluster, as_json: bool = False) -> int:
    """Print what a run would do; returns the exit code."""
    if as_json:
        return _perform_as_json(studies, cluster)
    plans = []
    for planned_study in planned(studies, cluster):
        print("\n".join(lines(planned_study)))
        plans.append(planned_study)
    if len(plans) > 1:
        print("\n".join(total(plans)))
    missing = plan.shortage([stored.store for stored in studies])
    if missing is not None:
        print(f"  warning: {missing}")
    script = cluster.script()
    if script:
        untried = isinstance(cluster, BatchWorkers) and cluster.system.untried
        remark = f" ({UNTRIED})" if untried else ""
        print(f"each job runs{remark}\n\n{script}")
    return EXIT_DONE


def _perform_as_json(studies: Sequence[StoredStudy], cluster: Cluster) -> int:
    records = [record(planned_study) for planned_study in planned(studies, cluster)]
    missing = plan.shortage([stored.store for stored in studies])
    warning = "" if missing is None else str(missing)
    entries = {
        "studies": records,
        "total": {key: _sum(entry[key] for entry in records) for key in TOTALS},
        "warning": warning,
        "script": cluster.script() or "",
    }
    return print_json(EXIT_DONE, entries)


def record(planned_study: StudyPlan) -> JsonObject:
    """A plan as one object of JSON; its keys are described in docs/programs.md."""
    study = planned_study.study
    expected = planned_study.expected
    until = study.until
    return {
        "name": study.name,
        "storage": planned_study.storage,
        "cells": len(study.grid),
        "axes": {axis: len(levels) for axis, levels in study.grid.axes.items()},
        "blocks": study.blocks,
        "replications_of_a_block": study.block,
        "units": planned_study.units,
        "done": planned_study.done,
        "to_do": expected.pending,
        "at_most": planned_study.at_most,
        "targets": [str(target) for target in study.precision],
        "refine": str(study.refine or ""),
        "looks": [look.replications for look in until.looks(study.block)] if until else [],
        "seconds": planned_study.seconds,
        "seconds_of_work": expected.seconds,
        "workers": planned_study.workers,
        "memory_of_worker": expected.memory,
        "bytes": planned_study.bytes,
        "remarks": {mechanism: list(texts) for mechanism, texts in planned_study.remarks.items()},
    }


def lines(planned_study: StudyPlan) -> Iterator[str]:
    """The plan of one study, for a person."""
    study = planned_study.study
    yield f"{study.name}: {planned_study.storage}"
    yield from _units(planned_study)
    for target in study.precision:
        yield f"  precision     {target}; {study.replications:,} replications at most"
    yield from _refinement(study)
    yield from _looks(study)
    yield from _effort(planned_study)
    if not planned_study.expected.pending:
        yield "  nothing to do: all units were done before"
        return
    yield (
        f"  {planned_study.kind:14}about {format_bytes(planned_study.bytes)} when complete, raw "
        f"and sealed; {planned_study.units:,} files until then, one for each unit"
    )
    for mechanism, texts in planned_study.remarks.items():
        for remark in list(dict.fromkeys(texts))[:MOST_REMARKS]:
            yield f"  remark        {mechanism}: {remark}"


def total(plans: Sequence[StudyPlan]) -> Iterator[str]:
    """What several studies take together."""
    units = sum(planned_study.units for planned_study in plans)
    done = sum(planned_study.done for planned_study in plans)
    pending = sum(planned_study.expected.pending for planned_study in plans)
    yield f"in all: {len(plans)} studies"
    yield f"  units         {units:,}"
    yield f"  done          {done:,}; to do {pending:,}"
    if pending:
        known = [planned_study for planned_study in plans if planned_study.seconds is not None]
        yield _total_time(known, len(plans) - len(known))
    yield f"  storage       about {format_bytes(sum(entry.bytes for entry in plans))} when complete"


def _total_time(known: Sequence[StudyPlan], unknown: int) -> str:
    """The line on the time of all studies. unknown: how many of them take a time that is not."""
    seconds = sum(planned_study.seconds or 0.0 for planned_study in known)
    work = sum(planned_study.expected.seconds or 0.0 for planned_study in known)
    line = f"  time          about {format_time(seconds)} ({format_time(work)} of work)"
    if unknown:
        line += f", and that of {unknown} more, which is unknown"
    return line


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of numbers; None where one of them is unknown."""
    summed = 0.0
    for value in values:
        if value is None:
            return None
        summed += value
    return summed


def _units(planned_study: StudyPlan) -> Iterator[str]:
    """The lines on cells and units."""
    study = planned_study.study
    axes = " × ".join(f"{axis}[{len(levels)}]" for axis, levels in study.grid.axes.items())
    blocks = f"{study.blocks} blocks of {study.block:,} replications"
    if planned_study.units < len(study.grid) * study.blocks:
        blocks = f"up to {blocks}"
    pending = f"{planned_study.expected.pending:,}"
    if planned_study.at_most:
        pending = f"at most {pending}"
    yield f"  cells         {len(study.grid):,} = {axes}"
    yield f"  units         {planned_study.units:,} = cells × {blocks}"
    yield f"  done          {planned_study.done:,}; to do {pending}"


def _refinement(study: Study) -> Iterator[str]:
    """The line on levels that are added; none for a study that adds none."""
    refine = study.refine
    if not refine:
        return
    curves = ""
    if refine.second:
        curves = f", and {LEVELS} curves over {refine.second}"
    yield (
        f"  refine        {refine}; up to {refine.most} rounds add {LEVELS} levels to a curve "
        f"each{curves}; the numbers here do not count them yet"
    )


def _looks(study: Study) -> Iterator[str]:
    """The line on looks at claims; none for a study of a fixed number of replications."""
    until = study.until
    if not until:
        return
    looks = ", ".join(f"{look.replications:,}" for look in until.looks(study.block))
    if not looks:
        return
    earlier = ""
    if study.block > until.least:
        earlier = "; a smaller block looks earlier"
    yield (
        f"  until         {until}; looks after {looks}: these numbers are of the one that is "
        f"reached{earlier}"
    )


def _effort(planned_study: StudyPlan) -> Iterator[str]:
    """The lines on time and memory; none where nothing is to do."""
    if not planned_study.expected.pending:
        return
    work = planned_study.expected.seconds
    seconds = planned_study.seconds
    if work is None or seconds is None:
        yield (
            f"  time, memory  unknown: one replication takes more than {SECONDS:g} s or "
            f"{format_bytes(BYTES)}; task=replay simulates one unit"
        )
        return
    about = "at most" if planned_study.at_most else "about"
    yield (
        f"  time          {about} {format_time(seconds)} on {planned_study.workers} workers "
        f"({format_time(work)} of work)"
    )
    yield _memory(planned_study)


def _memory(planned_study: StudyPlan) -> str:
    """The line on memory, where that on time is known."""
    expected = planned_study.expected
    if expected.memory is None:
        return (
            "  memory        unknown: one replication of some cell takes more than "
            f"{format_bytes(BYTES)}; task=replay simulates one unit"
        )
    line = f"  memory        about {format_bytes(int(expected.memory))} per worker"
    if expected.most_replications is not None:
        line += (
            f", extrapolated: {expected.most_replications:,} replications at once take more than "
            f"{format_bytes(BYTES)}"
        )
    if expected.memory * planned_study.workers > memory():
        line += ": more than there is here; fewer workers, or a smaller block"
    return line
