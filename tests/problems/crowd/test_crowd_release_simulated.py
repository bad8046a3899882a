"""What `task=release` does with votes is what studies simulate: accounts, laws, variances."""

import csv
import json

import numpy as np
import pytest
import scipy

import pipeline as pl
from pipeline.__main__ import main
from pipeline.privacy.published_counts import GaussianCounts, LaplaceCounts
from pipeline.problems.crowd.data.release import MECHANISMS
from pipeline.problems.crowd.mechanisms.protected_votes import ProtectedVotes

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
M = 10
MOST = 5
RUNS = 50_000
ALPHA = 1e-6
PERSON = 1.5
DELTA = 1e-5
BINS = 24


def study(**changes):
    return pl.crowd.NoisyVotes(n=20, m=M, person=PERSON, questions=MOST, **changes)


# Name of the release, its mechanism, and the simulation of it.
RELEASES = {
    "discrete_gaussian": (
        GaussianCounts(epsilon_user=PERSON, delta=DELTA),
        study(person_delta=DELTA),
    ),
    "discrete_laplace": (LaplaceCounts(epsilon_user=PERSON), study()),
    "noisy_votes": (
        ProtectedVotes(person=PERSON, person_delta=DELTA),
        study(person_delta=DELTA),
    ),
    "noisy_votes, net": (
        ProtectedVotes(person=PERSON, person_delta=0.0, votes="net"),
        study(votes="net"),
    ),
    "noisy_votes, net and Gaussian": (
        ProtectedVotes(person=PERSON, person_delta=DELTA, votes="net"),
        study(votes="net", person_delta=DELTA),
    ),
}


def released(mechanism, simulation):
    """Noise in votes, as OpenDP adds it to `RUNS` numbers of answers that are 0."""
    numbers = np.zeros(RUNS, np.int64)
    published = mechanism.noise.publish(numbers, simulation.charge).counts
    if simulation.votes != "counts":
        return published
    return published[1::2] - published[::2]


def simulated(simulation):
    """The same of a study, from a seed."""
    model = pl.crowd.models.DawidSkene(n=20, m=M, questions=MOST)
    people = pl.simulate_data(model, seed=3, replications=RUNS // M)
    release = pl.simulate_release(simulation, people, seed=4)
    return (release.votes - people.data.answers.sum(axis=1, dtype=int)).ravel()


def chance(first, other):
    """P value of a χ² test of two samples, in bins of the quantiles of both."""
    both = np.concatenate([first, other])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS + 1)[1:-1]))
    table = [np.bincount(np.searchsorted(edges, sample, "right")) for sample in (first, other)]
    return scipy.stats.chi2_contingency(np.array(table)).pvalue


# Each law once: others differ in the name, or in the numbers that get it.
@pytest.mark.parametrize("name", ["discrete_laplace", "noisy_votes", "noisy_votes, net"])
def test_a_release_has_the_law_and_the_variance_of_its_simulation(name):
    mechanism, simulation = RELEASES[name]
    real = released(mechanism, simulation)
    drawn = simulated(simulation)
    p = chance(real, drawn)
    # The former variant: a sensitivity that is charged twice.
    doubled = chance(real, 2 * drawn)
    print(f"{name}: n={RUNS} runs of each, p={p:.3g}, of doubled noise {doubled:.3g}, α={ALPHA:g}")
    assert p > ALPHA
    assert doubled < ALPHA
    ratio = real.var() / simulation.variance
    allowed = 5 * np.sqrt(6 / len(real))
    print(f"variance over that stated {ratio:.4f}, bound 1 ± {allowed:.3f}")
    assert abs(ratio - 1) < allowed
    assert abs(ratio / 4 - 1) > allowed  # the control again


def released_folder(folder, word, **settings):
    """Code and folder of a release of three answers."""
    (folder / "names.txt").write_text("\n".join(f"task {k}" for k in range(M)))
    (folder / "people.csv").write_text(
        "task,worker,label\ntask 1,Ann,1\ntask 2,Ann,0\ntask 2,Bob,0"
    )
    code = main(
        [
            "release",
            "problem=crowd",
            f"data.path={folder / 'people.csv'}",
            f"data.items={folder / 'names.txt'}",
            f"outputs={folder / 'out'}",
            f"parameters.mechanism={word}",
            f"parameters.most={MOST}",
            *(f"parameters.{key}={value}" for key, value in settings.items()),
        ]
    )
    return code, folder / "out"


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_states_the_account_of_its_simulation(name, tmp_path, capsys):
    mechanism, simulation = RELEASES[name]
    word = name.partition(",")[0]
    assert MECHANISMS[word] is type(mechanism)
    settings = {
        key: getattr(mechanism, key)
        for key in ("epsilon_user", "delta", "person", "person_delta", "votes")
        if hasattr(mechanism, key)
    }
    code, folder = released_folder(tmp_path, word, **settings)
    assert code == 0, capsys.readouterr().err
    account = json.loads((folder / "release.json").read_text())
    assert account["sensitivity"] == {
        "L1": simulation.sensitivity.absolute,
        "squared L2": simulation.sensitivity.squared,
    }
    (width,) = account["noise"].values()
    assert width == pytest.approx(simulation.width, rel=1e-6)
    if simulation.person_delta:
        assert account["spent"]["rho"] == pytest.approx(simulation.promise().rho, rel=1e-6)
    assert account["spent"]["epsilon"] == pytest.approx(simulation.promise().epsilon, rel=1e-6)


def test_differences_are_released_as_such(tmp_path):
    """At so large a budget noise is 0 but with probability 1e-200."""
    code, folder = released_folder(tmp_path, "noisy_votes", person=1e4, person_delta=0, votes="net")
    assert code == 0
    with open(folder / "votes.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "task",
        "second_less_first",
        "label",
        "low",
        "high",
        "rank_low",
        "rank_high",
    ]
    assert [row[:3] for row in rows[2:4]] == [["task 1", "1", "1"], ["task 2", "-2", "0"]]
    assert [row[3:5] for row in rows[2:4]] == [["1", "1"], ["-2", "-2"]]
    assert "second label less" in json.loads((folder / "release.json").read_text())["votes.csv"]


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"person": 1}, "person_delta"),
        ({"person": 1, "person_delta": 0, "votes": "public"}, "protects who labelled what"),
        ({"person": 1e-12, "person_delta": 0}, "wider than"),
    ],
)
def test_what_a_release_refuses(settings, text, tmp_path, capsys):
    code, folder = released_folder(tmp_path, "noisy_votes", **settings)
    assert code != 0 and not folder.exists()
    assert text in capsys.readouterr().err
