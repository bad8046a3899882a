"""`task=merge` in the terminal: units of another person, and what of them was verified."""

import dataclasses
from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.study.untyped import JsonObject
from pipeline.workflow.events import Merged
from pipeline.workflow.job import Job
from pipeline.workflow.merge import merge


def perform(job: Job, as_json: bool = False) -> int:
    """Take in units; returns the exit code. Raises InvalidInput where something is false."""
    if as_json:
        silent = dataclasses.replace(job, subscribers=())
        return print_json(EXIT_DONE, record(merge(silent)))
    merge(job)
    print("run seals and reports what is complete")
    return EXIT_DONE


def record(merged: Sequence[Merged]) -> JsonObject:
    """What was taken in, as one object of JSON."""
    studies = [
        {
            "name": study.study,
            "contributor": study.contributor,
            "units": study.units,
            "shared": study.shared,
            "writers": [dataclasses.asdict(writer) for writer in study.writers],
        }
        for study in merged
    ]
    return {"studies": studies}
