"""Pods: processes as Kubernetes and other services start them, in a mount namespace of this machine.

A pod has a root of its own that nobody can write, in which only programs and this checkout are; an empty /tmp; a user
whom no passwd names; and no home. Nothing of any other process's files is seen there. It shares the network.
"""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.helpers.engine import ROOT

USER = 12345
PROGRAMS = ("unshare", "mount", "chroot", "hostname", "cp")
MAKE = """
set -e
mount --make-rprivate /
root=/run/pod-root
mkdir -p "$root"
mount -t tmpfs -o mode=755 pod "$root"
name=$1; user=$2; shift 2
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    mount -o remount,bind,ro "$root$1"
    shift
done
shift
for kernel in /dev /proc; do
    mkdir "$root$kernel"
    mount --rbind "$kernel" "$root$kernel"
done
mkdir "$root/tmp"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
eval "$MORE_MOUNTS"
mount -o remount,ro "$root"
hostname "$name"
exec chroot --userspec="$user:0" --groups= "$root" "$@"
"""


@dataclass(frozen=True)
class Pod:
    """One pod. variables: of its environment. mounts: more lines of a shell that mount something below $root.

    before: what starts the pod, as a command that enters a control group.
    """

    name: str
    variables: Mapping[str, str]
    mounts: str = ""
    before: Sequence[str] = ()

    def start(self, words: Sequence[str], **options: object) -> "subprocess.Popen[str]":
        """Start Python with these words; its working folder is the root."""
        places = [*_places(), "--"]
        command = [
            *self.before,
            "unshare",
            "--mount",
            "--uts",
            "sh",
            "-c",
            MAKE,
            "pod",
            self.name,
            str(USER),
            *places,
            sys.executable,
            *words,
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "MORE_MOUNTS": self.mounts,
            **self.variables,
        }
        return subprocess.Popen(command, env=environment, cwd="/", text=True, **options)

    def run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run Python with these words to its end."""
        process = self.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            printed, errors = process.communicate(timeout=600)
        finally:
            process.kill()
        return subprocess.CompletedProcess(words, process.returncode, printed, errors)


@functools.cache
def missing() -> str | None:
    """None if pods can be made here, else why not."""
    if os.geteuid():
        return "mount namespaces need root"
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"{program} is not installed"
    done = Pod("probe", {}).run(["-c", "import os; print(os.getuid())"])
    return (
        None if done.stdout == f"{USER}\n" else f"no pod can be made: {done.stderr.strip()[-300:]}"
    )


def _places() -> list[str]:
    """Folders that a pod sees, read only: the system's programs, Python, and this checkout."""
    system = [
        name for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc") if Path(name).exists()
    ]
    own = {str(Path(name).resolve()) for name in (sys.base_prefix, sys.prefix, ROOT)}
    return [*system, *sorted(name for name in own if not name.startswith("/usr/"))]
