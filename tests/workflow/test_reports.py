"""What the page says of a study: its budgets, its data, its verdicts on the terminal."""

import dataclasses
import math
import sys
from dataclasses import dataclass
from types import SimpleNamespace as Plain

import pytest

from pipeline.cli.compose import compose
from pipeline.cli.help import text
from pipeline.identity import registry
from pipeline.reporting.section import Protection
from pipeline.workflow import report_record, statements, told_verdicts
from pipeline.workflow import reports as present
from pipeline.workflow.config import read_experiment
from pipeline.workflow.lines import lines_of
from tests.helpers import toy_paper

CONFIG = dict(
    name="present/small",
    problem="ranking",
    seed=11,
    replications=20,
    block=20,
    metrics=["error_l2"],
    parameters=dict(model="btl", estimator="debiased"),
    grid=[
        dict(
            m=[3, 5],
            L=[20],
            epsilon=[0.5, 2.0],
            mechanism=["none", "randomized_response"],
            profile=["1:1"],
        ),
        dict(m=[4], L=[20], epsilon=[1.0], mechanism=["laplace"], profile=["0.5:1, 0.5:3"]),
    ],
)


@pytest.fixture
def toy():
    """The paper of the tests, known to the registry for a while."""
    with registry.registered(toy_paper.PROBLEM):
        yield toy_paper


def test_a_page_of_other_code_is_out_of_date(tmp_path, monkeypatch):
    """Whatever is edited: the program's own files, or those of the package of a problem."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/rates.py").write_text("allowed = 0.05")
    (tmp_path / "notes.txt").write_text("1")
    monkeypatch.setitem(sys.modules, "own_paper", Plain(__path__=[str(tmp_path)]))
    known = {
        report_record._code(names)
        for names in ([], ["pipeline"], ["own_paper"], ["own_paper", "pipeline"])
    }
    assert len(known) == 4 and report_record._code(["own_paper", "not imported"]) in known
    (tmp_path / "notes.txt").write_text("2")
    assert report_record._code(["own_paper", "pipeline"]) in known
    (tmp_path / "claims/rates.py").write_text("allowed = 0.5")
    assert report_record._code(["own_paper", "pipeline"]) not in known


def test_budgets_range_over_the_cells_of_their_mechanism():
    found = {row.mechanism: row for row in statements.privacy(read_experiment(CONFIG).study)}
    whole = "all comparisons of a user"
    assert found["randomized_response"].spent == {
        "one comparison": (0.5, 2.0),
        whole: (0.5 * 3, 2.0 * 10),
    }
    assert found["laplace"].spent == {"one comparison": (3.0, 3.0), whole: (18.0, 18.0)}
    assert [found[name].unit for name in ("randomized_response", "laplace", "none")] == [
        "answer",
        "answer",
        "nothing",
    ]
    assert found["none"].spent == {"one comparison": (math.inf,) * 2, whole: (math.inf,) * 2}
    assert (
        dict(found["laplace"].guarantee)["unit"] == "one comparison of one user"
        and "ε-LDP" in dict(found["laplace"].guarantee)["budget"]
    )


def test_a_mechanism_that_does_not_say_what_it_spends(toy):
    (row,) = statements.privacy(read_experiment(toy.CONFIG).study)
    guarantee = toy.LaplaceNoise.guarantee
    assert row == Protection("laplace", [*guarantee.rows()], {}, [], guarantee.trust, "answer")


@dataclass(frozen=True)
class Told(toy_paper.Answers):
    """A model that says where its data come from."""

    @property
    def source(self) -> str:
        """One sentence."""
        return f"Answers of {self.n} people who do not exist."


def test_the_first_cells_model_says_where_the_data_come_from(toy):
    assert statements.source(read_experiment(toy.CONFIG).study) == ""
    with registry.registered(dataclasses.replace(toy.PROBLEM, models={"answers": Told})):
        assert (
            statements.source(read_experiment(toy.CONFIG).study)
            == "Answers of 10 people who do not exist."
        )


def test_one_line_per_verdict_the_contradicted_last():
    found = [
        ("a", "contradicted", "wrong " * 60),
        ("b", "supported", "right " * 60),
        ("c", "inconclusive", "open"),
        ("d", "supported", "right"),
        ("e", "identity", "same"),
        ("f", "too weak", "supported, but"),
    ]
    verdicts = [told_verdicts.Told("toy", name, word, said) for name, word, said in found]
    *events, tally = told_verdicts.told(verdicts)
    lines = [line for event in events for line in lines_of(event)]
    (total,) = lines_of(tally)
    assert total.startswith("6 claims: 2 supported, 1 identity")
    assert [line.split(":")[0] for line in lines] == [
        "  supported     b",
        "  supported     d",
        "  identity      e",
        "! too weak      f",
        "  inconclusive  c",
        "✗ contradicted  a",
    ]
    assert lines[-1].count("wrong") == 60  # its reason is said in full


def test_of_a_suite_without_a_title_the_problems_are_named(toy):
    studies = [
        Plain(experiment=read_experiment(one), study=read_experiment(one).study, raw={})
        for one in (CONFIG, toy.CONFIG, CONFIG)
    ]
    assert present.title_of(studies) == f"{registry.problem('ranking').title}; {toy.PROBLEM.title}"
    assert present.title_of(studies[:1]) == studies[0].experiment.text.title


def test_help_tells_of_data_and_coordinates():
    assert "data.path=FILE" in text() and "coordinates=[…]" in text()


def test_a_mechanism_that_has_something_to_say():
    """Shuffling that is asked for and does not help is reported in every cell where it does not."""
    config = compose(
        [
            "experiment=nguyen/figure_1",
            "~derive.p0",
            "~derive.conversion",
            "figures=[]",
            "grid=[{n: [100, 2000], m: [5], epsilon_user: [1], "
            "mechanism: [randomized_response], estimator: [spectral]}]",
        ]
    )[0]
    (row,) = statements.privacy(read_experiment(config).study)
    assert len(row.remarks) == 1 and "needs at least 159 persons" in row.remarks[0]
