"""Answers of tasks as JSON, with --json: one object with `exit_code`, and what the task answers."""

import json
from collections.abc import Mapping

from pipeline.study.strict_json import strict


def print_json(exit_code: int, entries: Mapping[str, object]) -> int:
    """Print an answer as one object of strict JSON, with the exit code; returns that."""
    print(json.dumps({"exit_code": exit_code, **strict(entries)}, indent=1))
    return exit_code
