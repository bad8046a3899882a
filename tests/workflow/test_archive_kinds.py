"""Archives of studies of all kinds are reproduced, and malformed files in one are one line."""

import hashlib
import json
import random
import zipfile

import pytest

from pipeline.__main__ import main
from pipeline.identity import own_files, registry
from pipeline.storage import replications, results
from pipeline.workflow import ro_crate
from tests.helpers.engine import arguments
from tests.helpers.fault_runs import FULL

MINE = '''"""An estimator of a person, which cannot do four items."""
import pipeline as pl
from pipeline.identity.registry import problem

Debiased = problem("ranking").part("estimator", "debiased")


class Mine(Debiased):
    """As the debiased one."""

    def fit(self, release, rng):
        """The scores, (reps, m)."""
        if self.m == 4:
            raise ValueError("planted")
        return super().fit(release, rng)


pl.register("ranking", estimators={"mine": Mine})
'''
REFINED = {
    "grid.m": "[5]",
    "grid.epsilon": "[0.5,2]",
    "replications": "20",
    "refine.along": "epsilon",
    "refine.metric": "lean_true",
    "refine.level": "0.62",
    "refine.width": "0.5",
}
UNTIL = {"grid.m": "[5]", "replications": "200", "until.claims.least": "100", "claims": "true"}
KINDS = {"refined": REFINED, **({"until": UNTIL} if FULL else {})}


def _archived(outputs, *words):
    """Archive all studies in a folder of outputs; the file."""
    names = [path.relative_to(outputs).as_posix() for path in outputs.glob("xu/*-????????")]
    target = outputs.with_suffix(".zip")
    request = [",".join(names), f"outputs={outputs}", f"save={target}", "cluster=synchronous"]
    assert main(["archive", *request, *words]) == 0
    return target


def _reproduced(target, capsys, *words):
    """The answer of a check."""
    capsys.readouterr()
    code = main(["reproduce", str(target), "cluster=synchronous", "--json", *words])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0 and answer["sound"], answer["parts"]
    return answer


@pytest.mark.parametrize("kind", KINDS)
def test_studies_that_grow_or_stop_by_a_rule(kind, tmp_path, capsys):
    """The levels and replications that a rule added are in the archive, and follow from it again."""
    outputs = tmp_path / "outputs"
    assert main(arguments(outputs, **KINDS[kind])) == 0
    answer = _reproduced(_archived(outputs), capsys)
    assert answer["units"] > 2 if kind == "refined" else answer["units"] > 0


def test_packs_parts_of_a_person_and_failed_units(tmp_path, capsys, monkeypatch):
    """Parts are in the archive and are run only where they are given; a failed unit fails again."""
    monkeypatch.setattr(replications, "PACKED_FROM", 3)
    monkeypatch.setattr(replications, "PACK_UNITS", 3)
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    outputs = tmp_path / "outputs"
    changes = {"parameters.estimator": "mine", "metrics": "[error_l2]", "most_failures": "100"}
    with registry.registered(), own_files.restored():
        assert main([f"--with={mine}", *arguments(outputs, **changes)]) == 1
        assert list(outputs.rglob("packs/*"))
        target = _archived(outputs)
        answer = _reproduced(target, capsys)
        assert answer["units"] == 8 and answer["parts"]["units"]["equal"] == 8
    with registry.registered(), own_files.restored():
        assert main(["reproduce", str(target), "cluster=synchronous"]) == 2
        assert "has parts of its authors" in capsys.readouterr().err


# --- malformed files ----------------------------------------------------------------------------------

DAMAGES = 200 if FULL else 5
VALUES = [None, True, 0, 1e999, float("nan"), 10**400, "", "\udc80", [], {}, [[]], "../../x"]
WHOLE = [b"", b"null", b"[]", b"1", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"1" * 5000]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An archive of one unit, with a protocol."""
    outputs = tmp_path_factory.mktemp("malformed") / "outputs"
    words = arguments(outputs, **{"grid.m": "[2]", "grid.epsilon": "[0.5]", "replications": "20"})
    assert main(["protocol", *words]) == 0 and main(words) == 0
    return _archived(outputs)


def _places(value, path=()):
    """Paths to all values in a value of JSON."""
    yield path
    entries = {}
    if isinstance(value, dict):
        entries = value
    elif isinstance(value, list):
        entries = dict(enumerate(value))
    for key, entry in entries.items():
        yield from _places(entry, (*path, key))


def _with_damage(archive, target, chance):
    """Write an archive with one damaged file of JSON, whose metadata fit; the name of the file."""
    with zipfile.ZipFile(archive) as source:
        files = {name: source.read(name) for name in source.namelist()}
    roots = [name for name in files if name.endswith(".json") and _is_read_first(name)]
    name = chance.choice(roots)
    files[name] = _damaged(files[name], chance, name)
    if name != ro_crate.NAME:
        crate = json.loads(files[ro_crate.NAME])
        for entity in crate["@graph"]:
            if entity.get("name") == name:
                entity["sha256"] = hashlib.sha256(files[name]).hexdigest()
                entity["contentSize"] = str(len(files[name]))
        files[ro_crate.NAME] = json.dumps(crate).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as damaged:
        for key, content in files.items():
            damaged.writestr(key, content)
    return name


def _is_read_first(name):
    """Whether a file is none of those below a root document, which has their digests."""
    return ".zarr/" not in name or name.endswith(".zarr/zarr.json")


def _damaged(content, chance, name):
    """A file of JSON with something wrong in it; a root document has the digest that fits."""
    kind = chance.random()
    if kind < 0.1:
        return content[: chance.randrange(len(content))]
    if kind < 0.3:
        return chance.choice(WHOLE)
    value = json.loads(content)
    path = chance.choice([path for path in _places(value) if path])
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = chance.choice(VALUES)
    if name.endswith(".zarr/zarr.json") and isinstance(value.get("attributes"), dict):
        value["attributes"]["digest"] = results._digest(value)
        return results._serialise(value)
    return json.dumps(value, indent=1).encode()


def test_malformed_files_are_one_line(whole, tmp_path, capsys):
    """Whatever is wrong: exit code 1, and the part is named, or 2 and one line; never a traceback."""
    target = tmp_path / "damaged.zip"
    for seed in range(DAMAGES):
        name = _with_damage(whole, target, random.Random(seed))
        capsys.readouterr()
        code = main(["reproduce", str(target), "cluster=synchronous"])
        captured = capsys.readouterr()
        lines = captured.err.count("\n")
        # Some words of the metadata are for people and machines alone: nothing depends on them.
        is_idle = code == 0 and name.endswith(("ro-crate-metadata.json", ".protocol.json"))
        assert is_idle or (code == 1 and lines == 0) or (code == 2 and lines == 1), (seed, name)
