"""Packages that the program needs, at the versions that are installed here, with their hashes."""

import re
from collections.abc import Iterator
from importlib import metadata

from pipeline.workflow.provenance import PACKAGE
from pipeline.workflow.wheel import file_of_program

LOCK = "constraints.txt"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
OF_EXTRA = re.compile(r"\bextra\s*==")


def requirements() -> tuple[str, bool]:
    """Text of a file of requirements, and whether every package has hashes.

    Hashes are those of the program's lock. A package that is installed in another version has none.
    """
    locked = _locked()
    lines = []
    has_hashes = True
    for name in sorted(_needed()):
        version = metadata.version(name)
        entry = locked.get(name, "")
        if not entry.startswith(f"{name}=={version} "):
            entry = f"{name}=={version}\n"
            has_hashes = False
        lines.append(entry)
    return "".join(lines), has_hashes


def _needed() -> set[str]:
    """Names of all packages that the program needs, directly or not, and that are installed."""
    needed: set[str] = set()
    waiting = [PACKAGE]
    while waiting:
        for name in _requirements_of(waiting.pop()):
            if name not in needed and _is_installed(name):
                needed.add(name)
                waiting.append(name)
    return needed


def _requirements_of(name: str) -> Iterator[str]:
    """Names of the packages that a package asks for without an extra."""
    for line in metadata.requires(name) or ():
        requirement, _, marker = line.partition(";")
        match = NAME.match(requirement)
        if match and not OF_EXTRA.search(marker):
            yield _normal(match[0])


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _locked() -> dict[str, str]:
    """Name -> entry of the lock, with its hashes."""
    content = file_of_program(LOCK) or b""
    entries: dict[str, str] = {}
    name = ""
    for line in content.decode().splitlines(keepends=True):
        if line.startswith(" "):
            if line.strip().startswith("--hash"):
                entries[name] += line
        elif NAME.match(line):
            name = _normal(line.partition("=")[0])
            entries[name] = line
    return entries


def _normal(name: str) -> str:
    """A name as the package index writes it."""
    return re.sub("[-_.]+", "-", name).lower().strip("-")
