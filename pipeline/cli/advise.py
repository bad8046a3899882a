"""`task=advise`: how small ε may be, or how many people are needed: the question and its answer as
a person reads them.
"""

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.cli.advise_text import first_lines, text
from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.study.parameters import InvalidInput


def perform(request: Mapping[str, Any], as_json: bool = False) -> int:
    """Answer a request; returns the exit code, 1 where nothing could be certified.

    Raises InvalidInput for any mistake.

    quick=true gives the atlas's first answer only. Without it and without JSON, that is printed
    until the certificate is there. save=FILE.html writes the certified answer as a page, or, with
    quick=true or without a problem, a page over the atlas; other endings write curves of the atlas.
    """
    from pipeline.advice.answer import answer  # SciPy
    from pipeline.advice.question import read
    from pipeline.cli import advise_files

    words = {key: value for key, value in request.items() if key not in ("task", "quick", "save")}
    quick = flag(request, "quick")
    where = advise_files.file(request["save"]) if "save" in request else None
    question = read(words) if words or where is None else None
    later = where is not None and not quick and question is not None and advise_files.is_page(where)
    if where is not None and not later:
        _say(advise_files.save(where, question, quick), as_json)
    if question is None:
        return EXIT_DONE
    if quick:
        record = first_record(question)
    else:
        if not as_json:
            print(_preface(question), flush=True)
        advised = answer(question)
        record = advised.record()
        if where is not None and later:
            _say(_save_answer(where, advised), as_json)
    print(json.dumps(plain(record), ensure_ascii=False) if as_json else text(record))
    return EXIT_DONE if quick or record["certified"] else EXIT_FAILED


def _say(line: str, as_json: bool) -> None:
    """Print a line where it is no part of the JSON."""
    print(line, file=sys.stderr if as_json else None, flush=True)


def _save_answer(where: Path, advised: Any) -> str:
    from pipeline.cli.advise_page import save_answer  # Matplotlib

    return save_answer(where, advised)


def flag(request: Mapping[str, Any], name: str) -> bool:
    """Whether a request says true; InvalidInput if it says anything but true or false."""
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(name, value, "must be true or false")
    return value


def first_record(question: Any) -> dict[str, Any]:
    """The atlas's answer to a question; InvalidInput, with the reason, where it has none."""
    from pipeline.advice.atlas import NotInAtlas
    from pipeline.advice.first import first

    try:
        return first(question).record()
    except NotInAtlas as error:
        raise InvalidInput(
            "quick", True, f"no first answer from the atlas: {error}; without quick it is simulated"
        ) from None


def _preface(question: Any) -> str:
    """The first answer in short, or in one line why there is none."""
    from pipeline.advice.atlas import NotInAtlas
    from pipeline.advice.first import first

    try:
        short = first_lines(first(question).record())
    except NotInAtlas as error:
        return f"no first answer from the atlas: {error}; simulating\n"
    return "\n".join(short) + "; simulating, for a certificate\n"


def plain(value: Any) -> Any:
    """A value as strict JSON has it: null for what is not finite."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
