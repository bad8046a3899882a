"""A call from Python gives the config that the command composes from words, without Hydra."""

import pytest

from pipeline.cli.compose import compose
from pipeline.study.parameters import InvalidInput
from pipeline.workflow.composition import changed, named_experiment, sized, whole_experiment
from pipeline.workflow.report_record import shown


def composed(name, size, **changes):
    return changed(sized(whole_experiment(named_experiment(name)), size), changes)


# With targets, with rules, with a grid of several products, with data, and plain ones.
@pytest.mark.parametrize("size", ["paper", "quick"])
@pytest.mark.parametrize(
    "name", ["xu/lemmas", "xu/tails", "nguyen/top_k", "own/ranking", "wang/limits"]
)
def test_the_configs_are_the_commands(name, size):
    (of_command,) = compose([f"experiment={name}", f"size={size}"])
    assert shown(composed(name, size)) == shown(of_command)


def test_changes_of_a_grid_reach_all_of_its_products():
    grid = [{"m": [3], "L": [20]}, {"m": [4], "L": [30]}]
    config = changed({"grid": grid}, {"grid": {"m": [5]}})
    assert config["grid"] == [{"m": [5], "L": [20]}, {"m": [5], "L": [30]}]
    assert grid[0]["m"] == [3]
    assert changed({"grid": grid}, {"grid": {"L": None}})["grid"] == [{"m": [3]}, {"m": [4]}]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"grid": {"M": None}}, "grid.M=null: no such key; did you mean .m.[?] allowed: m"),
        ({"parameters": {"nope": None}}, "parameters.nope=null: no such key"),
        ({"title": "${oc.env:HOME}"}, "must be written out"),
    ],
)
def test_what_cannot_be_changed_is_one_line(changes, message):
    config = {"grid": {"m": [3]}, "parameters": {"model": "btl"}}
    with pytest.raises(InvalidInput, match=message.replace("$", "[$]")):
        changed(config, changes)
