"""`task=advise`: the answer to a question about privacy, as lines or as JSON."""

import json
import sys
from typing import TYPE_CHECKING

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.study.untyped import Config

if TYPE_CHECKING:
    from pipeline.advice.advised import Advised
    from pipeline.advice.trusted import Trusted


def perform(entries: Config, as_json: bool = False) -> int:
    """Answer a request; returns the exit code, 1 where nothing could be certified.

    Raises InvalidInput for any mistake.

    quick=true gives the atlas's first answer only. Without it and without JSON, that is printed
    until the certificate is there. save=FILE.html writes the certified answer as a page, or, with
    quick=true or without a problem, a page over the atlas; other endings write curves of the atlas.
    """
    from pipeline.advice.answer import Answer  # SciPy
    from pipeline.advice.first import First
    from pipeline.advice.trusted import Trusted
    from pipeline.workflow.advise import NoFirstAnswer, advise, read_request

    request = read_request(entries)
    code = EXIT_DONE
    for event in advise(request, early=not as_json):
        if isinstance(event, Answer | Trusted):
            _print_answer(event, as_json)
            code = EXIT_DONE if event.certified else EXIT_FAILED
        elif isinstance(event, First) and request.quick:
            _print_answer(event, as_json)
        elif isinstance(event, First):
            print("\n".join(event.in_short()) + "; simulating, for a certificate\n", flush=True)
        elif isinstance(event, NoFirstAnswer):
            print(f"no first answer from the atlas: {event.why}; simulating\n", flush=True)
        else:
            _print_saved(str(event), as_json)
    return code


def _print_answer(answer: "Advised | Trusted", as_json: bool) -> None:
    """Print an answer, as one object of JSON or as lines."""
    print(json.dumps(answer.record(), ensure_ascii=False) if as_json else answer)


def _print_saved(line: str, as_json: bool) -> None:
    """Print what was written, where it is no part of the JSON."""
    print(line, file=sys.stderr if as_json else sys.stdout, flush=True)
