"""An archive: the same bytes each time, gone on with after a kill, checked by who did not make it."""

import base64
import csv
import hashlib
import io
import json
import platform
import re
import stat
import tempfile
import zipfile

import numpy as np
import pytest

from pipeline.__main__ import main
from pipeline.execution.clusters import Synchronous
from pipeline.execution.sessions import Session, for_others
from pipeline.storage import results, zip_files
from pipeline.storage.datasets import file_digest
from pipeline.storage.replications import Store
from pipeline.storage.zip_files import Entry, ZipWriter
from pipeline.workflow import archive as archives
from pipeline.workflow import ro_crate
from pipeline.workflow import wheel as wheels
from pipeline.workflow.archive import ArchiveRequest
from pipeline.workflow.archive_contents import Manifest
from pipeline.workflow.archive_reader import unpack
from pipeline.workflow.likeness import alike
from pipeline.workflow.lines import lines_of
from pipeline.workflow.recomputed_units import Compared
from pipeline.workflow.reproduce import ReproduceRequest, reproduce
from tests.helpers import engine
from tests.helpers.crate_validator import required_faults
from tests.helpers.engine import arguments

FIGURE = "[{kind: curves, metric: estimate_sum, along: L}]"
WORDS = {
    "claims": "true",
    "figures": FIGURE,
    "grid.m": "[2]",
    "grid.epsilon": "[0.5]",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A finished study of two units, with a protocol, claims and a figure."""
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


@pytest.fixture(scope="module")
def small_archive(archive):
    """The bytes of an archive of few files, which is refused only for what a test adds."""
    target = archive.with_name("small.zip")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(target, "w") as small:
        for name in ("README.md", "archive.json", "report/report.html", "report/verdicts.csv"):
            small.writestr(name, source.read(name))
        small.writestr(ro_crate.NAME, source.read(ro_crate.NAME))
    return target.read_bytes()


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


def test_the_published_validator_misses_nothing_that_is_required(archive, tmp_path, monkeypatch):
    """As control, without the date of the results, and the action that made them."""
    folder = tmp_path / "crate"
    with zipfile.ZipFile(archive) as source:
        source.extractall(folder)
    lines, checks = required_faults(folder, tmp_path / "cache", monkeypatch)
    print(f"{checks} checks")
    assert lines == [] and checks > 20
    path = folder / ro_crate.NAME
    crate = json.loads(path.read_text("utf-8"))
    crate["@graph"] = [entity for entity in crate["@graph"] if entity["@type"] != "CreateAction"]
    for entity in crate["@graph"]:
        entity.pop("datePublished", None)
    path.write_text(json.dumps(crate), "utf-8")
    lines, _ = required_faults(folder, tmp_path / "cache", monkeypatch)
    assert any("datePublished" in line for line in lines), lines


def test_an_archive_is_reproduced(archive, capsys):
    assert main(["reproduce", str(archive), "share=1%", "cluster=synchronous", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sound"] and answer["drawn"] == answer["units"] == 2
    assert answer["most_false"] == 0 and answer["within_1e-9"] == 0
    assert len(answer["nonce"]) == 32  # made here, as no word gives one
    assert main(["reproduce", str(archive), "nonce=1"]) == 2
    assert set(answer["parts"]) == {
        "files",
        "units",
        "results and summaries",
        "verdicts",
        "figures",
        "page and tables",
        "descriptions and program",
    }
    assert answer["parts"]["verdicts"]["equal"] == 4
    assert answer["for_review"].startswith("I reproduced study.zip on my machine: 2 of 2 units")


def test_the_bound_is_that_of_clopper_and_pearson():
    """1 − .05^(1/60) = 4.87 %, as the issue of all equal has a closed form."""
    assert Compared(10_000, 60, 0, ()).most_false == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-12)
    assert Compared(10_000, 60, 0, ("a",)).most_false > 0.07
    assert Compared(60, 60, 0, ()).most_false == 0


# --- falsified by somebody who makes all digests fit ------------------------------------------------


def _forged(archive, target, changes, more=(), with_roots=True):
    """An archive with other files and some more, whose metadata fit these; root documents, too."""
    with zipfile.ZipFile(archive) as source:
        files = {name: source.read(name) for name in source.namelist()}
    crate = json.loads(files.pop(ro_crate.NAME))
    for ending, change in changes.items():
        (name,) = [name for name in files if name.endswith(ending)]
        files[name] = change(files[name])
    for root in [name for name in files if name.endswith(".zarr/zarr.json")]:
        if with_roots:
            files[root] = _with_digests(files, root)
    for name, content in dict(more).items():
        files[name] = content
        crate["@graph"].append({"@id": name, "name": name, "sha256": "", "contentSize": ""})
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


def test_what_the_numbers_do_not_give_is_found(archive, tmp_path):
    """All units are true, and all digests fit: each part names what is false in it."""
    changes = {
        "summary.zarr/estimate_sum/c/0/0/0/0": _other_moment,
        "report/verdicts.csv": _other_verdict,
        "curves.svg": lambda content: content.replace(b"<path", b"<path ", 1),
        "report/report.html": lambda page: page.replace(b"</h1>", b"!</h1>", 1),
        "README.md": lambda content: content + b"All claims are supported.\n",
        "config.yaml": lambda content: content.replace(b"xu/lemmas", b"xu/lammas"),
        ".whl": lambda content: _zipped({"pipeline/evil.py": b""}),
    }
    reproduced = _check(_forged(archive, tmp_path / "forged.zip", changes))
    assert not reproduced.is_sound
    assert {part.part: [_name(line) for line in part.wrong] for part in reproduced.parts} == {
        "files": [],
        "units": [],
        "results and summaries": ["xu/lemmas"],
        "verdicts": ["xu/lemmas xu.lemma_1"],
        "figures": ["xu-lemmas-1-curves.svg"],
        "page and tables": ["report.html", "verdicts.csv"],
        "descriptions and program": ["README.md", "config.yaml", _wheel_of(archive)],
    }


def _of_another_machine(content):
    """What an archive says of itself that was made by another BLAS."""
    values = json.loads(content)
    values["arithmetic"]["BLAS"] = "openblas 0.3.29 Sandybridge"
    return (json.dumps(values, indent=1, ensure_ascii=False) + "\n").encode()


def test_another_arithmetic_is_told_and_compared_within_its_reach(archive, tmp_path):
    """A number on the page that differs in its last digit is that of another machine, one of percents is not."""
    page = zipfile.ZipFile(archive).read("report/report.html").decode()
    number = re.search(r">(\d\.\d+[1-8])<", page)
    last_digit = f"{number[1][:-1]}{int(number[1][-1]) + 1}"
    other_page = f"{page[: number.start(1)]}{last_digit}{page[number.end(1) :]}".encode()
    changes = {"report/report.html": lambda _: other_page}
    (part,) = [
        part for part in _check(_forged(archive, tmp_path / "a.zip", changes)).parts if part.wrong
    ]
    assert part.part == "page and tables"
    changes["archive.json"] = _of_another_machine
    reproduced = _check(_forged(archive, tmp_path / "b.zip", changes))
    assert reproduced.is_sound and not reproduced.exactly
    assert "arithmetic is another" in lines_of(reproduced)[0]
    wrong = {"report/verdicts.csv": _other_verdict, "archive.json": _of_another_machine}
    assert not _check(_forged(archive, tmp_path / "c.zip", wrong)).is_sound


def test_what_is_hidden_is_found(archive, tmp_path):
    """Moments beside a root document that lists the true ones; a part of the page that only a zip
    file in it has; and a page that the program does not write.
    """
    changes = {
        "summary.zarr/estimate_sum/c/0/0/0/0": _other_moment,
        "report/report.html": _without_a_part,
    }
    more = {"report/index.html": b"All claims are supported."}
    forged = _forged(archive, tmp_path / "forged.zip", changes, more, with_roots=False)
    wrong = {part.part: list(part.wrong) for part in _check(forged).parts if part.wrong}
    assert wrong == {
        "files": ["report/index.html: nothing says what it is"],
        "results and summaries": [
            "xu/lemmas: summary.zarr: estimate_sum/c/0/0/0/0: is not what was written "
            "(1 files are wrong)"
        ],
        "page and tables": ["report.html: is not what the stored numbers give"],
    }


def _name(line):
    """Of what a line tells: the last part of its name."""
    return line.partition(": ")[0].removeprefix("outputs/").rpartition("-0368a619/")[2]


def _wheel_of(archive):
    with zipfile.ZipFile(archive) as source:
        (name,) = [name for name in source.namelist() if name.endswith(".whl")]
    return name.removeprefix("program/")


def _zipped(files):
    """A zip file of some files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as inside:
        for name, content in files.items():
            inside.writestr(name, content)
    return target.getvalue()


def _without_a_part(page):
    """The page, in which a zip file stands for two of its lines."""
    lines = page.decode().split("\n")
    place = next(k for k, line in enumerate(lines) if "<h2" in line)
    inside = base64.b64encode(_zipped({lines[place]: lines[place + 1]})).decode()
    lines[place : place + 2] = [f"data:application/zip;base64,{inside}"]
    return "\n".join(lines).encode()


def test_a_false_unit_is_found_though_all_else_was_made_from_it(tmp_path):
    """Whoever forges a number simulates nothing: seal, summary and page follow from it."""
    forged = tmp_path / "outputs"
    assert main(arguments(forged)) == 0
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
    assert main(arguments(forged)) == 0
    reproduced = _check(_archive(forged, tmp_path / "forged.zip"))
    wrong = [part.part for part in reproduced.parts if part.wrong]
    assert wrong == ["units"] and len(_part(reproduced, "units").wrong) == 1


def test_a_file_that_is_not_in_the_metadata_is_found(archive, tmp_path):
    target = tmp_path / "more.zip"
    target.write_bytes(archive.read_bytes())
    with zipfile.ZipFile(target, "a") as more:
        more.writestr("outputs/more.txt", "more")
    unpacked = unpack(str(target), tmp_path / "unpacked")
    assert unpacked.wrong == ("outputs/more.txt: is not in the metadata",)


@pytest.mark.parametrize("words", [[], ["archive=missing.zip"], ["archive=text.zip"]])
def test_what_is_no_archive_is_refused_before_a_folder_is_made(
    words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.zip").write_text("no archive")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))  # none could be made
    assert main(["task=reproduce", "--json", *words]) == 2
    assert "must be a zip file" in capsys.readouterr().err


def _entry(name, kind=0, flags=0):
    info = zipfile.ZipInfo(name)
    info.external_attr = kind << 16
    info.flag_bits = flags
    return info


EVIL = {
    "outside": (_entry("../evil"), b"evil"),
    "absolute": (_entry("/tmp/evil"), b"evil"),
    "outside, below": (_entry("a/../../evil"), b"evil"),
    "two ways to one name": (_entry("report/./report.html"), b"evil"),
    "twice": (_entry("README.md"), b"evil"),
    "a link": (_entry("outputs/evil", stat.S_IFLNK | 0o777), b"/etc/passwd"),
    "below a file": (_entry("README.md/evil"), b"evil"),
    "too long": (_entry("evil" * 64), b"evil"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", EVIL)
@pytest.mark.parametrize("words", [["reproduce"], ["shelf"]])
def test_an_entry_that_is_not_meant_is_refused(small_archive, tmp_path, kind, words, capsys):
    """By one line, and nothing is written: neither here nor outside."""
    target = tmp_path / "evil.zip"
    target.write_bytes(small_archive)
    info, content = EVIL[kind]
    with zipfile.ZipFile(target, "a") as more:
        more.writestr(info, content)
    if words == ["shelf"]:
        words = [*words, f"save={tmp_path / 'site'}"]
    assert main([*words[:1], str(target), *words[1:]]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "must be a zip file that pipeline archive wrote" in err
    if words == ["reproduce"]:
        assert re.search("that this program writes|has two entries|that is a file", err)
    assert not (tmp_path / "evil").exists() and not (tmp_path / "site/evil").exists()


def _patched(content, name, place, value):
    """A zip file with another value in the directory's entry of a name: two bytes at a place."""
    start = content.rindex(b"PK\x01\x02", 0, content.rindex(name))
    return content[: start + place] + value + content[start + place + len(value) :]


@pytest.mark.parametrize(
    "place, value",
    [
        (8, b"\x01\x08"),
        (8, b"\x40\x08"),
        (10, b"\x08\x00"),
        (10, b"\x63\x00"),
        (24, b"\xff\xff\xff\x7f"),
    ],
    ids=["a password", "strong encryption", "deflated", "of no kind", "2 GiB"],
)
def test_a_zip_file_of_another_kind_is_refused(small_archive, tmp_path, place, value, capsys):
    """Before anything of it is read, metadata neither."""
    target = tmp_path / "evil.zip"
    target.write_bytes(_patched(small_archive, ro_crate.NAME.encode(), place, value))
    assert main(["reproduce", str(target)]) == 2
    assert "that this program writes" in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, 10, 100, 20_000])
def test_a_part_of_an_archive_is_refused(small_archive, tmp_path, size, capsys):
    target = tmp_path / "part.zip"
    target.write_bytes(small_archive[:size])
    assert main(["reproduce", str(target)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"studies": []},
        {"studies": "all"},
        {"title": 1},
        {"code": None},
        {"program": {"version": 1, "commit": ""}},
        {"format": 2},
        {"more": 1},
    ],
)
def test_an_archive_that_says_something_else_of_itself(archive, change):
    content = zipfile.ZipFile(archive).read("archive.json")
    with pytest.raises(ValueError):
        Manifest.read(json.dumps(json.loads(content) | change).encode())
    (of_study,) = json.loads(content)["studies"]
    for key, value in {"config": "a", "place": 1, "data": ["a"], "parts": {"a": 1}}.items():
        whole = json.loads(content) | {"studies": [of_study | {key: value}]}
        with pytest.raises(ValueError):
            Manifest.read(json.dumps(whole).encode())
    twice = json.loads(content) | {"studies": [of_study, of_study]}
    with pytest.raises(ValueError):
        Manifest.read(json.dumps(twice).encode())


# --- what must not get into one ---------------------------------------------------------------------


def test_no_answers_of_people_get_into_an_archive(tmp_path, monkeypatch, capsys):
    """Of their file only the name and the digest; no folder, no name of a machine or of its user."""
    monkeypatch.setattr(platform, "node", lambda: "machine-of-ada")
    folder = tmp_path / "home-of-ada"
    folder.mkdir()
    lines = [f"person-{k},{'AB'[k % 2]},{'BC'[k % 2]},{'BC'[k % 2]}" for k in range(40)]
    (folder / "answers.csv").write_text("\n".join(["person,first,second,winner", *lines]) + "\n")
    words = [
        "experiment=own/ranking",
        f"data.path={folder / 'answers.csv'}",
        f"outputs={folder / 'outputs'}",
        "grid.person=[1]",
        "grid.mechanism=[randomized_response]",
        "~parameters.compared_are",
        "replications=4",
        "block=2",
        "figures=[]",
        "cluster=synchronous",
    ]
    assert main(["protocol", *words]) == 0 and main(words) == 0
    (study,) = [path for path in (folder / "outputs/own").iterdir() if path.is_dir()]
    request = ArchiveRequest(
        folder / "outputs",
        f"own/{study.name}",
        str(tmp_path / "own.zip"),
        Synchronous(),
        files={"path": str(folder / "answers.csv")},
    )
    archives.archive(request, _silent)
    with zipfile.ZipFile(tmp_path / "own.zip") as source:
        files = {name: source.read(name) for name in source.namelist()}
    digest = hashlib.sha256((folder / "answers.csv").read_bytes()).hexdigest()
    assert json.loads(files["archive.json"])["studies"][0]["data"] == {"path": digest}
    for name, content in files.items():
        for secret in ("person-1", "home-of-ada", "machine-of-ada", str(tmp_path)):
            assert secret.encode() not in content, (name, secret)
    # Whoever has the file checks the archive with it; another file is refused.
    check = ["reproduce", str(tmp_path / "own.zip"), "cluster=synchronous"]
    assert main(check) == 2 and "data.path=FILE" in capsys.readouterr().err
    assert main([*check, f"data.path={folder / 'answers.csv'}"]) == 0
    other = tmp_path / "other.csv"
    other.write_text((folder / "answers.csv").read_text().replace("B,C,C", "B,C,B", 1))
    assert main([*check, f"data.path={other}"]) == 2
    assert "these files of data" in capsys.readouterr().err


def test_a_failure_is_told_without_folders(tmp_path):
    """Of a traceback its last line; of a session no error."""
    small = Store(engine.study(), tmp_path)
    small.begin()
    trace = 'Traceback:\n  File "/somewhere/ada/mine.py", line 1\nValueError: no'
    small.fail(1, 0, trace, "0" * 16)
    content = small.failure(1, 0)
    assert b"ada" not in content and content[:-4].endswith(b"ValueError: no")
    small.backend.put(small.key(1, 0, failed=True), content)
    assert small.read(1, 0).error == "ValueError: no" and small.read(1, 0).failed
    session = Session(tmp_path, "pipeline", 1)
    session.end("failed", error="[Errno 28] No space left on device: '/somewhere/ada/outputs'")
    (public,) = for_others(tmp_path).values()
    assert b"ada" not in public and json.loads(public)["state"] == "failed"


def test_what_a_person_keeps_beside_the_code_is_not_in_the_wheel(tmp_path):
    for name in ("mine.yaml", "answers.csv", "notes.xlsx", "a.yaml.partial"):
        (tmp_path / name).write_text("1")
    assert [path.name for path in wheels._below(tmp_path)] == ["mine.yaml"]


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
