"""Recorded responses: persons and items drawn, by enumeration; counts by loops; truth, stand-in, whole studies."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.identity.registry import lookup
from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.problems.response.data import stand_in
from pipeline.problems.response.data.recorded import RecordedAnswers, RecordedResponses
from pipeline.problems.response.data.table import Table
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.study.grid import Grid
from pipeline.study.parameters import DataFile, InvalidInput
from pipeline.study.status import OK
from pipeline.study.study import Study
from tests.helpers.checks import counts_agree, mean_agrees

REPS = 40_000


def rng(seed):
    return np.random.default_rng(seed)


def saved(folder, texts, name="data.csv"):
    """A file of responses, (persons, items) of texts."""
    path = folder / name
    header = ",".join(f"i{k}" for k in range(len(texts[0])))
    path.write_text(header + "\n" + "".join(",".join(row) + "\n" for row in texts))
    return DataFile.at(str(path), "data_path")


def random_texts(seed, persons, items, missing=0.0):
    texts = rng(seed).choice(
        ["0", "1", "NA"], (persons, items), p=[(1 - missing) / 2] * 2 + [missing]
    )
    texts[0] = "1"
    texts[1] = "0"
    return texts.tolist()


def by_hand(texts):
    """Y and B of some persons, one pair of answers at a time."""
    items = range(len(texts[0]))
    return (
        [[sum(row[i] == "1" and row[j] == "0" for row in texts) for j in items] for i in items],
        [[sum("NA" not in (row[i], row[j]) for row in texts) for j in items] for i in items],
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_everybody_is_counted_as_by_hand_and_is_the_truth(tmp_path, missing):
    texts = random_texts(1, 40, 6, missing)
    model = RecordedResponses(n=40, m=6, data_path=saved(tmp_path, texts))
    truth = model.truth(rng(1), 3, rng(2))
    data = model.simulate(truth, rng(3))
    differences, pairs = by_hand(texts)
    assert (data.differences() == differences).all() and (data.pairs() == pairs).all()
    assert data.persons == 40 and data.items == 6 and data.answers.shape == (3, 40, 6)
    assert (data.observed is None) == (missing == 0) and truth.ability.shape == (3, 0)
    fit = Spectral(m=6).fit(NoPrivacy().release(data, rng(4)), rng(5))
    assert fit.converged.all() and np.abs(fit.theta - truth.theta).max() < 1e-12
    control = Spectral(m=6, pseudo_count=0.9).fit(NoPrivacy().release(data, rng(4)), rng(5))
    assert np.abs(control.theta - truth.theta).max() > 1e-4


def law_of_differences(texts, n, replace=False):
    """Law of Y_01, Y_10 and Y_12 over all samples of n persons: {values: probability}."""
    law, everybody = {}, range(len(texts))
    samples = list(
        itertools.product(everybody, repeat=n) if replace else itertools.combinations(everybody, n)
    )
    for sample in samples:
        counts = by_hand([texts[k] for k in sample])[0]
        key = counts[0][1], counts[1][0], counts[1][2]
        law[key] = law.get(key, 0.0) + 1 / len(samples)
    return law


def agrees(found, law, size, what):
    """Chi-square of joint counts; outcomes outside the law fail."""
    shape = [size + 1] * found.shape[1]
    probabilities = np.zeros(np.prod(shape))
    for key, weight in law.items():
        probabilities[np.ravel_multi_index(key, shape)] += weight
    counts = np.bincount(np.ravel_multi_index(found.T, shape), minlength=probabilities.size)
    return counts[probabilities == 0].sum() == 0 and counts_agree(counts, probabilities, what)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_persons_are_drawn_without_replacement(tmp_path, missing):
    texts = random_texts(2, 6, 3, missing)
    model = RecordedResponses(n=4, m=3, data_path=saved(tmp_path, texts))
    found = model.simulate(model.truth(rng(1), REPS, rng(2)), rng(3)).differences()
    found = np.stack([found[:, 0, 1], found[:, 1, 0], found[:, 1, 2]], axis=1)
    assert agrees(found, law_of_differences(texts, 4), 4, f"four of six persons, {missing} missing")
    assert not agrees(
        found, law_of_differences(texts, 4, replace=True), 4, "control: with replacement"
    )


def table(texts, subsets=True):
    texts = np.array(texts)
    return Table.of(
        texts == "1", None, [f"i{k}" for k in range(texts.shape[1])], "A table", subsets
    )


def with_random_items(monkeypatch, texts):
    found = table(texts)
    monkeypatch.setattr(RecordedResponses, "_table", property(lambda self: found))


def test_random_items_have_their_own_truth(monkeypatch):
    texts = random_texts(4, 30, 7)
    with_random_items(monkeypatch, texts)
    model = RecordedResponses(n=30, m=4)
    truth = model.truth(rng(1), 50, rng(2))
    data = model.simulate(truth, rng(3))
    assert truth.chosen.shape == truth.theta.shape == (50, 4) and (np.diff(truth.chosen) > 0).all()
    assert len(np.unique(truth.chosen, axis=0)) > 20
    for rep in range(50):
        part = [[row[k] for k in truth.chosen[rep]] for row in texts]
        assert data.differences()[rep].tolist() == by_hand(part)[0]
        assert sorted(map(tuple, data.answers[rep].tolist())) == sorted(
            tuple(a == "1" for a in row) for row in part
        )
    fit = Spectral(m=4).fit(NoPrivacy().release(data, rng(4)), rng(5))
    assert np.abs(fit.theta - truth.theta).max() < 1e-12
    with pytest.raises(InvalidInput, match="m=8: there are 7 items; give m=7 or less"):
        RecordedResponses(n=30, m=8)


def test_every_set_of_items_is_as_likely_whoever_is_drawn(monkeypatch):
    texts = np.where(
        np.eye(4, 5, dtype=bool), "1", "0"
    )  # a person is known by the item he has right
    with_random_items(monkeypatch, texts)
    model = RecordedResponses(n=1, m=3)
    truth = model.truth(rng(1), REPS, rng(2))
    answers = model.simulate(truth, rng(3)).answers[:, 0]
    sets = {items: k for k, items in enumerate(itertools.combinations(range(5), 3))}
    place = np.array([sets[tuple(row)] for row in truth.chosen.tolist()])
    assert counts_agree(
        np.bincount(place, minlength=10), np.full(10, 0.1), "sets of three of five items"
    )
    assert not counts_agree(
        np.bincount(place % 9, minlength=9), np.full(9, 1 / 9), "control: of nine sets"
    )
    law, seen = np.zeros((10, 4)), np.where(answers.any(axis=1), answers.argmax(axis=1), 3)
    for items, k in sets.items():
        for person in range(4):
            law[k, items.index(person) if person in items else 3] += 1 / 40
    assert counts_agree(
        np.bincount(4 * place + seen, minlength=40), law.ravel(), "sets of items and right answers"
    )
    assert not counts_agree(
        np.bincount(4 * place + seen, minlength=40),
        np.roll(law, 1, axis=0).ravel(),
        "control: other sets",
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 1000), st.integers(2, 9), st.integers(1, 5), st.integers(0, 2**32))
def test_asked_again_it_gives_the_same_numbers(n, m, reps, seed):
    model = RecordedResponses(n=n, m=m)
    truth = model.truth(rng(1), reps, rng(2))
    data, again = model.simulate(truth, rng(seed)), model.simulate(truth, rng(seed))
    assert isinstance(data, RecordedAnswers) and issubclass(RecordedAnswers, model.produces)
    first = data.differences()
    again.pairs()
    assert (again.differences() == first).all() and (data.differences() == first).all()
    assert (
        data.answers is data.answers
        and data.answers.shape == (reps, n, m)
        and data.answers.dtype == bool
    )
    plain = data.release_plainly()
    assert (plain.differences() == first).all() and (plain.answers == data.answers).all()
    assert reps == 1 or n in (1, 1000) or (data.answers != data.answers[:1]).any()


def test_the_stand_in_is_what_it_says():
    answers = stand_in.answers(5)
    digest = hashlib.sha256(np.packbits(answers).tobytes()).hexdigest()
    assert digest[:16] == "35681504e471f9f5" and answers.shape == (1000, 5)
    assert (stand_in.answers(200)[:, :5] == answers).all()
    model = RecordedResponses(n=1000, m=5)
    assert model.source.startswith(
        "Synthetic stand-in made by this program, 1,000 persons × 5 items"
    )
    assert "give data.path" in model.source and model.source.count(".") == 2
    assert lookup("response", "model", "recorded") is RecordedResponses and model.cost() > 0
    for changes, said in (
        (dict(n=1001), "n=1001: there are 1,000 persons; give n=1000 or less"),
        (dict(m=1001), "m=1001: the stand-in has at most 1,000 items"),
    ):
        with pytest.raises(InvalidInput, match=said):
            RecordedResponses(**{"n": 10, "m": 5} | changes)


def test_the_stand_in_follows_the_rasch_model():
    """Given the number of right answers of two items is one, who has i right has chance σ(β_j − β_i), whatever θ."""
    answers = stand_in.answers(12)
    beta = stand_in.difficulties(12)
    for i, j in itertools.combinations(range(12), 2):
        one = answers[answers[:, i] != answers[:, j], i]
        assert mean_agrees(one, 1 / (1 + np.exp(beta[i] - beta[j])), f"items {i} and {j}")
    easy, hard = np.argsort(beta)[[0, -1]]
    one = answers[answers[:, easy] != answers[:, hard], easy]
    assert not mean_agrees(
        one, 1 / (1 + np.exp(beta[hard] - beta[easy])), "control: difficulties the other way round"
    )


def test_all_mechanisms_see_the_same_people(tmp_path):
    path = str(saved(tmp_path, random_texts(6, 60, 5, 0.2)).path)
    study = Study(
        "t",
        "response",
        5,
        4,
        4,
        Grid.of(
            {
                "n": [30, 60],
                "mechanism": ["none", "discrete_gaussian"],
                "estimator": ["spectral", "pairwise_likelihood"],
            }
        ),
        dict(model="recorded", m=5, epsilon_user=1e5, data_path=DataFile.at(path, "data.path")),
        ("error_l2", "error_inf"),
    )
    memo = {}
    for labels in study.grid:
        values = study.simulate(labels, 0, memo)
        assert all(
            (values[name] == alone).all() for name, alone in study.simulate(labels, 0).items()
        )
        if labels["estimator"] == "spectral":
            assert (values["error_l2"] < 1e-9).all() == (labels["n"] == 60)
            exact = study.simulate(
                {**labels, "mechanism": "none"}, 0
            )  # at ε = 100,000 there is hardly any noise
            assert np.abs(values["error_l2"] - exact["error_l2"]).max() < 0.5


@pytest.mark.parametrize(
    "mechanism, estimators",
    [
        ("discrete_gaussian", ["spectral", "pairwise_likelihood"]),
        ("discrete_laplace", ["spectral"]),
        (
            "randomized_response",
            ["spectral", "spectral_debiased", "joint_likelihood", "pairwise_likelihood"],
        ),
        ("none", ["spectral", "joint_likelihood"]),
    ],
)
def test_every_mechanism_and_estimator_takes_them(mechanism, estimators):
    study = Study(
        "t",
        "response",
        5,
        3,
        3,
        Grid.of({"estimator": estimators}),
        dict(model="recorded", n=700, m=5, mechanism=mechanism)
        | ({} if mechanism == "none" else {"epsilon_user": 20.0}),
        ("error_l2",),
    )
    for labels in study.grid:
        values = study.simulate(labels, 0)
        assert (
            np.isfinite(values["error_l2"]).all()
            and (values["status"] == OK).all()
            and study.cost(labels) > 0
        )
