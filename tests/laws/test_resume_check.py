"""A sweep goes on only where its finished numbers come out the same, bit for bit."""

import json
import socket
import threading

import numpy as np
import pytest
from engine import arguments, contents, study, without_report

from pipeline import seal
from pipeline.__main__ import main
from pipeline.models.btl import BTL
from pipeline.parameters import InvalidInput
from pipeline.store import Store
from pipeline.work import Agenda, Work


@pytest.fixture
def begun(tmp_path, monkeypatch, capsys):
    """A finished study with three more blocks to do; its words and folder."""
    without_report(monkeypatch)
    assert main(arguments(tmp_path)) == 0
    capsys.readouterr()
    (folder,) = (tmp_path / "xu").iterdir()
    return arguments(tmp_path, replications=100), folder


def other(original=BTL.truth):
    """The same law from other numbers, as under a NumPy that draws uniforms in another way."""
    def truth(self, rng, reps, population):
        rng.random()
        return original(self, rng, reps, population)
    return truth


def test_the_same_numbers_go_on(begun, capsys):
    words, folder = begun
    assert main(words) == 0
    assert "12 units to do, 8 done before" in capsys.readouterr().out
    assert Store(folder).units() == 20


def test_other_numbers_are_refused_in_one_line(begun, monkeypatch, capsys):
    words, folder = begun
    before = contents(folder / "replications.zarr/status/c")
    now = seal.versions()
    with monkeypatch.context() as patch:
        patch.setattr(BTL, "truth", other())
        patch.setattr(seal, "versions", lambda: now | {"numpy": "99.0", "python": "4.0"})
        assert main(words) == 2
    out, err = capsys.readouterr()
    error = err.splitlines()[-1]  # the others tell how far it came: nowhere
    assert error.startswith("error: outputs=") and err.count("error: ") == 1 and "Traceback" not in out + err
    assert f"numpy {now['numpy']} → 99.0" in err and f"python {now['python']} → 4.0" in err
    unit = next(word for word in err.split() if word.startswith("c") and word.endswith("-0"))
    assert main([*words, "task=replay", f"unit={unit}"]) == 0
    assert contents(folder / "replications.zarr/status/c") == before
    assert main(words) == 0  # where it was begun, it goes on


def test_without_another_version_it_says_so(begun, monkeypatch, capsys):
    words, _ = begun
    monkeypatch.setattr(BTL, "truth", other())
    assert main(words) == 2
    assert "the same versions, so another code or type of CPU" in capsys.readouterr().err


@pytest.mark.parametrize("metric", ["lean_true", "error_debiased_squared"])
def test_one_bit_is_enough(begun, metric, monkeypatch, capsys):
    words, _ = begun
    from pipeline.registry import lookup

    part = lookup("metric", metric)
    original = part.__call__
    monkeypatch.setattr(part, "__call__", lambda self, *rest: np.nextafter(original(self, *rest), np.inf))
    assert main(words) == 2
    assert f"comes out differently on {socket.gethostname()} ({metric};" in capsys.readouterr().err


def test_a_finished_study_asks_nothing(begun, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(BTL, "truth", other())
    assert main(arguments(tmp_path)) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_damaged_unit_is_said_to_be_damaged(begun, capsys):
    words, folder = begun
    for chunk in (folder / "replications.zarr/lean_true/c").glob("*/*"):
        chunk.write_bytes(b"nonsense")
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "cannot be read" in error and "task=verify repair=true" in error and error.count("error: ") == 1


def test_of_two_types_only_one_sets_the_measure(tmp_path, monkeypatch):
    """Both made the witness while none was stored; the second is refused, however close they come."""
    what, store = study(), Store(tmp_path)
    rows = store.prepare(what)
    agenda = Agenda(what, rows, store.done(what, rows))
    first, second = (Work(what, Store(tmp_path), agenda.witness(store, elsewhere=True)) for _ in range(2))
    write = first.store.write
    met = []

    def come_close():
        with monkeypatch.context() as patch:
            patch.setattr(BTL, "truth", other())
            try:
                second([])
            except InvalidInput as error:
                met.append(str(error))

    driver = threading.Thread(target=come_close)

    def interrupted(*inputs):  # the first knows that nobody stored the witness, and is about to
        if not driver.ident:
            driver.start()
            driver.join(0.5)
        write(*inputs)

    monkeypatch.setattr(first.store, "write", interrupted)
    first([])  # as numbers of more units would be the other's, while it is patched
    driver.join()
    assert "comes out differently on" in met[0] and store.done(what, rows).sum() == 1


def test_failed_units_are_passed_over(begun, monkeypatch, capsys):
    """They have no numbers to compare; the next finished unit has."""
    words, folder = begun
    study = json.loads((folder / "replications.zarr/zarr.json").read_text())["attributes"]["study"]
    store = Store(folder)
    values = {name: np.full(20, np.nan) for name in study["metrics"]}
    for row, block in np.ndindex(4, 2):
        if (row, block) != (1, 1):
            store.write(row, block, values | {"status": np.full(20, 3, np.int8)}, "planted")
    monkeypatch.setattr(BTL, "truth", other())
    assert main(words) == 2
    assert "comes out differently on" in capsys.readouterr().err
