"""`task=controls`: what claims say of their wrong worlds, in words, and an exit code that says whether they see it."""

import dataclasses

import pytest

from pipeline.analysis.claims import SUPPORTED, NotSimulated, SimulatedControl
from pipeline.cli.compose import compose
from pipeline.cli.controls import perform
from pipeline.problems.common.changes import with_parameters
from pipeline.problems.crowd.claims.limits import CLAIMS
from pipeline.study.parameters import InvalidInput
from pipeline.study.wrong_worlds import unchanged
from pipeline.workflow import controls
from pipeline.workflow.config import read_experiment

LOSS = next(claim for claim in CLAIMS if claim.id == "wang.theorem_1")
SLIGHTLY = SimulatedControl(
    "a little more than the declared ε",
    with_parameters("mechanism", epsilon=lambda declared: 1.02 * declared),
)
TWICE = SimulatedControl(
    "twice the declared ε", with_parameters("mechanism", epsilon=lambda declared: 2 * declared)
)


def experiment(*words):
    return read_experiment(compose(["experiment=wang/privacy", "size=quick", *words])[0])


@pytest.fixture
def judged(monkeypatch, capsys):
    """Function that gives exit code and lines for claims with these controls."""

    def judged(*chosen, words=()):
        claims = tuple(dataclasses.replace(LOSS, simulated=control) for control in chosen)
        monkeypatch.setattr(controls, "claims_of", lambda experiment: claims)
        code = perform([experiment(*words)])
        return code, capsys.readouterr().out.splitlines()

    return judged


def test_a_line_for_each_claim_says_what_is_wrong_and_what_the_claim_says(judged):
    code, lines = judged(TWICE, NotSimulated("an exact number"))
    assert code == 0 and len(lines) == 3
    assert lines[0].startswith(
        "  contradicted  wang.theorem_1, as it must be: twice the declared ε; all answers: 2.0"
    )
    assert lines[1:] == [
        "  not simulated wang.theorem_1: an exact number",
        "1 of 1 wrong worlds were judged as they must be",
    ]


def test_a_world_that_a_claim_does_not_see_fails(judged):
    code, lines = judged(SimulatedControl("nothing is wrong", unchanged))
    assert code == 1 and lines[0].startswith(
        "✗ supported     wang.theorem_1, must be contradicted: nothing is wrong; "
    )
    code, lines = judged(SimulatedControl("nothing is wrong", unchanged, SUPPORTED))
    assert code == 0 and lines[0].startswith(
        "  supported     wang.theorem_1, as it must be: nothing is wrong; "
    )


def test_too_few_data_are_no_failure_and_the_line_says_what_is_missing(judged):
    """The same slight fault is open, with a smaller grid or fewer replications; the whole experiment must decide it."""
    code, lines = judged(SLIGHTLY, TWICE, words=["grid.epsilon=[0.5,1]"])
    assert code == 0 and len(lines) == 3
    start = "? not tested    wang.theorem_1, too few data to decide (4 of 12 cells): a little more than the "
    assert lines[0].startswith(start)
    assert lines[-1] == (
        "0 of 2 wrong worlds were judged as they must be; 2 cannot be decided by fewer data than the "
        "experiment has, which is no failure: size=paper simulates all of them"
    )
    code, lines = judged(SLIGHTLY, TWICE, words=["replications=500"])
    assert code == 0
    assert lines[0].startswith(
        "? inconclusive  wang.theorem_1, too few data to decide (500 of 1,000 replications): "
    )
    assert lines[1].startswith("  contradicted  wang.theorem_1, as it must be: ")
    assert lines[2].startswith(
        "1 of 2 wrong worlds were judged as they must be; 1 cannot be decided by fewer data "
    )


def test_a_claim_about_people_s_files_asks_for_its_file(capsys):
    """Its world is not simulated on other data, which are no failure."""
    raw = compose(["experiment=nguyen/figure_2", "size=quick"])[0]
    assert perform([read_experiment(raw)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1 and all(
        line.startswith("  not simulated nguyen.figure_2.") for line in lines[:-1]
    )
    assert all("and these are other data: give data.path" in line for line in lines[:-1])
    assert lines[-1] == "0 of 0 wrong worlds were judged as they must be"


def test_a_world_that_the_whole_experiment_does_not_decide_fails(judged):
    code, lines = judged(SLIGHTLY)
    assert code == 1
    start = "✗ inconclusive  wang.theorem_1, must be contradicted, but all data of the experiment do not decide it: "
    assert lines[0].startswith(start)
    assert lines[1] == "0 of 1 wrong worlds were judged as they must be"


def test_fewer_data_do_not_excuse_a_world_that_is_judged_the_wrong_way(judged):
    code, lines = judged(
        SimulatedControl("nothing is wrong", unchanged), words=["grid.ability_low=[1]"]
    )
    assert code == 1
    assert lines[0].startswith(
        "✗ supported     wang.theorem_1, must be contradicted: nothing is wrong; "
    )


def test_what_is_missing_is_counted_against_the_experiment_that_ships():
    assert controls.what_is_missing(experiment()) == ""
    assert controls.what_is_missing(experiment("replications=5000")) == ""
    some = experiment("grid.epsilon=[0.5,3]", "replications=500")  # 3 is no level of the experiment
    assert controls.what_is_missing(some) == "2 of 12 cells, 500 of 1,000 replications"
    one_of_someone = dataclasses.replace(
        some, study=dataclasses.replace(some.study, name="one/of_someone")
    )
    assert controls.what_is_missing(one_of_someone) == ""


def test_with_targets_of_precision_cells_get_the_least(monkeypatch):
    asked = experiment(
        "precision={answers_wrong: {relative: 0.01, least: 200}}", "replications=5000", "block=500"
    )
    assert controls._fixed(asked.study).replications == 500
    with pytest.raises(InvalidInput, match="do not fit in memory"):
        controls._fixed(experiment("replications=100000000").study)


def raises(parts):
    return 1 / 0


@pytest.mark.parametrize(
    "change, fault",
    [
        (raises, "ZeroDivisionError: division by zero"),
        (lambda parts: None, "TypeError: the change must give Components, gives NoneType"),
        (
            lambda parts: parts._replace(estimator=parts.mechanism),
            "AttributeError: 'RandomizedResponse' object has no attribute 'fit'",
        ),
    ],
)
def test_a_world_that_cannot_be_simulated_is_one_line(judged, change, fault):
    start = "claim=wang.theorem_1: its wrong world, of mine, cannot be simulated: "
    with pytest.raises(InvalidInput) as error:
        judged(SimulatedControl("of mine", change), words=["replications=20", "block=10"])
    assert str(error.value) == start + fault


def test_a_change_that_changes_nothing_is_no_lack_of_data(judged):
    """Of a parameter that no mechanism has: few data are no excuse."""
    nothing = SimulatedControl("misspelled", with_parameters("mechanism", epsilom=2.0))
    code, lines = judged(nothing, SLIGHTLY, words=["replications=20", "block=10"])
    assert code == 1 and lines[0].startswith("✗ ")
    says = "must be contradicted, but its change leaves the parts of all cells as they are"
    assert says in lines[0] and lines[1].startswith("? ")


@pytest.mark.parametrize("values", [dict(verdict="contradict"), dict(change=None)])
def test_a_control_is_checked_when_it_is_made(values):
    with pytest.raises(InvalidInput, match=f"^{next(iter(values))}="):
        SimulatedControl(**{"description": "mine", "change": unchanged, **values})
