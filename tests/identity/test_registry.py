"""Registry: every name is what it says, and says what a reader must know."""

import dataclasses
import inspect
import sys

import numpy as np
import pytest

from pipeline.identity import own_files, registry
from pipeline.identity.registry import lookup, problem, problems, register
from pipeline.study.guarantee import Guarantee
from pipeline.study.parameters import InvalidInput, describe, fields
from pipeline.study.problem import Problem
from tests.helpers import toy_paper

KINDS = ("model", "mechanism", "estimator", "metric")
COMPONENTS = [
    (one.name, kind, name)
    for one in problems().values()
    for kind in KINDS
    for name in one.names(kind)
]


def parts(kind):
    return [
        pytest.param(one.part(kind, name), id=f"{one.name}-{name}")
        for one in problems().values()
        for name in one.names(kind)
    ]


@pytest.mark.parametrize("of, kind, name", COMPONENTS)
def test_a_component_is_a_frozen_documented_dataclass(of, kind, name):
    component = lookup(of, kind, name)
    assert dataclasses.is_dataclass(component) and component.__dataclass_params__.frozen
    assert component.__doc__ and not component.__doc__.startswith(f"{component.__name__}(")
    for declared in fields(component).values():
        assert declared.metadata["meaning"] and declared.metadata["unit"] and describe(declared)


@pytest.mark.parametrize("model", parts("model"))
def test_models_say_what_they_produce(model):
    assert isinstance(model.produces, type) and set(model.population) <= set(fields(model))
    assert all(callable(getattr(model, method)) for method in ("truth", "simulate", "cost"))


@pytest.mark.parametrize("mechanism", parts("mechanism"))
def test_mechanisms_state_their_privacy(mechanism):
    assert isinstance(mechanism.guarantee, Guarantee)
    assert isinstance(mechanism.accepts, type) and isinstance(mechanism.releases, type)
    assert all(callable(getattr(mechanism, method)) for method in ("release", "cost"))


@pytest.mark.parametrize("estimator", parts("estimator"))
def test_estimators_say_what_they_accept(estimator):
    assert isinstance(estimator.accepts, type)
    assert all(callable(getattr(estimator, method)) for method in ("fit", "cost"))


@pytest.mark.parametrize("metric", parts("metric"))
def test_metrics_have_units_and_a_long_name(metric):
    assert metric.units and metric.long_name and callable(metric)
    least, most = getattr(metric, "least", -np.inf), getattr(metric, "most", np.inf)
    assert least < most
    assert list(inspect.signature(metric.__call__).parameters) == [
        "self",
        "truth",
        "release",
        "estimate",
    ]


@pytest.mark.parametrize("one", problems().values(), ids=list(problems()))
def test_long_names_are_distinct(one):
    names = [one.part("metric", name).long_name for name in one.metrics]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("function", parts("derivation"))
def test_derivations_name_their_inputs(function):
    assert inspect.isfunction(function) and function.__doc__
    kinds = (p.kind for p in inspect.signature(function).parameters.values())
    assert all(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)


@pytest.mark.parametrize("one", problems().values(), ids=list(problems()))
def test_every_chain_has_neighbours_that_fit(one):
    """Whatever a model produces some mechanism accepts, and whatever is released some estimator accepts."""
    mechanisms = {name: one.part("mechanism", name) for name in one.mechanisms}
    estimators = [one.part("estimator", name) for name in one.estimators]
    for model in (one.part("model", name) for name in one.models):
        private = [
            mechanism for mechanism in mechanisms.values() if mechanism.accepts is not object
        ]
        assert any(issubclass(model.produces, mechanism.accepts) for mechanism in private)
        assert any(
            issubclass(model.produces.plain_release, estimator.accepts) for estimator in estimators
        )
    for name, mechanism in mechanisms.items():
        assert (mechanism.releases is object) == (
            name == "none"
        )  # it releases what the data open to
        assert name == "none" or any(
            issubclass(mechanism.releases, estimator.accepts) for estimator in estimators
        )


@pytest.mark.parametrize(
    "name", ["eror_l2", "", None, 5, ["error_l2"], "os:system", "os.system", "label_error"]
)
def test_nothing_else_can_be_named(name):
    with pytest.raises(InvalidInput, match="no such metric in problem=ranking"):
        lookup("ranking", "metric", name)
    with pytest.raises(InvalidInput, match="no such problem"):
        problem(name)


def test_names_are_scoped_by_problem():
    mechanisms = {
        lookup(of, "mechanism", "randomized_response") for of in ("ranking", "response", "crowd")
    }
    assert len(mechanisms) == 3


def test_register_adds_a_problem():
    with registry.registered(alone=True):
        register(toy_paper.PROBLEM)
        register(toy_paper.PROBLEM)  # the same again
        assert lookup("toy", "estimator", "half") is toy_paper.Half and "toy" in problems()


def test_what_is_registered_for_a_while_is_forgotten():
    """Also where the block ends by an error; workers are told of what they cannot find as it is installed."""

    def known():
        return {**problems()}, registry.registrations(), "own_tried" in sys.modules

    before = known()
    other = dataclasses.replace(problem("ranking"), title="Another")
    file = own_files.OwnFile(
        "tried.py", b"import pipeline as pl\npl.register('crowd', metrics={'share': 'a:B'})\n"
    )
    with pytest.raises(ZeroDivisionError), registry.registered(toy_paper.PROBLEM, other):
        register("response", estimators={"tried": "a:B"})
        own_files.execute(file)
        assert problem("ranking").title == "Another" and problem("toy") is toy_paper.PROBLEM
        assert "share" in problem("crowd").metrics and "tried" in problem("response").estimators
        sent = registry.registrations()
        assert sent.files == (*before[1].files, file)
        assert [one.problem for one in sent.additions[-2:]] == ["toy", "response"]
        with registry.registered(alone=True):
            assert not any(registry.registrations()) and problem("ranking").title != "Another"
            own_files.execute(file)
        assert known()[1:] == (sent, True)
        raise ZeroDivisionError
    assert known() == before


@pytest.mark.parametrize("taken", ["ranking", "toy"])
def test_a_second_problem_of_a_name_is_refused(taken):
    holder = {"ranking": "pipeline.problems.ranking", "toy": "tests.helpers.toy_paper"}[taken]
    with registry.registered(toy_paper.PROBLEM, alone=True):
        with pytest.raises(
            InvalidInput, match=f"problem={taken}: is registered by {holder} already"
        ):
            register(Problem(taken, "Another", "elsewhere"))
        assert problem(taken).package == holder
