"""Files of real people's data, which are no part of the project: tests that need one are skipped where it is not."""

import os
from pathlib import Path

import pytest

FOLDER = Path(
    os.environ.get("REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
)


def real(*files):
    """Paths of files of that folder as a test's parameters; skips the test where one is missing."""
    missing = [name for name in files if not (FOLDER / name).is_file()]
    reason = f"needs real data that are not part of the project: {', '.join(missing)} in {FOLDER} (or in $REAL_DATA)"
    return pytest.param(
        *(str(FOLDER / name) for name in files),
        marks=pytest.mark.skipif(bool(missing), reason=reason),
    )
