"""`task=protocol` in the terminal: what is decided before a study runs, kept with it."""

import dataclasses

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.study.untyped import JsonObject
from pipeline.workflow.job import Job
from pipeline.workflow.protocol import WrittenProtocol, write


def perform(job: Job, as_json: bool = False) -> int:
    """Keep the protocols of a job's studies; returns the exit code."""
    if as_json:
        silent = dataclasses.replace(job, subscribers=())
        records = [record(written) for written in write(silent)]
        return print_json(EXIT_DONE, {"studies": records})
    for written in write(job):
        if written.page is not None:
            print(f"wrote {written.page}")
    return EXIT_DONE


def record(written: WrittenProtocol) -> JsonObject:
    """A protocol as one object of JSON; its keys are described in docs/programs.md."""
    fixed = written.record
    return {
        "name": written.study,
        "digest": fixed.digest,
        "date": fixed.date,
        "url": fixed.url,
        "registered": fixed.registered,
        "begun_before": list(fixed.begun_before),
        "new": written.is_new,
        "kept": str(written.record_path),
        "questions": len(written.questions),
        "answered": written.answered,
        "open": [question.text for question in written.questions if not question.answer],
    }
