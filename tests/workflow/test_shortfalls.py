"""What did not converge or is not finite is said by part, in the terminal and at the top of the page; else nothing."""

import json
import re

import numpy as np
import pytest
import xarray as xr
import yaml

import pipeline as pl
from pipeline.__main__ import main
from pipeline.analysis import shortfalls
from pipeline.analysis.summary import moments_of, summarise_moments
from tests.helpers.own_parts import CONFIG, PRELUDE, REGISTER, alone, fits, values

__all__ = ["alone"]  # the fixture, here too
HALF = "(np.arange(len(made.theta)) % 2 == 0)"
LOST = "release.epsilon[0] < 2"  # in one of two cells
SAID = "estimator mine: 10 of 40 replications not converged in 1 of 2 cells; metrics error_l2, mine not finite in 10"


def results(status, **metrics):
    """(m, replication) of two cells, as they are sealed."""
    variables = {
        name: (("m", "replication"), np.array(rows, float)) for name, rows in metrics.items()
    }
    return xr.Dataset(
        variables | {"status": (("m", "replication"), np.array(status, np.int8))}, {"m": [3, 5]}
    )


@pytest.mark.parametrize(
    "data, said",
    [
        (results([[1, 1], [1, 1]], error=[[0, 1], [2, 3]]), ""),
        (
            results([[1, 2], [1, 1]], error=[[0, 1], [2, 3]]),
            "estimator mine: 1 of 4 replications not converged in 1 of 2 cells",
        ),
        (
            results([[1, 1], [1, 1]], error=[[0, np.inf], [np.nan, 3]]),
            "metric error not finite in 2",
        ),
        (results([[1, 1], [3, 3]], error=[[0, 1], [np.nan, np.nan]]), ""),  # failed: said elsewhere
        (results([[1, 1], [0, 0]], error=[[0, 1], [np.nan, np.nan]]), ""),  # not run
        (
            results(
                [[1, 2], [2, 2]], a=[[0, np.nan]] * 2, b=[[0, np.nan]] * 2, c=[[np.nan] * 2] * 2
            ),
            "estimator mine: 3 of 4 replications not converged in 2 of 2 cells; "
            "metrics a, b not finite in 2; metric c not finite in 4",
        ),
    ],
)
def test_what_is_counted(data, said):
    moments = moments_of(data)
    assert shortfalls.of_moments(moments, "mine") == said
    assert shortfalls.of_summary(summarise_moments(moments), "mine") == said


def test_each_estimator_by_its_name():
    data = (
        results([[1, 2], [1, 1]], error=[[0, 1], [2, 3]])
        .rename(m="estimator")
        .assign_coords(estimator=["one", "two"])
    )
    said = "estimator one: 1 of 2 replications not converged in 1 of 1 cells"
    assert shortfalls.of_moments(moments_of(data), "") == said


@pytest.mark.parametrize(
    "values, whose", [([[0, np.inf], [2, 3]], " with estimator one"), ([[0, np.inf]] * 2, "")]
)
def test_estimators_whose_values_are_not_finite_are_named(values, whose):
    """Only where others of the study have none such."""
    data = results([[1, 1], [1, 1]], error=values).rename(m="estimator")
    moments = moments_of(data.assign_coords(estimator=["one", "two"]))
    number = int(np.isinf(values).sum())
    said = f"metric error not finite in {number}{whose}"
    assert shortfalls.of_moments(moments, "") == said
    assert shortfalls.of_summary(summarise_moments(moments), "") == said


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A file of parts and an experiment with two cells; in one of them half of the replications are lost."""
    monkeypatch.chdir(tmp_path)
    source = fits(
        f"replace(made, theta=np.where(({HALF} & ({LOST}))[:, None], np.nan, made.theta), "
        f"converged=~({HALF} & ({LOST})))"
    )
    metric = values("made").replace("class Mine", "class Metric")
    text = (
        PRELUDE
        + source
        + metric
        + REGISTER.format(kind="estimator")
        + ('pl.register("ranking", metrics={"mine": Metric})\n')
    )
    (tmp_path / "parts.py").write_text(text)
    config = CONFIG | {"grid": {"epsilon": [1.0, 4.0]}, "metrics": ["mine", "error_l2"]}
    config["parameters"] = config["parameters"] | {"estimator": "mine"}
    (tmp_path / "lost.yaml").write_text(yaml.safe_dump(config | {"name": "lost"}))
    return ["--with=parts.py", "experiment=lost.yaml", "cluster=synchronous", "figures=[]"]


def test_it_is_said_where_people_look(study, tmp_path, capsys):
    assert main(study) == 0
    assert f"lost: {SAID}" in capsys.readouterr().out
    (page,) = tmp_path.glob("outputs/*/report.html")
    text = page.read_text()
    top = text[: text.index("<main")]
    assert SAID in re.sub("<[^>]+>", "", top) and 'class="notice shortfalls"' in top
    assert "all estimates converged" not in text
    (anchor,) = re.findall(r'class="notice shortfalls".*?href="#([^"]+-lost)"', text, re.S)
    assert f'id="{anchor}"' in text
    assert main([*study, "task=status"]) == 0 and f"  {SAID}" in capsys.readouterr().out
    assert main([*study, "task=status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["studies"][0]["shortfalls"] == SAID
    assert main([*study, "task=report"]) == 0 and f"lost: {SAID}" in capsys.readouterr().out
    pl.run("lost.yaml", cluster="synchronous")
    assert f"lost: {SAID}" in capsys.readouterr().out


def test_nothing_is_said_where_nothing_happened(study, tmp_path, capsys):
    """The negative control: the same study with what ships."""
    words = [*study, "parameters.estimator=debiased"]
    assert main(words) == 0 and main([*words, "task=status"]) == 0
    assert (
        "not converged" not in (printed := capsys.readouterr().out) and "not finite" not in printed
    )
    (page,) = tmp_path.glob("outputs/*/report.html")
    assert (
        "None failed, and all estimates converged." in page.read_text()
        and "shortfalls" not in page.read_text()
    )
