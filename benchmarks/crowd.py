"""Dawid–Skene on a crowd's answers: batched, a NumPy loop over replications (plain and tuned),
crowd-kit.

All get int8 answers. The loops stop by our rule: no ability moved by 1e-8, 100 steps at most.
crowd-kit stops by its own, a likelihood that grows by less than 1e-5 an answer, which is earlier; a
few replications are timed.
"""

import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.problems.crowd.estimators.dawid_skene import DawidSkene
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.crowd.model import DawidSkene as Crowd

N, M, REPS, ROUNDS = 50, 1000, 200, 9


def plain(answers: np.ndarray, low: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """One fit by eqs.

    (10), (7), (8) as one would write them with answers 0 and 1: abilities (n,), y (m,).
    """
    ones, zeros = (answers > 0).astype(float), (answers < 0).astype(float)
    y, p = ones.mean(axis=0), np.inf
    for _ in range(100):
        before, p = p, np.clip((ones @ y + zeros @ (1 - y)) / len(y), low, 1 - low)
        right, wrong = np.log(p), np.log(1 - p)
        y = 1 / (1 + np.exp(right @ zeros + wrong @ ones - right @ ones - wrong @ zeros))
        if np.abs(p - before).max() < 1e-8:
            break
    return p, y


def tuned(answers: np.ndarray, low: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """The same in signs, with two products a step."""
    signs = answers.astype(float)
    n, m = signs.shape
    u, p = np.ones(n) @ signs / n, np.inf
    for _ in range(100):
        before, p = p, np.clip(0.5 + signs @ u / (2 * m), low, 1 - low)
        u = np.tanh(np.log(p / (1 - p)) @ signs / 2)
        if np.abs(p - before).max() < 1e-8:
            break
    return p, (1 + u) / 2


def crowd_kit(answers: np.ndarray) -> float:
    """One fit by crowd-kit's one-coin model, without the making of its table: seconds."""
    import pandas as pd
    from crowdkit.aggregation import OneCoinDawidSkene

    worker, task = np.nonzero(answers)
    data = pd.DataFrame(
        {"worker": worker, "task": task, "label": (answers[worker, task] > 0).astype(int)}
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        OneCoinDawidSkene().fit(data)
    return time.perf_counter() - start


def main() -> None:
    """Print milliseconds per fit (medians of alternating runs), ratios to ours, and the largest
    difference of y.
    """
    rng = np.random.default_rng(1)
    crowd = Crowd(n=N, m=M)
    data = crowd.simulate(crowd.truth(rng, REPS, rng), rng)
    releases = {"clean": data.release_plainly()}
    releases |= {
        f"ε = {e:g}": RandomizedResponse(n=N, m=M, epsilon=e).release(data, rng) for e in (1.0, 0.5)
    }
    with threadpool_limits(1):
        for name, release in releases.items():
            ours = DawidSkene(n=N, m=M)
            fits = {
                "ours": lambda release=release, ours=ours: ours.fit(release, rng).posterior,
                "plain loop": lambda x=release.answers: np.array([plain(one)[1] for one in x]),
                "tuned loop": lambda x=release.answers: np.array([tuned(one)[1] for one in x]),
            }
            times, found = (
                {kind: [] for kind in fits},
                {kind: fit() for kind, fit in fits.items()},
            )  # warms up
            for _ in range(ROUNDS):
                for kind, fit in fits.items():
                    start = time.perf_counter()
                    fit()
                    times[kind].append(1e3 * (time.perf_counter() - start) / REPS)
            mine = np.median(times["ours"])
            steps = ours.fit(release, rng).iterations.mean()
            print(
                f"{name}, n={N} m={M}, {REPS} replications, {steps:.1f} steps: ours {mine:.4f} ms "
                "a fit",
                flush=True,
            )
            for kind in list(fits)[1:]:
                ratios = np.array(times[kind]) / times["ours"]
                print(
                    f"  {kind:11s} {np.median(times[kind]):8.4f} ms, ÷ ours "
                    f"{np.median(ratios):5.2f} ({ratios.min():.2f}–{ratios.max():.2f}), apart "
                    f"{np.abs(found[kind] - found['ours']).max():.1e}",
                    flush=True,
                )
            theirs = 1e3 * np.array([crowd_kit(one) for one in release.answers[:2]])
            print(
                f"  crowd-kit   {theirs.mean():8.1f} ms, ÷ ours {theirs.mean() / mine:,.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
