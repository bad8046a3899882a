"""The lock of a machine: one process at a time, free once its holder is dead, and no other user in the way."""

import os
import subprocess
import sys
import tempfile

import pytest

from pipeline.storage.machine_lock import locked_here
from tests.helpers.engine import environment

HOLD = """
import sys
from pipeline.storage.machine_lock import locked_here
with locked_here("study") as token:
    print(token, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder for temporary files of this test alone."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path / f"pipeline-{os.getuid()}"


def holder():
    """A process that has the lock, and what it calls it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, process.stdout.readline().strip()


def test_a_killed_holder_is_succeeded_at_once_by_one_of_the_same_name():
    process, token = holder()
    process.kill()
    process.communicate()
    with locked_here("study") as mine:
        assert mine == token != ""
    with locked_here("another study") as other:
        assert other != token


def test_others_wait():
    process, token = holder()
    second = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(2)
    process.communicate()
    assert second.communicate()[0].strip() == token


def test_two_machines_have_other_names_though_their_files_are_alike(place):
    """As copies of one machine that make the file anew."""
    names = set()
    for _ in range(2):
        with locked_here("study") as token:
            names.add(token)
        (file,) = place.iterdir()
        file.write_bytes(b"")
    assert len(names) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place: place.mkdir(0o777) or place.chmod(0o777),
        lambda place: place.symlink_to("/tmp"),
        lambda place: place.write_bytes(b""),
    ],
)
def test_a_place_that_others_may_have_made_is_not_used(place, spoil):
    spoil(place)
    with locked_here("study") as first, locked_here("study") as second:
        assert first != second
    assert not place.is_dir() or place.is_symlink() or list(place.iterdir()) == []


def test_nothing_is_needed_where_no_file_can_be_made(monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/proc")
    with locked_here("study") as first, locked_here("study") as second:
        assert first != second
