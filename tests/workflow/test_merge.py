"""Units of another person: checked here before they enter, and known ever after."""

import json
import re
import shutil

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.execution.schedule import Unit
from pipeline.storage import agreement, contributions, results
from pipeline.storage.replications import Store
from pipeline.storage.units import checksum
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import merge as merging
from pipeline.workflow.merge import merge
from tests.helpers import documented_json
from tests.helpers.engine import contents, job_of, mapping, stored, study

SEALED = (results.SEALED, results.SUMMARY)


def _run(folder, shard=None):
    """Simulate all of the small study, or a share of it, in a folder of its own."""
    from pipeline.execution import sweep
    from pipeline.execution.clusters import Executor
    from pipeline.execution.runner import Runner
    from pipeline.execution.schedule import Schedule

    small = study()
    store = Store(small, folder)
    store.begin()
    schedule = Schedule(small, store.listing(), shard or (0, 1))
    runner = Runner(store, schedule.references)
    sweep.run(Executor(), runner, iter(schedule), bundling=sweep.Bundling(total_cost=schedule.cost))
    return store


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Two halves and the whole, in three folders."""
    folder = tmp_path_factory.mktemp("halves")
    for name, shard in (("mine", (0, 2)), ("theirs", (1, 2)), ("whole", None)):
        _run(folder / name, shard)
    return folder


@pytest.fixture
def copies(halves, tmp_path):
    """The same, to be changed."""
    for name in ("mine", "theirs"):
        shutil.copytree(halves / name, tmp_path / name)
    return tmp_path


def _merge(folder, **settings):
    """Merge their half into mine; the study, and what was told."""
    whole = stored(study(), folder / "mine")
    words = {"task": "merge", "origin": str(folder / "theirs"), "contributor": "Ada", **settings}
    (merged,) = merge(job_of([whole], **words), "1")
    return whole, merged


def _sealed_files(whole):
    from pipeline.execution.clusters import Executor
    from pipeline.workflow import reduce

    reduce.seal(whole, Executor())
    return {
        f"{name}/{key}": content
        for name in SEALED
        for key, content in contents(whole.store.folder / name).items()
    }


def test_two_halves_are_the_bytes_of_one_run(copies, halves):
    """All but the attribute that names who contributed."""
    whole, merged = _merge(copies)
    assert merged.units == 24 and merged.shared <= 6
    after = _sealed_files(whole)
    before = _sealed_files(stored(study(), halves / "whole"))
    roots = [f"{name}/zarr.json" for name in SEALED]
    assert {k: v for k, v in after.items() if k not in roots} == {
        k: v for k, v in before.items() if k not in roots
    }
    for root in roots:
        mine = json.loads(after[root])["attributes"]
        theirs = json.loads(before[root])["attributes"]
        (contribution,) = json.loads(mine.pop("contributors"))
        assert contribution["contributor"] == "Ada" and contribution["units"] == 24
        (writer,) = contribution["writers"]
        assert writer["recomputed"] == 20 and 0 < writer["most_false"] < 0.14
        assert {k: v for k, v in mine.items() if k != "digest"} == {
            k: v for k, v in theirs.items() if k != "digest"
        }


def test_a_false_unit_does_not_enter(copies, halves):
    """One of 24 is changed; all are drawn. Nothing is merged, and the line names the unit."""
    path = _a_unit(copies / "theirs", but=copies / "mine")
    _forge(path)
    before = contents(copies / "mine" / "replications/units")
    with pytest.raises(InvalidInput, match="come out differently: .*nothing is merged"):
        _merge(copies, recompute=1000)
    assert contents(copies / "mine" / "replications/units") == before
    assert contributions.all_of(Store(study(), copies / "mine")) == []


def test_a_unit_with_other_bytes_stops_everything(copies):
    shared = [
        key
        for key in contents(copies / "theirs" / "replications/units")
        if (copies / "mine" / "replications/units" / key).exists()
    ]
    if not shared:  # give mine one of theirs first
        shared = [next(iter(contents(copies / "theirs" / "replications/units")))]
        target = copies / "mine" / "replications/units" / shared[0]
        target.parent.mkdir(exist_ok=True, parents=True)
        shutil.copyfile(copies / "theirs" / "replications/units" / shared[0], target)
    _forge(copies / "theirs" / "replications/units" / shared[0])
    before = contents(copies / "mine")
    with pytest.raises(InvalidInput, match="1 units that are here hold other numbers there: m="):
        _merge(copies)
    assert contents(copies / "mine").keys() == before.keys()


def test_a_damaged_unit_stops_everything(copies):
    path = _a_unit(copies / "theirs", but=copies / "mine")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="task=verify there says more; nothing is merged"):
        _merge(copies)


def test_units_whose_writer_nobody_recorded(copies):
    for record in (copies / "theirs" / "replications/agreed").glob("*"):
        record.unlink()
    with pytest.raises(InvalidInput, match="no record says what computed .*nothing is merged"):
        _merge(copies)


@pytest.mark.parametrize(
    "origin, says",
    [(None, "is needed"), ("nowhere", "has no study"), ("mine", "is the study itself")],
)
def test_where_from(copies, origin, says, monkeypatch):
    monkeypatch.chdir(copies)
    with pytest.raises(InvalidInput, match=says):
        _merge(copies, origin=origin)


def test_another_study_is_refused(copies):
    other = study(seed=12)
    shutil.rmtree(copies / "theirs")
    Store(other, copies / "theirs").begin()
    with pytest.raises(InvalidInput, match=r"another study \(seed differ\).*nothing is merged"):
        _merge(copies)


class _Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("after", [0, 1, 7, 23])
def test_a_merge_that_was_killed_goes_on(copies, halves, monkeypatch, after):
    """After so many units: each is whole, its writer and contributor are known; then all are."""
    take = Store.take
    taken = []

    def killed(self, *unit_and_content):
        if len(taken) == after:
            raise _Killed
        taken.append(unit_and_content)
        return take(self, *unit_and_content)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "take", killed)
        with pytest.raises(_Killed):
            _merge(copies)
    (record,) = contributions.all_of(Store(study(), copies / "mine"))
    assert record.units == 24
    whole, merged = _merge(copies)
    assert merged.units == 24 - after
    (record,) = contributions.all_of(whole.store)
    assert record.units == 24 and sum(writer.units for writer in record.writers) == 24
    assert not list((copies / "mine/replications/merged").glob("*.plan"))
    assert whole.store.listing().done.all()


def test_trials_of_somebody_else_do_not_count(copies):
    """A part that was tried there, as the record says, is tried here before it is relied on."""
    theirs = Store(study(), copies / "theirs")
    (agreed,) = agreement.recorded(theirs)
    agreement.record(theirs, agreed.writer, tried=["btl randomized_response debiased"])
    shutil.rmtree(copies / "mine")
    whole, merged = _merge(copies)
    assert merged.units == theirs.listing().done.sum()
    assert [record.tried for record in agreement.recorded(whole.store)] == [()]


@pytest.mark.parametrize("taken", [0, 3])
def test_a_unit_that_is_changed_after_it_was_checked(copies, monkeypatch, taken):
    """By whoever writes there: what enters is what was checked, so the merge stops before it."""
    take = contributions.plan
    path = sorted((copies / "theirs/replications/units").glob("*/*"))[-1]

    def changed(*words):
        for unit in sorted((copies / "theirs/replications/units").glob("*/*")):
            if unit == path or not taken:
                _forge(unit)
        return take(*words)

    monkeypatch.setattr(contributions, "plan", changed)
    with pytest.raises(InvalidInput, match="was changed while it was merged"):
        _merge(copies, recompute=1000)
    name = path.relative_to(copies / "theirs")
    assert not (copies / "mine" / name).exists()


def test_a_full_disk(copies, monkeypatch):
    """What was taken in stays, and the same command goes on."""
    take = Store.take
    taken = []

    def full(self, *unit_and_content):
        if len(taken) == 5:
            raise OSError(28, "No space left on device")
        taken.append(unit_and_content)
        return take(self, *unit_and_content)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "take", full)
        with pytest.raises(OSError, match="No space"):
            _merge(copies)
    assert _merge(copies)[1].units == 19


def test_two_at_once(copies):
    """The second waits for the first, and then finds everything there."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads:
        merged = list(threads.map(lambda _: _merge(copies)[1].units, range(2)))
    assert sorted(merged) == [0, 24]
    (record,) = contributions.all_of(Store(study(), copies / "mine"))
    assert record.units == 24


def test_the_command_says_what_was_verified(copies, capsys, monkeypatch):
    """From a folder of outputs; the report names the contributor, and verify checks the record."""
    import yaml

    config = mapping(claims=False, figures=[])
    path = copies / "small.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    name = f"{study().name}-{study().key}"
    for person in ("mine", "theirs"):
        target = copies / "of" / person / name
        target.parent.mkdir(parents=True)
        (copies / person).rename(target)
    words = [f"experiment={path}", f"outputs={copies / 'of/mine'}", "cluster=synchronous"]
    origin = f"from={copies / 'of/theirs'}"
    assert main(["merge", *words, origin, "contributor=Ada", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    documented_json.check("merge", entries)
    (answer,) = entries["studies"]
    assert answer["units"] == 24 and answer["writers"][0]["recomputed"] == 20
    assert main(words) == 0
    assert "nothing to do" in capsys.readouterr().out
    page = (copies / "of/mine" / name / "report.html").read_text()
    assert "Who simulated the units" in page and re.search(
        r"Ada</th><td[^>]*>24</td>\s*<td[^>]*>50", page
    )
    assert main(["verify", *words]) == 0
    (record,) = (copies / "of/mine" / name / "replications/merged").glob("*.json")
    record.write_text(record.read_text().replace('"units": 24', '"units": 12'))
    assert main(["verify", *words]) == 1
    assert "is not what this program wrote" in capsys.readouterr().out


def _a_unit(folder, but):
    """The file of a unit that the other folder lacks."""
    units = folder / "replications/units"
    for path in sorted(units.glob("*/*")):
        if not (but / "replications/units" / path.relative_to(units)).exists():
            return path
    raise AssertionError


def _forge(path):
    """Another first value, with a checksum that fits."""
    content = bytearray(path.read_bytes())
    place = content.index(b"\n") + 1 + 17
    value = np.frombuffer(bytes(content[place : place + 8]), "<f8") + 0.25
    content[place : place + 8] = value.tobytes()
    body = bytes(content[:-4])
    path.write_bytes(body + checksum(body))


def test_units_are_drawn_by_the_nonce():
    units = [Unit(cell, 0) for cell in range(100)]
    first = merging._drawn(units, 10, "a")
    assert first == merging._drawn(units, 10, "a") != merging._drawn(units, 10, "b")
    assert len(set(first)) == 10 and merging._drawn(units, 200, "a") == units
