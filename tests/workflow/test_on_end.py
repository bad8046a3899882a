"""`on_end=COMMAND`: once, when a run has ended, with its exit code and outputs."""

import pytest

from pipeline.__main__ import main
from pipeline.study.study import Study
from pipeline.workflow import own_experiments
from tests.helpers.engine import arguments, without_report


@pytest.fixture
def noting(tmp_path, monkeypatch):
    """Words of a run that calls a command, and what the command noted so far."""
    without_report(monkeypatch)
    for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "SGE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    script, log = tmp_path / "notify.sh", tmp_path / "log"
    script.write_text(
        f'#!/bin/sh\necho "$PIPELINE_EXIT_CODE $PIPELINE_OUTPUTS $PIPELINE_STUDIES" >> {log}\n'
    )
    script.chmod(0o755)

    def lines():
        return log.read_text().splitlines() if log.exists() else []

    return arguments(tmp_path / "outputs", on_end=str(script)), lines


def test_a_command_is_called_once_at_the_end(noting, tmp_path):
    words, lines = noting
    assert main(words) == 0
    (study,) = (tmp_path / "outputs/xu").iterdir()
    assert lines() == [f"0 {tmp_path}/outputs {study}"]


def test_a_run_that_fails_or_is_refused_has_ended_as_well(noting, monkeypatch):
    words, lines = noting
    monkeypatch.setattr(Study, "simulate", lambda *_: 1 / 0)
    assert main(words) == 1
    monkeypatch.setattr("pipeline.execution.plan.shortage", lambda _: OSError("no disk"))
    assert main(words) == 1
    assert [line.split()[0] for line in lines()] == ["1", "1"]


def test_no_shard_and_no_job_that_comes_again_is_an_end(noting, monkeypatch):
    words, lines = noting
    assert main([*words, "shard=1/2"]) == 0
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert main([*words, "stop_after=0.000001"]) == 75
    assert lines() == []
    monkeypatch.delenv("SLURM_JOB_ID")
    assert main([*words, "stop_after=0.000001"]) == 75
    assert [line.split()[0] for line in lines()] == ["75"]


def test_a_command_that_fails_is_one_line(noting, capsys):
    words, _ = noting
    words = [word for word in words if not word.startswith("on_end")]
    assert main([*words, "on_end=exit 3"]) == 0
    assert capsys.readouterr().err.endswith("warning: on_end=exit 3 ended with code 3\n")


def test_no_file_brings_a_command():
    """An experiment that somebody sent must run nothing."""
    assert "on_end" not in own_experiments.KEYS | own_experiments.PASSED_OVER
