"""Numbers that one process of a run of tests works out for all of its processes."""

import fcntl
import json
from pathlib import Path

folder: Path | None = None  # set by tests/conftest.py where there are several processes


def numbers(name, work_out):
    """The same list of numbers in every process, to the last bit; the others wait for the first."""
    if folder is None:
        return work_out()
    with open(folder / f"{name.replace('/', ' ')}.json", "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        if text:
            return json.loads(text)
        found = work_out()
        file.write(json.dumps(found))
        return found
