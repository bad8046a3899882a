"""What `task=release` does with comparisons is what studies simulate: accounts, laws, variances."""

import json

import numpy as np
import pytest
import scipy

import pipeline as pl
from pipeline.__main__ import main
from pipeline.privacy.published_counts import GaussianCounts, LaplaceCounts
from pipeline.problems.ranking.data.release import MECHANISMS
from pipeline.problems.ranking.mechanisms.sums import (
    ProtectedCounts,
    ProtectedScores,
    scores_of,
)

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
M = 10
PAIRS = M * (M - 1) // 2
MOST = 4
RUNS = 50_000
ALPHA = 1e-6
PERSON = 1.5
DELTA = 1e-5
BINS = 24


def counts_by_pair(published):
    counts = published.reshape(-1, 2)
    return counts[:, 0] - counts[:, 1]


def centred(published):
    scores = published.reshape(-1, M)
    return (scores - scores.mean(axis=1, keepdims=True)).ravel()


# Name of the release, its mechanism, the simulation of it, and what of the release estimators use.
RELEASES = {
    "discrete_gaussian": (
        GaussianCounts(epsilon_user=PERSON, delta=DELTA),
        pl.ranking.NoisyCounts(m=M, L=99, person=PERSON, person_delta=DELTA, questions=MOST),
        counts_by_pair,
    ),
    "discrete_laplace": (
        LaplaceCounts(epsilon_user=PERSON),
        pl.ranking.NoisyCounts(m=M, L=99, person=PERSON, questions=MOST),
        counts_by_pair,
    ),
    "noisy_counts": (
        ProtectedCounts(person=PERSON, person_delta=DELTA),
        pl.ranking.NoisyCounts(m=M, L=99, person=PERSON, person_delta=DELTA, questions=MOST),
        counts_by_pair,
    ),
    "noisy_scores": (
        ProtectedScores(person=PERSON, person_delta=0.0),
        pl.ranking.NoisyScores(m=M, L=99, person=PERSON, questions=MOST),
        centred,
    ),
    "noisy_scores, Gaussian": (
        ProtectedScores(person=PERSON, person_delta=DELTA),
        pl.ranking.NoisyScores(m=M, L=99, person=PERSON, person_delta=DELTA, questions=MOST),
        centred,
    ),
}


def released(mechanism, study, learned):
    """Noise in what is learned, as OpenDP adds it to so many sums of comparisons; `RUNS` numbers."""
    numbers = 2 * RUNS if learned is counts_by_pair else RUNS
    published = mechanism.noise.publish(np.zeros(numbers, np.int64), study.charge)
    return learned(published.counts)


def simulated(mechanism, learned):
    """The same of a study, from a seed."""
    each = M if learned is centred else PAIRS
    reps = -(-RUNS // each)
    model = pl.ranking.BTL(m=M, L=99, questions=MOST)
    people = pl.simulate_data(model, seed=3, replications=reps)
    release = pl.simulate_release(mechanism, people, seed=4)
    wins = people.data.wins
    lead = np.rint(2 * (release.wins[:, 0] - wins) * (M if learned is centred else 1))
    noise = lead.astype(np.int64)
    if learned is centred:
        return (scores_of(noise) / M).ravel()[:RUNS]
    return noise.ravel()[:RUNS]


def chance(first, other):
    """P value of a χ² test of two samples, in bins of the quantiles of both."""
    both = np.concatenate([first, other])
    edges = np.unique(np.quantile(both, np.linspace(0, 1, BINS + 1)[1:-1]))
    table = [np.bincount(np.searchsorted(edges, sample, "right")) for sample in (first, other)]
    return scipy.stats.chi2_contingency(np.array(table)).pvalue


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_has_the_law_and_the_variance_of_its_simulation(name):
    mechanism, study, learned = RELEASES[name]
    real = released(mechanism, study, learned)
    drawn = simulated(study, learned)
    p = chance(real, drawn)
    # The former variant: a sensitivity that is charged twice.
    doubled = chance(real, 2 * drawn)
    print(f"{name}: n={RUNS} of each, p={p:.3g}, of doubled noise {doubled:.3g}, α={ALPHA:g}")
    assert p > ALPHA
    assert doubled < ALPHA
    variance = study.noise.variance(study.width)
    expected = 2 * variance if learned is counts_by_pair else variance * (1 - 1 / M)
    allowed = 5 * np.sqrt(6 / RUNS)
    print(f"variance over that stated {real.var() / expected:.4f}, bound 1 ± {allowed:.3f}")
    assert abs(real.var() / expected - 1) < allowed
    assert abs(real.var() / (4 * expected) - 1) > allowed  # the control again


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_states_the_account_of_its_simulation(name, tmp_path, capsys):
    mechanism, study, _ = RELEASES[name]
    (tmp_path / "names.txt").write_text("\n".join(f"item {k}" for k in range(M)))
    (tmp_path / "people.csv").write_text("user,winner,loser\nAnn,item 1,item 2\nBob,item 3,item 1")
    word = name.partition(",")[0]
    assert MECHANISMS[word] is type(mechanism)
    settings = {
        key: getattr(mechanism, key)
        for key in ("epsilon_user", "delta", "person", "person_delta")
        if hasattr(mechanism, key)
    }
    words = [f"parameters.{key}={value}" for key, value in settings.items()]
    code = main(
        [
            "release",
            "problem=ranking",
            f"data.path={tmp_path / 'people.csv'}",
            f"data.items={tmp_path / 'names.txt'}",
            f"outputs={tmp_path / 'out'}",
            f"parameters.mechanism={word}",
            f"parameters.most={MOST}",
            *words,
        ]
    )
    assert code == 0, capsys.readouterr().err
    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert account["sensitivity"] == {
        "L1": study.sensitivity.absolute,
        "squared L2": study.sensitivity.squared,
    }
    (width,) = account["noise"].values()
    assert width == pytest.approx(study.width, rel=1e-6)
    if study.person_delta:
        assert account["spent"]["rho"] == pytest.approx(study.promise().rho, rel=1e-6)
    assert account["spent"]["epsilon"] == pytest.approx(study.promise().epsilon, rel=1e-6)


def test_how_private_people_are_is_never_left_to_a_default(tmp_path, capsys):
    (tmp_path / "names.txt").write_text("a\nb")
    (tmp_path / "people.csv").write_text("user,winner,loser\nAnn,a,b")
    words = [
        "release",
        "problem=ranking",
        f"data.path={tmp_path / 'people.csv'}",
        f"data.items={tmp_path / 'names.txt'}",
        f"outputs={tmp_path / 'out'}",
        "parameters.mechanism=noisy_scores",
        "parameters.most=1",
        "parameters.person=1",
    ]
    assert main(words) != 0
    assert "person_delta" in capsys.readouterr().err
