"""Every mechanism that ships, in each way to state its budget, as `make audit` audits them."""

import numpy as np
import pytest

from benchmarks.shipped_audits import Row, cases, every_row
from pipeline.workflow.audit import read_request

CASES = list(cases())
PAIRS = 4  # of each case
FEW = 12  # samples
SEED = [1]


def test_what_is_public_does_not_depend_on_the_data():
    """Shapes, and all that is the same for all samples, are equal on neighbours.

    And something differs between samples: else an audit of these sizes would show nothing.
    """
    assert len(CASES) >= 73
    for case in CASES:
        audited = read_request(case.entries(1_000)).case
        is_random = False
        for pair in audited.pairs[:PAIRS]:
            first, second = (
                audited.subject.sample(data, FEW, SEED) for data in (pair.first, pair.second)
            )
            assert first.shape == second.shape, (case, pair.name)
            assert np.array_equal(first[:, -1], second[:, -1]), (case, pair.name)
            is_random |= len(np.unique(first, axis=0)) > 1
        assert is_random, case


def test_rows_of_the_table_are_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.kept_answers.FOLDER", tmp_path)
    chosen = [case for case in CASES if case.name == "crowd/randomized_response"][:1]
    rows = every_row(chosen, 1_000)
    assert "exact" in rows[0].text and not rows[0].contradicted

    def audit(*arguments):
        raise AssertionError("a row is made again")

    monkeypatch.setattr("benchmarks.shipped_audits.perform", audit)
    assert every_row(chosen, 1_000) == rows
    assert capsys.readouterr().out.count(rows[0].text) == 2
    with pytest.raises(AssertionError):
        every_row(chosen, 2_000)
    assert Row(**vars(rows[0])) == rows[0]
