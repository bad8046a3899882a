"""Registry: every name is what it says, and says what a reader must know."""

import dataclasses
import inspect

import numpy as np
import pytest

from pipeline.metrics.ranking import ErrorL2
from pipeline.parameters import InvalidInput, describe, fields
from pipeline.registry import NAMES, lookup, register

COMPONENTS = [(kind, name) for kind in ("model", "mechanism", "estimator", "metric") for name in NAMES[kind]]


def parts(kind):
    return [(name, lookup(kind, name)) for name in NAMES[kind]]


@pytest.mark.parametrize("kind, name", COMPONENTS)
def test_a_component_is_a_frozen_documented_dataclass(kind, name):
    component = lookup(kind, name)
    assert dataclasses.is_dataclass(component) and component.__dataclass_params__.frozen
    assert component.__doc__ and not component.__doc__.startswith(f"{component.__name__}(")
    for declared in fields(component).values():
        assert declared.metadata["meaning"] and declared.metadata["unit"] and describe(declared)


@pytest.mark.parametrize("name, model", parts("model"))
def test_models_say_what_they_produce(name, model):
    assert isinstance(model.produces, type) and set(model.population) <= set(fields(model))
    assert all(callable(getattr(model, method)) for method in ("truth", "simulate", "work"))


@pytest.mark.parametrize("name, mechanism", parts("mechanism"))
def test_mechanisms_state_their_privacy(name, mechanism):
    for said in (mechanism.unit, mechanism.neighbours, mechanism.budget):
        assert isinstance(said, str) and said
    assert isinstance(mechanism.accepts, type) and isinstance(mechanism.releases, type)
    assert all(callable(getattr(mechanism, method)) for method in ("release", "work"))


@pytest.mark.parametrize("name, estimator", parts("estimator"))
def test_estimators_say_what_they_accept(name, estimator):
    assert isinstance(estimator.accepts, type)
    assert all(callable(getattr(estimator, method)) for method in ("fit", "work"))


@pytest.mark.parametrize("name, metric", parts("metric"))
def test_metrics_have_units_and_a_long_name(name, metric):
    assert metric.units and metric.long_name and callable(metric)
    least, most = getattr(metric, "least", -np.inf), getattr(metric, "most", np.inf)
    assert least < most
    assert list(inspect.signature(metric.__call__).parameters) == ["self", "truth", "release", "estimate"]


def test_long_names_are_distinct():
    names = [metric.long_name for _, metric in parts("metric")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name, function", parts("derivation"))
def test_derivations_name_their_inputs(name, function):
    assert inspect.isfunction(function) and function.__doc__
    kinds = (p.kind for p in inspect.signature(function).parameters.values())
    assert all(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds)


def test_every_chain_has_neighbours_that_fit():
    """Whatever a model produces some mechanism accepts, and whatever is released some estimator accepts."""
    for _, model in parts("model"):
        private = [mechanism for _, mechanism in parts("mechanism") if mechanism.accepts is not object]
        assert any(issubclass(model.produces, mechanism.accepts) for mechanism in private)
        assert any(issubclass(model.produces.opens, estimator.accepts) for _, estimator in parts("estimator"))
    for name, mechanism in parts("mechanism"):
        assert (mechanism.releases is object) == (name == "none")  # it releases what the data open to
        assert name == "none" or any(
            issubclass(mechanism.releases, estimator.accepts) for _, estimator in parts("estimator"))


@pytest.mark.parametrize("name", ["eror_l2", "", None, 5, ["error_l2"], "os:system", "os.system"])
def test_nothing_else_can_be_named(name):
    with pytest.raises(InvalidInput, match="no such metric"):
        lookup("metric", name)


def test_register_adds_a_name(monkeypatch):
    monkeypatch.setitem(NAMES, "metric", dict(NAMES["metric"]))
    register("metric", "toy", "pipeline.metrics.ranking:ErrorL2")
    assert lookup("metric", "toy") is ErrorL2
