"""A constant becomes an axis by one word: figures show it, claims stay at the constant's level."""

import pytest

from pipeline.cli.compose import compose
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import assess, composition
from pipeline.workflow.config import read_experiment
from pipeline.workflow.new_axes import is_constant, with_axis

EXPERIMENT = "xu/scenario_2"
LEVELS = ["debiased", "likelihood"]
WORD = "grid.estimator=[debiased,likelihood]"


def composed(*words):
    (config,) = compose([f"experiment={EXPERIMENT}", "size=quick", *words])
    return config


def test_one_word_turns_a_constant_into_an_axis_of_a_study_that_can_be_run():
    config = composed(WORD)
    experiment = read_experiment(config)
    assert experiment.study.grid.axes["estimator"] == tuple(LEVELS)
    assert "estimator" not in experiment.study.parameters
    assert [spec.by for spec in experiment.figures] == [("scheme", "estimator")] * 2
    claims = assess.claims_of(experiment)
    assert claims and all(claim.levels == {"estimator": "debiased"} for claim in claims)


def test_a_call_composes_what_the_word_does():
    whole = composition.whole_experiment(composition.named_experiment(EXPERIMENT))
    of_call = composition.changed(
        composition.sized(whole, "quick"), {"grid": {"estimator": LEVELS}}
    )
    of_word = composed(WORD)
    for key in ("grid", "parameters", "figures", "claims_at"):
        assert of_call[key] == of_word[key], key


def test_one_level_changes_the_constant_and_nothing_else():
    config = composed("grid.estimator=[likelihood]")
    assert "claims_at" not in config
    assert config["figures"] == composed()["figures"]


def test_a_level_that_is_not_the_constants_leaves_claims_about_both():
    config = composed("grid.reference_L=[50,200]")
    assert "claims_at" not in config  # 100, that of the experiment, is not among them


def test_an_axis_stays_one_and_what_is_unknown_is_refused():
    assert composed("grid.L=[100,200]")["grid"]["L"] == [100, 200]
    with pytest.raises(InvalidInput, match="grid.estimater"):
        composed("grid.estimater=[debiased,likelihood]")
    with pytest.raises(InvalidInput, match=r"grid.estimator=\[…\] with several levels"):
        composed("grid.estimator=debiased")


def test_every_product_of_a_grid_gets_the_axis():
    config = {"grid": [{"L": [1]}, {"L": [2]}], "parameters": {"m": 5, "K": None}, "figures": None}
    assert (
        is_constant(config, "m") and not is_constant(config, "K") and not is_constant(config, "L")
    )
    assert with_axis(config, "m", [5, 6])["grid"] == [
        {"L": [1], "m": [5, 6]},
        {"L": [2], "m": [5, 6]},
    ]


FIGURES = [
    ({"kind": "curves", "along": "L"}, [{"kind": "curves", "along": "L", "by": ["m"]}]),
    (
        {"kind": "map", "along": "L", "across": "x"},
        [{"kind": "map", "along": "L", "across": "x", "panels": "m"}],
    ),
    ({"kind": "curves", "along": "m"}, [{"kind": "curves", "along": "m"}]),
    (
        {"kind": "collapse", "along": "L", "size": ["x"], "title": "All"},
        [
            {
                "kind": "collapse",
                "along": "L",
                "size": ["x"],
                "title": "All, m=5",
                "select": {"m": 5},
            },
            {
                "kind": "collapse",
                "along": "L",
                "size": ["x"],
                "title": "All, m=6",
                "select": {"m": 6},
            },
        ],
    ),
]


@pytest.mark.parametrize(("figure", "shown"), FIGURES)
def test_figures_show_the_axis(figure, shown):
    config = {"grid": {"L": [1]}, "parameters": {"m": 5}, "figures": [figure]}
    assert with_axis(config, "m", [5, 6])["figures"] == shown


def test_the_figure_of_a_suite_shows_the_level_of_the_constant():
    config = {"grid": {"L": [1]}, "parameters": {"m": 5}, "common": {"series": [{"along": "L"}]}}
    (series,) = with_axis(config, "m", [5, 6])["common"]["series"]
    assert series == {"along": "L", "select": {"m": 5}}


@pytest.mark.parametrize(
    ("levels", "allowed"),
    [({"estimater": "debiased"}, "is no axis"), ({"estimator": "plug_in"}, "must be one level")],
)
def test_claims_at_is_about_levels_that_there_are(levels, allowed):
    with pytest.raises(InvalidInput, match=allowed):
        read_experiment({**composed(WORD), "claims_at": levels})
