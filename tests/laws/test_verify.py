"""Damage on disk is found, repaired, and the same bytes come back."""

import contextlib
import fcntl
import hashlib
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.__main__ import main
from pipeline.execution.clusters import Executor
from pipeline.identity import own_files
from pipeline.problems.ranking.estimators.moments import PlugIn
from pipeline.storage import results
from pipeline.storage.folder import Folder
from pipeline.storage.integrity import Integrity
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import reduce, report_record, reports
from pipeline.workflow.verify import Damages, _repair
from tests.helpers.engine import (
    GRID,
    advance,
    arguments,
    contents,
    damages_of,
    pending,
    sealed,
    stored,
    study,
    without_report,
)

WHAT = study(grid=GRID | {"epsilon": [0.5]})
KINDS = ("flip", "truncate", "delete")


def broken(original=PlugIn.mean):
    """A kernel that raises in two cells, so that the store holds errors as well."""

    def mean(self, release):
        if release.items == 5 and release.users.sum() == 50:
            raise ArithmeticError("planted")
        return original(self, release)

    return mean


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlugIn, "mean", broken())
        sealed(WHAT, folder)
    assert Store(WHAT, folder).listing().failed.sum() == 3
    return folder


@pytest.fixture
def copy(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(PlugIn, "mean", broken())
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def files(folder):
    """Files of all units."""
    return sorted(p for p in (folder / "replications/units").rglob("*") if p.is_file())


def damage(path, kind, chance):
    """Flip a bit, cut off the end, or delete."""
    data = bytearray(path.read_bytes())
    if kind == "delete":
        path.unlink()
    elif kind == "truncate":
        path.write_bytes(data[: chance.randrange(len(data))])
    else:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)


def damages(folder, what=WHAT):
    """All that is wrong with the replications."""
    store = Store(what, folder)
    return damages_of(store)


def repair(folder, what=WHAT):
    """All that verify finds, repaired; keys of the files."""
    store, found = Store(what, folder), damages(folder, what)
    for one in found:
        Integrity(store).repair(one)
    return [one.key for one in found]


def test_a_sound_store_has_no_damage(copy):
    assert damages(copy) == []


def test_every_damage_is_found_and_repaired(copy):
    chance, before = random.Random(5), contents(copy)
    for turn in range(36):
        kind, path = KINDS[turn % 3], chance.choice(files(copy))
        damage(path, kind, chance)
        key = str(path.relative_to(copy / "replications"))
        assert repair(copy) == ([] if kind == "delete" else [key]), (path, kind)  # deleted: not run
        assert not path.exists() and damages(copy) == []
        advance(WHAT, copy)
        assert contents(copy) == before, (path, kind)


def test_every_bit_of_a_unit_counts(copy):
    """A file with one bit changed, whichever, is never read as a unit."""
    store = Store(WHAT, copy)
    for path in (files(copy)[0], next(p for p in files(copy) if p.suffix == ".failed")):
        whole, key = path.read_bytes(), str(path.relative_to(copy / "replications"))
        for position in range(len(whole)):
            changed = bytearray(whole)
            changed[position] ^= 1 << position % 8
            path.write_bytes(changed)
            assert Integrity(store).check_file(key), position
        path.write_bytes(whole)
    assert damages(copy) == []


def test_a_unit_under_another_name_is_found(copy):
    """Whole files, exchanged: their checksums are right, what they say is not."""
    first, second = files(copy)[0], files(copy)[-1]
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert len(repair(copy)) == 2


def test_a_unit_under_the_name_of_another_cell_is_found(copy):
    """Of one block, so that only the cell is another; and a unit with numbers as one that failed."""
    failed = next(path for path in files(copy) if path.suffix == ".failed")
    first, second, *_ = (path for path in failed.parent.iterdir() if path.suffix != ".failed")
    first.write_bytes(second.read_bytes())
    mistaken = failed.with_suffix("")
    failed.rename(mistaken)
    wrong = {str(path.relative_to(copy / "replications")) for path in (first, mistaken)}
    assert {one.key for one in damages(copy)} == wrong
    assert {one.fault for one in damages(copy)} == {"is the file of another unit"}


def test_a_damaged_unit_is_never_sealed(copy):
    damage(files(copy)[0], "flip", random.Random(1))
    results.unseal(Store(WHAT, copy))
    with pytest.raises(InvalidInput, match="unit c.* is damaged: .* task=verify repair=true"):
        reduce.seal(stored(WHAT, copy), Executor())
    assert not (copy / results.SEALED).exists()


def test_many_damages_at_once(copy):
    chance, before = random.Random(6), contents(copy)
    chosen = chance.sample(files(copy), 15)
    for path in chosen:
        damage(path, chance.choice(["flip", "truncate"]), chance)
    (copy / "replications/study.json").write_bytes(b"half")
    (copy / "replications/units/0/x.5f1e.partial").write_bytes(b"half")
    (copy / "replications/study.77aa.partial").write_bytes(b"half")
    assert len(repair(copy)) == 18 and damages(copy) == []
    advance(WHAT, copy)
    assert contents(copy) == before


def test_leftovers_of_killed_writes_are_found_and_swept(copy):
    before = contents(copy)
    for name in (
        "units/0/a1.partial",
        "units/2/0123456789abcdef.b2.partial",
        "agreed/c3.partial",
        "d4.partial",
    ):
        (copy / "replications" / name).write_bytes(b"half a unit")
    assert len(repair(copy)) == 4
    assert contents(copy) == before


def test_half_made_files_of_killed_processes_are_swept(copy):
    """Also folders of figures and datasets, once they are old enough that nobody is making them."""
    before, hours_ago = contents(copy), time.time() - 7200
    (copy / "results.zarr.partial/kendall").mkdir(parents=True)
    (copy / "figures.123.partial").mkdir()
    (copy / "report.html.123.partial").write_bytes(b"half")
    Integrity(Store(WHAT, copy)).sweep_partials()
    assert len(list(copy.glob("*.partial"))) == 3
    for path in copy.glob("*.partial"):
        os.utime(path, (hours_ago, hours_ago))
    assert Integrity(Store(WHAT, copy)).sweep_partials() == 3
    assert contents(copy) == before and not list(copy.glob("*.partial"))


def test_what_a_kill_while_packing_leaves_is_no_damage(copy):
    """A folder whose last unit was packed; and half a pack, which is removed, and the results stay."""
    (copy / "replications/units/7").mkdir()
    assert damages(copy) == []
    (copy / "replications/packs").mkdir()
    (copy / "replications/packs/a1.partial").write_bytes(b"half a pack")
    integrity = Integrity(Store(WHAT, copy))
    found = Damages([*integrity.strays()], [], [], [])
    assert [one.key for one in found.replications] == ["packs/a1.partial"]
    _repair(stored(WHAT, copy), integrity, found)
    assert damages(copy) == [] and results.is_sealed(Store(WHAT, copy))


def test_files_that_are_no_units_are_found(copy):
    before = contents(copy)
    for name in (
        "units/0/.nfs0001",
        "units/0/0123456789ABCDEF",
        "units/x/0123456789abcdef",
        "units/0123456789abcdef",
    ):
        (copy / "replications" / name).parent.mkdir(exist_ok=True)
        (copy / "replications" / name).write_bytes(b"?")
    assert len(repair(copy)) == 4
    assert contents(copy) == before


@pytest.mark.parametrize("text", [b"{", b"[" * 200_000])
def test_a_description_that_cannot_be_read_is_damage(copy, text):
    """Also of the results."""
    before = contents(copy)
    (copy / "results.zarr/kendall/zarr.json").write_bytes(text)
    assert results.problems_of(Folder(copy)) == ["kendall/zarr.json: is not what was written"]
    (copy / "results.zarr/zarr.json").write_bytes(text)
    assert results.problems_of(Folder(copy)) == ["zarr.json: is not what this program wrote"]
    (copy / "replications/study.json").write_bytes(text)
    with pytest.raises(InvalidInput, match="is damaged; task=verify repair=true"):
        Store(WHAT, copy).begin()
    assert repair(copy) == ["study.json"]
    results.unseal(Store(WHAT, copy))
    sealed(WHAT, copy)
    assert contents(copy) == before


def test_files_that_are_being_written_are_left_alone(copy):
    path = copy / "replications/units/0/a1.partial"
    path.write_bytes(b"half a unit")
    backend = Store(WHAT, copy).backend
    with backend.sweeping(), backend.sweeping():
        assert repair(copy) == [] and path.exists()
    assert repair(copy) == ["units/0/a1.partial"] and not path.exists()


@contextlib.contextmanager
def another_user():
    """Who may read only: root becomes nobody for a while, others are what they are."""
    if root := os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_files_that_another_user_is_writing_are_left_alone():
    """The reader may not write there, and must not take the owner's files for leftovers."""
    with tempfile.TemporaryDirectory() as name:  # its own, as those of pytest are closed to others
        folder = Folder(Path(name))
        folder.path.chmod(0o755)
        (folder.path / "x.partial").touch()
        with folder.sweeping():
            (folder.path / ".sweeps").chmod(0o444)
            with another_user():
                with pytest.raises(PermissionError):
                    open(folder.path / ".sweeps", "r+")  # noqa: SIM115 - it cannot be opened
                assert folder.left_over("") == []
        with another_user():
            assert folder.left_over("") == ["x.partial"]


@pytest.mark.parametrize("kept", [True, False])
def test_locks_of_sweeps_are_such_as_nfs_gives(kept, tmp_path, monkeypatch):
    """It makes them locks of byte ranges: shared ones need a file open for reading, exclusive ones for writing."""
    monkeypatch.setattr("pipeline.storage.file_locks.fcntl.flock", fcntl.lockf)
    if kept:
        (tmp_path / ".sweeps").touch()
    folder = Folder(tmp_path)
    with folder.sweeping():
        pass
    (tmp_path / "x.partial").touch()
    assert folder.left_over("") == ["x.partial"]


def test_units_of_a_larger_grid_are_checked_and_kept(copy):
    """Verify with a part of the grid reads all files, and takes none of the others for strays."""
    part = study(grid=GRID | {"epsilon": [0.5], "m": [3]}, replications=20)
    assert damages(copy, part) == []
    damage(files(copy)[-1], "flip", random.Random(8))
    before = contents(copy)
    (key,) = repair(copy, part)
    assert before.items() - contents(copy).items() == {
        (f"replications/{key}", before[f"replications/{key}"])
    }


def test_the_folder_of_another_study_is_not_repaired(copy):
    before = contents(copy)
    with pytest.raises(InvalidInput, match="holds another study"):
        damages(copy, study(grid=GRID | {"epsilon": [0.5]}, seed=12))
    assert contents(copy) == before


def test_a_lost_description_is_written_again(copy):
    before = contents(copy)
    (copy / "replications/study.json").unlink()
    with pytest.raises(
        InvalidInput, match="is lost, while units are there; task=verify repair=true"
    ):
        pending(WHAT, Store(WHAT, copy))
    assert repair(copy) == ["study.json"] and contents(copy) == before


def test_with_the_command(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    assert main([*words, "task=verify"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "not begun" in error and error.count("\n") == 1
    assert main(words) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    before = contents(folder / "results.zarr")
    assert main([*words, "task=verify"]) == 0
    assert "8 units checked, 0 damaged" in capsys.readouterr().out
    flipped, cut = files(folder)[0], files(folder)[5]
    damage(flipped, "flip", random.Random(1))
    damage(cut, "truncate", random.Random(1))
    assert main([*words, "task=verify"]) == 1
    out = capsys.readouterr().out
    assert all(f"damaged: units/{path.parent.name}/{path.name}: " in out for path in (flipped, cut))
    assert "2 damaged; repair=true" in out
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert "2 damaged, 2 repaired: run again" in capsys.readouterr().out
    assert not (folder / "results.zarr").exists()
    assert main(words) == 0
    assert "2 units to do, 6 done before" in capsys.readouterr().out
    assert contents(folder / "results.zarr") == before
    (folder / "replications/study.json").unlink()
    assert main([*words, "task=verify", "repair=true"]) == 0 and main(words) == 0
    assert contents(folder / "results.zarr") == before


@pytest.mark.parametrize("kind", ["flip", "delete"])
@pytest.mark.parametrize("variable", ["lean_true", "status", "epsilon"])
def test_a_damaged_sealed_dataset_is_found_and_made_anew(
    kind, variable, tmp_path, monkeypatch, capsys
):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    assert main(words) == 0 and main([*words, "task=verify"]) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    whole = contents(folder / "results.zarr")
    path = next(p for p in (folder / "results.zarr" / variable / "c").rglob("*") if p.is_file())
    damage(path, kind, random.Random(2))
    capsys.readouterr()
    assert main([*words, "task=verify"]) == 1
    assert (
        f"damaged: results.zarr/{path.relative_to(folder / 'results.zarr')}: is "
        in capsys.readouterr().out
    )
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert main(words) == 0 and contents(folder / "results.zarr") == whole
    assert "nothing to do" in capsys.readouterr().out


def test_a_report_that_was_changed_is_found_and_made_anew(tmp_path, monkeypatch, capsys):
    """Its record, a table, a figure, and the copy of a person's file, by which the study can be repeated."""
    content = b"WORDS = 'a part'\n"
    own = SimpleNamespace(
        name="mine.py", content=content, sha256=hashlib.sha256(content).hexdigest()
    )
    beside = SimpleNamespace(
        kept_beside_results=lambda: [own], loaded=lambda: [own], FLAG=own_files.FLAG
    )
    monkeypatch.setattr(reports, "own_files", beside)
    monkeypatch.setattr(report_record, "own_files", beside)
    words = arguments(tmp_path)
    assert main(words) == 0 and main([*words, "task=verify"]) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    figures = sorted(path.relative_to(folder).as_posix() for path in folder.glob("figures/*"))
    names = ["report.yaml", "report.html", "summary.csv", "mine.py", *figures[:1]]
    whole = {name: (folder / name).read_bytes() for name in names}
    for name, before in whole.items():
        (folder / name).write_bytes(before.replace(before[10:11], b"~", 1))
        capsys.readouterr()
        assert main([*words, "task=verify"]) == 1, name
        assert (
            "damaged: report.yaml: it or another file of this report is" in capsys.readouterr().out
        )
        (folder / name).write_bytes(before)
    (folder / "mine.py").unlink()
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert main(words) == 0 and main([*words, "task=verify"]) == 0
    assert (folder / "mine.py").read_bytes() == content


@pytest.mark.timeout(60)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(copy):
    path = files(copy)[0]
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a pipe or a device"):
        Store(WHAT, copy).backend.read(str(path.relative_to(copy)))
