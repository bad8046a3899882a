"""`task=audit`: whether a mechanism is as private as it says, as lines or as JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED


def perform(entries: Mapping[str, Any], words: Sequence[str], as_json: bool = False) -> int:
    """Audit a mechanism; returns the exit code, 1 where it breaks its promise.

    words: of the command, which gives the answer again. save=FILE.svg, .pdf or .png draws the
    promise and what was certified. Raises InvalidInput for any mistake.
    """
    from pipeline.workflow.audit import perform as audit  # SciPy
    from pipeline.workflow.audit import read_request

    request = read_request(entries, words)
    audited = audit(request)
    if request.save is not None:
        from pipeline.workflow.audit_figure import save_figure  # Matplotlib

        save_figure(request.save, audited)
        print(f"wrote {request.save}", file=sys.stderr)
    if as_json:
        print(json.dumps(audited.record(), ensure_ascii=False))
    else:
        print(audited)
    return EXIT_FAILED if audited.violates else EXIT_DONE
