"""How much more may be written in a folder, in bytes and files.

The file system and the person's quotas say so.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pipeline.study import proc

KIB = 1024
UNLIMITED = 2**62  # bytes
PATIENCE = 10.0  # seconds that `quota` may take: it asks servers of the network
QUOTA = ("quota", "--no-wrap", "--raw-grace", "--user")  # a row for each file system, of nine words


class Room(NamedTuple):
    """Bytes and files that may still be written; files: None where there is no limit."""

    bytes: int
    files: int | None


def room_in(folder: Path) -> Room:
    """Room in a folder that exists: what the file system has, or, if less, what a quota leaves."""
    here = os.statvfs(folder)
    free = shutil.disk_usage(folder).free
    files = None
    if here.f_files:  # some file systems count no files
        files = here.f_favail
    allowed = _quota(folder)
    if allowed is None:
        return Room(free, files)
    limits = [limit for limit in (files, allowed.files) if limit is not None]
    return Room(min(free, allowed.bytes), min(limits, default=None))


def _quota(folder: Path) -> Room | None:
    """What the quota of this person leaves on the file system of a folder.

    None where there is none, or none known.
    """
    if not shutil.which(QUOTA[0]):
        return None
    with suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(QUOTA, capture_output=True, text=True, timeout=PATIENCE)
        device = _device(folder)
        for line in answer.stdout.splitlines():
            words = line.split()
            if len(words) == 9 and words[0] == device:
                return _left(words)
    return None


def _left(words: list[str]) -> Room | None:
    """What is left by a row: file system, KiB used, quota and limit, grace, and the same of files.

    0 is no limit. None for what is no such row.
    """
    try:
        numbers = [int(word.rstrip("*")) for word in words[1:]]
    except ValueError:
        return None
    used, _, most, _, used_files, _, most_files, _ = numbers
    left = UNLIMITED
    if most:
        left = max(most - used, 0) * KIB
    files_left = None
    if most_files:
        files_left = max(most_files - used_files, 0)
    return Room(left, files_left)


def _device(folder: Path) -> str:
    """The device, or the server's folder, that a folder's file system is on.

    Empty where that is not known.
    """
    number = os.stat(folder).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    for line in proc.MOUNTS.read_text(errors="replace").splitlines():
        mount, _, source = line.partition(" - ")
        if mount.split()[2] == name:
            return source.split()[1]
    return ""
