"""A folder as a backend: half of a Zarr hierarchy never passes for the whole, whenever its process is killed."""

import os
import shutil

import pytest

from pipeline.storage.folder import Folder
from pipeline.study.files import make_folders


class Killed(BaseException):
    """What a SIGKILL does to a process."""


@pytest.fixture
def folder(tmp_path):
    """A folder with a published dataset."""
    backend = Folder(tmp_path)
    staged = backend.stage("old")
    backend.put(f"{staged}/data/c", b"old")
    backend.publish(staged, "old", b"root")
    return backend


def test_what_is_being_removed_has_no_root(folder, monkeypatch):
    def killed(*args, **kwargs):
        raise Killed

    assert folder.read("old/zarr.json") == b"root" and folder.read("old/data/c") == b"old"
    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(Killed):
        folder.remove("old")
    assert folder.read("old/zarr.json") is None and folder.read("old/data/c") == b"old"


@pytest.mark.parametrize("step", ["put", "remove"])
def test_what_is_being_published_is_the_old_or_the_new_or_nothing(folder, step, monkeypatch):
    staged = folder.stage("old")
    folder.put(f"{staged}/data/c", b"new")
    done = getattr(folder, step)

    def killed(*args):
        done(*args)
        raise Killed

    monkeypatch.setattr(folder, step, killed)
    with pytest.raises(Killed):
        folder.publish(staged, "old", b"newer")
    root, data = folder.read("old/zarr.json"), folder.read("old/data/c")
    assert (root, data) in [(b"root", b"old"), (b"newer", b"new"), (None, None)]


def test_what_is_being_written_is_left_over_only_where_nobody_writes(folder):
    folder.put("units/0/1.partial", b"half")
    with folder.sweeping(), Folder(folder.path).sweeping():
        assert Folder(folder.path).left_over("units") == []
    assert Folder(folder.path).left_over("units") == ["0/1.partial"]


@pytest.mark.parametrize(
    "mode, expected", [(0o2775, 0o2775), (0o775, 0o775), (0o755, 0o755), (0o700, 0o755)]
)
def test_folders_in_one_that_a_group_shares_are_shared_as_well(mode, expected, tmp_path):
    """Whatever the umask of who makes them: a second person begins another study of the same paper there."""
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    outputs.chmod(mode)
    before = os.umask(0o022)
    try:
        make_folders(outputs / "xu" / "lemmas")
    finally:
        os.umask(before)
    assert [oct((outputs / name).stat().st_mode & 0o7777) for name in ("xu", "xu/lemmas")] == [
        oct(expected)
    ] * 2
    assert outputs.stat().st_mode & 0o7777 == mode
