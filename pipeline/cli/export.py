"""`task=export` in the terminal: results of a finished study as a table, or as netCDF."""

from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.cli.json_answer import print_json
from pipeline.study.parameters import InvalidInput
from pipeline.study.untyped import Config
from pipeline.workflow.export import TABLES, TASK, export
from pipeline.workflow.plain_requests import check_words, outputs_of, storage_of, text_of

WORDS = ("studies", "save", "table", "outputs", "store.")


def perform(entries: Config, as_json: bool = False) -> int:
    """Write the file; returns the exit code. Raises InvalidInput for a mistake."""
    check_words(entries, WORDS, TASK)
    save = text_of(entries, "save")
    if save is None:
        raise InvalidInput("save", None, "is needed: save=FILE.csv, FILE.parquet or FILE.nc")
    table = text_of(entries, "table") or TABLES[0]
    names = text_of(entries, "studies")
    path = export(outputs_of(entries), names, storage_of(entries), save, table)
    if as_json:
        entry = {"file": str(path), "table": table, "bytes": path.stat().st_size}
        return print_json(EXIT_DONE, entry)
    print(f"wrote {path}")
    return EXIT_DONE
