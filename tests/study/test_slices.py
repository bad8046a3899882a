"""Units in slices of replications: the same bytes, in less memory."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from pipeline.identity.registry import problem
from pipeline.privacy import integer_noise
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.releases import ReleasedAnswers
from pipeline.problems.response.estimators import likelihood, spectral
from pipeline.problems.response.sampling import pair_counts
from pipeline.study import checks, slices
from pipeline.study.handover import Chain
from pipeline.study.parameters import InvalidInput
from pipeline.study.protocols import Components
from pipeline.study.streams import Stream
from pipeline.study.study import build
from pipeline.workflow.config import read_experiment
from tests.helpers.engine import mapping

REPS = 10
ROLES = ("population", "truth", "data", "noise", "estimator")
VALUES = {
    "ranking": [
        dict(m=7, L=20, epsilon=0.5),
        dict(m=7, L=20, epsilon=0.5, theta="two_groups", draw="marginal"),
        dict(m=7, L=20, person=2.0),
        dict(m=7, L=20, person=2.0, person_delta=1e-3, compared_are="public"),
        dict(m=7, L=20, epsilon=0.5, theta="fixed", profile="0.5:1,0.3:4,0.2:2"),
    ],
    "response": [
        dict(n=6, m=5, epsilon_user=0.3),
        dict(n=6, m=5, epsilon_user=90.0, left_out=0.3, p=0.8),
        dict(n=30, m=5, epsilon_user=0.01, shuffled=True, delta=0.5, solver="power"),
        dict(n=200, m=5, person=2.0, person_delta=0.1),
    ],
    "crowd": [
        dict(n=5, m=7, epsilon=1.0),
        dict(n=5, m=7, person=4.0, questions=3),
        dict(n=5, m=7, person=4.0, person_delta=0.5, initialisation="majority"),
        dict(
            n=9,
            m=5,
            epsilon=1.0,
            answered=0.8,
            left_out=0.2,
            initial_error=0.3,
            initialisation="given",
            ability_law="beta",
        ),
        dict(
            n=6,
            m=4,
            epsilon=1.0,
            initial_error=0.2,
            initial_flips="agreed",
            initialisation="spectral",
        ),
    ],
    "clustering": [
        dict(N=8, U=90, w=3, b="0.9, 0.1", epsilon=1.0),
        dict(N=8, U=90, w=3, b="0.9, 0.1", person=1.0, person_delta=1e-3, Q=2),
        dict(
            N=8, U=90, w=3, b="0.9, 0.1; 0.2, 0.8", alpha="0.5, 0.5", epsilon=1.0, clusters="random"
        ),
    ],
}
# Parts whose units are not cut: those of `clustering` draw users of all replications by kind, and take little memory.
WHOLE = {
    "ranking": {"misspecified", "recorded", "pooled", "tilted"},
    "response": set(),
    "crowd": set(),
    "clustering": {
        "none",
        "adaptive",
        "average_one_bit",
        "adaptive_one_bit",
        "max_sense",
        "multi_max_sense",
        "one_bit",
    },
}


def chains(name):
    """Names of all models and mechanisms of a problem that go together."""
    table = problem(name)
    for model, mechanism in itertools.product(table.models, table.mechanisms):
        accepts = table.part("mechanism", mechanism).accepts
        if issubclass(table.part("model", model).produces, accepts):
            yield name, model, mechanism


def parts_of(name, model, mechanism, estimator, values):
    """Model, mechanism, estimator and metrics; None where they do not go together, or not with these values."""
    table = problem(name)
    if name == "crowd" and model == "recorded":
        values = values | dict(
            n=4, m=table.part("derivation", "crowd_tasks")(None, None), initialisation="majority"
        )
    try:
        chain = [
            build(table.part(kind, one), values)
            for kind, one in (("model", model), ("mechanism", mechanism), ("estimator", estimator))
        ]
    except InvalidInput:
        return None
    releases = chain[1].releases
    if releases is object:
        releases = getattr(chain[0].produces, "plain_release", object)
    return Components(*chain, ()) if issubclass(releases, chain[2].accepts) else None


def numbers(release, estimate):
    """All arrays of a release and an estimate that have replications."""
    return {
        f"{type(one).__name__}.{name}": getattr(one, name)
        for one in (release, estimate)
        for name in slices._by_replication(type(one))
        if getattr(one, name) is not None
    }


class Numbers(Chain):
    """A chain whose values are all arrays of its release and its estimate."""

    def values(self, truth, release, estimate):
        return numbers(release, estimate)


def drawn(parts, memory, block=3):
    """Bytes of the numbers of a unit, in slices of so many bytes, and the slices' lengths."""
    streams = {role: Stream(1, role, "", block) for role in ROLES}
    cuts = slices.slices(REPS, parts, memory) or [slice(0, REPS)]
    with np.errstate(all="ignore"):
        found = slices.sliced_unit(
            Numbers(parts, dict.fromkeys(checks.ROLES, ""), ()), streams, cuts
        )
    return {name: value.tobytes() for name, value in found.items()}, [
        cut.stop - cut.start for cut in cuts
    ]


def whole(parts, block=3):
    """The same without slices."""
    rng = {role: Stream(1, role, "", block).generator() for role in ROLES}
    with np.errstate(all="ignore"):
        truth = parts.model.truth(rng["truth"], REPS, rng["population"])
        release = parts.mechanism.release(parts.model.simulate(truth, rng["data"]), rng["noise"])
        found = numbers(release, parts.estimator.fit(release, rng["estimator"]))
    return {name: value.tobytes() for name, value in found.items()}


@pytest.mark.parametrize(
    "name, model, mechanism", [chain for name in VALUES for chain in chains(name)]
)
def test_slices_give_the_same_bytes(name, model, mechanism, monkeypatch):
    """Release and estimate of all models, mechanisms and estimators, with several parameters; slices of the least
    length that there is, and longer ones."""
    monkeypatch.setattr(pair_counts, "SLICE_CELLS", 60)  # else these sizes are drawn at once
    monkeypatch.setattr(integer_noise, "_CHUNK", 64)
    for module in (likelihood, spectral):
        monkeypatch.setattr(
            module, "ITERATIONS", 20
        )  # those that have not converged then are compared as well
    tried = 0
    for estimator, values in itertools.product(problem(name).estimators, VALUES[name]):
        if (parts := parts_of(name, model, mechanism, estimator, values)) is None:
            continue
        if {model, mechanism} & WHOLE[name]:
            assert slices.slices(REPS, parts, 1) is None
            continue
        expected = whole(parts)
        each = math.fsum(part.memory() for part in parts[:3] if hasattr(part, "memory"))
        for memory in (1, int(4 * each)):
            found, lengths = drawn(parts, memory)
            assert sum(lengths) == REPS and 2 <= len(lengths) and max(lengths) <= 8, lengths
            assert found == expected, (estimator, values, lengths)
        tried += 1
    assert tried or {model, mechanism} & WHOLE[name]


STUDIES = {
    "ranking": (
        dict(m=7, L=20, model="btl", epsilon=0.5, mechanism="laplace", estimator="weighted"),
        ["error_l2", "error_inf", "kendall", "sandwich_risk"],
    ),
    "response": (
        dict(
            n=9,
            m=5,
            model="rasch",
            epsilon_user=3.0,
            mechanism="randomized_response",
            estimator="spectral",
        ),
        ["error_l2", "error_inf", "item_bound", "noise_risk"],
    ),
    "crowd": (
        dict(
            n=5,
            m=7,
            model="dawid_skene",
            epsilon=1.0,
            mechanism="randomized_response",
            estimator="dawid_skene",
        ),
        ["label_error", "ability_error_inf_plain", "oracle_error", "wisdom", "answers_wrong"],
    ),
    "clustering": (
        dict(
            N=8,
            U=90,
            w=3,
            b="0.9, 0.1",
            model="block_model",
            epsilon=1.0,
            estimator="spectral_clustering",
            mechanism="pairwise_preference",
        ),
        ["recovered", "misclassified"],
    ),
}


def small(name):
    """A study of one cell with 2 blocks of 20 replications."""
    parameters, metrics = STUDIES[name]
    grid = {"estimator": [parameters["estimator"]]}
    return read_experiment(
        mapping(
            problem=name,
            grid=grid,
            replications=40,
            metrics=metrics,
            parameters={key: value for key, value in parameters.items() if key not in grid},
        )
    ).study


def unit(study, slice_bytes=None):
    with np.errstate(all="ignore"):
        found = study.simulate(study.grid.labels(0), 1, None, slice_bytes)
    return {name: value.tobytes() for name, value in found.items()}


@pytest.mark.parametrize("name", STUDIES)
def test_values_of_a_unit_do_not_depend_on_its_slices(name, monkeypatch):
    monkeypatch.setattr(pair_counts, "SLICE_CELLS", 60)
    study = small(name)
    parts = study.components(study.grid.labels(0))
    assert slices.slices(20, parts) is None and len(slices.slices(20, parts, 1)) > 2
    assert unit(study, 1) == unit(study)


class Across(RandomizedResponse):
    """Wrongly: replications are on its last axis where it draws."""

    by_replication = True

    def release(self, data, rng):
        """Flipped answers."""
        flipped = rng.random(data.answers.shape[::-1]).transpose() < 0.3
        return ReleasedAnswers(np.where(flipped, -data.answers, data.answers), 0.3)


class OneByOne(RandomizedResponse):
    """Wrongly: one call for every replication."""

    by_replication = True

    def release(self, data, rng):
        """Flipped answers."""
        flipped = np.array([rng.random(one.shape) < 0.3 for one in data.answers])
        return ReleasedAnswers(np.where(flipped, -data.answers, data.answers), 0.3)


class InOrderWrongly(RandomizedResponse):
    """Wrongly: two calls, each for all replications."""

    in_order = True

    def release(self, data, rng):
        """Flipped answers."""
        flipped = rng.random(data.answers.shape) < rng.random(data.answers.shape)
        return ReleasedAnswers(np.where(flipped, -data.answers, data.answers), 0.3)


def with_mechanism(mechanism):
    study = small("crowd")
    values = dict(n=5, m=7, epsilon=1.0)
    return study.components(study.grid.labels(0))._replace(
        mechanism=build(mechanism, values), metrics=()
    )


def test_slices_of_a_part_that_says_so_wrongly_are_told_apart():
    """Negative controls of the test above."""
    for wrong in (Across, InOrderWrongly):
        parts = with_mechanism(wrong)
        assert drawn(parts, 1)[0] != whole(parts)
    with pytest.raises(slices.Uncut, match="says by_replication or in_order, which is wrong"):
        drawn(with_mechanism(OneByOne), 1)


def test_what_is_said_of_a_class_does_not_hold_for_another_that_inherits_it():
    parts = with_mechanism(type("Own", (RandomizedResponse,), {}))
    assert slices.slices(20, parts, 1) is None and slices.slices(
        20, with_mechanism(RandomizedResponse), 1
    )


def test_data_in_order_must_be_drawn_before_the_mechanism_draws():
    """Else a pass that ends early would go on in the middle of a slice's data."""
    for late in (0, 1):
        cuts = [slice(0, 2), slice(2, 4)]
        data, noise = (
            slices.InOrder(np.random.default_rng(0)),
            slices.ByCall(np.random.default_rng(1), cuts),
        )

        def step(number, data=data.generator, noise=noise, late=late):
            return data.random(2), noise.random(2), noise.random(2), data.random(late)

        if late:
            with pytest.raises(slices.Uncut):
                slices.in_slices([data, noise], 2, step)
        else:
            found = np.concatenate([one[0] for one in slices.in_slices([data, noise], 2, step)])
            assert (found == np.random.default_rng(0).random(4)).all()


@pytest.mark.parametrize(
    "order", [slices.InOrder, lambda rng: slices.ByCall(rng, [slice(0, 1), slice(1, 2)])]
)
def test_what_makes_streams_of_its_own_is_simulated_whole(order):
    sliced = order(np.random.default_rng(0))
    with pytest.raises(slices.Whole):
        slices.in_slices([sliced], 2, lambda _: getattr(sliced, "generator", sliced).spawn(1))


def test_memory_follows_the_slice_not_the_block():
    """Bytes that NumPy allocates at once, for 100 replications of 40 items in slices of 25."""
    grid = {"m": [40], "L": [50], "epsilon": [1.0], "estimator": ["debiased"]}
    one = read_experiment(
        mapping(grid=grid, metrics=["error_l2"], replications=100, block=100)
    ).study

    def most(slice_bytes):
        tracemalloc.start()
        one.simulate(one.grid.labels(0), 0, None, slice_bytes)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(None)  # imports and caches
    bytes_of_a_slice = 24 * 40**2 * 25
    assert len(slices.slices(100, one.components(one.grid.labels(0)), bytes_of_a_slice)) == 4
    entire, sliced = most(None), most(bytes_of_a_slice)
    print(f"{entire:,} bytes whole, {sliced:,} in four slices")
    assert sliced < 0.6 * entire
