"""The folder of jobs' output and keys, and the file in it that jobs source.

Nobody else may have written them.
"""

import errno
import os
import shlex
import stat
from pathlib import Path

from pipeline.study.parameters import InvalidInput

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
ALLOWED = (
    "must be yours, and neither it nor its folder writable by others (chmod go-w), as jobs run "
    "what is in it"
)


def make_folder(folder: Path) -> None:
    """The folder with its parents, readable by its owner alone if it is new.

    OSError if it cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def check_sourced(file: Path) -> None:
    """InvalidInput where there is such a file and jobs would refuse to source it."""
    if not os.access(file, os.R_OK):
        return
    for path in (file, file.parent):
        status = path.stat()
        if status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE:
            raise InvalidInput("cluster.folder", str(file), ALLOWED)


def source_lines(file: Path) -> list[str]:
    """Lines of a job's script, in bash, that source a file if it is there.

    They end the job if others may write the file. `jobs/*.sh` has the same lines.
    """
    return [f"MORE={shlex.quote(str(file))}", *LINES]


LINES = """\
if [[ -r $MORE ]]; then
    if [[ ! -O $MORE || ! -O ${MORE%/*} || \
$(find -H "$MORE" "${MORE%/*}" -prune \\( -perm -020 -o -perm -002 \\); echo $?) != 0 ]]; then
        echo "error: $MORE: must be yours, and neither it nor its folder writable by others (chmod go-w)" >&2
        exit 1
    fi
    . "$MORE"
fi""".splitlines()
