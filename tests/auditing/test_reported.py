"""Reports tell the audits of the mechanisms that a study uses, or that there is none."""

import json

import numpy as np
import pytest

import pipeline as pl
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.workflow import known_audits
from pipeline.workflow.config import read_experiment

CONFIG = dict(
    name="audited/small",
    problem="ranking",
    seed=11,
    replications=4,
    block=4,
    metrics=["error_l2"],
    parameters=dict(model="btl", estimator="debiased", m=3, L=20, epsilon=1.0),
    grid=[dict(mechanism=["none", "randomized_response", "laplace"])],
)


def reported(outputs):
    """The sentences on audits on the page of the study, by mechanism; run again where needed."""
    study = read_experiment(CONFIG).study
    where = dict(outputs=str(outputs), cluster="synchronous", progress=False)
    pl.run(study, **where)
    page = pl.report(study, **where).read_text()
    section = page[page.index('id="privacy"') : page.index('id="repeat"')]
    of_mechanism = {}
    for part in section.split("<h3>")[1:]:
        title = part.partition("</h3>")[0]
        of_mechanism[title] = part.count("<dt>audit</dt>"), part
    return of_mechanism


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page before and after an audit of one of the mechanisms."""
    outputs = tmp_path_factory.mktemp("outputs")
    before = reported(outputs)
    pl.audit(
        RandomizedResponse(m=2, L=1, epsilon=1.0),
        samples=1_000,
        repeats=0,
        outputs=str(outputs),
        cluster="synchronous",
    )
    return before, reported(outputs), outputs


def test_a_page_says_where_no_audit_was_made(pages):
    before, _, _ = pages
    texts = [text for number, text in before.values() if number == 1]
    assert len(before) == 3 and len(texts) == 2  # nothing is promised without a mechanism
    assert all(known_audits.NONE in text for text in texts)


def test_a_kept_audit_is_told_on_the_page_which_is_written_again(pages):
    _, after, outputs = pages
    (record,) = outputs.glob("audit/*/audit.json")
    date = json.loads(record.read_text())["date"]
    told = [text for _, text in after.values() if "not refuted" in text]
    assert len(told) == 1 and date in told[0] and record.parent.name in told[0]
    assert "by 1,000 samples (level samples); power was not measured" in told[0]
    assert "it promises ε = 1, ε is at least 0." in told[0] and "of other code" not in told[0]
    assert sum(known_audits.NONE in text for _, text in after.values()) == 1


def test_an_audit_of_other_code_says_so(pages):
    _, _, outputs = pages
    (audit,) = known_audits.all_of(outputs)
    assert "of other code" in audit.told("another digest")
    assert "of other code" not in audit.told(audit.code)


def test_an_exact_audit_without_samples_is_kept_as_well(tmp_path):
    def flipped(bits, samples, rng):
        return (rng.random((samples, len(bits))) < 1 / (1 + np.e)) ^ np.array(bits, bool)

    where = dict(outputs=str(tmp_path), cluster="synchronous")
    answer = pl.audit(flipped, ([0, 1], [1, 1]), epsilon=1.0, repeats=0, **where)
    (audit,) = known_audits.all_of(tmp_path)
    assert answer.exact and "exactly (level law)" in audit.told("")
    assert pl.list_studies(str(tmp_path)) == []


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"date": 1, "code": 2}', "\x00"])
def test_files_that_are_no_records_are_passed_over(content, tmp_path):
    folder = tmp_path / "audit/mine"
    folder.mkdir(parents=True)
    (folder / "audit.json").write_text(content)
    assert list(known_audits.all_of(tmp_path)) == []
