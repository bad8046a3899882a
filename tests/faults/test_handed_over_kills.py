"""Commands that archive and merge, killed at any moment: nothing finished is lost, no half is taken for a whole."""

import contextlib
import json
import os
import random
import shutil
import signal
import struct
import time
import zlib

import pytest
import yaml

from pipeline.__main__ import main
from pipeline.storage import contributions
from pipeline.storage.replications import Store
from tests.helpers.engine import arguments, contents, mapping, study
from tests.helpers.fault_runs import FULL, Tally
from tests.helpers.forked_commands import ForkedCommands

KILLS = 50 if FULL else 1
LONGEST = 120  # seconds for which the first byte is waited
HEADER = struct.Struct("<4s5H3L2H")  # before each entry of a zip file


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    with ForkedCommands(tmp_path_factory.mktemp("scratch")) as forked:
        yield forked


def _kill(number, begun, rng, seconds):
    """Kill a process some time after it began to write or, where `begun` is None, after its start."""
    if begun is None:
        time.sleep(rng.uniform(0, seconds))
    else:
        end = time.monotonic() + LONGEST
        while time.monotonic() < end and not begun():
            time.sleep(0.0005)
        time.sleep(rng.uniform(0, seconds / 40))
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)


def _bytes_of_whole_entries(partial):
    """Bytes of the entries at the beginning of a zip file that are whole, by their checksums."""
    content = partial.read_bytes() if partial.exists() else b""
    place = 0
    total = 0
    while len(content) - place >= HEADER.size:
        mark, *_, checksum, size, whole_size, name, more = HEADER.unpack_from(content, place)
        start = place + HEADER.size + name + more
        body = content[start : start + size]
        if mark != b"PK\x03\x04" or size < whole_size:  # the size is written last
            break
        if len(body) < size or zlib.crc32(body) != checksum:
            break
        place = start + size
        total += size
    return total


def test_archives(commands, tmp_path):
    """The bytes of an undisturbed archive, each time; the command that goes on reads what is whole from the file."""
    outputs = tmp_path / "outputs"
    assert main(arguments(outputs)) == 0
    (name,) = [f"xu/{path.name}" for path in (outputs / "xu").glob("lemmas-*")]
    target = tmp_path / "study.zip"
    words = ["archive", name, f"save={target}", f"outputs={outputs}", "cluster=synchronous"]
    printed = tmp_path / "printed.json"
    start = time.monotonic()
    assert commands.run(printed, [*words, "--json"]) == 0
    seconds = time.monotonic() - start
    expected = target.read_bytes()
    tally = Tally("archive: the command is killed", KILLS)
    rng = random.Random(42)
    resumed = []
    while tally.injected < KILLS:
        target.unlink()
        begun = rng.choice([None, lambda: any(tmp_path.glob("study.zip*"))])
        _kill(commands.start(printed, [*words, "--json"]), begun, rng, seconds)
        was_killed = commands.end() == -signal.SIGKILL
        tally.injected += was_killed
        is_finished = target.exists()
        is_whole = not is_finished or target.read_bytes() == expected
        partials = list(tmp_path.glob("study.zip.*.partial"))
        there = max(map(_bytes_of_whole_entries, partials), default=0)
        code = commands.run(printed, [*words, "--json"])
        answer = json.loads(printed.read_text())
        resumed.append(answer["bytes_written_before"])
        goes_on = code == 0 and (is_finished or resumed[-1] >= there)
        tally.check(is_whole and goes_on, target.read_bytes() == expected)
        assert not list(tmp_path.glob("*.partial"))
    print(f"{sum(map(bool, resumed))} of {len(resumed)} went on with what was there")


class Halves:
    """Two people's halves of the small study, in a folder, and how one takes in the other's."""

    def __init__(self, folder):
        self.folder = folder
        self.name = f"{study().name}-{study().key}"
        path = folder / "small.yaml"
        path.write_text(yaml.safe_dump(mapping(claims=False, figures=[]), sort_keys=False))
        words = [f"experiment={path}", "cluster=synchronous"]
        for person, shard in (("mine", "1/2"), ("theirs", "2/2")):
            assert main([*words, f"outputs={folder / person}", f"shard={shard}"]) == 0
        theirs = f"from={folder / 'theirs'}"
        self.merge = ["merge", *words, theirs, "contributor=Ada", "recompute=3", "--json"]

    def copy(self, name):
        """The words that merge into a copy of my half."""
        shutil.copytree(self.folder / "mine", self.folder / name)
        return [*self.merge, f"outputs={self.folder / name}"]

    def units(self, name):
        """Name -> bytes of the units in a folder of outputs, without those that were being written."""
        files = contents(self.folder / name / self.name / "replications/units")
        return {key: files[key] for key in files if not key.endswith(".partial")}

    def records(self, name):
        """The folder of what is known of contributors."""
        return self.folder / name / self.name / "replications/merged"

    def count_in_records(self, name):
        """Units that the only contributor is said to have given; None where a merge is not finished."""
        (record,) = contributions.all_of(Store(study(), self.folder / name / self.name))
        is_finished = not list(self.records(name).glob("*.plan"))
        is_same = sum(writer.units for writer in record.writers) == record.units
        return record.units if is_finished and is_same else None


def test_merges(commands, tmp_path):
    """The units of an undisturbed merge, each whole; writer and contributor are known, none is counted twice."""
    halves = Halves(tmp_path)
    printed = tmp_path / "printed.json"
    start = time.monotonic()
    assert commands.run(printed, halves.copy("whole")) == 0
    seconds = time.monotonic() - start
    expected = halves.units("whole")
    before = len(halves.units("mine"))
    tally = Tally("merge: the command is killed", KILLS)
    rng = random.Random(42)
    taken = []
    while tally.injected < KILLS:
        words = halves.copy("mended")
        records = halves.records("mended")
        begun = rng.choice([None, lambda records=records: any(records.glob("*"))])
        _kill(commands.start(printed, words), begun, rng, seconds)
        tally.injected += commands.end() == -signal.SIGKILL
        whole = halves.units("mended")
        taken.append(len(whole) - before)
        assert commands.run(printed, words) == 0
        (merged,) = json.loads(printed.read_text())["studies"]
        nothing_lost = merged["units"] == len(expected) - len(whole)
        is_counted = halves.count_in_records("mended") == len(expected) - before
        survived = whole.items() <= expected.items() and nothing_lost and is_counted
        tally.check(survived, halves.units("mended") == expected)
        shutil.rmtree(tmp_path / "mended")
    print(f"units that were taken in before the kill: {taken}")
