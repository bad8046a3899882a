"""`task=audit`: whether a mechanism is as private as it says, as lines or as JSON."""

import json
import sys
from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.study.untyped import Config


def perform(entries: Config, words: Sequence[str], as_json: bool = False) -> int:
    """Audit a mechanism; returns the exit code, 1 where it breaks its promise.

    words: of the command, which gives the answer again. save=FILE.svg, .pdf or .png draws the
    promise and what was certified; .html is a page. With outputs=, cluster= or another setting of a
    run, samples are kept as studies; from= takes in those of another person. Raises InvalidInput for any mistake.
    """
    from pipeline.workflow import kept_audit  # SciPy
    from pipeline.workflow.audit import perform as audit
    from pipeline.workflow.audit import read_request
    from pipeline.workflow.narration import Narration

    narration = Narration(sys.stderr, sys.stderr)
    keeping, others = kept_audit.keeping_of(entries, words, (narration,))
    request = read_request(others, kept_audit.without_merging(words))
    if keeping is None:
        audited = audit(request)
    else:
        audited = kept_audit.perform(request, keeping)
    if request.save is not None:
        from pipeline.workflow.audit_page import save  # Matplotlib

        save(request.save, audited)
        print(f"wrote {request.save}", file=sys.stderr)
    if as_json:
        print(json.dumps(audited.record(), ensure_ascii=False))
    else:
        print(audited)
    return EXIT_FAILED if audited.violates else EXIT_DONE
