"""Figure lists: every mistake is found at once, with its key, value and what is allowed."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipeline.reporting import specs
from pipeline.study.parameters import InvalidInput

AXES = {
    "m": [10, 20],
    "L": [100, 400],
    "x": [1, 2.5],
    "method": ["plain", "other"],
    "alone": [3],
    "zero": [0.0],
}
PHASE = dict(
    kind="phase_diagram",
    metric="error",
    along="x",
    at="budget",
    size=["m", "L"],
    level=0.8,
    select={"method": "plain"},
)
COLLAPSE = dict(
    kind="collapse",
    metric="error",
    along="x",
    size=["m", "L"],
    exponent=0.5,
    select={"method": "plain"},
)
CURVES = dict(kind="curves", metric="error", along="x", by=["m", "L"], split="method")
RATIO = dict(
    kind="ratio", metric="error", yardstick="bound", along="x", by=["m", "L"], panels="method"
)
MAP = dict(kind="map", metric="error", along="x", across="L", panels="method", select={"m": 10})


def read(*figures):
    return specs.read(list(figures), AXES, ["budget"], ["error", "bound"])


def test_valid_figures_are_read_with_their_defaults():
    phase, collapse, curves, ratio = read(
        PHASE | {"theory": -1, "title": "T"}, COLLAPSE, CURVES, RATIO
    )
    assert (
        phase.size == ("m", "L")
        and phase.level == 0.8
        and phase.theory == -1.0
        and phase.title == "T"
    )
    assert (
        phase.position == "budget"
        and collapse.position == "x"
        and collapse.select == {"method": "plain"}
    )
    assert curves.by == ("m", "L") and curves.split == "method" and curves.panels is None
    assert ratio.power == 2 and ratio.drawn == ("x", "m", "L", "method")
    (tiles,) = read(MAP)
    assert tiles.drawn == ("x", "L", "method") and tiles.yardstick is None and tiles.power is None
    (tiles,) = read(MAP | {"yardstick": "bound", "power": 1, "at": "budget"})
    assert tiles.power == 1.0 and tiles.position == "budget" and tiles.yardstick == "bound"
    assert not curves.linear and curves.theory is None and read(RATIO | {"linear": True})[0].linear
    assert read(CURVES | {"theory": -1, "at": "budget"})[0].theory == -1.0
    assert specs.read(None, AXES) == specs.read([], AXES) == ()


def test_marks_references_and_crossings():
    phase, curves, tiles = read(
        PHASE | {"marks": 2, "crossings": {"bound": 1, "budget": 0.5}},
        CURVES | {"marks": {"least": 1.5}, "reference": "bound"},
        MAP | {"marks": -1},
    )
    assert phase.marks == {"2": 2.0} and phase.crossings == {"bound": 1.0, "budget": 0.5}
    assert (
        curves.marks == {"least": 1.5}
        and curves.reference == "bound"
        and tiles.marks == {"−1": -1.0}
    )
    assert read(CURVES | {"marks": 0, "linear": True, "reference": "budget"})[0].marks == {"0": 0.0}
    assert (
        read(CURVES)[0].marks == {}
        and read(CURVES)[0].reference is None
        and read(PHASE)[0].crossings == {}
    )


def test_levels_match_whole_floats_and_null_means_default():
    (curves,) = read(dict(CURVES, by=["L"], select={"m": 10.0}, at=None, panels=None))
    assert curves.select == {"m": 10} and type(curves.select["m"]) is int


def without(figure, name):
    return {key: value for key, value in figure.items() if key != name}


BAD = [
    ("curves", "figures.0", "list of mappings|mapping with kind"),
    (None, "figures.0", "mapping"),
    ([CURVES], "figures.0", "mapping"),
    ({}, "figures.0.kind", "allowed"),
    ({"kind": "curve"}, "figures.0.kind", "did you mean 'curves'"),
    ({"kind": 3}, "figures.0.kind", "allowed"),
    ({"kind": ["curves"]}, "figures.0.kind", "allowed"),
    (CURVES | {"colour": "red"}, "figures.0.colour", "no such field"),
    (CURVES | {"metrics": "error"}, "figures.0.metrics", "did you mean 'metric'"),
    (CURVES | {"level": 1}, "figures.0.level", "no such field"),
    (without(CURVES, "metric"), "figures.0.metric", "is needed"),
    (without(CURVES, "along"), "figures.0.along", "is needed"),
    (CURVES | {"metric": None}, "figures.0.metric", "is needed"),
    (CURVES | {"metric": "eror"}, "figures.0.metric", "did you mean 'error'"),
    (CURVES | {"metric": ["error"]}, "figures.0.metric", "no such metric"),
    (CURVES | {"along": "y"}, "figures.0.along", "no such axis"),
    (CURVES | {"along": "budget"}, "figures.0.along", "no such axis"),
    (CURVES | {"at": "budgets"}, "figures.0.at", "did you mean 'budget'"),
    (CURVES | {"at": "m"}, "figures.0.at", "derived parameter"),
    (CURVES | {"by": "m"}, "figures.0.by", "list of axes"),
    (CURVES | {"by": ["m", "l"]}, "figures.0.by", "no such axis"),
    (CURVES | {"by": [["m"]]}, "figures.0.by", "no such axis"),
    (CURVES | {"by": ["m", "m", "L"]}, "figures.0.by", "uses already"),
    (CURVES | {"by": ["m", "L", "x"]}, "figures.0.by", "uses already"),
    (CURVES | {"split": "m"}, "figures.0.split", "uses already"),
    (CURVES | {"panels": "method"}, "figures.0.panels", "uses already"),
    (CURVES | {"panels": ["method"]}, "figures.0.panels", "no such axis"),
    (CURVES | {"select": {"m": 10}}, "figures.0.select", "uses already"),
    (CURVES | {"select": "m"}, "figures.0.select", "mapping"),
    (CURVES | {"by": ["m"]}, "figures.0.select", "axis L has 2 levels"),
    (CURVES | {"by": ["L"], "select": {"m": 11}}, "figures.0.select.m", "no such level"),
    (CURVES | {"by": ["L"], "select": {"m": [10]}}, "figures.0.select.m", "no such level"),
    (CURVES | {"by": ["L"], "select": {"M": 10}}, "figures.0.select.M", "no such axis"),
    (CURVES | {"title": 3}, "figures.0.title", "a name"),
    (CURVES | {"caption": ["a"]}, "figures.0.caption", "a name"),
    (PHASE | {"select": {"method": "plian"}}, "figures.0.select.method", "did you mean 'plain'"),
    (without(PHASE, "level"), "figures.0.level", "is needed"),
    (PHASE | {"level": "0.8"}, "figures.0.level", "a number"),
    (PHASE | {"level": True}, "figures.0.level", "a number"),
    (PHASE | {"theory": float("nan")}, "figures.0.theory", "a number"),
    (PHASE | {"theory": float("inf")}, "figures.0.theory", "finite"),
    (PHASE | {"size": []}, "figures.0.size", "list of axes"),
    (PHASE | {"size": "mL"}, "figures.0.size", "list of axes"),
    (PHASE | {"size": ["m", "method"], "select": {"L": 100}}, "figures.0.size", "positive numbers"),
    (PHASE | {"size": ["m", "zero"]}, "figures.0.size", "positive numbers"),
    (without(PHASE, "size"), "figures.0.size", "is needed"),
    (PHASE | {"along": "zero", "at": None}, "figures.0.select", "axis x has 2 levels"),
    (COLLAPSE | {"along": "method", "select": {"x": 1}}, "figures.0.along", "positive numbers"),
    (without(COLLAPSE, "exponent"), "figures.0.exponent", "is needed"),
    (COLLAPSE | {"exponent": None}, "figures.0.exponent", "is needed"),
    (RATIO | {"yardstick": "bond"}, "figures.0.yardstick", "did you mean 'bound'"),
    (without(RATIO, "yardstick"), "figures.0.yardstick", "is needed"),
    (RATIO | {"power": 0}, "figures.0.power", "> 0"),
    (RATIO | {"linear": 1}, "figures.0.linear", "true or false"),
    (RATIO | {"theory": -1}, "figures.0.theory", "no such field"),
    (CURVES | {"theory": "-1/2"}, "figures.0.theory", "a number"),
    (CURVES | {"source": "Theorem 1"}, "figures.0.source", "is that of theory, a slope"),
    (CURVES | {"theory": -1, "linear": True}, "figures.0.theory", "remove linear"),
    (
        CURVES | {"theory": -1, "along": "method", "split": "x"},
        "figures.0.theory",
        "positive numbers along method",
    ),
    (without(MAP, "across"), "figures.0.across", "is needed"),
    (MAP | {"across": "l"}, "figures.0.across", "no such axis"),
    (MAP | {"across": ["L"]}, "figures.0.across", "no such axis"),
    (MAP | {"across": "x"}, "figures.0.across", "uses already"),
    (MAP | {"panels": "L"}, "figures.0.panels", "uses already"),
    (MAP | {"select": {}}, "figures.0.select", "axis m has 2 levels"),
    (MAP | {"select": {"m": 10, "L": 100}}, "figures.0.select", "uses already"),
    (MAP | {"at": "m"}, "figures.0.at", "derived parameter"),
    (MAP | {"by": ["L"]}, "figures.0.by", "no such field"),
    (MAP | {"yardstick": "bond"}, "figures.0.yardstick", "did you mean 'bound'"),
    (MAP | {"yardstick": "bound", "power": -1}, "figures.0.power", "> 0"),
    (MAP | {"power": 2}, "figures.0.power", "needs a yardstick"),
    (CURVES | {"marks": "1.7"}, "figures.0.marks", "finite number"),
    (CURVES | {"marks": [1.7]}, "figures.0.marks", "finite number"),
    (CURVES | {"marks": {"here": True}}, "figures.0.marks.here", "finite number"),
    (CURVES | {"marks": {"here": float("inf")}}, "figures.0.marks.here", "finite number"),
    (CURVES | {"marks": {1: 2}}, "figures.0.marks", "name of a line"),
    (CURVES | {"marks": {"here": 2, "there": -1}}, "figures.0.marks", "above 0"),
    (PHASE | {"marks": 0}, "figures.0.marks", "above 0"),
    (CURVES | {"marks": 1, "along": "method", "split": "x"}, "figures.0.marks", "axis of numbers"),
    (COLLAPSE | {"marks": 1}, "figures.0.marks", "no such field"),
    (CURVES | {"reference": "bond"}, "figures.0.reference", "did you mean 'bound'"),
    (CURVES | {"reference": "x"}, "figures.0.reference", "no such metric or derived"),
    (CURVES | {"reference": "error"}, "figures.0.reference", "something else"),
    (CURVES | {"reference": "budget", "at": "budget"}, "figures.0.reference", "something else"),
    (PHASE | {"crossings": 0.5}, "figures.0.crossings", "mapping"),
    (PHASE | {"crossings": {"bond": 0.5}}, "figures.0.crossings", "did you mean 'bound'"),
    (PHASE | {"crossings": {"bound": "½"}}, "figures.0.crossings.bound", "finite number"),
]


@pytest.mark.parametrize("figure, key, words", BAD)
def test_malformed(figure, key, words):
    with pytest.raises(InvalidInput) as caught:
        read(figure)
    assert caught.value.key == key
    assert any(word in caught.value.allowed for word in words.split("|")), caught.value
    assert "\n" not in str(caught.value)


def test_the_place_in_the_list_is_reported():
    with pytest.raises(InvalidInput, match=r"figures\.2\.metric"):
        read(CURVES, RATIO, CURVES | {"metric": "none"})
    for wrong in ({"kind": "curves"}, "curves", 3):
        with pytest.raises(InvalidInput, match="figures="):
            specs.read(wrong, AXES)


def test_specs_load_neither_matplotlib_nor_xarray():
    code = (
        "import sys, pipeline.reporting.specs; "
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'xarray', 'numpy', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_every_line_of_a_theory_names_its_source():
    files = (Path(__file__).parents[2] / "conf/experiment").rglob("*.yaml")
    lines = [
        one
        for file in files
        for one in yaml.safe_load(file.read_text("utf-8"))["figures"]
        if "theory" in one
    ]
    assert len(lines) > 20 and all(one.get("source") for one in lines)
