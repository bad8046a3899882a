"""Studies of one name are told apart by what differs, in words."""

import json

import pytest

from pipeline.workflow import composition
from pipeline.workflow.variants import ABOUT, in_words, write_about


def stored(folder, **changes):
    """A folder with the description of a study like xu/scenario_2 at its full size."""
    whole = composition.whole_experiment(composition.named_experiment("xu/scenario_2"))
    description = {
        key: whole[key] for key in ("name", "problem", "seed", "block", "metrics", "derive")
    }
    description["parameters"] = {**whole["parameters"], **changes.pop("parameters", {})}
    description["axes"] = [*whole["grid"]]
    (folder / "replications").mkdir(parents=True)
    text = json.dumps({**description, **changes})
    (folder / "replications/study.json").write_text(text)
    return folder


def test_what_ships_has_no_words_and_a_constant_its_value(tmp_path):
    plain = stored(tmp_path / "a")
    other = stored(tmp_path / "b", parameters={"estimator": "likelihood"}, seed=5)
    assert in_words([plain, other]) == {plain: "", other: "estimator=likelihood, seed=5"}


def test_a_constant_that_became_an_axis_is_named_once(tmp_path):
    folder = stored(tmp_path / "a", axes=["m", "L", "scheme", "draw"])
    description = json.loads((folder / "replications/study.json").read_text())
    del description["parameters"]["draw"]
    (folder / "replications/study.json").write_text(json.dumps(description))
    assert in_words([folder]) == {folder: "axis draw"}


def test_studies_of_ones_own_are_compared_with_each_other(tmp_path):
    first = stored(tmp_path / "a", name="survey")
    second = stored(tmp_path / "b", name="survey", block=7)
    alone = stored(tmp_path / "c", name="another")
    words = in_words([first, second, alone])
    assert words == {first: "block=2000", second: "block=7", alone: ""}


@pytest.mark.parametrize("content", ["", "[1]", "{}", "\xff"])
def test_a_damaged_description_has_no_words(content, tmp_path):
    folder = stored(tmp_path / "a")
    (folder / "replications/study.json").write_text(content, encoding="latin-1")
    assert in_words([folder]) == {folder: ""}
    write_about(folder, "Title", "pipeline")
    assert not (folder / ABOUT).exists()


def test_the_folder_says_what_it_is(tmp_path):
    folder = stored(tmp_path / "a", seed=5)
    write_about(folder, "Three budgets", "pipeline experiment=xu/scenario_2 seed=5")
    assert (folder / ABOUT).read_text().splitlines() == [
        "xu/scenario_2: Three budgets",
        "differs from the experiment: seed=5",
        "axes: m, L, scheme; seed: 5",
        "first made by: pipeline experiment=xu/scenario_2 seed=5",
    ]
