"""Law: whichever file of a finished study is damaged, and how, no task ends in a traceback or tells a wrong number.

Each damage is found, by an error line or by `task=verify`, or what a study says afterwards is what it said before.
"""

import copy
import functools
import itertools
import os
import random
import re
import shutil

import pytest
import xarray as xr

import pipeline as pl
import pipeline.cli.compose
import pipeline.workflow.effort
import pipeline.workflow.reports
from pipeline.__main__ import main
from pipeline.execution.sessions import sessions
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.reporting.drawn import Drawn
from pipeline.storage import replications
from pipeline.storage.replications import Store
from pipeline.study.parameters import InvalidInput
from tests.helpers.engine import arguments, contents

CHANGES = {
    "figures": "[{kind: curves, metric: lean_debiased, along: epsilon, by: [m]}]",
    "metrics": "[lean_true,lean_debiased]",
}
SAID = ("report.html", "summary.csv", "verdicts.csv")
TASKS = ("status", "plan", "run", "report")


def flip(path, chance):
    data = bytearray(path.read_bytes() or b"\0")
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def truncate(path, chance):
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(max(len(data), 1))])


def empty(path, _):
    path.write_bytes(b"")


def delete(path, _):
    path.unlink()


def folder(path, _):
    path.unlink()
    path.mkdir()


def binary(path, chance):
    path.write_bytes(b"\xff\xfe" + path.read_bytes()[2:])


FULL = os.environ.get("FAULTS") == "full"
DAMAGES = (flip, truncate, empty, delete, folder, binary)


def kind(name):
    """Files of one kind are read by the same code."""
    return re.sub(r"[0-9a-f]{16}|\d+", "0", re.sub(r"(zarr/)\w+(/)", r"\1variable\2", name))


def breaks(original=Debiased.fit):
    """The estimator, raising in one cell of four."""

    def fit(self, release, rng):
        if release.items == 4 and release.epsilon[0] == 0.5:
            raise ArithmeticError("planted \x1b[31m")
        return original(self, release, rng)

    return fit


def render(spec, results, summary, formats):
    """A figure that shows all numbers it is made of, in no time."""
    text = summary.to_dataframe().to_csv() + str(float(results[spec.metric].sum()))
    return Drawn(
        spec.kind, "title", "caption", "description", {"svg": b"<svg></svg>", "csv": text.encode()}
    )


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Configs are composed once, figures are tables, and the page is that of any time; nothing else is changed."""
    composed = functools.cache(
        lambda words, compose=pipeline.cli.compose.compose: compose([*words])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            pipeline.cli.compose, "compose", lambda words: copy.deepcopy(composed(tuple(words)))
        )
        patch.setattr("pipeline.workflow.assess.render", render)
        for module in (pipeline.workflow.reports, pipeline.workflow.effort):
            patch.setattr(module, "sessions", lambda folder: sessions(folder)[:0])
        patch.setattr(Debiased, "fit", breaks())
        patch.setattr(replications, "PACKED_FROM", 2)
        patch.setattr(replications, "PACK_UNITS", 2)
        patch.setattr(
            Store, "unpacked", lambda self, every=Store.unpacked: itertools.islice(every(self), 1)
        )
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory, quick):
    """A finished study, as a folder of outputs, with what it says."""
    where = tmp_path_factory.mktemp("finished")
    assert main(arguments(where, **CHANGES)) == 1  # units failed
    (study,) = (where / "xu").iterdir()
    shutil.copytree(study, where / "kept")
    return where, study, (shown(study), values(study))


def shown(study):
    """The report and its figure."""
    return {name: (study / name).read_bytes() for name in SAID} | contents(study / "figures")


def values(study):
    """All numbers of the sealed results."""
    with xr.open_zarr(study / "results.zarr") as results:
        return {str(name): results[name].values.tobytes() for name in results.variables}


def unlike(study, expected):
    """Files of the report that differ, but for a page that calls the damage by its name."""
    found = shown(study)
    different = {
        name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)
    }
    return (
        different - {"report.html"} if b"its file is damaged" in found["report.html"] else different
    )


def perform(where, capsys, task, **changes):
    """The exit code of a task and what it printed: never a traceback, at most one line of error."""
    code = main(arguments(where, **CHANGES | {"task": task} | changes))
    out, error = capsys.readouterr()
    lines = [line for line in error.splitlines() if line.startswith("error: ")]
    assert code in (0, 1, 2, 75) and "Traceback" not in out + error and len(lines) <= 1, (
        task,
        code,
        out,
        error,
    )
    assert "\x1b" not in out + error
    return code, lines


def compared(where, study, capsys):
    """What task=compare says of the study beside a sound copy of it; empty where it refuses."""
    names = f"{study.relative_to(where)},kept"
    code = main(["task=compare", f"studies={names}", f"outputs={where}"])
    out, error = capsys.readouterr()
    assert (code, error) == (0, "") or (
        code == 2 and error.count("\n") == 1 and error.startswith("error: studies=")
    )
    return out if code == 0 else ""


def listed(where, study, capsys):
    """What task=list says of the verdicts of the study; empty where it says that its report was changed."""
    assert main(["task=list", f"outputs={where}"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and "Traceback" not in out
    (line,) = [line for line in out.splitlines() if line.startswith(f"{study.relative_to(where)} ")]
    return "" if "were changed" in line else line.split("MiB")[-1].split("kiB")[-1]


def opened(study):
    """All numbers of the sealed results as the library gives them; None where it refuses."""
    try:
        results = pl.open_results(study)
    except InvalidInput as error:
        assert "\n" not in str(error)
        return None
    return {str(name): results[name].values.tobytes() for name in results.variables}


def readers_are_right(finished, case, before, capsys):
    """Those that only read what is sealed say what they said before the damage, or that there is one."""
    where, study, (_, numbers) = finished
    assert opened(study) in (None, numbers), case
    for reader in (compared, listed):
        assert reader(where, study, capsys) in ("", before[reader.__name__]), case


@pytest.fixture
def before(finished, capsys):
    """What those say of the sound study."""
    where, study, _ = finished
    shutil.rmtree(study)
    shutil.copytree(where / "kept", study)
    said = {reader.__name__: reader(where, study, capsys) for reader in (compared, listed)}
    assert all(said.values())
    return said


def survives(finished, before, name, damage, chance, capsys):
    where, study, (page, numbers) = finished
    shutil.rmtree(study)
    shutil.copytree(where / "kept", study)
    damage(study / name, chance)
    case = f"{damage.__name__} {name}"
    readers_are_right(finished, case, before, capsys)
    other = (
        {"report.html"} if name.startswith("sessions/") else set()
    )  # the page lists the sessions that are recorded
    clean, refused = perform(where, capsys, "verify")[0] == 0, False
    for task in TASKS:
        refused = bool(perform(where, capsys, task)[1])
        if task in ("run", "report") and not refused:
            assert not unlike(study, page) - other, (case, task)
    if clean and not refused:
        assert values(study) == numbers, case
    if damage is not folder or "/units/" in name:  # other folders only their owner may remove
        if not clean:
            perform(where, capsys, "verify", repair="true")
            code, lines = perform(where, capsys, "run")
            assert (code, lines) == (1, []), case
        assert not unlike(study, page) - other and values(study) == numbers, case


def kinds(finished):
    """Kind -> names of the files of that kind."""
    found = {}
    for name in contents(finished[0] / "kept"):
        found.setdefault(kind(name), []).append(name)
    assert 15 < len(found) < 30 and any(
        "/packs/" in name for names in found.values() for name in names
    )
    return found


def test_a_file_of_every_kind(finished, before, capsys):
    chance = random.Random(1)
    for number, names in enumerate(kinds(finished).values()):
        survives(
            finished, before, chance.choice(names), DAMAGES[number % len(DAMAGES)], chance, capsys
        )


def exchanged(study, where):
    """Chunks of two metrics, each whole and with its own checksum."""
    one, other = (
        study / f"results.zarr/{name}/c/0/0/0/0" for name in ("lean_true", "lean_debiased")
    )
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def stale(study, where):
    """The same chunk of fewer replications."""
    shutil.copyfile(
        where / "older/results.zarr/lean_true/c/0/0/0/0", study / "results.zarr/lean_true/c/0/0/0/0"
    )


def stale_moments(study, where):
    """All moments of fewer replications, which are sound in themselves."""
    shutil.rmtree(study / "summary.zarr")
    shutil.copytree(where / "older/summary.zarr", study / "summary.zarr")


def retyped(study, where):
    """Numbers of another type in the description of a metric."""
    path = study / "results.zarr/lean_true/zarr.json"
    path.write_text(path.read_text().replace("float64", "int64"))


def without_cells(study, where):
    """A shard of no chunk at all, as a power cut leaves it: to Zarr the values were never written."""
    path = study / "results.zarr/lean_true/c/0/0/0/0"
    path.write_bytes(b"")


@pytest.fixture(scope="module")
def older(finished):
    """The same study with half of the replications."""
    where = finished[0]
    elsewhere = where.with_name("elsewhere")
    assert main(arguments(elsewhere, **CHANGES, replications="20")) == 1
    (study,) = (elsewhere / "xu").iterdir()
    shutil.copytree(study, where / "older")
    yield where
    shutil.rmtree(where / "older")


@pytest.mark.parametrize("damage", [exchanged, stale, stale_moments, retyped, without_cells])
def test_sound_files_in_the_wrong_place_are_found(damage, finished, older, before, capsys):
    """By all who read them: the report, comparisons, the library."""
    where, study, _ = finished
    page = shown(study)
    damage(study, where)
    code, (line,) = perform(where, capsys, "report")
    assert code == 2 and "is damaged" in line and shown(study) == page
    if damage is not stale_moments:  # which only reports read
        assert opened(study) is None and compared(where, study, capsys) == ""
    assert perform(where, capsys, "verify")[0] == 1
    assert perform(where, capsys, "verify", repair="true")[0] == 0
    assert perform(where, capsys, "report") == (1, []) and opened(study) == finished[2][1]


@pytest.mark.skipif(not FULL, reason="takes minutes: FAULTS=full")
@pytest.mark.timeout(1800)
def test_every_file_once(finished, before, capsys):
    """The files of a kind are damaged in different ways."""
    chance, count = random.Random(1), 0
    for number, names in enumerate(kinds(finished).values()):
        for turn, name in enumerate(names):
            survives(
                finished, before, name, DAMAGES[(number + turn) % len(DAMAGES)], chance, capsys
            )
            count += 1
    assert count > 40


@pytest.mark.skipif(not FULL, reason="takes minutes: FAULTS=full")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_of_every_kind_of_file(damage, finished, before, capsys):
    chance = random.Random(damage.__name__)
    for names in kinds(finished).values():
        survives(finished, before, chance.choice(names), damage, chance, capsys)
