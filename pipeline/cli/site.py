"""`task=shelf` in the terminal: a static site of archives."""

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.cli.telling import print_event, silent
from pipeline.study.untyped import Config
from pipeline.workflow.plain_requests import check_words, text_of
from pipeline.workflow.site import shelf

WORDS = ("archives", "save")


def perform(entries: Config, as_json: bool = False) -> int:
    """Write the site; returns the exit code. Raises InvalidInput for a mistake."""
    check_words(entries, WORDS, "shelf")
    tell = silent if as_json else print_event
    written = shelf(text_of(entries, "archives"), text_of(entries, "save"), tell)
    if as_json:
        return print_json(EXIT_DONE, {"page": str(written.page), "archives": written.archives})
    return EXIT_DONE
