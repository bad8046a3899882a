"""Law: no part, grid, study or setting can be made with a value that its declaration forbids."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.execution.clusters import CLUSTERS
from pipeline.identity.registry import problems
from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput, fields
from pipeline.study.protocols import PROTOCOLS
from pipeline.study.study import Study
from pipeline.study.targets import Target
from pipeline.workflow.config import read_experiment, read_settings
from pipeline.workflow.experiment import Text
from pipeline.workflow.settings import Settings, Storage
from tests.helpers.engine import mapping

PARTS = {
    f"{one.name}-{kind}-{name}": one.part(kind, name)
    for one in problems().values()
    for kind in PROTOCOLS
    for name in one.names(kind)
}
FIELDS = [
    pytest.param(part, declared, id=f"{name}-{declared.name}")
    for name, part in PARTS.items()
    for declared in fields(part).values()
]
TEXTS = {
    "profile": ["1:1", "0.5:1,0.5:2"],
    "b": ["0.25, 0.75"],
    "model": ["recorded"],  # of a form that the part
    "mechanism": ["none", "discrete_gaussian"],
}  # itself checks


def kinds(declared):
    name = str(getattr(declared.type, "__name__", declared.type)).strip("'\"")
    return {kind.strip().rpartition(".")[2] for kind in name.split("|")}


def bounds(declared):
    """The least and the largest value to draw, inside the declared range, and not far apart."""
    limits, gap = declared.metadata, 1 if "int" in kinds(declared) else 1e-3
    low = (
        limits["low"]
        if limits["low"] is not None
        else None
        if limits["above"] is None
        else limits["above"] + gap
    )
    high = (
        limits["high"]
        if limits["high"] is not None
        else None
        if limits["below"] is None
        else limits["below"] - gap
    )
    low = (0 if high is None or high >= 0 else high - 50) if low is None else low
    return low, min(low + 50, math.inf if high is None else high)


def inside(declared):
    """Values that a field may take."""
    options = kinds(declared)
    if "DataFile" in options:
        return st.none()  # a stand-in
    if "str" in options:
        default = [] if declared.default is dataclasses.MISSING else [declared.default]
        return st.sampled_from(
            [*(declared.metadata["choices"] or TEXTS.get(declared.name, ())), *default]
        )
    if "bool" in options:
        return st.booleans()
    return st.integers(*bounds(declared)) if "int" in options else st.floats(*bounds(declared))


def outside(declared):
    """Values that a field may not take: beyond its range, of another type, unknown, missing."""
    limits, options = declared.metadata, kinds(declared)
    if "DataFile" in options:
        return [5, True, 1.5, "", "no such file", "a\0b"]
    if "str" in options:
        return [5, True, 1.5, ["a"], "a\0b", *(["", "unknown"] if limits["choices"] else [])]
    if "bool" in options:
        return [0, 1, "true", 1.0]
    wrong = ["1", True, [1], {}, 1j, math.nan, -math.inf, 10**400]
    wrong += [2.5, math.inf] if "int" in options else [] if limits["infinite"] else [math.inf]
    for name, sign in (("low", -1), ("above", -1), ("high", 1), ("below", 1)):
        if limits[name] is not None:
            wrong += [limits[name] + sign, *([limits[name]] if name in ("above", "below") else [])]
    return wrong


def outside_all(declared):
    return [*outside(declared), *([] if "None" in kinds(declared) else [None])]


def drawn(part, data):
    return {name: data.draw(inside(declared), name) for name, declared in fields(part).items()}


# Of drawn sizes hardly any go together: messages of fewer people than items hide nobody.
RARE = {"response-mechanism-shuffled_response"}
FEW = {"response-mechanism-discrete_gaussian"}  # of which twenty drawn ones have none


@pytest.mark.parametrize("name", PARTS)
def test_values_inside_are_accepted_in_their_type(name):
    """Where values do not go together, the refusal names one of them."""
    part, made = PARTS[name], []

    @settings(
        max_examples=40 if name in FEW else 20,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def check(data):
        values = drawn(part, data)
        try:
            instance = part(**values)
        except InvalidInput as error:
            assert error.key in values, error
            return
        made.append(instance)
        for key, declared in fields(part).items():
            value = getattr(instance, key)
            assert value == values[key] and type(value).__name__ in kinds(declared) | {"NoneType"}

    check()
    has_rare_values = "data_path" in fields(part) or name in RARE
    assert made or has_rare_values, "no drawn values were accepted"


@pytest.mark.parametrize("part, declared", FIELDS)
def test_values_outside_are_refused_by_name(part, declared):
    @settings(max_examples=1, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data):
        values = drawn(part, data)
        for wrong in outside_all(declared):
            with pytest.raises(InvalidInput) as refusal:
                part(**values | {declared.name: wrong})
            assert refusal.value.key == declared.name and "\n" not in str(refusal.value)

    check()


def test_numbers_of_numpy_and_whole_floats_become_plain():
    part = PARTS["ranking-model-btl"]
    made = part(m=np.int64(3), L=20.0, spread=np.float32(1))
    assert [type(value) for value in (made.m, made.L, made.spread)] == [int, int, float]


SMALL = read_experiment(mapping()).study


@pytest.mark.parametrize(
    "change, message",
    [
        (
            dict(replications=1001, block=500),
            "replications=1001: must be a multiple of block=500, e.g. 1000",
        ),
        (dict(replications=0), "replications=0: must be a whole number ≥ 1"),
        (dict(block=2.5), "block=2.5"),
        (dict(seed=-1), "seed=-1: must be a whole number ≥ 0"),
        (dict(seed=2**63), "seed="),
        (dict(seed="1"), "seed='1'"),
        (dict(name="../x"), "name=../x"),
        (dict(name=5), "name=5"),
        (dict(problem="rankin"), "did you mean 'ranking'"),
        (dict(problem=None), "problem=null"),
        (dict(metrics=()), "metrics=.*at least one"),
        (dict(metrics=("eror_l2",)), "did you mean 'error_l2'"),
        (dict(metrics=("kendall", "kendall")), "names one thing twice"),
        (dict(metrics="kendall"), "must be a list"),
        (dict(paired=("mechansm",)), "did you mean 'mechanism'"),
        (dict(paired=()), "paired="),
        (dict(derive={"epsilon": "budget_from_x"}), r"grid.epsilon=.*given twice"),
        (dict(derive={"spread": "budget_from_x"}), "derive.spread=budget_from_x: needs x"),
        (dict(derive={"spread": "nothing"}), "derive.spread=nothing: no such derivation"),
        (dict(derive=5), "derive=5"),
        (dict(coordinates=("nothing",)), "coordinates=nothing: no such derivation"),
        (dict(coordinates=("signal",)), "parameters.spacing=null: is needed by coordinates=signal"),
        (dict(parameters={}), "parameters.model=null: is needed"),
        (dict(parameters=None), "parameters=null"),
        (
            dict(parameters={**SMALL.parameters, "nothing": 1}),
            "parameters.nothing=1: no part of this study",
        ),
        (
            dict(parameters={**SMALL.parameters, "spread": -1}),
            "parameters.spread=-1: must be a number ≥ 0",
        ),
        (dict(grid={}), "grid="),
        (dict(grid=None), "grid=null"),
        (dict(grid={"m": []}), "grid.m=.*at least one"),
        (dict(grid={**SMALL.grid.axes, "m": [1]}), r"grid.m=1: must be a whole number ≥ 2"),
        (dict(grid={**SMALL.grid.axes, "m": [5, 5.0]}), "grid.m=.*twice"),
        (dict(grid={**SMALL.grid.axes, "m": [None]}), "grid.m=null"),
        (dict(grid={**SMALL.grid.axes, "q": [1]}), "grid.q=.*no part of this study"),
        (
            dict(grid={**SMALL.grid.axes, "estimator": ["debias"]}),
            "grid.estimator=debias: .*did you mean 'debiased'",
        ),
        (
            dict(grid={**SMALL.grid.axes, "m": [2], "profile": ["0.999:1,0.001:4"]}),
            "grid.profile=.*no user at L=20.*at",
        ),
    ],
)
def test_a_study_is_checked_as_a_config_is(change, message):
    with pytest.raises(InvalidInput, match=message) as from_python:
        dataclasses.replace(SMALL, **change)
    if change.get("parameters", change) is not None:  # a config may leave out the section
        with pytest.raises(InvalidInput) as from_config:
            read_experiment(mapping() | {"grid": SMALL.grid.axes} | change)
        assert from_python.value.key == from_config.value.key


def test_a_study_from_python_is_the_one_from_a_config():
    made = Study(
        "laws/small",
        "ranking",
        11,
        60,
        20,
        {axis: list(levels) for axis, levels in SMALL.grid.axes.items()},
        {"model": "btl", "mechanism": "randomized_response", "draw": "conditional"},
        ["error_l2", "kendall", "sandwich_risk"],
    )
    assert made == SMALL and made.key == SMALL.key and dataclasses.replace(made) == made


@pytest.mark.parametrize(
    "products, message",
    [
        (({},), "at least one"),
        (({"m": []},), "at least one"),
        (({"m": [None]},), "may not be null"),
        (({"m": [1, 1]},), "twice"),
        (({"m": [0.0, -0.0]},), "twice"),
        (({"m": [math.nan]},), "must be a number"),
        (({"m": [[1]]},), "must be a number"),
        (({"m": [1]}, {"L": [1]}), "same axes"),
        (({"m": range(4000), "L": range(4000)},), "more than 10,000,000 cells"),
        ((), "must be a mapping"),
    ],
)
def test_a_grid_is_checked(products, message):
    with pytest.raises(InvalidInput, match=message) as refusal:
        Grid.of(*products)
    assert refusal.value.key in ("grid", "grid.m")


def test_levels_of_numpy_become_plain():
    assert Grid.of({"m": np.array([3, 4]), "x": np.array([0.5])}) == Grid.of(
        {"m": [3, 4], "x": [0.5]}
    )


# How a command runs: classes, with values for the fields that have no default.
NEEDED = {
    Target: {"metric": "error_l2", "relative": 0.1},
    CLUSTERS["address"]: {"address": "tcp://host:8786"},
}
SETTINGS = [
    pytest.param(cls, declared, id=f"{cls.__name__}-{declared.name}")
    for cls in (Settings, Storage, Text, Target, *CLUSTERS.values())
    for declared in fields(cls).values()
    if "choices" in declared.metadata
]


@pytest.mark.parametrize("cls, declared", SETTINGS)
def test_settings_outside_are_refused_by_name(cls, declared):
    assert cls(**NEEDED.get(cls, {}))
    for wrong in outside_all(declared):
        with pytest.raises(InvalidInput) as refusal:
            cls(**NEEDED.get(cls, {}) | {declared.name: wrong})
        assert refusal.value.key == declared.name and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "name, wrong",
    [
        ("shard", "9/3"),
        ("shard", "0/3"),
        ("shard", "1/0"),
        ("shard", "third"),
        ("shard", ""),
        ("formats", "bmp"),
        ("formats", "svg,bmp"),
        ("formats", ""),
        ("outputs", ""),
        ("outputs", " "),
        ("outputs", "x" * 101),
        ("outputs", "~no such user/x"),
        ("repair", True),
        ("results", "x.zarr"),
        ("unit", "study/0/0"),
    ],
)
def test_a_setting_of_another_form_is_refused_as_in_a_command(name, wrong):
    with pytest.raises(InvalidInput) as from_python:
        Settings(**{name: wrong})
    with pytest.raises(InvalidInput) as from_config:
        read_settings({name: wrong})
    assert str(from_python.value) == str(from_config.value) and from_python.value.key == name


@settings(max_examples=200, derandomize=True)
@given(
    st.sampled_from(["shard", "formats", "outputs", "results", "unit", "task"]),
    st.text("0123456789/,.~ svgpndfx", max_size=12),
)
def test_python_and_command_agree_on_every_text(name, text):
    """Both accept it or both refuse it, with the same message."""
    outcomes = []
    for make in (lambda: Settings(**{name: text}), lambda: read_settings({name: text})):
        try:
            outcomes.append(make())
        except InvalidInput as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
