"""Law: what a protocol fixed and what was changed later is told apart, by comparison."""

import copy
import dataclasses
import json
import re

import pytest

import pipeline as pl
from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.identity.registry import problem, problems
from pipeline.reporting.protocol import ADDED, CHANGED, EXPLORATORY, LEFT_OUT
from pipeline.workflow import assess, commitments, protocol_record
from pipeline.workflow.commitments import KINDS, fixed_by
from pipeline.workflow.config import read_experiment, read_settings
from pipeline.workflow.deviations import deviations_between, protocol_of
from pipeline.workflow.protocol_template import SECTIONS, questions
from pipeline.workflow.studies import stored_studies

WORDS = ("experiment=xu/lemmas", "size=quick", "grid.m=[2]", "grid.L=[20,50]")
SMALL = (
    "figures=[]",
    "grid.L=[20]",
    "replications=20",
    "block=20",
    "claims=false",
    "cluster=synchronous",
)


def experiment_of(*words):
    return read_experiment(compose([*WORDS, *words])[0])


def fixed(*words):
    """What a protocol of an experiment fixes, with its claims."""
    experiment = experiment_of(*words)
    return fixed_by(experiment.study, assess.claims_of(experiment))


def told(planned, done):
    """(kind, key, change) of every deviation."""
    deviations = deviations_between(planned, done)
    return {(entry.kind, entry.key, entry.change) for entry in deviations}


@pytest.fixture(scope="module")
def planned():
    return fixed()


def other(value):
    """Another value of the same form."""
    if isinstance(value, dict):
        return {**value, "planted": 1}
    if isinstance(value, list):
        return [*value, "planted"]
    return f"{value} planted"


def test_every_planted_deviation_is_told_and_nothing_else(planned):
    """Each entry that a protocol fixes is changed, left out and added, one at a time."""
    count = 0
    for kind in planned:
        for key in planned[kind]:
            changed = copy.deepcopy(planned)
            changed[kind][key] = other(changed[kind][key])
            assert told(planned, changed) == {(kind, key, CHANGED)}
            without = copy.deepcopy(planned)
            del without[kind][key]
            is_of_claim = kind == "tolerance"  # told with the claim, which has it
            expected = set() if is_of_claim else {(kind, key, LEFT_OUT)}
            assert told(planned, without) == expected
            addition = EXPLORATORY if kind == "claim" else ADDED
            expected = set() if is_of_claim else {(kind, key, addition)}
            assert told(without, planned) == expected
            count += 1
    print(f"{count} entries, {3 * count} planted deviations")
    assert 3 * count >= 40
    assert set(planned) == set(KINDS)
    assert told(planned, copy.deepcopy(planned)) == set()  # the negative control


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["grid.L=[20,50,80]"], {("levels", "L", CHANGED)}),
        (["grid.L=[20]"], {("levels", "L", CHANGED)}),
        (["replications=4000"], {("replications", "of a cell", CHANGED)}),
        (["seed=7"], {("seed", "seed", CHANGED)}),
        (["metrics=[lean_true,error_l2]"], None),
        (["parameters.draw=marginal"], {("parameters", "draw", CHANGED)}),
        (["+precision={lean_true: {relative: 0.1}}"], {("stopping rule", "precision", ADDED)}),
        (["until=claims"], {("stopping rule", "until", ADDED)}),
        (["paired=[L]"], {("study", "paired", CHANGED)}),
        (["title=Other"], set()),  # presents the study otherwise, changes no number
    ],
)
def test_what_a_person_changes_later_is_told(planned, words, expected):
    done = fixed(*words)
    if expected is None:  # metrics: those that went, the one that came, and the code of each
        kinds = {(kind, change) for kind, _, change in told(planned, done)}
        assert kinds == {(k, c) for k in ("metrics", "code") for c in (ADDED, LEFT_OUT)}
        return
    assert told(planned, done) == expected


def test_levels_are_told_by_those_that_differ(planned):
    (deviation,) = deviations_between(planned, fixed("grid.L=[20,80]"))
    assert (deviation.planned, deviation.done) == ("50", "80")
    (deviation,) = deviations_between(planned, fixed("grid.L=[50,20]"))
    assert (deviation.planned, deviation.done) == ("20, 50", "50, 20")


def test_claims_of_later_are_exploratory_and_tolerances_are_told(planned):
    experiment = experiment_of()
    first, *rest = assess.claims_of(experiment)
    later = dataclasses.replace(first, id="mine.later", statement="Seen in the data.")
    done = fixed_by(experiment.study, [first, *rest, later])
    (deviation,) = deviations_between(planned, done)
    assert (deviation.change, deviation.done) == (EXPLORATORY, "Seen in the data.")
    wider = dataclasses.replace(first, tolerance=rest[-1].tolerance)
    assert told(planned, fixed_by(experiment.study, [wider, *rest])) == {
        ("tolerance", first.id, CHANGED)
    }
    elsewhere = dataclasses.replace(first, conditions="where it holds")
    (deviation,) = deviations_between(planned, fixed_by(experiment.study, [elsewhere, *rest]))
    assert (deviation.kind, deviation.done) == ("claim", "conditions: where it holds")
    assert told(planned, fixed_by(experiment.study, rest)) == {("claim", first.id, LEFT_OUT)}


def test_other_code_is_told(planned, monkeypatch):
    real = commitments.fingerprint
    edited = experiment_of().study.metric("lean_true")
    monkeypatch.setattr(
        commitments, "fingerprint", lambda part: "edited" if part is edited else real(part)
    )
    assert told(planned, fixed()) == {("code", "metric lean_true", CHANGED)}


def test_the_measures_of_all_claims_have_a_fingerprint():
    claims = [claim for name in problems() for claim in problem(name).all_claims()]
    assert len(claims) > 100
    assert all(commitments.fingerprint(claim.measure.compute) for claim in claims[::40])


@pytest.mark.parametrize("name", ["xu/lemmas", "nguyen/maxsense", "person/rankings"])
def test_a_config_answers_at_least_16_of_the_20_questions(name):
    from pipeline.workflow.config_files import options

    if name not in options("experiment"):
        section = name.partition("/")[0]
        name = min(known for known in options("experiment") if known.startswith(f"{section}/"))
    experiment = read_experiment(compose([f"experiment={name}", "size=quick"])[0])
    asked = questions(experiment, assess.claims_of(experiment), "pipeline")
    assert len(asked) == 20
    assert [question.section for question in asked] == sorted(q.section for q in asked)
    assert {question.section for question in asked} == set(range(len(SECTIONS)))
    assert sum(bool(question.answer) for question in asked) >= 16


def test_from_the_command_to_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [*WORDS, *SMALL]
    assert main(["protocol", *words, "save=protocol.md"]) == 0
    assert "of 20 answered by the config" in capsys.readouterr().out
    text = (tmp_path / "protocol.md").read_text()
    assert "10.1037/met0000695" in text and "CC BY 4.0" in text
    assert len(re.findall(r"^\*\*\d+\. ", text, re.M)) == 20

    assert main(["protocol", *words, "--json", "protocol.url=https://osf.io/abc"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["studies"]
    assert not answer["new"] and answer["url"] == "https://osf.io/abc"
    assert answer["digest"] in text and answer["begun_before"] == []

    # Another seed lies in another folder, and is told all the same.
    assert main([*words, "seed=5", "metrics=[lean_true]"]) == 0
    # The seed, and five metrics with their code.
    assert "11 deviations from the protocol" in capsys.readouterr().out
    page = only_page(tmp_path)
    assert "Deviations from the protocol" in page and "No protocol" not in page
    assert "https://osf.io/abc" in page and "<td>seed</td><td>seed</td><td>changed</td>" in page
    assert "<td>metrics</td><td>estimate_sum</td><td>left out</td>" in page

    assert main(["protocol", *words, "seed=6"]) == 2
    assert "must stay as it was written" in capsys.readouterr().err


def only_page(folder):
    (page,) = folder.glob("outputs/xu/*/report.html")
    return page.read_text()


def test_a_page_without_a_protocol_says_so_until_there_is_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [*WORDS, *SMALL]
    assert main(words) == 0
    assert "No protocol" in only_page(tmp_path)
    assert main(["protocol", *words]) == 0
    assert "begun before" in capsys.readouterr().out
    assert main(words) == 0  # nothing to simulate; the page is out of date
    page = only_page(tmp_path)
    assert "Nothing deviates from it" in page and "Said after" in page
    (kept,) = tmp_path.glob("outputs/xu/lemmas.protocol.json")
    kept.write_text(kept.read_text().replace('"replications"', '"repetitions"'))
    assert main(words) == 0
    assert "was changed after it was written" in capsys.readouterr().out
    assert "The protocol was changed after it was written" in only_page(tmp_path)
    assert main(["protocol", *words]) == 2
    assert "was changed after it was written" in capsys.readouterr().err


def test_levels_that_a_rule_adds_deviate_from_nothing(tmp_path):
    """The study of a later round is compared as its config asks for it."""
    rule = "refine={along: L, metric: lean_true, level: 0.3, width: 0.1}"
    (raw,) = compose([*WORDS, f"outputs={tmp_path}", f"+{rule}"])
    experiment = read_experiment(raw)
    (stored,) = stored_studies(read_settings(raw), [experiment], [raw])
    values = fixed_by(experiment.study, assess.claims_of(experiment))
    digest = protocol_record.digest_of(values, "request")
    record = protocol_record.ProtocolRecord(digest, "2026-11-26", "request", values)
    assert protocol_record.create(stored.store, record)
    levels = {**experiment.study.grid.axes, "L": (20, 30, 50)}
    grown = stored.grown(dataclasses.replace(experiment.study, grid=pl.Grid.of(levels)))
    assert protocol_of(grown).deviations == ()
    by_hand = {**raw, "refine": None}
    told_by_hand = protocol_of(grown._replace(raw=by_hand)).deviations
    assert [entry.kind for entry in told_by_hand] == ["stopping rule"]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["save=protocol.txt"], "save"),
        (["save=nowhere/protocol.md"], "save"),
        (["protocol.url=osf"], "protocol.url"),
        (["protocol.date=tomorrow"], "protocol.date"),
        (["protocol.data=x"], "protocol.data"),
    ],
)
def test_mistakes_are_refused_before_anything_is_kept(words, key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["protocol", *WORDS, *words]) == 2
    assert capsys.readouterr().err.startswith(f"error: {key}=")
    assert [*tmp_path.iterdir()] == []
    assert main(["status", *WORDS, "save=protocol.md"]) == 2  # for this task alone
    assert "goes with task=protocol only" in capsys.readouterr().err


def test_files_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["protocol", *WORDS, "outputs=/proc/none"]) == 2
    assert capsys.readouterr().err.startswith("error: outputs=/proc/none/xu: must be where")
    assert main(["protocol", *WORDS, "save=/proc/none.md"]) == 2
    assert capsys.readouterr().err.startswith("error: save=/proc/none.md: must be where")


def test_the_task_has_help(capsys):
    assert main(["protocol", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "protocol.date" in printed and "save" in printed


def test_from_python(tmp_path):
    small = dict(size="quick", grid={"m": [2], "L": [20]}, outputs=tmp_path)
    written = pl.protocol("xu/lemmas", save=tmp_path / "protocol.md", **small)
    assert written.is_new and written.answered == 17 and written.page.exists()
    again = pl.protocol("xu/lemmas", url="https://osf.io/abc", date="2026-11-27", **small)
    assert not again.is_new and again.record.registered == "2026-11-27"
    assert again.record.digest == written.record.digest
    with pytest.raises(pl.InvalidInput, match="must stay as it was written"):
        pl.protocol("xu/lemmas", seed=1, **small)
