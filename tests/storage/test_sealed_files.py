"""Every file of a sealed dataset that is read is what was written, whoever reads it, or the reader says so."""

import pickle
import shutil

import dask
import pytest
import xarray as xr

from pipeline.storage import layout, results
from pipeline.storage.folder import Folder
from pipeline.storage.replications import Store
from pipeline.storage.results import SEALED, SUMMARY
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import GRID, contents, sealed, study

WHAT = study(grid=GRID | {"epsilon": [0.5]})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A sealed study of several shards, each of several chunks."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "SHARD_BYTES", 8 * 4 * 60 * 4)  # four cells
        patch.setattr(layout, "CHUNK_VALUES", 60)  # of one
        sealed(WHAT, folder)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def load(folder, name=SEALED):
    return results.load(Store(WHAT, folder), name)


def in_parts(monkeypatch):
    monkeypatch.setattr(results, "IN_MEMORY", 0)


def plainly(folder, name):
    """The dataset as Zarr reads it."""
    return xr.open_zarr(folder / name, consolidated=True).load()


@pytest.mark.parametrize("name", [SEALED, SUMMARY])
def test_what_is_sound_is_read_as_zarr_reads_it(name, copy, monkeypatch):
    whole = plainly(copy, name)
    assert whole.identical(load(copy, name))
    in_parts(monkeypatch)
    if name == SEALED:
        parts = load(copy, name)
        assert parts.chunks and whole.identical(parts.compute())
        one = {"m": 1, "L": 0, "estimator": 1, "replication": slice(7, 9)}
        assert whole["kendall"].isel(one).identical(parts["kendall"].isel(one).compute())


def emptied(path, _):
    path.write_bytes(b"")


def cut(path, _):
    path.write_bytes(path.read_bytes()[:-1])


def flipped(path, _):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lost(path, _):
    path.unlink()


def exchanged(path, others):
    """With that of another variable, or of another place in the same: whole, with sound checksums."""
    content = path.read_bytes()
    path.write_bytes(others[-1].read_bytes())
    others[-1].write_bytes(content)


def exchangeable(files, place):
    """Names of the files that are as long as one of them, and not the same."""
    return [
        name
        for name, content in files.items()
        if len(content) == len(files[place])
        and content != files[place]
        and not name.endswith("zarr.json")
    ]


def chunks(folder):
    """Files of variables and coordinates that hold values."""
    return [
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "zarr.json"
    ]


@pytest.mark.parametrize("name", [SEALED, SUMMARY])
def test_no_damage_of_any_file_is_read(name, copy):
    before, refused = contents(copy / name), 0
    for place in before:
        for damage in (emptied, cut, flipped, lost, exchanged):
            others = [copy / name / other for other in exchangeable(before, place)]
            if damage is exchanged and not others:
                continue
            damage(copy / name / place, others)
            with pytest.raises(InvalidInput, match=f"{name} is damaged .*task=verify repair=true"):
                load(copy, name)
            refused += 1
            for changed, content in before.items():
                if damage in (exchanged, lost) or changed == place:
                    (copy / name / changed).write_bytes(content)
    assert contents(copy / name) == before and refused > 80


def test_a_file_that_nobody_wrote_is_found(copy):
    (copy / SEALED / "kendall/c/9").mkdir(parents=True)
    (copy / SEALED / "kendall/c/9/0").write_bytes(b"?")
    with pytest.raises(InvalidInput, match="kendall/c/9/0: does not belong here"):
        load(copy)


def test_only_what_is_read_is_checked_and_once(copy, monkeypatch):
    """Of a dataset that is read in parts, also in another process."""
    in_parts(monkeypatch)
    expected = plainly(copy, SEALED)["error_l2"].isel(replication=slice(20))
    flipped(chunks(copy / SEALED / "kendall")[0], ())
    data = pickle.loads(pickle.dumps(load(copy)))
    reads, read = [], Folder.read
    monkeypatch.setattr(
        Folder, "read", lambda self, key, *part: reads.append(key) or read(self, key, *part)
    )
    with dask.config.set(scheduler="synchronous"):
        sound = data["error_l2"].isel(replication=slice(20)).compute()
        assert sound.identical(expected)
        assert len(reads) == len(set(reads)) == len(chunks(copy / SEALED / "error_l2"))
        with pytest.raises(InvalidInput, match=r"kendall/c/0/0/0/0/0: is not what was written"):
            data["kendall"].compute()


def test_moments_of_other_replications_are_found(copy, tmp_path_factory):
    """An older summary.zarr, sound in itself, beside results of more replications."""
    older = tmp_path_factory.mktemp("older")
    sealed(study(grid=WHAT.grid.axes, replications=40), older)
    shutil.rmtree(copy / SUMMARY)
    shutil.copytree(older / SUMMARY, copy / SUMMARY)
    with pytest.raises(
        InvalidInput,
        match=r"summary.zarr is damaged \(zarr.json: is not of the results.zarr beside",
    ):
        load(copy, SUMMARY)
    shutil.rmtree(copy / SEALED)
    assert load(copy, SUMMARY).attrs["replications"] == 40  # alone it is what it says
