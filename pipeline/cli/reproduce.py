"""`task=reproduce` in the terminal: whether an archive is what its numbers give."""

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.cli.json_answer import print_json
from pipeline.cli.telling import print_event, silent
from pipeline.study.untyped import Config, JsonObject
from pipeline.workflow.events import Reproduced
from pipeline.workflow.lines import for_review
from pipeline.workflow.plain_requests import check_words, cluster_of, files_of, text_of
from pipeline.workflow.reproduce import ReproduceRequest, checked_share, reproduce

WORDS = ("archive", "share", "data.", "cluster", "cluster.")


def perform(entries: Config, as_json: bool = False) -> int:
    """Check an archive; returns the exit code, 1 where something is false.

    Raises InvalidInput for a mistake.
    """
    check_words(entries, WORDS, "reproduce")
    request = ReproduceRequest(
        archive=text_of(entries, "archive"),
        cluster=cluster_of(entries),
        share=share_of(entries.get("share", "1%")),
        files=files_of(entries),
    )
    reproduced = reproduce(request, silent if as_json else print_event)
    code = EXIT_DONE if reproduced.is_sound else EXIT_FAILED
    if as_json:
        return print_json(code, record(reproduced))
    return code


def share_of(value: object) -> float:
    """A share of all units, from a percentage or a number up to 1."""
    text = str(value).strip()
    try:
        if text.endswith("%"):
            share = float(text.removesuffix("%")) / 100
        else:
            share = float(text)
    except ValueError:
        share = 0.0
    return checked_share(share, value)


def record(reproduced: Reproduced) -> JsonObject:
    """The check of an archive as one object of JSON."""
    parts = {}
    for part in reproduced.parts:
        parts[part.part] = {"equal": part.equal, "total": part.total, "false": list(part.wrong)}
    return {
        "archive": reproduced.archive,
        "sound": reproduced.is_sound,
        "nonce": reproduced.nonce,
        "units": reproduced.units,
        "drawn": reproduced.drawn,
        "within_1e-9": reproduced.close,
        "exactly": reproduced.exactly,
        "confidence": reproduced.confidence,
        "most_false": reproduced.most_false,
        "parts": parts,
        "for_review": for_review(reproduced),
    }
