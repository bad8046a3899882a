"""`task=controls`: what claims say of their wrong worlds, in words, and an exit code that says whether they see it."""

import dataclasses

import pytest

from pipeline.analysis.claims import SUPPORTED, NotSimulated, SimulatedControl
from pipeline.cli import controls
from pipeline.cli.compose import compose
from pipeline.cli.config import read_experiment
from pipeline.problems.common.changes import with_parameters
from pipeline.problems.crowd.claims.limits import CLAIMS
from pipeline.study.parameters import InvalidInput
from pipeline.study.wrong_worlds import unchanged

LOSS = next(claim for claim in CLAIMS if claim.id == "wang.theorem_1")
TWICE = SimulatedControl("twice the declared ε", with_parameters("mechanism", epsilon=lambda declared: 2 * declared))


def experiment(*words):
    return read_experiment(compose(["experiment=wang/privacy", "size=quick", *words])[0])


@pytest.fixture
def judged(monkeypatch, capsys):
    """Function that gives exit code and lines for claims with these controls."""

    def judged(*chosen):
        claims = tuple(dataclasses.replace(LOSS, simulated=control) for control in chosen)
        monkeypatch.setattr(controls, "claims_of", lambda experiment: claims)
        code = controls.controls([experiment()])
        return code, capsys.readouterr().out.splitlines()

    return judged


def test_a_line_for_each_claim_says_what_is_wrong_and_what_the_claim_says(judged):
    code, lines = judged(TWICE, NotSimulated("an exact number"))
    assert code == 0 and len(lines) == 3
    assert lines[0].startswith("  contradicted  wang.theorem_1, as it must be: twice the declared ε; all answers: 2.0")
    assert lines[1:] == ["  not simulated wang.theorem_1: an exact number",
                         "1 of 1 wrong worlds were judged as they must be"]


def test_a_world_that_a_claim_does_not_see_fails(judged):
    code, lines = judged(SimulatedControl("nothing is wrong", unchanged))
    assert code == 1 and lines[0].startswith("✗ supported     wang.theorem_1, must be contradicted: nothing is wrong; ")
    code, lines = judged(SimulatedControl("nothing is wrong", unchanged, SUPPORTED))
    assert code == 0 and lines[0].startswith("  supported     wang.theorem_1, as it must be: nothing is wrong; ")


def test_with_targets_of_precision_cells_get_the_least(monkeypatch):
    asked = experiment("precision={answers_wrong: {relative: 0.01, least: 200}}", "replications=5000", "block=500")
    assert controls._fixed(asked.study).replications == 500
    with pytest.raises(InvalidInput, match="do not fit in memory"):
        controls._fixed(experiment("replications=100000000").study)
