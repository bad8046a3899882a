"""Law: what is wrong with responses, or a budget for them, is one line; what is only poor is kept and said."""

import pytest

from pipeline.__main__ import main
from pipeline.cli.compose import compose
from pipeline.workflow.config import read_experiment
from pipeline.workflow.statements import privacy, source

SMALL = [
    "experiment=nguyen/figure_2",
    "replications=2",
    "block=2",
    "cluster=synchronous",
    "figures=[]",
    "outputs=out",
]
FULL = "".join(f"{k % 2},{k // 2 % 2},{k // 4 % 2}\n" for k in range(8))


def words(folder, rows, *more):
    (folder / "people.csv").write_text(f"a,b,c\n{rows}")
    everybody = rows.count("\n")
    return [
        *SMALL,
        f"data.path={folder / 'people.csv'}",
        f"parameters.n={everybody}",
        "parameters.m=3",
        *more,
    ]


@pytest.mark.parametrize(
    "rows, more, key, says",
    [
        ("1,0,\n0,1,\n1,1,\n", (), "data.path", "no person answered c; leave such items out"),
        (
            "1,0,\n0,1,\n,,1\n,,0\n",
            (),
            "data.path",
            "cannot be compared with the others: c; leave them out",
        ),
        (
            "1,0,1\n0,2,1\n",
            (),
            "data.path",
            "row 3, column 'b': is '2'; must be 0, 1, or nothing or NA",
        ),
        ("1,0,1\n0,-1,1\n", (), "data.path", "row 3, column 'b': is '-1'; must be 0"),
        *(
            (
                FULL,
                (f"+parameters.delta={delta}",),
                "parameters.delta",
                "must be a number > 0 and < 1",
            )
            for delta in (0, 1, -0.5, 1.5, "nan")
        ),
        (FULL, ("grid.epsilon_user=[0]",), "grid.epsilon_user", "> 0"),
        (
            FULL,
            ("experiment=nguyen/figure_1",),
            "data.path",
            "the model of this study takes no such file",
        ),
        (FULL, ("parameters.n=9",), "parameters.n", "there are 8 persons; give n=8 or less"),
        (FULL, ("parameters.m=4",), "parameters.m", "there are 3 items; give m=3"),
    ],
)
def test_mistakes_are_told_before_anything_is_created(
    tmp_path, monkeypatch, capsys, rows, more, key, says
):
    monkeypatch.chdir(tmp_path)
    given = words(tmp_path, rows, *more)
    if more and more[0].startswith("experiment="):
        given = [f"data.path={tmp_path / 'people.csv'}", more[0]]
    assert main(["task=plan", *given]) == 2
    printed = capsys.readouterr()
    assert (
        printed.out == ""
        and printed.err.count("\n") == 1
        and printed.err.startswith(f"error: {key}=")
    ), printed.err
    assert says in printed.err and not (tmp_path / "out").exists()


def study(given):
    return read_experiment(compose(given)[0]).study


def test_persons_who_say_nothing_are_kept_and_counted(tmp_path):
    said = source(study(words(tmp_path, "1,0,1\n,,\n1,1,1\n0,0,\n0,1,0\n")))
    assert "5 persons × 3 items" in said and "2 persons with all answers alike" in said
    assert "26.67% of answers missing, 1 persons without any" in said
    assert "no finite estimate without a pseudo-count" not in said
    assert "without a pseudo-count: a (all right)" in source(
        study(words(tmp_path, "1,0,1\n1,1,0\n1,0,0\n"))
    )


@pytest.mark.parametrize(
    "rows, reason",
    [
        (FULL, "needs at least 159 persons"),
        (FULL * 125, "covers local budgets only up to"),
        ("1,,0\n" + FULL * 125, "does not apply where responses are missing"),
    ],
)
def test_where_shuffling_is_not_charged_the_report_says_why_and_what_is_used(
    tmp_path, rows, reason
):
    """δ = 1e-4, ε up to 7.5."""
    given = study(words(tmp_path, rows))
    said = next(one for one in privacy(given) if one.mechanism == "randomized_response")
    assert any(
        reason in remark and "the local budget is epsilon itself" in remark
        for remark in said.remarks
    )
    assert any("epsilon itself, 7.5" in remark for remark in said.remarks)
    amplified = [what for what in said.spent if "δ" in what]
    assert bool(amplified) == (
        rows == FULL * 125
    )  # small ε of many complete responses are amplified
