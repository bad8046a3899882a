"""A thousand damages on disk by hand: each is found by `task=verify`, and repair and resume give the old bytes."""

import random

import pytest

from pipeline.__main__ import main
from tests.helpers.engine import arguments, contents, without_report
from tests.helpers.fault_runs import FULL, Tally

GRID = {
    "grid.m": "[3,4,5,6]",
    "grid.L": "[20,30]",
    "replications": "200",
    "metrics": "[lean_true,lean_debiased]",
}
KINDS = ("bit flip", "truncation", "deletion", "stray partial file")
AT_ONCE = 40


def harm(path, kind, chance):
    """Damage one file, or leave half of one beside it; which file that is."""
    if kind == "stray partial file":
        path = path.with_name(f"{path.name}.{chance.randrange(16**8):08x}.partial")
        path.write_bytes(bytes(chance.randrange(256) for _ in range(chance.randrange(200))))
    elif kind == "deletion":
        path.unlink()
    elif kind == "truncation":
        path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])
    else:
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
    return path


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(25) if FULL else range(2))
def test_damage_is_found_and_repaired(seed, tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    words, chance = arguments(tmp_path, **GRID), random.Random(seed)
    assert main(words) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    raw = folder / "replications"
    before, sealed = contents(raw), contents(folder / "results.zarr")
    tallies = {kind: Tally(f"{kind} on disk", AT_ONCE // len(KINDS)) for kind in KINDS}
    units = [name for name in before if name.startswith("units/")]
    expected = set()
    for number, name in enumerate(["study.json", *chance.sample(units, AT_ONCE - 1)]):
        kind = KINDS[(number + seed) % len(KINDS)]
        path = harm(raw / name, kind, chance)
        tallies[kind].injected += 1
        if (
            kind != "deletion" or name == "study.json"
        ):  # a unit without a file is one that is not run
            expected.add(str(path.relative_to(raw)))
    capsys.readouterr()
    assert main([*words, "task=verify"]) == 1
    found = {
        line.removeprefix("  damaged: ").partition(": ")[0]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("  damaged: ")
    }
    survived = found == expected
    assert main([*words, "task=verify", "repair=true"]) == 0
    assert main(words) == 0
    identical = contents(raw) == before and contents(folder / "results.zarr") == sealed
    for tally in tallies.values():
        tally.check(survived, identical)
    assert main([*words, "task=verify"]) == 0
