"""Debian's packages for the servers of the tests, installed where a root may, without starting their services."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

POLICY = Path("/usr/sbin/policy-rc.d")  # asked by a package's scripts before they start a service


def missing(programs: Sequence[str], packages: Sequence[str]) -> str | None:
    """Install the packages unless the programs are there; None, or why they cannot be had."""
    with open(Path(tempfile.gettempdir()) / "tests-packages.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side, apt-get does not
        return _install(programs, packages)


def _install(programs, packages):
    if all(map(shutil.which, programs)):
        return None
    if os.geteuid() or not shutil.which("apt-get"):
        return f"{programs[0]} is not installed: apt-get install {' '.join(packages)}"
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-qq", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300"]
    install = [*apt, "install", "-y", "--no-install-recommends", *packages]
    with _no_service_starts():
        for command in (
            [*apt, "update"],
            install,
        ):  # without the first, in an image, there are no lists
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
    return f"{' '.join(install)}: {done.stderr.strip()[-300:]}" if done.returncode else None


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """As in a container image: 101 forbids; where somebody has a policy already, it is left alone."""
    try:
        with open(os.open(POLICY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755), "w") as policy:
            policy.write("#!/bin/sh\nexit 101\n")
    except FileExistsError:
        yield
        return
    try:
        yield
    finally:
        POLICY.unlink()
