"""A release of responses is what studies simulate: its account, the width of its noise, and its law."""

import json

import numpy as np
import pytest
from scipy import stats

import pipeline as pl
from pipeline.__main__ import main
from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf
from tests.helpers.checks import ALPHA, counts_agree

pytest.importorskip(
    "opendp", reason="OpenDP is not installed: releases of real data are NOT tested here"
)
M, RUNS = 20, 50_000
PEOPLE = np.ones(
    (30, M), bool
)  # nobody has an answer wrong: all counts are 0, and only noise shows
KINDS = {
    "discrete_laplace": dict(kind=pl.response.DiscreteLaplace, epsilon_user=9.0),
    "discrete_gaussian": dict(kind=pl.response.DiscreteGaussian, epsilon_user=2.0, delta=1e-5),
    "noisy_differences": dict(kind=pl.response.CuratorDifferences, person=2.0, person_delta=1e-5),
}


def made(name, questions):
    settings = dict(KINDS[name])
    kind = settings.pop("kind")
    return kind(m=M, questions=questions, **settings)


def released_noise(mechanism):
    """Noise of as many releases as have `RUNS` counts, and the last of these."""
    entries = M * (M - 1)
    parts = []
    for _ in range(-(-RUNS // entries)):
        published = mechanism.publish(PEOPLE, None)
        parts.append(published.counts[published.edges])
    return np.concatenate(parts)[:RUNS], published


def simulated_noise(mechanism):
    entries = M * (M - 1)
    reps = -(-RUNS // entries)
    data = pl.response.Rasch(n=30, m=M, questions=mechanism.questions)
    people = pl.simulate_data(data, seed=1, replications=reps)
    release = pl.simulate_release(mechanism, people, seed=2)
    noise = release.counts - people.data.differences()
    return noise[:, ~np.eye(M, dtype=bool)].ravel()[:RUNS], float(release.variance[0])


def one_law(first, second, what):
    """Whether two samples of whole numbers come from one law: chi-square of a table of two rows."""
    far = int(np.quantile(np.abs(first), 0.999))
    tables = [
        np.bincount(np.clip(noise, -far, far) + far, minlength=2 * far + 1)
        for noise in (first, second)
    ]
    table = np.array(tables)[:, np.sum(tables, axis=0) > 0]
    statistic, chance, freedom, _ = stats.chi2_contingency(table, correction=False)
    print(
        f"{what}: n={len(first)}, {len(second)}, chi-square {statistic:.1f} at {freedom}, p={chance:.2g}, α={ALPHA}"
    )
    return chance > ALPHA


@pytest.mark.parametrize(
    "name, questions",
    [("discrete_laplace", 2), ("discrete_gaussian", None), ("noisy_differences", 3)],
)
def test_releases_have_the_law_and_the_account_of_their_simulation(name, questions):
    mechanism = made(name, questions)
    released, published = released_noise(mechanism)
    simulated, variance = simulated_noise(mechanism)
    assert one_law(released, simulated, f"{name}, {questions} questions")
    (width,) = published.noise.values()
    pmf = gaussian_pmf if "variance" in published.noise else laplace_pmf
    law = mechanism.noise.variance(width)
    assert law == pytest.approx(variance, rel=1e-9)
    spread = np.sqrt(np.var(np.square(released)) / RUNS)
    assert abs(np.square(released).mean() - law) < 5 * spread
    far = int(np.abs(released).max()) + 1
    chances = pmf(np.arange(-far, far + 1), width)
    chances[[0, -1]] += (1 - chances.sum()) / 2
    assert counts_agree(np.bincount(released + far, minlength=2 * far + 1), chances, "stated law")
    spent = next(iter(mechanism.spent().values()))
    assert published.spent["epsilon"] == pytest.approx(spent, rel=1e-9)
    items = M if questions is None else questions
    assert published.charged == 2 * (items**2 // 4) == published.sensitivity.absolute
    # The control: the same noise at twice the sensitivity.
    twice = mechanism.noise.width(2 * published.charged)
    wider = mechanism.noise.draw(np.random.default_rng(3), twice, RUNS)
    assert not one_law(released, wider, "control: twice the sensitivity")


def test_answers_beyond_most_are_left_out():
    """Without noise: of all right and one wrong answer, k each, the pairs that count are k − 1 or 0."""
    answers = np.ones((4000, 5), bool)
    answers[:, 0] = False
    mechanism = pl.response.DiscreteLaplace(m=5, questions=3, epsilon_user=1e4)
    counts = mechanism.publish(answers, None).counts
    wrong = counts[1:, 0]
    print(f"n=4000, counts {wrong.tolist()}, each binomial with chance 3/10, α=1e-6")
    assert (np.abs(wrong - 1200) < 4.9 * np.sqrt(4000 * 0.3 * 0.7)).all()
    assert counts[0].sum() == 0 and counts[1:, 1:].sum() == 0
    as_counted = mechanism.publish(answers[:1], None, np.array([4000])).counts
    assert (np.abs(as_counted[1:, 0] - 1200) < 4.9 * np.sqrt(4000 * 0.3 * 0.7)).all()
    few = np.zeros((10, 5), bool)
    few[:, :2] = True  # two answers each, which all count
    assert mechanism.publish(answers[:10], few).counts[1, 0] == 10
    everything = pl.response.DiscreteLaplace(m=5, epsilon_user=1e4).publish(answers, None)
    assert (everything.counts[1:, 0] == 4000).all()  # the control


@pytest.mark.parametrize(
    "name, budget",
    [
        ("discrete_laplace", {"parameters.epsilon_user": 2}),
        ("noisy_differences", {"parameters.person": 2, "parameters.person_delta": 1e-6}),
    ],
)
def test_the_command_charges_what_most_allows(tmp_path, capsys, name, budget):
    file = tmp_path / "people.csv"
    file.write_text("a,b,c,d\n" + "1,0,1,1\n" * 30)
    words = {"parameters.mechanism": name, "parameters.most": 2, **budget}

    def run(**more):
        typed = {
            "task": "release",
            "problem": "response",
            "data.path": file,
            "outputs": tmp_path / "out",
            **words,
            **more,
        }
        return main([f"{key}={value}" for key, value in typed.items()])

    assert run(**{"parameters.most": 1}) == 2
    assert "parameters.most=1: must be a whole number ≥ 2" in capsys.readouterr().err
    assert run(**{"parameters.questions": 2}) == 2
    assert "a release has parameters.most" in capsys.readouterr().err
    assert run() == 0
    account = json.loads((tmp_path / "out" / "release.json").read_text())
    assert account["sensitivity"]["L1"] == 2 and account["asked"]["most"] == 2
    assert "2 count, drawn at random" in account["unit"]
    assert account["spent"]["epsilon"] == pytest.approx(2, rel=1e-6)
    assert "questions" not in account["asked"] and None not in account["asked"].values()
