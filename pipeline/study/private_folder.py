"""A folder among temporary files that is one user's alone.

Not in `files`, which is code that numbers depend on: no part needs this.
"""

import os
import stat
import tempfile
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder() -> Path:
    """This user's folder among temporary files. Raises OSError where it cannot be made, or is another user's."""
    folder = Path(tempfile.gettempdir(), f"pipeline-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & OTHERS:
        raise PermissionError(f"{folder} is open to others")
    return folder
