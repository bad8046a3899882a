"""`task=skill`: a page of Markdown that tells an assistant how to use the program."""

from pathlib import Path

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.study.files import read_regular, write_whole
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.study.untyped import Config
from pipeline.workflow.plain_requests import check_words, text_of

WORDS = ("save",)
KIND = ".md"


def page() -> str:
    """The page."""
    return read_regular(Path(__file__).with_name("skill.md")).decode()


def perform(entries: Config) -> int:
    """Print the page, or write it with save=FILE.md; returns the exit code."""
    check_words(entries, WORDS, "skill")
    save = text_of(entries, "save")
    if save is None:
        print(page(), end="")
        return EXIT_DONE
    path = path_of(save, "save")
    if not save.lower().endswith(KIND) or not path.absolute().parent.is_dir():
        raise InvalidInput("save", save, f"must be a file that ends with {KIND}, in a folder")
    write_whole(path, page().encode())
    print(f"wrote {path}")
    return EXIT_DONE
