"""Study: which labels share which numbers, and that a unit depends on nothing else."""

import dataclasses
import itertools
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.identity import registry
from pipeline.problems.ranking import PROBLEM
from pipeline.problems.ranking.model import BTL
from pipeline.study.grid import Grid
from pipeline.study.parameters import InvalidInput, parameter
from pipeline.study.status import OK
from pipeline.study.streams import Stream
from pipeline.study.study import Study, build

BASE = {"spread": 2.0, "draw": "conditional", "profile": "1:1"}


def study(grid, block=3, replications=6, **changes):
    given = dict(
        name="test",
        problem="ranking",
        seed=11,
        replications=replications,
        block=block,
        grid=Grid.of(grid),
        parameters=BASE,
        metrics=("error_l2", "kendall"),
    )
    return Study(**(given | changes))


def extended(**tables):
    """A context in which the problem of rankings has further parts."""
    tables = {kind: {**getattr(PROBLEM, kind), **names} for kind, names in tables.items()}
    return registry.registered(dataclasses.replace(PROBLEM, **tables))


FULL = study(
    {
        "m": [3, 4],
        "L": [5, 9],
        "epsilon": [0.5, 1.0],
        "model": ["btl"],
        "mechanism": ["none", "randomized_response"],
        "estimator": ["debiased", "plug_in"],
    }
)
STREAMS = ("population", "truth", "data", "noise", "estimator")


def streams(a_study, labels, block=0):
    model = a_study.components(labels).model
    return {role: a_study.stream(role, labels, block, model) for role in STREAMS}


def differ(first, second):
    return {role for role in STREAMS if first[role] != second[role]}


@pytest.mark.parametrize(
    "axis, roles",
    [
        ("estimator", {"estimator"}),
        ("mechanism", {"noise", "estimator"}),
        ("epsilon", {"truth", "data", "noise", "estimator"}),
        ("L", {"truth", "data", "noise", "estimator"}),
        ("m", set(STREAMS)),
    ],
)
def test_what_an_axis_changes(axis, roles):
    cells = list(FULL.grid)
    for first, second in itertools.combinations(cells, 2):
        if [name for name in first if first[name] != second[name]] == [axis]:
            assert differ(streams(FULL, first), streams(FULL, second)) == roles


def test_what_a_block_changes_and_what_it_does_not():
    labels = FULL.grid.labels(0)
    assert differ(streams(FULL, labels, 0), streams(FULL, labels, 1)) == set(STREAMS) - {
        "population"
    }


def test_roles_and_cells_never_share_a_stream():
    units = itertools.product(FULL.grid, (0, 1))
    addresses = [
        stream for labels, block in units for stream in streams(FULL, labels, block).values()
    ]
    by_role = {role: {s for s in addresses if s.role == role} for role in STREAMS}
    assert len(set(addresses)) == sum(len(found) for found in by_role.values())
    assert {role: len(found) for role, found in by_role.items()} == {
        "population": 2,
        "truth": 16,
        "data": 16,
        "noise": 32,
        "estimator": 64,
    }


def test_pairing_can_be_changed():
    own = dataclasses.replace(FULL, paired=("estimator",))
    first, second = (
        {**FULL.grid.labels(0), "mechanism": name} for name in ("none", "randomized_response")
    )
    assert differ(streams(own, first), streams(own, second)) == set(STREAMS) - {"population"}
    assert own.key != FULL.key


def test_mechanisms_and_estimators_meet_the_same_data():
    seen = {}

    class Spy(BTL):
        def simulate(self, truth, rng):
            data = super().simulate(truth, rng)
            seen.setdefault("wins", []).append(data.wins)
            seen.setdefault("theta", []).append(truth.theta)
            return data

    with extended(models={"spy": Spy}):
        one_pair = study(
            {"mechanism": ["none", "randomized_response"], "estimator": ["debiased", "plug_in"]},
            parameters=BASE | {"model": "spy", "m": 4, "L": 50, "epsilon": 1.0},
        )
        for labels in one_pair.grid:
            one_pair.simulate(labels, 0)
        assert len(seen["wins"]) == 4
        assert all(np.array_equal(seen[what][0], other) for what in seen for other in seen[what])


@given(st.permutations(range(len(FULL.grid) * FULL.blocks)))
def test_memo_and_order_change_nothing(order):
    memo = {}
    for unit in order[:12]:
        cell, block = divmod(unit, FULL.blocks)
        assert same(FULL.simulate(FULL.grid.labels(cell), block, memo), ALONE[unit])


def test_mechanisms_that_share_noise_share_no_release():
    """Budgets that are paired draw one data and one noise; what they release is still not the same."""
    paired = dataclasses.replace(FULL, paired=("mechanism", "estimator", "epsilon"))
    labels = {**paired.grid.labels(0), "mechanism": "randomized_response"}
    first, second = ({**labels, "epsilon": epsilon} for epsilon in (0.5, 1.0))
    assert differ(streams(paired, first), streams(paired, second)) == {"estimator"}
    memo, alone = {}, [paired.simulate(labels, 0) for labels in (first, second)]
    assert not same(*alone)
    for labels, values in ((first, alone[0]), (second, alone[1]), (first, alone[0])):
        assert same(paired.simulate(labels, 0, memo), values)


def same(first, second):
    return first.keys() == second.keys() and all(
        first[n].tobytes() == second[n].tobytes() for n in first
    )


ALONE = [FULL.simulate(labels, block) for labels in FULL.grid for block in range(FULL.blocks)]


def test_values_of_a_unit():
    for values in ALONE:
        assert set(values) == {"error_l2", "kendall", "status"}
        assert all(v.shape == (FULL.block,) for v in values.values())
        assert values["error_l2"].dtype == float and values["status"].dtype == np.int8
        assert (values["status"] == OK).all() and np.isfinite(values["error_l2"]).all()
    distinct = {tuple(values["error_l2"].round(9)) for values in ALONE}
    assert len(distinct) == len(ALONE) - 16  # without privacy the plug-in is the debiased estimator


def test_the_rest_of_the_grid_and_more_replications_change_nothing():
    labels = FULL.grid.labels(6)
    assert (
        labels["mechanism"] == "randomized_response"
    )  # without it, nothing would take the privacy budget
    alone = dataclasses.replace(
        FULL, grid=Grid.of({n: [v] for n, v in labels.items()}), replications=300
    )
    assert same(alone.simulate(labels, 1), FULL.simulate(labels, 1)) and alone.key == FULL.key


def test_another_seed_changes_every_number():
    for labels in FULL.grid:
        other = dataclasses.replace(FULL, seed=12).simulate(labels, 0)
        assert not np.isin(FULL.simulate(labels, 0)["error_l2"], other["error_l2"]).any()


def test_a_fixed_population_is_one_for_all_but_its_own_labels():
    parts = {
        "model": "btl",
        "mechanism": "randomized_response",
        "estimator": "debiased",
        "theta": "fixed",
    }
    fixed = study({"m": [3, 4], "L": [5, 9], "epsilon": [0.5, 1.0]}, parameters=BASE | parts)
    found = {}
    for labels in fixed.grid:
        for block in (0, 1):
            model, roles = fixed.components(labels).model, streams(fixed, labels, block)
            truth = model.truth(roles["truth"].generator(), 4, roles["population"].generator())
            assert (truth.theta == truth.theta[0]).all() and np.abs(
                truth.theta.sum(axis=1)
            ).max() < 1e-12
            found.setdefault(labels["m"], set()).add(truth.theta[0].tobytes())
    assert {m: len(drawn) for m, drawn in found.items()} == {3: 1, 4: 1}
    three, four = (np.frombuffer(next(iter(found[m]))) for m in (3, 4))
    assert not np.isin(np.diff(three), np.diff(four)).any()


@dataclasses.dataclass(frozen=True)
class Deaf:
    """An estimator that accepts what no mechanism releases."""

    accepts: ClassVar[type] = dict

    def fit(self, release, rng):
        raise AssertionError("it is given nothing")

    def cost(self):
        return 0.0


@dataclasses.dataclass(frozen=True)
class Typed:
    """A component with one parameter of each kind."""

    needed: int = parameter("cannot be left out")
    whole: int = parameter("a whole number", default=0)
    real: float = parameter("a number", default=0.0)
    flag: bool = parameter("a flag", default=False)


def test_parts_that_do_not_fit_are_refused():
    labels = FULL.grid.labels(0) | {"estimator": "deaf"}
    said = "estimator=deaf: .*mechanism=.*: needs dict, but is given FlippedWins"
    with extended(estimators={"deaf": Deaf}), pytest.raises(InvalidInput, match=said):
        FULL.components(labels)


def test_a_missing_parameter_is_named():
    with pytest.raises(
        InvalidInput, match=r"needed=null: is needed by Typed \(cannot be left out\)"
    ):
        build(Typed, {"whole": 1})


def test_equal_values_of_other_types_are_not_confused():
    for _ in range(2):  # the second time from the cache
        assert type(build(Typed, {"needed": 1, "whole": 1}).whole) is int
        assert type(build(Typed, {"needed": 1, "real": 1}).real) is float
        assert type(build(Typed, {"needed": 1.0}).needed) is int
        for wrong in ({"needed": True}, {"needed": 1, "flag": 1}, {"needed": 1, "flag": 1.0}):
            with pytest.raises(InvalidInput):
                build(Typed, wrong)
        assert build(Typed, {"needed": 1, "flag": True}).flag is True


@pytest.fixture
def derivations():
    with extended(derivations={"double": double, "plus": plus}):
        yield


def test_derivations_in_order(derivations):
    grid = {"x": [1.0, 2.0]}
    parts = BASE | {
        "model": "btl",
        "mechanism": "randomized_response",
        "estimator": "debiased",
        "m": 3,
        "L": 5,
    }
    assert [
        study(
            grid,
            derive={"spread": "double", "epsilon": "plus"},
            parameters=without(parts, "spread"),
        ).derived(c)
        for c in Grid.of(grid)
    ] == [{"spread": 2.0, "epsilon": 3.0}, {"spread": 4.0, "epsilon": 6.0}]
    with pytest.raises(InvalidInput, match="derive.epsilon=plus: needs spread"):
        study(
            grid,
            derive={"epsilon": "plus", "spread": "double"},
            parameters=without(parts, "spread"),
        )


def without(parameters, *names):
    return {name: value for name, value in parameters.items() if name not in names}


def double(x: float):
    return 2 * x


def plus(x: float, spread: float):
    return x + spread


def test_identity_ignores_levels_and_replications_only():
    fewer = Grid.of({axis: levels[-1:] for axis, levels in FULL.grid.axes.items()})
    more = dataclasses.replace(FULL, replications=12, grid=fewer)
    assert more.description == FULL.description
    for change in (
        dict(name="other"),
        dict(seed=1),
        dict(block=2),
        dict(parameters=BASE | {"spread": 1.0}),
        dict(metrics=("kendall",)),
        dict(paired=("estimator",)),
        dict(derive={"spread": "epsilon_user"}, parameters=without(BASE, "spread")),
    ):
        assert dataclasses.replace(FULL, **change).key != FULL.key


def test_work_grows_with_the_block_and_the_items():
    labels = FULL.grid.labels(0)
    wider = dataclasses.replace(FULL, block=300, replications=300)
    assert 0 < FULL.cost(labels) < wider.cost(labels) < wider.cost(labels | {"m": 40})


class Watched:
    """A part that notes from the streams of which roles its steps are given generators."""

    def __init__(self, part, made, roles):
        self.part, self.made, self.roles = part, made, roles

    def __getattr__(self, name):
        found = getattr(self.part, name)
        if name not in ("truth", "simulate", "release", "fit"):
            return found

        def step(*given):
            self.roles[name] = [role for one in given for rng, role in self.made if rng is one]
            return found(*given)

        return step


def test_every_step_draws_from_the_stream_of_its_role(monkeypatch):
    """Noise drawn from the data's stream would be a function of the data: it would protect nobody."""
    made, roles, components, generator = [], {}, Study.components, Stream.generator

    def watched(self, labels):
        parts = components(self, labels)
        return type(parts)(*(Watched(one, made, roles) for one in parts[:3]), parts.metrics)

    def noted(self):
        made.append((generator(self), self.role))
        return made[-1][0]

    monkeypatch.setattr(Study, "components", watched)
    monkeypatch.setattr(Stream, "generator", noted)
    FULL.simulate(
        {
            "m": 3,
            "L": 5,
            "epsilon": 0.5,
            "model": "btl",
            "mechanism": "randomized_response",
            "estimator": "debiased",
        },
        0,
    )
    assert roles == {
        "truth": ["truth", "population"],
        "simulate": ["data"],
        "release": ["noise"],
        "fit": ["estimator"],
    }
