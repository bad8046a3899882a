"""Law: no pipe, device or folder in place of a file is waited for, and no lock empties what stands in its place."""

import ast
import os
import shutil
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.identity import places
from pipeline.storage.folder import SWEEPS, Folder, locked
from pipeline.study.files import open_to_lock, read_regular
from tests.helpers.engine import ROOT

READS = {
    "open",
    "read_text",
    "read_bytes",
    "fromfile",
    "load_text",
    "loadtxt",
    "genfromtxt",
    "memmap",
}
# What opens a file by itself, and why nobody else can have put another thing there.
EXCEPTIONS = {
    "study/files.py:write_whole": "makes a file under a new name",
    "study/files.py:_in_new_folder": "makes a file under a new name",
    "study/files.py:open_regular": "is the door",
    "study/files.py:read_regular": "the door of those that are read whole",
    "execution/probe.py:_limit_memory": "of the kernel",
    "execution/room.py:_device": "of the kernel",
    "execution/unit_work.py:peak": "of the kernel",
    "execution/workers.py:_wait_for_order": "its standard input",
    "execution/workers.py:listen": "its standard input",
    "execution/arithmetic.py:_version_in": "of NumPy, as it was installed",
    "auditing/guarded.py:_compute": "a pipe of its own",
    "execution/copies.py:start": "a pipe of its own",
    "execution/copies.py:_let_go_of_files": "the null device, on purpose",
    "execution/clusters/batch_workers.py:_write_private": "makes a file that must not be there",
    "execution/clusters/executor.py:scratch": "makes a file in a new folder of this process",
    "execution/systems/lsf.py:give": "a script of the program, or one in a folder that is closed to others",
    "reporting/page.py:script": "a script of the program",
    "storage/zip_files.py:_written": "an entry of a zip file that is open",
    "workflow/archive_reader.py:_extracted": "makes a file that must not be there",
    "workflow/wheel.py:wheel": "of the program, as it was installed",
    "problems/common/release_folder.py:write_table": "makes a file in a new folder of this process",
    "__main__.py:_answer": "the null device, on purpose",
    "__main__.py:_open_streams": "the null device, on purpose",
}


def reads(tree):
    """The function of every call that may open a file by its path; of `x.open()` those with an argument."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            name = (
                node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            )
            if name in READS and not (
                name == "open" and isinstance(node.func, ast.Attribute) and not node.args
            ):
                yield function.name


def outside(name, text):
    """Calls that may open a file, by the function that they are in."""
    if not any(f"{one}(" in text for one in READS):  # most modules: the others alone are parsed
        return set()
    return {f"{name}:{function}" for function in reads(ast.parse(text))}


def test_every_file_is_opened_by_one_door():
    found = set()
    for path in (ROOT / "pipeline").rglob("*.py"):
        found |= outside(path.relative_to(ROOT / "pipeline").as_posix(), path.read_text("utf-8"))
    assert found - EXCEPTIONS.keys() == set(), (
        "use read_regular or open_regular of pipeline.study.files"
    )
    assert EXCEPTIONS.keys() - found == set(), "is no exception any more"


@pytest.mark.parametrize(
    "line", ["open(path)", "Path(path).read_text()", "path.open('rb')", "np.fromfile(path)"]
)
def test_another_door_is_seen(line):
    """The negative control."""
    assert outside("x.py", f"def f(path):\n    return {line}\n") == {"x.py:f"}


def pipe(path):
    os.mkfifo(path)


def device(path):
    path.symlink_to("/dev/zero")


KINDS = pytest.mark.parametrize("put", [pipe, device, Path.mkdir], ids=["pipe", "device", "folder"])


@KINDS
@pytest.mark.timeout(60)
def test_what_is_no_file_is_an_error_at_once(put, tmp_path):
    put(tmp_path / "x")
    for door in (read_regular, open_to_lock):
        with pytest.raises(OSError, match="pipe or a device|directory"):
            door(tmp_path / "x")


@KINDS
@pytest.mark.timeout(60)
def test_locks_of_a_study(put, tmp_path):
    put(tmp_path / ".lock")
    put(tmp_path / SWEEPS)
    with pytest.raises(OSError), locked(tmp_path):
        pass
    with pytest.raises(OSError), Folder(tmp_path).sweeping():
        pass
    (tmp_path / "units.partial").touch()
    assert Folder(tmp_path).left_over("") == []  # it cannot be known whether a sweep is under way


def test_a_lock_changes_nothing_of_the_file_in_its_place(tmp_path):
    """It was emptied: whoever may write into a shared folder could so empty a file of somebody else."""
    (tmp_path / "precious").write_text("all")
    (tmp_path / ".lock").symlink_to("precious")
    with locked(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "all"


@KINDS
@pytest.mark.timeout(60)
def test_a_record_of_an_installer_that_is_no_file(put, tmp_path, monkeypatch):
    (tmp_path / "x-1.dist-info").mkdir()
    put(tmp_path / "x-1.dist-info" / "RECORD")
    (tmp_path / "y-1.dist-info").mkdir()
    (tmp_path / "y-1.dist-info" / "RECORD").write_text("y/__init__.py,,\n")
    places._installed_in.cache_clear()
    assert places._installed_in(tmp_path) == {"y"}


@KINDS
@pytest.mark.timeout(120)
def test_a_run_says_so_in_one_line(put, tmp_path, capsys):
    words = [
        "experiment=xu/lemmas",
        "grid.m=[10]",
        "grid.L=[50]",
        "grid.epsilon=[1]",
        "replications=20",
        "block=10",
        "claims=false",
        "cluster=synchronous",
        f"outputs={tmp_path / 'outputs'}",
    ]
    assert main(words) == 0
    (folder,) = (tmp_path / "outputs" / "xu").iterdir()
    shutil.rmtree(folder / "replications" / "units", ignore_errors=True)
    for name in (".lock", SWEEPS):
        (folder / name).unlink()
        put(folder / name)
    capsys.readouterr()
    assert main([*words, "replications=40"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1, error


@KINDS
@pytest.mark.timeout(60)
def test_an_experiment_of_a_package_that_is_no_file_is_not_offered(
    put, tmp_path, monkeypatch, capsys
):
    (tmp_path / "experiment").mkdir()
    put(tmp_path / "experiment" / "odd.yaml")
    monkeypatch.setattr("pipeline.workflow.config_files.folders", lambda: [ROOT / "conf", tmp_path])
    assert main(["experiment=odd", "task=show"]) == 2
    assert "no such experiment" in capsys.readouterr().err
