"""Probabilities of errors of about 1e-9, known to 10 %, by tilted laws: against exact tails where
there are any.

An estimate counts as known where the half-width of its 95 % interval is 10 % of it. At 1e-5 plain
replications say the same, at a cost that grows as 1/P. Without weights the same replications say
that half of the labels are wrong.
"""

import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.problems.crowd.theory.vote_errors import vote_error
from pipeline.problems.crowd.theory.wisdom import private_ability
from pipeline.problems.ranking.theory.tails import inversion_surprisal
from pipeline.study.study import Study

WIDTH, LEAST = 0.1, 4000  # relative half-width, and replications in any case
PLAIN = 400_000  # replications without a tilt


def crowd(
    n: int, m: int, able: float, epsilon: float, estimator: str, model: str = "tilted"
) -> Study:
    """One cell of a crowd, all workers of one ability."""
    tilt = {"tilt_by": "odds"} if (model, estimator) == ("tilted", "dawid_skene") else {}
    return Study(
        "rare",
        "crowd",
        seed=1,
        replications=10**8,
        block=2000,
        grid={"n": [n]},
        metrics=("first_label_wrong_weighted", "first_label_wrong"),
        parameters=dict(
            model=model,
            m=m,
            ability_low=able,
            ability_high=able,
            epsilon=epsilon,
            mechanism="randomized_response",
            estimator=estimator,
            **tilt,
        ),
    )


def ranking(
    m: int, L: int, spacing: float, epsilon: float, metric: str, model: str = "tilted"
) -> Study:
    """One cell of a ranking, items evenly spaced."""
    plain = metric.removesuffix("_weighted")
    return Study(
        "rare",
        "ranking",
        seed=1,
        replications=10**8,
        block=2000,
        grid={"m": [m]},
        metrics=(metric, plain),
        parameters=dict(
            model=model,
            theta="spaced",
            spacing=spacing,
            L=L,
            epsilon=epsilon,
            draw="marginal",
            mechanism="randomized_response",
            estimator="debiased",
        ),
    )


def known(study: Study, most: float = math.inf) -> tuple[np.ndarray, np.ndarray, float]:
    """Weighted and unweighted values, block after block until the mean is known, or `most` are
    there; seconds.
    """
    start, blocks = time.perf_counter(), []
    (labels,) = study.grid
    while True:
        blocks.append(study.simulate(labels, len(blocks)))
        weighted, plain = (np.concatenate([one[name] for one in blocks]) for name in study.metrics)
        half = 1.96 * weighted.std() / len(weighted) ** 0.5
        enough = half <= WIDTH * weighted.mean() and len(weighted) >= LEAST
        if (enough and math.isinf(most)) or len(weighted) >= most:
            return weighted, plain, time.perf_counter() - start


def main() -> None:
    """Print each estimate with its relative half-width, the exact value, seconds, and what plain
    replications say.
    """
    right = private_ability(np.full(101, 0.9), 1.7)
    rare = {
        "majority vote, n=101": (
            crowd(101, 1, 0.9, 1.7, "majority_vote"),
            float(vote_error(right)),
        ),
        "Dawid-Skene, n=101, m=100": (crowd(101, 100, 0.9, 1.7, "dawid_skene"), None),
        "ranking, m=2: Kendall": (
            ranking(2, 501, 1.37, 1.0, "kendall_weighted"),
            math.exp(-inversion_surprisal(1.37, np.array([1.0]), np.array([501]))),
        ),
        "ranking, m=10: Kendall": (ranking(10, 401, 0.36, 3.0, "kendall_weighted"), None),
        "ranking, m=10: top K": (ranking(10, 401, 0.32, 3.0, "hamming_top_k_weighted"), None),
    }
    at_1e_5 = {
        "Dawid-Skene, n=51, m=20": lambda kind: crowd(
            51, 20, 0.85, 2.0, "dawid_skene", kind or "dawid_skene"
        ),
        "ranking, m=6: Kendall": lambda kind: ranking(
            6, 201, 0.45, 2.0, "kendall_weighted", kind or "btl"
        ),
    }
    with threadpool_limits(1):
        for name, (study, exact) in rare.items():
            weighted, plain, seconds = known(study)
            _line(name, weighted, seconds, f"exact {exact:.3e}" if exact else "", plain)
        for name, study in at_1e_5.items():
            weighted, plain, seconds = known(study("tilted"))
            _line(name, weighted, seconds, "", plain)
            weighted, _, seconds = known(study(""), PLAIN)
            _line("  plain replications", weighted, seconds)


def _line(
    name: str, values: np.ndarray, seconds: float, exact: str = "", plain: np.ndarray | None = None
) -> None:
    mean = values.mean()
    half = 1.96 * values.std() / len(values) ** 0.5 / mean if mean else math.inf
    control = f", unweighted {plain.mean():.3f}" if plain is not None else ""
    print(
        f"{name:26s} {mean:.3e} ± {100 * half:3.0f} %  {exact:16s} {len(values):8,d} "
        f"replications, {seconds:6.1f} s{control}",
        flush=True,
    )


if __name__ == "__main__":
    main()
