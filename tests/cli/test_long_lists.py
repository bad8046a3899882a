"""Long lists, such as ten thousand levels: the parser gets them part by part, and the config is the same."""

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser

from pipeline.__main__ import main
from pipeline.cli.arguments import pairs
from pipeline.cli.compose import compose
from pipeline.cli.long_lists import LONG, MOST_TYPED
from pipeline.study import parameters
from pipeline.workflow import own_experiments
from pipeline.workflow.config import read_experiment

SMALL = ["experiment=xu/lemmas", "grid.m=[3]", "grid.L=[20]"]
LEVELS = [round(0.01 + 0.001 * number, 6) for number in range(3_000)]


def typed(values):
    return "[" + ",".join(map(str, values)) + "]"


def test_a_long_list_is_what_hydra_makes_of_it():
    mixed = ["1", "2.0", "1e3", "true", "null", "abc", "-3", "a b", "inf", "0x1", "1_0"] * 40
    long = compose([*SMALL, f"grid.epsilon=[{','.join(mixed)}]"])[0]["grid"]["epsilon"]
    short = compose([*SMALL, f"grid.epsilon=[{','.join(mixed[:11])}]"])[0]["grid"]["epsilon"]
    assert repr(long) == repr(short * 40)


def test_levels_are_the_same_from_a_command_a_file_a_mapping_and_quick(tmp_path):
    config = compose([*SMALL, f"grid.epsilon={typed(LEVELS)}"])[0]
    assert config["grid"]["epsilon"] == LEVELS and len(read_experiment(config).study.grid) == 3_000
    own = {key: value for key, value in config.items() if key in own_experiments.KEYS}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    from_file = compose([f"experiment={tmp_path / 'own.yaml'}"])[0]
    assert from_file["grid"] == config["grid"] == compose([], own)[0]["grid"]
    (tmp_path / "own.yaml").write_text(
        yaml.safe_dump(own | {"quick": {"grid": {"epsilon": LEVELS[:900]}}})
    )
    for more in (
        [],
        ["grid.m=[4]"],
    ):  # with a change of the same section, Hydra reads those of quick
        quick = compose([f"experiment={tmp_path / 'own.yaml'}", "size=quick", *more])[0]
        assert quick["grid"]["epsilon"] == LEVELS[:900]


def test_the_parser_sees_short_lists_only(monkeypatch):
    parse, words = OverridesParser.parse_override, []
    monkeypatch.setattr(
        OverridesParser,
        "parse_override",
        lambda self, word: words.append(word) or parse(self, word),
    )
    compose([*SMALL, f"grid.epsilon={typed(LEVELS)}"])
    assert pairs([f"person_spent={typed(LEVELS)}"]) == {"person_spent": LEVELS}  # of a task
    assert words and max(word.count(",") for word in words) < LONG


@pytest.mark.parametrize(
    "value, says",
    [
        (f"[{'1,' * 3_000}]", "cannot be read"),
        (f"[{'1,,' * 300}1]", "cannot be read"),
        (typed(LEVELS).replace("0.5,", "'0.5',"), "write it into a file"),
        ("{" + "a:1," * 3_000 + "b:1}", "write it into a file"),
    ],
)
def test_what_cannot_be_read_is_one_line(value, says, capsys):
    assert value.count(",") > LONG and (says == "cannot be read" or value.count(",") > MOST_TYPED)
    assert main([*SMALL, f"grid.epsilon={value}", "task=show"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: grid.epsilon=") and says in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "words, says",
    [
        (["+n=LIST"], "nothing is added or removed here"),
        (["n=LIST", "n=LIST"], "is given twice"),
        (["n={a:LIST}"], "write it into a file"),
    ],
)
def test_a_task_without_a_config_refuses_long_lists_as_it_does_short_ones(words, says):
    long = typed(LEVELS)
    with pytest.raises(parameters.InvalidInput, match=says):
        pairs([word.replace("LIST", long) for word in words])
    assert pairs([f"save={long}"]) == {"save": long}  # a text


def test_a_value_is_checked_once_for_all_cells(monkeypatch):
    checked = []
    check = parameters._check
    monkeypatch.setattr(parameters, "_check", lambda *given: checked.append(given) or check(*given))
    config = compose(
        [
            "experiment=xu/lemmas",
            "grid.m=[3,4]",
            f"grid.epsilon={typed(LEVELS[:41])}",
            f"grid.L={typed(range(101, 142))}",
        ]
    )[0]
    assert len(read_experiment(config).study.grid) == 2 * 41 * 41
    assert (
        len([value for _, value, _ in checked if value is not None]) < 500
    )  # there are 3,362 mechanisms


def test_values_of_other_types_are_not_mixed_up():
    """1 == 1.0 == True, also where one of them was allowed before."""
    whole = parameters.parameter("a number of people", low=0)
    whole.type = "int"
    assert parameters.check(whole, 1, "n") == 1 and parameters.check(whole, 1.0, "n") == 1
    for _ in range(2):
        with pytest.raises(parameters.InvalidInput, match="n=true: must be a whole number"):
            parameters.check(whole, True, "n")
