"""Audits whose samples are studies: kept, resumed after a stop, and drawn by other processes."""

import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import pipeline as pl
from pipeline.auditing import blocks
from pipeline.auditing.blocks import Sizes
from pipeline.auditing.bounds import RULES, Counts, certified
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import best_rule
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.workflow.kept_audit import keeping_of
from tests.helpers.audited import EPSILON, half_noise, noisy_count  # a fingerprint of few files

PAIR = ([0, 1, 1], [0, 1, 0])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The answer of an audit with its power, and the folder of outputs."""
    outputs = tmp_path_factory.mktemp("outputs")
    answer = audit(noisy_count, outputs, repeats=1)
    return answer, outputs


def audit(mechanism, outputs, **options):
    """A kept audit of few samples, in this process."""
    return pl.audit(
        mechanism,
        PAIR,
        epsilon=EPSILON,
        samples=10_000,
        outputs=str(outputs),
        cluster="synchronous",
        **options,
    )


def test_an_audit_is_kept_listed_and_has_a_page(kept):
    answer, outputs = kept
    assert answer.verdict == "not refuted" and 0.7 < answer.epsilon_lower < EPSILON
    assert answer.power["a number without noise"].found == 1
    (record,) = outputs.glob("audit/noisy-count-*/audit.json")
    content = json.loads(record.read_text())
    assert content.pop("date").startswith("20") and content.pop("code") == ""
    assert content == answer.record()
    page = record.with_name("audit.html").read_text()
    assert "not refuted" in page and "a number without noise" in page and "<script" not in page
    names = [study.name.rpartition("-")[0] for study in pl.list_studies(str(outputs))]
    assert names == ["audit/noisy-count", "audit/noisy-count-power"]


def test_the_same_call_draws_nothing_again(kept, monkeypatch):
    answer, outputs = kept

    def draw(*arguments):
        raise AssertionError("samples are drawn again")

    monkeypatch.setattr("pipeline.auditing.blocks.EventCounts.release", draw)
    monkeypatch.setattr("pipeline.auditing.blocks.PlantedFaults.release", draw)
    assert audit(noisy_count, outputs, repeats=1).record() == answer.record()


def test_a_stopped_audit_goes_on_to_the_same_answer(kept, tmp_path):
    answer, _ = kept
    with pytest.raises(pl.Stopped):
        audit(noisy_count, tmp_path, repeats=0, stop_after=1e-3)
    again = audit(noisy_count, tmp_path, repeats=0)
    assert (again.epsilon_lower, again.event) == (answer.epsilon_lower, answer.event)


def test_other_code_is_another_study(kept):
    _, outputs = kept
    wrong = audit(half_noise, outputs)
    assert wrong.violates and wrong.epsilon_lower > 1.3
    assert len(list(outputs.glob("audit/*/audit.json"))) == 2


def test_the_command_keeps_audits_of_problems(tmp_path, monkeypatch, capsys):
    from pipeline.__main__ import main

    monkeypatch.chdir(tmp_path)
    words = "audit problem=ranking mechanism=laplace epsilon=1 m=3 samples=4000 repeats=0 --json"
    code = main([*words.split(), f"grid={2.0**-20}", "cluster=synchronous"])
    answer = json.loads(capsys.readouterr().out)
    assert code == EXIT_DONE and answer["verdict"] == "not refuted" and answer["level"] == "samples"
    assert len(list((tmp_path / "outputs/audit").glob("*/audit.html"))) == 1


def test_words_of_a_run_keep_an_audit():
    keeping, others = keeping_of({"problem": "crowd", "cluster.workers": 2, "outputs": "x"}, ())
    assert keeping is not None and keeping.cluster.workers == 2
    assert others == {"problem": "crowd"} and keeping_of(others, ()) == (None, others)
    with pytest.raises(pl.InvalidInput, match="cluster"):
        keeping_of({"cluster": "nowhere"}, ())


def test_sizes_use_all_samples():
    for total in (100, 4_000, 123_457, 3_000_000):
        sizes = Sizes.of(total)
        assert 0 <= total - sizes.learned - sizes.chosen - sizes.certified < max(sizes.units, 2)


CASES = [(2_000, 0.731, 1.0), (2_000, 0.05, 1.0), (500, 0.03, 1.0), (3_000, 0.01, 3.0)]


@pytest.mark.parametrize(("trials", "hit", "epsilon"), CASES)
def test_bounds_of_both_chances_err_as_seldom_as_they_say(trials, hit, epsilon):
    """At the edge of the promise every rule errs with 5 % at most; with half of the noise often."""
    rng = np.random.default_rng(3)
    error = 0.05
    draws = 150
    promise = Promise(epsilon)
    for rule in RULES[1::5]:
        broken = []
        for factor in (1.0, 0.3):
            hits = rng.binomial(trials, hit, draws)
            alarms = rng.binomial(trials, hit * np.exp(-epsilon) * factor, draws)
            every = [
                Counts(int(h), trials, int(a), trials) for h, a in zip(hits, alarms, strict=True)
            ]
            broken.append(sum(promise.broken_by(rule.bounded(each, error)) for each in every))
        print(f"n = {draws}, {rule}: {broken[0]} wrong, at most 23 (α = 1e-6); control {broken[1]}")
        assert broken[0] <= 23 and broken[1] >= broken[0]


def test_the_best_rule_certifies_more_than_either_chance_by_itself():
    tried = Counts(7_310, 10_000, 2_690, 10_000)
    counts = Counts(51_170, 70_000, 18_830, 70_000)
    rule = best_rule(tried, Promise(EPSILON), 0.001, 70_000)
    together = rule.bounded(counts, 0.001).epsilon(0)
    assert certified(counts, 0.001).epsilon(0) + 0.004 < together < EPSILON


def files_of(outputs):
    """Bytes of what an audit computed: units and results, and the record without its command."""
    folder = Path(outputs)
    contents = {}
    for pattern in ("replications/units/*/*", "results.zarr/**/*"):
        for path in folder.glob(f"audit/noisy-count-*/{pattern}"):
            if path.is_file():
                contents[str(path.relative_to(folder))] = path.read_bytes()
    (record,) = folder.glob("audit/noisy-count-*/audit.json")
    content = json.loads(record.read_bytes())
    del content["command"]
    contents["audit.json"] = json.dumps(content).encode()
    return contents


def test_a_killed_audit_goes_on_to_the_same_bytes(kept, tmp_path):
    """The process is killed in the middle of a unit, once for samples and once for faults."""
    answer, outputs = kept
    for mechanism, call in (("EventCounts", 4), ("PlantedFaults", 3)):
        child = os.fork()
        if child == 0:
            _killed_in(mechanism, call)
            audit(noisy_count, tmp_path, repeats=1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    units = len(list(tmp_path.glob("audit/noisy-count-*/replications/units/*/*")))
    assert 0 < units < len(list(outputs.glob("audit/noisy-count-*/replications/units/*/*")))
    again = audit(noisy_count, tmp_path, repeats=1)
    assert again.event == answer.event and again.power == answer.power
    assert files_of(tmp_path) == files_of(outputs)


def _killed_in(mechanism, call):
    """In a child: it ends by SIGKILL in that call of the mechanism of blocks."""
    kind = getattr(blocks, mechanism)
    release = kind.release
    calls = []

    def killed(self, data, rng):
        calls.append(None)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return release(self, data, rng)

    kind.release = killed


def test_two_folders_are_merged_to_the_bytes_of_one(kept, tmp_path):
    """Each has every second unit; units of which one is damaged are not taken in."""
    answer, outputs = kept
    mine = tmp_path / "mine"
    hers = tmp_path / "hers"
    for number, folder in enumerate((mine, hers)):
        shutil.copytree(outputs, folder)
        for sealed in folder.glob("audit/*/results.zarr"):
            shutil.rmtree(sealed)
        units = sorted(folder.glob("audit/noisy-count-*/replications/units/*/*"))
        for unit in units[number::2]:
            unit.unlink()
    damaged = tmp_path / "damaged"
    shutil.copytree(hers, damaged)
    unit = next(damaged.glob("audit/noisy-count-*/replications/units/*/*"))
    content = bytearray(unit.read_bytes())
    content[len(content) // 2] ^= 1
    unit.write_bytes(content)
    with pytest.raises(pl.InvalidInput, match="nothing is merged"):
        audit(noisy_count, mine, repeats=1, origin=str(damaged))
    merged = audit(noisy_count, mine, repeats=1, origin=str(hers), contributor="Ada")
    assert merged.record()["event"] == answer.event and "Ada" not in merged.command
    ours = files_of(mine)
    whole = files_of(outputs)
    unlike = [name for name in whole if ours[name] != whole[name]]
    assert [Path(name).name for name in unlike] == ["zarr.json"] * len(unlike)  # contributors
    assert ours.keys() == whole.keys()
