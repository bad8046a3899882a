"""The reduction as an array: shards reduce regions ahead, the last job copies those that still count."""

import json
import shutil

import pytest
from engine import arguments, command, contents, without_report

from pipeline.__main__ import main
from pipeline.cli import reduce
from pipeline.execution.reduction import Reduce
from pipeline.storage import layout
from pipeline.storage.datasets import file_digest


@pytest.fixture
def small_regions(monkeypatch):
    """Regions of one cell each, of which the study has four; and the regions that are reduced, not copied."""
    monkeypatch.setattr(layout, "SHARD_BYTES", 2000)
    without_report(monkeypatch)
    reduced, region = [], Reduce._region

    def recorded(self, where):
        reduced.append(where)
        return region(self, where)

    monkeypatch.setattr(Reduce, "_region", recorded)
    return reduced


def results_of(where):
    """Bytes of every file of the two datasets below a folder."""
    return [contents(next(where.rglob(name))) for name in ("results.zarr", "summary.zarr")]


def simulated(where, *shards, **changes):
    for shard in shards:
        assert main(arguments(where, shard=shard, **changes)) == 0


@pytest.mark.parametrize("changes", [{}, {"precision": "{lean_true: {absolute: 0.05}}"}])
def test_the_same_bytes_in_any_order(tmp_path, small_regions, capsys, changes):
    assert main(arguments(tmp_path / "whole", **changes)) == 0
    regions = len(small_regions)
    assert regions == 4
    simulated(tmp_path / "parts", "3/3", "1/3", **changes)
    assert len(small_regions) == regions, "units of the second shard are missing"
    simulated(tmp_path / "parts", "2/3", "3/3", "1/3", **changes)
    assert len(small_regions) == 2 * regions
    assert "xu/lemmas: 2 of the 4 regions of its results are reduced" in capsys.readouterr().out
    simulated(tmp_path / "parts", "2/3", **changes)
    assert len(small_regions) == 2 * regions, "reduced before"
    assert main(arguments(tmp_path / "parts", **changes)) == 0
    assert len(small_regions) == 2 * regions, "all were copied"
    assert results_of(tmp_path / "whole") == results_of(tmp_path / "parts")
    assert not list((tmp_path / "parts").rglob("reductions"))
    simulated(tmp_path / "parts", "2/3", **changes)
    assert not list((tmp_path / "parts").rglob("reductions")), "sealed already"


def test_what_is_damaged_is_reduced_again(tmp_path, small_regions):
    """Files that a shard left: a bit of each flipped, or emptied, or deleted, or not UTF-8."""
    simulated(tmp_path, "1/2", "2/2", "1/2")
    (root,) = tmp_path.rglob("reductions")
    before = contents(root)
    record = json.loads(before["1-of-2/regions.json"].partition(b"\n")[2])
    files = [name.removeprefix("reductions/") for region in record for name in region["digests"]]
    assert len(files) == 2 * (2 * 7 + 7), "two regions: two shards of seven variables in one dataset, one in the other"
    names, expected = [*["1-of-2/regions.json"] * 4, *files[::5]], None
    for k, name in enumerate(names):
        for path, content in before.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        bit = bytearray(before[name])
        bit[len(bit) // 2] ^= 4
        damaged = (bytes(bit), b"", None, b"\xff\xfe" + before[name])[k % 4]
        (root / name).unlink() if damaged is None else (root / name).write_bytes(damaged)
        small_regions.clear()
        assert main(arguments(tmp_path)) == 0
        assert len(small_regions) == (2 if name.endswith("regions.json") else 1), name
        found = results_of(tmp_path)
        expected = expected or found
        assert found == expected
        for part in ("results.zarr", "summary.zarr"):
            (root.parent / part / "zarr.json").unlink()
    small_regions.clear()
    assert main(arguments(tmp_path)) == 0 and len(small_regions) == 4, "no reductions are left"
    assert results_of(tmp_path) == expected


def test_odd_files_beside_the_reductions_do_no_harm(tmp_path, small_regions):
    """A copied folder, a folder in a file's place, and records of other contents whose digest is right."""
    simulated(tmp_path, "1/2", "2/2", "1/2")
    (root,) = tmp_path.rglob("reductions")
    shutil.copytree(root, tmp_path / "kept")
    shard = next(path for path in root.rglob("1-of-2/results.zarr/*/c/**/*") if path.is_file())
    changed = json.loads((root / "1-of-2/regions.json").read_bytes().partition(b"\n")[2])
    texts = [b"[" * 100_000, b"5", b"[1]", b"[{}]", b"{", b"\xff", b"[" + b"9" * 5000 + b"]",
             json.dumps([one | {"starts": [[1]]} for one in changed]).encode(),
             json.dumps([one | {"digests": None} for one in changed]).encode(),
             json.dumps([one | {"writers": 3} for one in changed]).encode()]

    def record(text):
        (root / "1-of-2/regions.json").write_bytes(file_digest(text).encode() + b"\n" + text)

    def link():
        (root / "1-of-2/regions.json").unlink()
        (root / "1-of-2/regions.json").symlink_to(tmp_path)

    damages = [(lambda: shutil.copytree(root / "1-of-2", root / "zz"), 0), (link, 2),
               (lambda: (root / "1-of-2").rename(root / "a copy"), 2), (lambda: (shard.unlink(), shard.mkdir()), 1),
               *((lambda text=text: record(text), 2) for text in texts)]
    assert main(arguments(tmp_path)) == 0
    expected = results_of(root.parent)
    for number, (damage, again) in enumerate(damages):
        (root.parent / "results.zarr/zarr.json").unlink()
        shutil.copytree(tmp_path / "kept", root)
        damage()
        small_regions.clear()
        assert main(arguments(tmp_path)) == 0
        assert (len(small_regions), results_of(root.parent), root.exists()) == (again, expected, False), number


def test_results_that_another_driver_seals_meanwhile_need_no_share(tmp_path, small_regions, monkeypatch, capsys):
    simulated(tmp_path, "1/2", "2/2")
    shutil.rmtree(next(tmp_path.rglob("reductions")))
    region = Reduce._region

    def meanwhile(self, where):
        if "reductions" in self.staged.results:
            monkeypatch.setattr(Reduce, "_region", region)
            assert main(arguments(tmp_path)) == 0
        return region(self, where)

    monkeypatch.setattr(Reduce, "_region", meanwhile)
    capsys.readouterr()
    simulated(tmp_path, "1/2")
    assert "are reduced" not in capsys.readouterr().out and not list(tmp_path.rglob("reductions"))


def test_a_file_that_is_lost_before_results_are_sealed_is_no_hole_in_them(tmp_path, small_regions, monkeypatch, capsys):
    reduced = reduce._reduce

    def losing(*arguments):
        found = reduced(*arguments)
        next(path for path in tmp_path.rglob("results.zarr*/status/c/**/*") if path.is_file()).unlink()
        return found

    monkeypatch.setattr(reduce, "_reduce", losing)
    assert main(arguments(tmp_path)) == 1 and "was lost while it was written" in capsys.readouterr().err
    monkeypatch.setattr(reduce, "_reduce", reduced)
    assert main(arguments(tmp_path)) == 0


def test_regions_count_while_units_code_and_request_are_the_same(tmp_path, small_regions, monkeypatch):
    simulated(tmp_path, "1/2", "2/2", "1/2")
    (study,) = (tmp_path / "xu").iterdir()
    kept = contents(study / "reductions")

    def sealed_again(**changes):
        for part in ("results.zarr", "summary.zarr"):
            (study / part / "zarr.json").unlink(missing_ok=True)
        for name, content in kept.items():
            (study / "reductions" / name).parent.mkdir(parents=True, exist_ok=True)
            (study / "reductions" / name).write_bytes(content)
        small_regions.clear()
        assert main(arguments(tmp_path, **changes)) == 0
        return len(small_regions)

    assert sealed_again() == 0
    assert sealed_again(replications="20") == 4
    monkeypatch.setattr("pipeline.cli.reduce.fingerprint", lambda part: "of other code")
    assert sealed_again() == 4
    monkeypatch.undo()


def test_a_failed_unit_that_is_taken_back_is_reduced_again(tmp_path, small_regions, monkeypatch):
    from pipeline.study.study import Study

    simulate = Study.simulate

    def failing(self, labels, block, *rest):
        if block == 1 and labels["epsilon"] == 1 and labels["m"] == 3:
            raise ArithmeticError("for once")
        return simulate(self, labels, block, *rest)

    monkeypatch.setattr(Study, "simulate", failing)
    for shard in ("1/2", "2/2", "1/2"):
        main(arguments(tmp_path, shard=shard))
    monkeypatch.setattr(Study, "simulate", simulate)
    assert len(small_regions) == 4
    kept = contents(next(tmp_path.rglob("reductions")))
    assert main(arguments(tmp_path, retry_failed="true", shard="2/2")) == 0
    assert main(arguments(tmp_path, retry_failed="true", shard="1/2")) == 0
    (study,) = (tmp_path / "xu").iterdir()
    for name, content in kept.items():  # as if a job that stood still wrote them now
        (study / "reductions" / name).parent.mkdir(parents=True, exist_ok=True)
        (study / "reductions" / name).write_bytes(content)
    assert main(arguments(tmp_path)) == 0
    monkeypatch.undo()
    without_report(monkeypatch)
    monkeypatch.setattr(layout, "SHARD_BYTES", 2000)
    assert main(arguments(tmp_path / "whole")) == 0
    whole, parts = results_of(tmp_path / "whole"), results_of(tmp_path)
    assert whole == parts


def test_a_study_of_one_region_is_left_to_the_last_job(tmp_path):
    words = arguments(tmp_path)
    for _ in range(2):
        done = command([*words, "shard=1/1"])
        assert done.returncode == 0 and "regions" not in done.stdout, done
    assert not list(tmp_path.rglob("reductions"))
