"""Law 4: what fails or does not converge is kept, counted, explained, and can be run again."""

import dataclasses
import re
import shlex
import threading

import numpy as np
import pytest
import xarray as xr

import pipeline as pl
from pipeline.__main__ import main
from pipeline.analysis.summary import summarise
from pipeline.cli.compose import compose
from pipeline.execution.errors import SweepError
from pipeline.execution.failures import FailuresAlike
from pipeline.execution.schedule import failures
from pipeline.identity import registry
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.storage.replications import Store
from pipeline.study.status import FAILED, NOT_CONVERGED, OK
from pipeline.workflow.config import read_experiment
from tests.helpers.commands_counted import command_in_a_fork
from tests.helpers.engine import arguments, contents, stamps, without_report

CELL = dict(m=4, L=20, epsilon=0.5)


def breaks(error, original=Debiased.fit):
    """The estimator, raising in one cell of four."""

    def fit(self, release, rng):
        if release.items == 4 and release.epsilon[0] == 0.5:
            raise type(error)(*error.args)
        return original(self, release, rng)

    return fit


@pytest.fixture(autouse=True, scope="module")
def only_the_program():
    """What a test replaces is no code of a person, whatever tests ran in this process before."""
    with registry.registered(alone=True):
        yield


@pytest.fixture
def words(tmp_path, monkeypatch):
    without_report(monkeypatch)
    return arguments(tmp_path)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    where = tmp_path_factory.mktemp("expected")
    with pytest.MonkeyPatch.context() as patch:
        without_report(patch)
        assert main(arguments(where)) == 0
    return contents(results(where))


def results(where):
    (folder,) = (where / "xu").iterdir()
    return folder / "results.zarr"


def kept(words, where):
    """The text of every failed unit that is stored, in the order of the grid."""
    store = Store(read_experiment(compose(words)[0]).study, results(where).parent)
    return [store.read(*unit, failed=True).error for unit in failures(store.listing())]


def traceback(text):
    """From the unit's simulation on: what is around it differs between a worker and a person."""
    lines = text.splitlines()
    return lines[next(i for i, line in enumerate(lines) if "in simulate" in line) :]


@pytest.mark.parametrize("cluster", ["synchronous", "threads"])
def test_a_unit_that_raises(cluster, words, tmp_path, monkeypatch, capsys, expected):
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(LinAlg("planted: singular matrix")))
        assert main([*words, f"cluster={cluster}"]) == 1
        out, err = capsys.readouterr()
        assert "2 failed units" in out and "task=replay" in out and "Traceback" not in out + err
        # Stored as failed, with the rest as ever.
        found = xr.open_zarr(results(tmp_path)).load()
        assert (found["status"].sel(CELL) == FAILED).all() and (
            found["status"] == FAILED
        ).sum() == 40
        assert (found["status"] == OK).sum() == 3 * 40
        for name in set(found.data_vars) - {"status"}:
            assert np.isnan(found[name].sel(CELL)).all()
        summary = summarise(found)
        assert summary["n_failed"].sel(CELL) == 40 == summary["n_failed"].sum()
        # Counted, with its error and the command that shows it.
        assert main([*words, "task=status"]) == 1
        out = capsys.readouterr().out
        assert (
            "8 of 8 units done" in out
            and "2 failed units" in out
            and "LinAlg: planted: singular matrix" in out
        )
        replays = [
            line.removeprefix("  failed: ")
            for line in out.splitlines()
            if line.startswith("  failed: ")
        ]
        assert len(replays) == 2
        for text, replay in zip(kept(words, tmp_path), replays, strict=True):
            line = shlex.split(replay, comments=True)
            assert line[0] == "pipeline" and main(line[1:]) == 1
            out, err = capsys.readouterr()
            assert traceback(err) == traceback(text) and "planted" in err
            assert f"block {line[-1].rpartition('-')[2]} of 2" in out
        # Still failed after another run: failures are results.
        assert main(words) == 1
        out = capsys.readouterr().out
        assert "nothing to do" in out and "2 failed units; retry_failed=true runs them again" in out
    # The fix, and only then another try.
    assert main([*words, "retry_failed=true"]) == 0
    out, err = capsys.readouterr()
    assert "2 units to do, 6 done before" in out and "failed" not in err
    assert kept(words, tmp_path) == [] and contents(results(tmp_path)) == expected
    assert main([*words, "task=status"]) == 0
    assert "0 failed units" in capsys.readouterr().out
    assert main(line[1:]) == 0
    assert "20 ok, 0 not converged" in capsys.readouterr().out


def test_what_fails_rarely_does_not_stop_a_run_however_often_it_does():
    """A tenth of the units that ended, and as many as are allowed: both must be reached."""
    alike = FailuresAlike(5)
    alike.add(1000, ["LinAlgError: singular"] * 99)
    assert alike.too_many == ""
    alike.add(0, ["LinAlgError: singular"])
    assert alike.too_many.startswith("100 of 1,000 units failed alike")


def test_units_that_fail_alike_stop_the_run(words, tmp_path, monkeypatch, capsys):
    """Five failures of a kind are many where a tenth fail; one of two cells that never fails is no reason to go on."""
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(LinAlg("planted: singular matrix")))
        few = [*words, "replications=2000"]  # 25 of 100 units fail for each of the cells
        assert main([*few, "most_failures=5"]) == 1
        out, err = capsys.readouterr()
        assert (
            re.search(r"error: [5-9] of \d+ units failed alike, the first with ", err)
            and "LinAlg: planted" in err
        )
        assert (
            "most_failures=0 goes on all the same; finished units are kept" in err
            and "Traceback" not in out + err
        )
        assert main([*few, "task=status"]) == 1  # as the run, although there is more to do
        said = capsys.readouterr().out
        assert re.search(
            r"failed, \d+ of 400 units in .*: [5-9] of \d+ units failed alike, the first with ",
            said,
        )
        before = int(said.split(" of ")[0].split()[-1])
        assert 5 <= before < 400
        with pytest.raises(SweepError, match="units failed alike"):
            pl.run(
                "xu/lemmas",
                grid={"m": [3, 4], "L": [20], "epsilon": [0.5, 1]},
                replications=2000,
                block=20,
                most_failures=5,
                cluster="synchronous",
                outputs=tmp_path,
                progress=False,
            )
        assert main([*few, "most_failures=0"]) == 1
        assert "100 failed units" in capsys.readouterr().out
    assert main([*words, "replications=2000", "retry_failed=true"]) == 0


class LinAlg(ArithmeticError):
    """An error that only this file knows."""


def test_a_retry_that_is_killed_is_not_taken_for_the_old_results(
    words, tmp_path, monkeypatch, capsys, expected
):
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(LinAlg("planted")))
        assert main(words) == 1
    with monkeypatch.context() as patch:
        patch.setattr(
            "pipeline.workflow.reduce.seal", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        assert main([*words, "retry_failed=true"]) == 75
    assert main(words) == 0
    assert "nothing to do" in capsys.readouterr().out and contents(results(tmp_path)) == expected


def test_a_long_error_keeps_its_end(words, tmp_path, monkeypatch):
    monkeypatch.setattr(Debiased, "fit", breaks(LinAlg("é" * 9000 + " the end")))
    assert main(words) == 1
    texts = kept(words, tmp_path)
    assert len(texts) == 2 and all(
        text.endswith("the end\n") and len(text.encode()) > 8000 for text in texts
    )


def test_what_does_not_converge_is_kept_with_its_value(words, tmp_path, monkeypatch, expected):
    def fit(self, release, rng, original=Debiased.fit):
        found = original(self, release, rng)
        return dataclasses.replace(found, converged=np.arange(len(found.theta)) % 4 > 0)

    monkeypatch.setattr(Debiased, "fit", fit)
    assert main(words) == 0
    found = xr.open_zarr(results(tmp_path)).load()
    assert (found["status"].values.reshape(-1, 4) == [NOT_CONVERGED, OK, OK, OK]).all()
    same = {
        name: data
        for name, data in contents(results(tmp_path)).items()
        if "/c/" in name and "status" not in name
    }
    assert same and {n: expected[n] for n in same} == same  # every value is what it would have been
    summary = summarise(found)
    assert (summary["n_not_converged"] == 10).all() and (summary["n_ok"] == 30).all()
    assert (summary["n_run"] == 40).all() and (summary["lean_true_n"] == 40).all()


def test_a_unit_out_of_memory_fails_and_the_others_are_done(
    words, tmp_path, monkeypatch, capsys, expected
):
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(MemoryError("no room")))
        assert main(words) == 1
    out, err = capsys.readouterr()
    assert "2 failed units" in out and "Traceback" not in out + err
    assert (
        "MemoryError: no room, also in slices of 16.00 MiB; give workers more memory, then retry_failed=true"
        in out
    )
    assert len(kept(words, tmp_path)) == 2
    assert main([*words, "retry_failed=true"]) == 0
    assert contents(results(tmp_path)) == expected


@pytest.mark.parametrize("cluster", ["synchronous", "threads"])
def test_what_the_machine_is_to_blame_for(cluster, words, tmp_path, monkeypatch, capsys, expected):
    error = OSError(28, "No space left on device")
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(error))
        assert main([*words, f"cluster={cluster}"]) == 1
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and str(error) in lines[0]
    assert (
        "finished units are kept, the same command goes on" in lines[0]
        and "Traceback" not in out + err
    )
    (folder,) = (tmp_path / "xu").iterdir()
    assert kept(words, tmp_path) == [] and not (folder / "results.zarr").exists()
    before = stamps(folder / "replications/units")
    assert len(before) < 8
    assert main([*words, "task=status"]) == 1
    assert main(words) == 0
    assert before.items() <= stamps(folder / "replications/units").items()
    assert contents(folder / "results.zarr") == expected


def test_a_full_disk_while_writing(words, tmp_path, monkeypatch, capsys, expected):
    write, count = Store.write, iter(range(100))
    one_at_a_time = threading.Lock()  # three units are whole when the disk is full

    def full(self, *rest, **options):
        with one_at_a_time:
            if next(count) == 3:
                raise OSError(28, "No space left on device")
            write(self, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "write", full)
        assert main(words) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert main(words) == 0
    assert "5 units to do, 3 done before" in capsys.readouterr().out
    assert contents(results(tmp_path)) == expected


def test_an_unknown_unit_is_named(words, capsys):
    for unit in ("c0123456789abcdef-0", "c0-9", "nonsense", "-", "c-1"):
        assert main([*words, "task=replay", f"unit={unit}"]) == 2
        assert f"unit={unit}: no such unit" in capsys.readouterr().err
    assert main([*words, "task=replay"]) == 2
    assert "task=status prints" in capsys.readouterr().err


def test_a_retry_that_is_killed_half_way_goes_on(words, tmp_path, monkeypatch, capsys, expected):
    with monkeypatch.context() as patch:
        patch.setattr(Debiased, "fit", breaks(LinAlg("planted")))
        assert main(words) == 1
    (folder,) = (tmp_path / "xu").iterdir()
    failed = sorted((folder / "replications/units").rglob("*.failed"))
    assert len(failed) == 2
    failed[0].unlink()  # after which the retry is killed
    assert main([*words, "retry_failed=true"]) == 0
    assert not list((folder / "replications/units").rglob("*.failed"))
    assert main(words) == 0 and contents(results(tmp_path)) == expected
    capsys.readouterr()
    assert main([*words, "task=status"]) == 0
    assert "0 failed units" in capsys.readouterr().out


def test_only_failures_of_the_grid_count_and_are_tried_again(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Debiased, "fit", breaks(LinAlg("planted")))
    assert main(words) == 1
    capsys.readouterr()
    assert main([*words, "grid.m=[3]", "task=status"]) == 0
    assert "0 failed units" in capsys.readouterr().out
    assert main([*words, "grid.m=[3]", "retry_failed=true"]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert len(kept(words, tmp_path)) == 2


def test_replay_of_a_study_under_another_name(words, monkeypatch, capsys):
    monkeypatch.setattr(Debiased, "fit", breaks(LinAlg("planted")))
    words = [*words, "name=mine"]
    assert main(words) == 1 and main([*words, "task=status"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  failed: ")]
    assert main(shlex.split(lines[0].removeprefix("  failed: "), comments=True)[1:]) == 1
    assert "planted" in capsys.readouterr().err


OWN = """
from dataclasses import dataclass
import pipeline as pl

@dataclass(frozen=True)
class Mine(pl.ranking.Debiased):
    def fit(self, release, rng):
        if self.m == 3:
            {fault}
        return super().fit(release, rng)

pl.register("ranking", estimators={{"mine": Mine}})
"""


def test_units_that_failed_run_again_once_their_code_has_changed(tmp_path):
    """And only then: the same code again changes nothing, and neither does another comment.

    Its file has a name of its own: a process reads the code of a module once, and other tests here
    may have read a `parts.py`.
    """
    words = [
        "--with",
        "failing_parts.py",
        "experiment=xu/lemmas",
        "grid={m: [3, 4], L: [20], epsilon: [1]}",
        "replications=20",
        "block=10",
        "parameters.estimator=mine",
        "metrics=[estimate_sum]",
        "cluster=synchronous",
        "claims=false",
    ]
    for fault, code, said in (
        ("raise ArithmeticError('planted')", 1, "4 units to do"),
        ("raise ArithmeticError('planted')  # why?", 1, "nothing to do"),
        ("pass", 0, "2 units to do, 2 done before"),
        ("pass", 0, "nothing to do"),
    ):
        (tmp_path / "failing_parts.py").write_text(OWN.format(fault=fault))
        done = command_in_a_fork(words, tmp_path)
        assert (done.returncode, said in done.stdout) == (code, True), done.stdout + done.stderr
        note = "note: 2 failed units run again, as the code of estimator mine has changed"
        assert (note in done.stdout + done.stderr) == said.startswith("2 units")
