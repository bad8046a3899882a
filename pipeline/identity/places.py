"""Where code lies: in the program, with Python, in an installed package, or elsewhere, as a
person's own.
"""

import os
from functools import cache
from pathlib import Path

from pipeline.study.files import read_regular

PROGRAM = Path(__file__).resolve().parent.parent
PYTHON = Path(os.__file__).resolve().parent
PACKAGES = ("site-packages", "dist-packages")


@cache
def is_own(path: str) -> bool:
    """Whether a file, by its whole path, is a person's own: of no installed package, whose version
    tells its content.

    A file or folder below one of an installed package counts as this package's.
    """
    if path.startswith("<") or any(f"/{name}/" in path for name in PACKAGES):  # <string> is no file
        return False
    file = Path(path).resolve()
    if {PROGRAM, PYTHON} & {*file.parents} or any(name in PACKAGES for name in file.parts):
        return False
    return not any(
        file.relative_to(folder).parts[0] in _installed_in(folder) for folder in file.parents
    )


@cache
def _installed_in(folder: Path) -> frozenset[str]:
    """Names directly below a folder that packages have installed, as by `pip install --target`."""
    names: set[str] = set()
    try:
        records = [*folder.glob("*.dist-info/RECORD")]
    except OSError:
        return frozenset()
    for record in records:
        try:
            lines = read_regular(record).decode("utf-8", "replace").splitlines()
        except OSError:  # nothing that an installer wrote
            continue
        names.update(line.partition(",")[0].partition("/")[0] for line in lines)
    return frozenset(names)
