"""An archive: the same bytes each time, gone on with after a kill, checked by who did not make it."""

import csv
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.execution.clusters import Synchronous
from pipeline.storage import results, zip_files
from pipeline.storage.datasets import file_digest
from pipeline.storage.zip_files import Entry, ZipWriter
from pipeline.workflow import archive as archives
from pipeline.workflow import ro_crate
from pipeline.workflow.archive import ArchiveRequest
from pipeline.workflow.likeness import alike
from pipeline.workflow.recomputed_units import Compared
from pipeline.workflow.reproduce import ReproduceRequest, reproduce
from tests.helpers.engine import arguments

FIGURE = "[{kind: curves, metric: estimate_sum, along: L}]"
WORDS = {
    "claims": "true",
    "figures": FIGURE,
    "grid.m": "[2]",
    "grid.L": "[20,50]",
    "grid.epsilon": "[0.5]",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A finished study of four units, with a protocol, claims and a figure."""
    folder = tmp_path_factory.mktemp("archive") / "outputs"
    words = arguments(folder, **WORDS)
    assert main(["protocol", *words]) == 0
    assert main(words) == 0
    return folder


@pytest.fixture(scope="module")
def archive(outputs):
    """Its archive."""
    return _archive(outputs, outputs.parent / "study.zip")


def _archive(outputs, target):
    (name,) = [f"xu/{path.name}" for path in (outputs / "xu").iterdir() if path.is_dir()]
    archives.archive(ArchiveRequest(outputs, name, str(target), Synchronous()), _silent)
    return target


def _silent(event):
    """Nobody listens."""


def _check(path, nonce="1"):
    return reproduce(ReproduceRequest(str(path), Synchronous()), _silent, nonce)


def _part(reproduced, name):
    (part,) = [part for part in reproduced.parts if part.part == name]
    return part


def test_an_archive_has_everything_but_data(archive, outputs):
    with zipfile.ZipFile(archive) as source:
        names = set(source.namelist())
        crate = source.read(ro_crate.NAME)
        assert source.testzip() is None
    digests = ro_crate.digests_in(crate)
    assert names == {*digests, ro_crate.NAME}
    for needed in (
        "README.md",
        "CITATION.cff",
        "archive.json",
        "requirements.txt",
        "report/report.html",
        "report/verdicts.csv",
        "outputs/xu/lemmas.protocol.json",
    ):
        assert needed in names
    for ending in ("results.zarr/zarr.json", "summary.zarr/zarr.json", "config.yaml", ".whl"):
        assert any(name.endswith(ending) for name in names)
    # No path of this machine, and no name of its user's folders.
    for name in names - {name for name in names if name.endswith(".whl")}:
        content = zipfile.ZipFile(archive).read(name)
        assert str(outputs.parent).encode() not in content, name


def test_the_same_study_gives_the_same_bytes(archive, outputs, tmp_path):
    again = _archive(outputs, tmp_path / "again.zip")
    assert again.read_bytes() == archive.read_bytes()


def test_metadata_meet_what_the_profile_asks_for(archive):
    """What RO-Crate 1.1 and Process Run Crate 0.5 say that a crate must have."""
    graph = json.loads(zipfile.ZipFile(archive).read(ro_crate.NAME))["@graph"]
    entities = {entity["@id"]: entity for entity in graph}
    assert len(entities) == len(graph)
    descriptor = entities["ro-crate-metadata.json"]
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = entities["./"]
    assert root["@type"] == "Dataset" and root["datePublished"] and root["name"]
    assert root["conformsTo"] == {"@id": ro_crate.PROFILE}
    assert "author" not in root  # nobody said
    assert root["license"] == ro_crate.NO_LICENCE
    for part in root["hasPart"]:
        assert entities[part["@id"]]["@type"] in (
            "File",
            "Dataset",
            ["File", "SoftwareApplication"],
        )
    actions = [entity for entity in graph if entity["@type"] == "CreateAction"]
    assert actions and [{"@id": action["@id"]} for action in actions] == root["mentions"]
    for action in actions:
        tool = entities[action["instrument"]["@id"]]
        assert "SoftwareApplication" in tool["@type"]
        for reference in (*action["object"], *action["result"]):
            assert reference["@id"] in entities
        assert action["startTime"] <= action["endTime"]


def test_an_archive_is_reproduced(archive, capsys):
    reproduced = _check(archive)
    assert reproduced.is_sound and reproduced.drawn == reproduced.units == 4
    assert reproduced.most_false == 0 and reproduced.close == 0
    assert {part.part for part in reproduced.parts} == {
        "files",
        "units",
        "results and summaries",
        "verdicts",
        "figures",
        "page and tables",
    }
    assert main(["reproduce", str(archive), "share=1%", "cluster=synchronous", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sound"] and answer["nonce"] != reproduced.nonce
    assert answer["parts"]["verdicts"]["equal"] == 4
    assert answer["for_review"].startswith("I reproduced study.zip on my machine: 4 of 4 units")


def test_the_bound_is_that_of_clopper_and_pearson():
    """1 − .05^(1/60) = 4.87 %, as the issue of all equal has a closed form."""
    assert Compared(10_000, 60, 0, ()).most_false == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-12)
    assert Compared(10_000, 60, 0, ("a",)).most_false > 0.07
    assert Compared(60, 60, 0, ()).most_false == 0


# --- falsified by somebody who makes all digests fit ------------------------------------------------


def _forged(archive, target, changes):
    """An archive with other files, whose metadata and root documents fit these."""
    with zipfile.ZipFile(archive) as source:
        files = {name: source.read(name) for name in source.namelist()}
    crate = json.loads(files.pop(ro_crate.NAME))
    for ending, change in changes.items():
        (name,) = [name for name in files if name.endswith(ending)]
        files[name] = change(files[name])
    for root in [name for name in files if name.endswith(".zarr/zarr.json")]:
        files[root] = _with_digests(files, root)
    for entity in crate["@graph"]:
        if "sha256" in entity:
            content = files[entity["name"]]
            entity["sha256"] = hashlib.sha256(content).hexdigest()
            entity["contentSize"] = str(len(content))
    files[ro_crate.NAME] = json.dumps(crate).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as forged:
        for name, content in files.items():
            forged.writestr(name, content)
    return target


def _with_digests(files, root):
    """The root document of a dataset, as this program would write it for these files."""
    folder = root.removesuffix("zarr.json")
    document = json.loads(files[root])
    listed = document["attributes"]["files"]
    for key in listed:
        listed[key] = file_digest(files[folder + key])
    document["attributes"]["digest"] = results._digest(document)
    return results._serialise(document)


def _other_values(content):
    """A chunk of one shard with its first value changed, and a checksum that fits."""
    values = bytearray(content)
    values[3] ^= 1
    return bytes(values)


def _other_moment(content):
    """A chunk of moments with another mean; its checksum fits."""
    numbers = np.frombuffer(content[:-4], "<f8").copy()
    numbers[0] += 1.0
    body = numbers.tobytes()
    return body + zip_checksum(body)


def zip_checksum(body):
    """CRC-32C as a chunk has it."""
    from pipeline.storage.units import checksum

    return checksum(body)


def _other_verdict(content):
    """The table of verdicts, in which the first claim is supported."""
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    column = rows[0].index("verdict")
    rows[1][column] = "supported" if rows[1][column] != "supported" else "contradicted"
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


@pytest.mark.parametrize(
    "ending, change, part",
    [
        ("summary.zarr/estimate_sum/c/0/0/0/0", _other_moment, "results and summaries"),
        ("report/verdicts.csv", _other_verdict, "verdicts"),
        (".svg", lambda content: content.replace(b"<path", b"<path ", 1), "figures"),
        (
            "report/report.html",
            lambda page: page.replace(b"</h1>", b"!</h1>", 1),
            "page and tables",
        ),
    ],
)
def test_what_the_numbers_do_not_give_is_found(archive, tmp_path, ending, change, part):
    """All units are true, and all digests fit."""
    reproduced = _check(_forged(archive, tmp_path / "forged.zip", {ending: change}))
    assert _part(reproduced, "files").wrong == () and _part(reproduced, "units").wrong == ()
    assert not reproduced.is_sound and _part(reproduced, part).wrong


def test_a_false_unit_is_found_though_all_else_was_made_from_it(outputs, tmp_path):
    """Whoever forges a number simulates nothing: seal, summary, verdicts, page follow from it."""
    from tests.helpers.engine import contents

    forged = tmp_path / "outputs"
    for name, content in contents(outputs).items():
        target = forged / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    (study,) = [path for path in (forged / "xu").iterdir() if path.is_dir()]
    (unit, *_) = sorted((study / "replications/units").glob("*/*"))
    content = bytearray(unit.read_bytes())
    place = content.index(b"\n") + 1 + 17
    value = np.frombuffer(bytes(content[place : place + 8]), "<f8") + 0.25
    content[place : place + 8] = value.tobytes()
    body = bytes(content[:-4])
    unit.write_bytes(body + zip_checksum(body))
    for name in (results.SEALED, results.SUMMARY):
        (study / name / "zarr.json").unlink()
    (study / "report.yaml").unlink()
    assert main(arguments(forged, **WORDS)) == 0
    reproduced = _check(_archive(forged, tmp_path / "forged.zip"))
    wrong = [part.part for part in reproduced.parts if part.wrong]
    assert wrong == ["units"] and len(_part(reproduced, "units").wrong) == 1


def test_a_file_that_is_not_in_the_metadata_is_found(archive, tmp_path):
    target = tmp_path / "more.zip"
    target.write_bytes(archive.read_bytes())
    with zipfile.ZipFile(target, "a") as more:
        more.writestr("outputs/more.txt", "more")
    assert "is not in the metadata" in _part(_check(target), "files").wrong[0]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_nothing_is_written_outside(archive, tmp_path, name, capsys):
    target = tmp_path / "evil.zip"
    target.write_bytes(archive.read_bytes())
    with zipfile.ZipFile(target, "a") as more:
        more.writestr(name, "evil")
    assert main(["reproduce", str(target)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "evil").exists()


# --- kills, full disks, two at once -----------------------------------------------------------------


def _entries(folder, count=6):
    """Some files as entries."""
    entries = []
    for number in range(count):
        content = bytes([number]) * (1000 * number)
        entries.append(
            Entry(f"file{number}", len(content), lambda content=content: iter([content]))
        )
    return entries


def test_a_zip_file_that_was_killed_anywhere_goes_on(tmp_path):
    """At every 997th byte: what is whole is kept, what is torn is written again."""
    whole = tmp_path / "whole.zip"
    with ZipWriter(whole, "k") as writer:
        for entry in _entries(tmp_path):
            writer.add(entry)
        writer.finish()
    content = whole.read_bytes()
    resumed = []
    for cut in range(0, len(content), 997):
        target = tmp_path / "cut.zip"
        target.with_name("cut.zip.k.partial").write_bytes(content[:cut])
        with ZipWriter(target, "k") as writer:
            for entry in _entries(tmp_path):
                writer.add(entry)
            writer.finish()
            resumed.append(writer.resumed)
        assert target.read_bytes() == content
    assert resumed == sorted(resumed) and resumed[0] == 0 and resumed[-1] == 10_000
    assert list(tmp_path.glob("*.partial")) == []


def test_an_entry_that_could_not_be_read_is_not_there(tmp_path):
    """As a disk that fails, or a file that is not what was written."""

    def broken():
        yield b"half"
        raise OSError("gone")

    target = tmp_path / "broken.zip"
    with pytest.raises(OSError, match="gone"), ZipWriter(target, "k") as writer:
        writer.add(_entries(tmp_path)[1])
        writer.add(Entry("b", 8, broken))
    with ZipWriter(target, "k") as writer:
        writer.add(_entries(tmp_path)[1])
        assert writer.resumed == 1000
        writer.add(Entry("b", 8, lambda: iter([b"12345678"])))
        writer.finish()
    assert zipfile.ZipFile(target).read("b") == b"12345678"


def test_two_that_write_one_archive(tmp_path):
    with (
        ZipWriter(tmp_path / "a.zip", "k"),
        pytest.raises(zip_files.Busy, match="by another process"),
        ZipWriter(tmp_path / "a.zip", "k"),
    ):
        pass


def test_a_damaged_study_is_not_archived(outputs, tmp_path, capsys):
    """A chunk that is not what was written: one line, and no archive."""
    (study,) = [path for path in (outputs / "xu").iterdir() if path.is_dir()]
    chunk = study / "results.zarr/estimate_sum/c/0/0/0/0"
    before = chunk.read_bytes()
    chunk.write_bytes(b"x" + before[1:])
    try:
        words = [f"xu/{study.name}", f"save={tmp_path / 'a.zip'}", f"outputs={outputs}"]
        assert main(["archive", *words, "cluster=synchronous"]) == 2
    finally:
        chunk.write_bytes(before)
    assert "estimate_sum" in capsys.readouterr().err and not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize(
    "first, second, is_alike",
    [
        ("mean 1.2345678901", "mean 1.2345678902", True),
        ("mean 1.2346", "mean 1.2348", False),
        ("5 of 6", "4 of 6", False),
        ("supported 1.0", "contradicted 1.0", False),
        ("1.5e-3", "1.6e-3", True),
        ("1.55e-3", "1.65e-3", False),
    ],
)
def test_texts_that_differ_by_arithmetic(first, second, is_alike):
    assert alike(first, second) == is_alike
