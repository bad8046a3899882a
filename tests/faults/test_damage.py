"""A thousand damages on disk by hand: each is found by `task=verify`, and repair and resume give the old bytes."""

import random

import pytest
from engine import arguments, contents, without_report
from runs import FULL, Tally

from pipeline.__main__ import main

GRID = {"grid.m": "[3,4,5,6]", "grid.L": "[20,30]", "replications": "200", "metrics": "[lean_true,lean_debiased]"}
KINDS = ("bit flip", "truncation", "deletion", "stray partial file")
AT_ONCE = 40
LABELS = ("label_m", "label_L", "label_epsilon")


def harm(path, kind, chance):
    """Damage one file; where the damage is, relative to the store's folder, and what verify calls it."""
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


def called(name):
    """How verify names the place of a damaged chunk."""
    variable, _, *place = name.split("/")
    if name.endswith(".partial"):
        return name
    return variable if variable in (*LABELS, "key") else f"{variable} row {place[0]} block {place[1]}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(25) if FULL else range(2))
def test_damage_is_found_and_repaired(seed, tmp_path, monkeypatch, capsys):
    without_report(monkeypatch)
    given, chance = arguments(tmp_path, **GRID), random.Random(seed)
    assert main(given) == 0
    (folder,) = (tmp_path / "xu").iterdir()
    raw = folder / "replications.zarr"
    before, sealed = contents(raw), contents(folder / "results.zarr")
    tallies = {kind: Tally(f"{kind} on disk", AT_ONCE // len(KINDS)) for kind in KINDS}
    # A key and a label of one cell cannot both be lost: one is made from the other.
    cells = ["key/c/0"] if seed % 2 else [f"{name}/c/0" for name in chance.sample(LABELS, 2)]
    units = [name for name in before if "/c/" in name and name.split("/")[0] not in (*LABELS, "key")]
    places = [*cells, *chance.sample(units, AT_ONCE - len(cells))]
    expected, undone = set(), set()
    for number, name in enumerate(places):
        kind = KINDS[number % len(KINDS)]
        path = harm(raw / name, kind, chance)
        tallies[kind].injected += 1
        if kind == "deletion" and name.startswith("status/"):
            undone.add(name)  # no damage: this is what "not run" looks like
        else:
            expected.add(called(str(path.relative_to(raw))))
    gone = {tuple(name.split("/")[2:]) for name in undone}
    expected = {place for place in expected if not any(place.endswith(f" row {r} block {b}") for r, b in gone)}
    capsys.readouterr()
    assert main([*given, "task=verify"]) == 1
    found = {line.removeprefix("  damaged: ").partition(": ")[0] for line in capsys.readouterr().out.splitlines()
             if line.startswith("  damaged: ")}
    survived = found == expected
    assert main([*given, "task=verify", "repair=true"]) == 0
    if cells == ["key/c/0"] or undone:
        main([*given, "task=verify", "repair=true"])
    assert main(given) == 0
    identical = contents(raw) == before and contents(folder / "results.zarr") == sealed
    for tally in tallies.values():
        tally.check(survived, identical)
    assert main([*given, "task=verify"]) == 0
