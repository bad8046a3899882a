"""`task=archive` in the terminal: finished studies as one zip file."""

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.cli.telling import print_event, silent
from pipeline.study.untyped import Config, JsonObject
from pipeline.workflow.archive import ArchiveRequest, archive
from pipeline.workflow.events import Archived
from pipeline.workflow.plain_requests import (
    check_words,
    cluster_of,
    files_of,
    outputs_of,
    storage_of,
    text_of,
)

WORDS = ("studies", "save", "outputs", "store.", "data.", "licence", "cluster", "cluster.")


def perform(entries: Config, as_json: bool = False) -> int:
    """Write the archive; returns the exit code. Raises InvalidInput for a mistake."""
    check_words(entries, WORDS, "archive")
    request = ArchiveRequest(
        outputs=outputs_of(entries),
        names=text_of(entries, "studies"),
        save=text_of(entries, "save"),
        cluster=cluster_of(entries),
        storage=storage_of(entries),
        files=files_of(entries),
        licence=text_of(entries, "licence") or "",
    )
    if as_json:
        return print_json(EXIT_DONE, record(archive(request, silent)))
    archive(request, print_event)
    return EXIT_DONE


def record(archived: Archived) -> JsonObject:
    """An archive as one object of JSON."""
    return {
        "archive": str(archived.path),
        "studies": archived.studies,
        "files": archived.files,
        "bytes": archived.size,
        "bytes_written_before": archived.resumed,
    }
