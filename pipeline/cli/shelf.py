"""`task=list` and `task=remove` in the terminal: the finished studies in the folder of outputs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.execution.amounts import format_bytes
from pipeline.reporting.formatting import count
from pipeline.study.parameters import printable
from pipeline.study.untyped import JsonObject
from pipeline.workflow.shelf import Shelf, Shelved, has_index, listed, remove


def perform_list(outputs: Path, as_json: bool = False) -> int:
    """Print all studies with their verdicts and sizes; returns the exit code."""
    shelf = listed(outputs)
    if as_json:
        return print_json(EXIT_DONE, record(shelf))
    for line in _lines(shelf):
        print(line)
    return EXIT_DONE


def record(shelf: Shelf) -> JsonObject:
    """All studies as one object of JSON."""
    page = None
    if shelf.page is not None and not shelf.page_is_foreign:
        page = str(shelf.page)
    return {
        "outputs": str(shelf.outputs),
        "page": page,
        "studies": [_record_of_study(study) for study in shelf.studies],
    }


def _record_of_study(study: Shelved) -> JsonObject:
    return {
        "name": study.name,
        "path": str(study.path),
        "title": study.title,
        "variant": study.variant,
        "state": study.state,
        "replications": study.replications,
        "verdicts": study.verdicts,
        "changed": study.changed,
        "when": study.when,
        "bytes": study.parts,
    }


def perform_remove(outputs: Path, names: str | None, sure: bool, as_json: bool = False) -> int:
    """Remove studies with all that was simulated, if `sure`; else print what would go.

    Returns the exit code.
    """
    if as_json:
        return _remove_as_json(outputs, names, sure)
    verb = "removes" if sure else "would remove"
    for removed in remove(outputs, names, sure):
        study = removed.study
        print(f"{verb} {study.name}: {study.state}, {format_bytes(study.size)}")
    if not sure:
        print("nothing is removed without sure=true; what was simulated is lost then")
    elif has_index(outputs):
        perform_list(outputs)
    return EXIT_DONE


def _remove_as_json(outputs: Path, names: str | None, sure: bool) -> int:
    studies = [_record_of_study(removed.study) for removed in remove(outputs, names, sure)]
    if sure and has_index(outputs):
        listed(outputs)
    return print_json(EXIT_DONE, {"removed": sure, "studies": studies})


def _lines(shelf: Shelf) -> Iterator[str]:
    """All studies, what may be deleted of them, and where the page is."""
    if not shelf.studies:
        yield f"no study in {shelf.outputs}"
        return
    yield from map(printable, _table(shelf.studies))
    yield "may be deleted from a study's folder:"
    for part in shelf.deletable:
        files = ", ".join(part.starts)
        yield f"  {part.name}, {format_bytes(part.size)} in all ({files}): {part.cost}"
    yield (
        f"{len(shelf.studies)} in all, {format_bytes(shelf.size)} on disk; task=remove "
        "studies=NAME takes one away, task=compare studies=NAME,NAME compares two"
    )
    if shelf.page_is_foreign:
        yield f"page: not written, as {shelf.page} is no page of task=list; move it away first"
    else:
        yield f"page: {shelf.page}"


def _table(studies: Sequence[Shelved]) -> Iterator[str]:
    """A line for each study, and one with the sizes of its parts."""
    width = max(len(study.name) for study in studies)
    for study in studies:
        words = [
            study.name.ljust(width),
            study.state.ljust(10),
            study.when.ljust(16),
            format_bytes(study.size).rjust(10),
            _replications(study).rjust(20),
            study.tally,
        ]
        yield "  ".join(words).rstrip()
        if study.variant:
            yield f"{'':<{width}}  {study.variant}"
        if study.sizes:
            yield f"{'':<{width}}  {study.sizes}"


def _replications(study: Shelved) -> str:
    """How many replications a study has; empty for a suite."""
    if study.state == "suite" or not study.replications:
        return ""
    return count(study.replications, "replication")
