"""Coverage of 95 % intervals in cells that are drawn: sizes, mechanisms, people trusted, questions.

`python -m benchmarks.coverage [cells] [replications] [seed]` prints a line for each cell: coverage, ranks
covered at once, coverage without the mechanism's noise, and the processor time of standard errors over
that of fits. A cell is above the threshold where standard errors are below half a logit in the mean.
"""

import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pipeline.problems.common import inference
from pipeline.problems.ranking.estimators.errors import MeanScores
from pipeline.problems.ranking.estimators.moments import Debiased
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts, NoisyScores
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import BTL
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.problems.response.estimators.likelihood import PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import CuratorDifferences
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.theory.inference import NoisyCountLaw
from pipeline.study.untyped import OfProblem

SEED = 40
LARGEST_ERROR = 0.5  # logits: above the threshold


@dataclass(frozen=True)
class Cell:
    """Parts of a cell, and what it is called."""

    name: str
    model: Any
    mechanism: Any
    estimator: Any


def ranking(rng: np.random.Generator) -> Cell:
    """People compare items; nobody or a curator is trusted."""
    m = int(rng.integers(2, 16))
    people = round(10 ** rng.uniform(2, 4))
    person = float(np.exp(rng.uniform(np.log(0.3), np.log(5))))
    pairs = m * (m - 1) // 2
    questions = [None, min(3, pairs), max(1, pairs // 2)][int(rng.integers(3))]
    kind = [RandomizedResponse, NoisyCounts, NoisyScores][int(rng.integers(3))]
    if kind is NoisyScores:
        questions = None
    model = BTL(m=m, L=people, spread=1.0, questions=questions)
    mechanism = kind(m=m, L=people, person=person, person_delta=0.0, questions=questions)
    name = f"ranking {kind.__name__} m={m} L={people} questions={questions} person={person:.2g}"
    return Cell(name, model, mechanism, Debiased(m=m))


def response(rng: np.random.Generator) -> Cell:
    """People answer items; a curator is trusted."""
    m = int(rng.integers(3, 9))
    people = round(10 ** rng.uniform(2.7, 3.7))
    person = float(np.exp(rng.uniform(np.log(0.3), np.log(5))))
    questions = [None, 2, min(3, m)][int(rng.integers(3))]
    model = Rasch(n=people, m=m, questions=questions)
    mechanism = CuratorDifferences(m=m, person=person, person_delta=1e-6, questions=questions)
    kind = [Spectral, PairwiseLikelihood][int(rng.integers(2))]
    name = f"response {kind.__name__} m={m} n={people} questions={questions} person={person:.2g}"
    return Cell(name, model, mechanism, kind(m=m, questions=questions))


def careless(estimate: OfProblem, release: OfProblem) -> OfProblem:
    """The same estimate with the errors of one who ignores the mechanism."""
    if isinstance(estimate.law, NoisyCountLaw):
        exact = replace(release, variance=np.zeros(len(release.counts)))
        return replace(estimate, law=NoisyCountLaw(exact))
    no_privacy = np.full(len(release.users), np.inf)
    plain = FlippedWins(release.wins, release.users, no_privacy, release.items, release.compared)
    return replace(estimate, law=MeanScores(plain))


@dataclass(frozen=True)
class Judged:
    """What was measured in a cell. cost: of the errors, in seconds of the fit."""

    coverage: float
    spread: float
    ranks: float
    naive: float
    error: float
    known: float
    cost: float

    @property
    def is_above(self) -> bool:
        """Whether the cell has so many data that its intervals must cover."""
        return self.known == 1 and self.error < LARGEST_ERROR

    @property
    def is_inside(self) -> bool:
        """Whether its coverage is within [.94, .96]."""
        return 0.94 <= self.coverage <= 0.96

    @property
    def is_nearly_inside(self) -> bool:
        """Whether it is within [.94, .96] with two standard errors."""
        return 0.94 - 2 * self.spread <= self.coverage <= 0.96 + 2 * self.spread

    def __str__(self) -> str:
        side = "above" if self.is_above else "below"
        return (
            f"coverage {self.coverage:.4f} ± {self.spread:.4f}, ranks {self.ranks:.4f}, "
            f"naive {self.naive:.3f}, error {self.error:.3g}, known {self.known:.3f}, "
            f"cost {self.cost:.2f}, {side}"
        )


def judged(cell: Cell, rng: np.random.Generator, replications: int) -> Judged:
    """Simulate a cell, and compare its intervals with the truth."""
    truth = cell.model.truth(rng, replications, np.random.default_rng(0))
    release = cell.mechanism.release(cell.model.simulate(truth, rng), rng)
    start = time.process_time()
    estimate = cell.estimator.fit(release, rng)
    fitted = time.process_time()
    error = float(np.nanmean(estimate.corrected.errors))
    ended = time.process_time()
    coverage = inference.coverage()(truth, release, estimate)
    known = float(np.isfinite(coverage).mean())
    ranks = inference.rank_coverage()(truth, release, estimate)
    naive = inference.coverage()(truth, release, careless(estimate, release))
    return Judged(
        coverage=float(np.nanmean(coverage)) if known else np.nan,
        spread=float(np.nanstd(coverage)) / replications**0.5,
        ranks=float(np.nanmean(ranks)),
        naive=float(np.nanmean(naive)),
        error=error,
        known=known,
        cost=(ended - fitted) / max(fitted - start, 1e-9),
    )


def main(cells: int = 60, replications: int = 2000, seed: int = SEED) -> None:
    """Draw cells and judge them."""
    rng = np.random.default_rng(seed)
    every = []
    for number in range(cells):
        make = response if number % 3 == 2 else ranking
        cell = make(rng)
        measured = judged(cell, rng, replications)
        every.append(measured)
        print(f"{cell.name}: {measured}", flush=True)
    above = [measured for measured in every if measured.is_above]
    inside = sum(measured.is_inside for measured in above)
    nearly = sum(measured.is_nearly_inside for measured in above)
    ranks_hold = sum(measured.ranks >= 0.95 for measured in above)
    lowest = min(1.0, *(measured.naive for measured in every))
    print(
        f"{len(above)} of {cells} above the threshold: {inside} within [.94, .96], {nearly} within "
        f"that ± 2 standard "
        f"errors; ranks hold in {ranks_hold}; least naive coverage {lowest:.3f}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
