"""Spectral fits of the Rasch model, responses to difficulties, against the published algorithm and NumPy's solver.

Rivals fit one replication at a time, from responses already in the type that suits them; ours gets Boolean ones,
all at once.
`published` transcribes the supplement of Nguyen and Zhang without its noise, `pi` updated within its loop.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.estimators.rasch_spectral import Spectral
from pipeline.models.rasch import OpenResponses, Rasch

SIZES = {(1000, 100): 200, (500, 50): 500, (2000, 200): 40, (1000, 5): 2000}  # persons, items: replications
ROUNDS = 7


def published(performances: np.ndarray) -> np.ndarray:
    """One fit (item,) from responses (item, person): masked products, then power iteration to 1e-5."""
    masked = np.ma.masked_where(performances == -1, performances)
    chain = np.ma.dot(masked, (1.0 - masked).T)
    np.fill_diagonal(chain, 0)
    np.nan_to_num(chain, False)
    chain = np.round(chain)
    d = np.ones(len(chain)) * np.ma.max(np.ma.sum(chain, 1) + 1)
    chain = np.ma.getdata(chain) / d[:, None]
    np.fill_diagonal(chain, 1 - chain.sum(axis=1))
    pi = np.ones(len(chain)) / len(chain)
    for _ in range(1000):
        following = pi @ chain
        following /= following.sum()
        near = np.linalg.norm(following - pi) < 1e-5
        pi = following
        if near:
            break
    beta = np.log((pi / d) / (pi / d).sum())
    return beta - beta.mean()


def product_and_solve(responses: np.ndarray, square: bool = False) -> np.ndarray:
    """One fit (item,) from responses (person, item) in float32; square: from XᵀX, of which BLAS does half."""
    if square:
        counts = (responses.T @ responses).astype(float)
        counts = counts.diagonal()[:, None] - counts
    else:
        counts = (responses.T @ (1 - responses)).astype(float)
    balance = -counts.T
    np.fill_diagonal(balance, counts.sum(axis=1))
    balance[-1] = 1
    right = np.zeros(len(balance))
    right[-1] = 1
    beta = np.log(np.linalg.solve(balance, right))
    return beta - beta.mean()


def main() -> None:
    """Print milliseconds per fit (medians of alternating runs), ratios to ours, and the largest difference."""
    rng = np.random.default_rng(1)
    with threadpool_limits(1):
        for (n, m), reps in SIZES.items():
            model = Rasch(n=n, m=m)
            data = model.simulate(model.truth(rng, reps, rng), rng)
            release = OpenResponses(data.answers, None)
            ours = Spectral(m=m, pseudo_count=0.0, floor=0.0)
            items_first = np.ascontiguousarray(data.answers.swapaxes(1, 2)).astype(float)
            single = data.answers.astype(np.float32)
            fits = {
                "ours": lambda ours=ours, release=release: ours.fit(release, rng).theta,
                "published": lambda x=items_first: np.array([published(one) for one in x]),
                "product + solve": lambda x=single: np.array([product_and_solve(one) for one in x]),
                "square + solve": lambda x=single: np.array([product_and_solve(one, True) for one in x]),
            }
            times, found = {name: [] for name in fits}, {name: fit() for name, fit in fits.items()}  # warms up
            for _ in range(ROUNDS):
                for name, fit in fits.items():
                    start = time.perf_counter()
                    found[name] = fit()
                    times[name].append(1e3 * (time.perf_counter() - start) / reps)
            least = np.median(times["ours"])
            print(f"n={n} m={m}, {reps} replications: ours {least:.4f} ms per fit", flush=True)
            for name in list(fits)[1:]:
                ratios = np.array(times[name]) / times["ours"]
                print(f"  {name:15s} {np.median(times[name]):7.4f} ms, ÷ ours {np.median(ratios):5.2f} "
                      f"({ratios.min():.2f}–{ratios.max():.2f}), apart {np.abs(found[name] - found['ours']).max():.1e}",
                      flush=True)


if __name__ == "__main__":
    main()
