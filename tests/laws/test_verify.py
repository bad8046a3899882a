"""Damage on disk is found, repaired as far as it can be, and the same bytes come back."""

import contextlib
import fcntl
import os
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from engine import GRID, advance, arguments, contents, study, without_report

from pipeline import seal
from pipeline.__main__ import main
from pipeline.estimators.btl import PlugIn
from pipeline.parameters import InvalidInput
from pipeline.places import Folder
from pipeline.store import Store

SMALL = GRID | {"epsilon": [0.5]}
DATA = ["error_l2", "kendall", "sandwich_risk", "status", "error"]
CELLS = ["key", "label_m", "label_L", "label_epsilon", "label_estimator"]


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
        run(folder)
    assert len(list(Store(folder).failed())) == 3
    return folder


@pytest.fixture
def copy(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(PlugIn, "mean", broken())
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run(folder, what=None):
    agenda, _ = advance(what or study(grid=SMALL), folder)
    seal.seal(Store(folder), what or study(grid=SMALL), agenda.rows, {})


def chunks(folder, variable):
    """Files of a variable's chunks."""
    return [p for p in sorted((folder / "replications.zarr" / variable / "c").rglob("*")) if p.is_file()]


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


def repair(folder, what=None):
    """All that verify finds, repaired; each with whether it could be."""
    return [(found, Store(folder).repair(found, what or study(grid=SMALL))) for found in list(Store(folder).verify())]


def test_a_sound_store_has_no_damage(copy):
    assert list(Store(copy).verify()) == []


def test_every_damage_is_found_and_repaired(copy):
    chance, before, found_by = random.Random(5), contents(copy), {}
    kinds = ["flip", "truncate", "delete"]
    for turn in range(66):
        variable, kind = (DATA + CELLS)[turn % 10], kinds[turn % 3]
        path = chance.choice(chunks(copy, variable))
        damage(path, kind, chance)
        results = repair(copy)
        found = [d for d, repaired in results if repaired]
        assert len(found) == len(results)
        if (variable, kind) == ("status", "delete"):
            assert found == []  # not damage: this is what "not run" looks like
        else:
            assert found and {d.variable for d in found} == {variable}, (path, kind, found)
            found_by[variable, kind] = found_by.get((variable, kind), 0) + 1
        assert list(Store(copy).verify()) == []
        advance(study(grid=SMALL), copy)
        assert contents(copy) == before, (path, kind)
    run(copy)
    assert contents(copy) == before
    print(f"{sum(found_by.values())} of 66 damages found and repaired: {found_by}")
    assert sum(found_by.values()) >= 60 and len(found_by) == 29


def test_a_damaged_chunk_is_never_sealed(copy):
    damage(chunks(copy, "error_l2")[0], "flip", random.Random(1))
    shutil.rmtree(copy / "results.zarr")
    with pytest.raises(InvalidInput, match="error_l2 of row 0 is damaged .* task=verify repair=true"):
        run(copy)


def test_many_damages_at_once(copy):
    chance, before = random.Random(6), contents(copy)
    for path in chance.sample([p for variable in DATA for p in chunks(copy, variable)], 30):
        damage(path, chance.choice(["flip", "truncate"]), chance)
    for variable in CELLS[1:]:
        damage(copy / "replications.zarr" / variable / "c/0", "flip", chance)
    (copy / "replications.zarr/kendall/c/3/1.5f1e.partial").write_bytes(b"half")
    (copy / "replications.zarr/status/zarr.77aa.partial").write_bytes(b"half")
    results = repair(copy)
    assert len(results) >= 30 and all(repaired for _, repaired in results)
    assert list(Store(copy).verify()) == []
    run(copy)
    assert contents(copy) == before


def test_leftovers_of_killed_writes_are_found_and_swept(copy):
    before = contents(copy)
    for name in ("error_l2/c/0/0.a1.partial", "key/c/0.b2.partial", "zarr.c3.partial", "error/zarr.d4.partial"):
        (copy / "replications.zarr" / name).write_bytes(b"half a chunk")
    assert len(list(Store(copy).verify())) == 4
    assert [repaired for _, repaired in repair(copy)] == [True] * 4
    assert contents(copy) == before


@pytest.mark.parametrize("text", [b"{", b"[" * 200_000])
def test_a_description_that_nobody_can_read_is_damage(copy, text):
    """Also where the root of the results holds a copy of it."""
    (copy / "results.zarr/kendall/zarr.json").write_bytes(text)
    assert "kendall" in seal.altered(Store(copy), study(grid=SMALL), Store(copy).rows(study(grid=SMALL)))
    (copy / "replications.zarr/kendall/zarr.json").write_bytes(text)
    assert [found.variable for found in Store(copy).verify()] == ["kendall"]
    with pytest.raises(InvalidInput, match="kendall is damaged; run task=verify"):
        Store(copy).prepare(study(grid=SMALL))


def test_files_that_are_being_written_are_left_alone(copy):
    path = copy / "replications.zarr/error_l2/c/0/0.a1.partial"
    path.write_bytes(b"half a chunk")
    with Store(copy).place.sweeping(), Store(copy).place.sweeping():
        assert repair(copy) == [] and path.exists()
    assert [repaired for _, repaired in repair(copy)] == [True] and not path.exists()


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
        place = Folder(Path(name))
        place.path.chmod(0o755)
        (place.path / "x.partial").touch()
        with place.sweeping():
            (place.path / ".sweeps").chmod(0o444)
            with another_user():
                with pytest.raises(PermissionError):
                    open(place.path / ".sweeps", "r+")
                assert place.left_over("") == []
        with another_user():
            assert place.left_over("") == ["x.partial"]


@pytest.mark.parametrize("kept", [True, False])
def test_locks_of_sweeps_are_such_as_nfs_gives(kept, tmp_path, monkeypatch):
    """It makes them locks of byte ranges: shared ones need a file open for reading, exclusive ones for writing."""
    monkeypatch.setattr("pipeline.places.fcntl.flock", fcntl.lockf)
    if kept:
        (tmp_path / ".sweeps").touch()
    place = Store(tmp_path).place
    with place.sweeping():
        pass
    (tmp_path / "x.partial").touch()
    assert place.left_over("") == ["x.partial"]


def test_what_was_appended_since_a_damage_was_found_is_kept(copy):
    """Rows that another driver was given, and has yet to fill, must not be given to a third."""
    more, damaged = study(grid=SMALL | {"m": [3, 5, 7]}), Store(copy)
    label, key = (copy / f"replications.zarr/{name}/c/0" for name in ("label_m", "key"))
    for path in (label, key):
        before = path.read_bytes()
        path.write_bytes(b"nonsense")
        (damage,) = damaged.verify()
        path.write_bytes(before)
        rows = Store(copy).prepare(more)
        assert damaged.repair(damage, more)
        assert list(Store(copy).verify()) == [] and (Store(copy).rows(more) == rows).all()
    assert Store(copy).prepare(study(grid=SMALL | {"m": [9]})).min() == rows.max() + 1


def test_what_cannot_be_repaired_is_left_and_said(copy):
    chance, part = random.Random(8), study(grid=SMALL | {"m": [3]})
    damage(copy / "replications.zarr/label_m/c/0", "flip", chance)
    before = contents(copy)
    # The grid at hand has not all the cells whose labels are lost: nothing is written ...
    assert [repaired for _, repaired in repair(copy, part)] == [False] and contents(copy) == before
    # ... and neither if the keys are lost too.
    damage(copy / "replications.zarr/key/c/0", "flip", chance)
    before = contents(copy)
    assert [repaired for _, repaired in repair(copy)] == [False, False] and contents(copy) == before
    (copy / "replications.zarr/kendall/zarr.json").unlink()
    (copy / "replications.zarr/label_L/zarr.json").write_text("{")
    found = repair(copy)
    assert {d.variable for d, _ in found} >= {"kendall", "label_L"} and not any(ok for _, ok in found)


@pytest.mark.parametrize("kind", ["flip", "truncate", "delete"])
def test_no_row_is_given_twice_when_keys_are_lost(kind, copy):
    before = contents(copy / "replications.zarr")
    damage(copy / "replications.zarr/key/c/0", kind, random.Random(9))
    damaged = contents(copy / "replications.zarr")
    for what in (study(grid=SMALL), study(grid=SMALL | {"m": [9, 5, 3]})):
        with pytest.raises(InvalidInput, match="is damaged; run task=verify repair=true"):
            Store(copy).prepare(what)
    assert contents(copy / "replications.zarr") == damaged
    assert all(repaired for _, repaired in repair(copy))
    Store(copy).prepare(study(grid=SMALL))
    assert contents(copy / "replications.zarr") == before


def test_a_label_that_is_whole_but_wrong_is_found(copy):
    Store(copy).array("label_m")[3:4] = [99]
    found = repair(copy)
    assert [(d.variable, d.row) for d, _ in found] == [("cell", 3)] and not found[0][1]


def test_with_the_command(tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    with pytest.raises(InvalidInput, match="not begun"):
        raise_from(main, [*words, "task=verify"], capsys)
    assert main(words) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    before = contents(folder / "results.zarr")
    assert main([*words, "task=verify"]) == 0
    assert "8 done units, 56 chunks checked, 0 damaged" in capsys.readouterr().out
    damage(folder / "replications.zarr/lean_true/c/1/1", "flip", random.Random(1))
    damage(folder / "replications.zarr/key/c/0", "truncate", random.Random(1))
    assert main([*words, "task=verify"]) == 1
    out = capsys.readouterr().out
    assert "damaged: lean_true row 1 block 1: " in out and "damaged: key" in out and "2 damaged; repair=true" in out
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert "2 damaged, 2 repaired: run again" in capsys.readouterr().out
    assert not (folder / "results.zarr").exists()
    assert main(words) == 0
    assert "1 units to do, 7 done before" in capsys.readouterr().out
    assert contents(folder / "results.zarr") == before
    (folder / "replications.zarr/status/zarr.json").unlink()
    assert main([*words, "task=verify", "repair=true"]) == 1
    assert "cannot be repaired" in capsys.readouterr().out


def raise_from(function, words, capsys):
    """Turn the command's one line on stderr back into the exception it was made from."""
    assert function(words) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    raise InvalidInput("command", "", error)


@pytest.mark.parametrize("kind", ["flip", "delete"])
@pytest.mark.parametrize("variable", ["lean_true", "status", "epsilon"])
def test_a_damaged_sealed_dataset_is_found_and_made_anew(kind, variable, tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words = arguments(tmp_path)
    assert main(words) == 0 and main([*words, "task=verify"]) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    whole = contents(folder / "results.zarr")
    path = next(p for p in (folder / "results.zarr" / variable / "c").rglob("*") if p.is_file())
    if kind == "delete":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[::-1])
    capsys.readouterr()
    assert main([*words, "task=verify"]) == 1
    assert f"results.zarr {variable}: not what the replications say" in capsys.readouterr().out
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert main(words) == 0 and contents(folder / "results.zarr") == whole
    assert "nothing to do" in capsys.readouterr().out
