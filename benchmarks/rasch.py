"""Rasch model: what a fit costs, a private one, and what privacy adds, over n and m.

Times of fits are from responses to difficulties, against the published algorithm and NumPy's
solver. Rivals fit one replication at a time, from responses already in the type that suits them;
ours gets Boolean ones, all at once. `published` transcribes the supplement of Nguyen and Zhang
without its noise, `pi` updated within its loop, and `published_private` with it, entry by entry
where a count is not 0.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.noise import published_gaussian
from pipeline.problems.response.derivations import edge_probability
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.noisy_differences import (
    DiscreteGaussian,
    DiscreteLaplace,
)
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch, Responses
from pipeline.problems.response.releases import OpenResponses

SIZES = {
    (1000, 100): 200,
    (500, 50): 500,
    (2000, 200): 40,
    (1000, 5): 2000,
}  # persons, items: replications
PRIVATE = {(1000, 100): (100, 3), (1000, 25): (400, 10)}  # persons, items: replications, of theirs
GRID = [(n, m) for n in (250, 1000, 4000) for m in (25, 50, 100, 200)]
CELL = 4e6  # responses of all replications
EPSILON = 1.0
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
    """One fit (item,) from responses (person, item) in float32.

    square: from XᵀX, of which BLAS does half.
    """
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


def published_private(performances: np.ndarray, sigma: float, lambd: float = 1.0) -> np.ndarray:
    """One private fit (item,) from responses (item, person), all pairs: noise by entry, then as
    `published`.
    """
    from scipy.sparse import csc_matrix

    m = len(performances)
    graph = np.ones((m, m))
    D = np.ma.masked_where(performances == -1, performances)
    M = np.ma.dot(D, (1.0 - D).T)
    A = np.ma.masked_where(performances == -1, np.ones_like(performances))
    np.ma.dot(A, A.T)
    np.fill_diagonal(M, 0)
    np.nan_to_num(M, False)
    M = np.round(M)
    M_add = np.copy(M)
    for i in range(m):
        for j in range(m):
            if j != i and M[i, j] != 0 and np.abs(graph[i, j] - 1) < 1e-6:
                noise = published_gaussian(sigma)
                M[i, j] = max(1, M[i, j] + noise)
                M_add[i, j] = noise
            if j != i and np.abs(graph[i, j] - 0) < 1e-6:
                M[i, j] = 0
                M_add[i, j] = 0
    M = np.where(np.logical_or((M != 0), (M.T != 0)), M + lambd, M)
    d = np.ones((m,)) * np.ma.max(np.ma.sum(M, 1) + 1)
    for i in range(m):
        M[i, :] /= d[i]
        M[i, i] = 1.0 - np.sum(M[i, :])
    M = csc_matrix(M)
    pi = np.ones((m,)) / m
    for _ in range(1000):
        pi_next = pi @ M
        pi_next /= np.sum(pi_next)
        near = np.linalg.norm(pi_next - pi) < 1e-5
        pi = pi_next
        if near:
            break
    beta = np.log((pi / d) / np.sum(pi / d))
    return beta - np.mean(beta)


class Answers(Responses):
    """Complete responses that are there already, (reps, n, m); their differences are not."""

    def __init__(self, answers):
        self._drawn, self.complete, self.persons, self.items = (
            (answers, None),
            True,
            *answers.shape[1:],
        )


def interleaved(runs: dict, rounds: int = ROUNDS) -> dict[str, np.ndarray]:
    """Seconds of this process in every run, (rounds,), in turns; once before, to warm up.

    For one thread.
    """
    times = {name: [] for name in runs}
    for k in range(rounds + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name] += [time.process_time() - start] * (k > 0)
    return {name: np.array(taken) for name, taken in times.items()}


def spread(ratios: np.ndarray) -> str:
    """Median, least and greatest."""
    return f"{np.median(ratios):.3g} ({ratios.min():.3g}–{ratios.max():.3g})"


def drawn(n: int, m: int, reps: int) -> np.ndarray:
    """(reps, n, m) bool: answers of the model."""
    model, rng = Rasch(n=n, m=m), np.random.default_rng(1)
    return model.simulate(model.truth(rng, reps, rng), rng).answers


def private() -> None:
    """Print milliseconds of a private release of all pairs and its fit, and the ratio of the
    published one to it.
    """
    rng = np.random.default_rng(1)
    for (n, m), (reps, theirs) in PRIVATE.items():
        answers, noisy, fit = (
            drawn(n, m, reps),
            DiscreteGaussian(m=m, epsilon_user=EPSILON),
            Spectral(m=m),
        )
        sigma = noisy._law(m * m // 2) ** 0.5
        items_first = np.ascontiguousarray(answers[:theirs].swapaxes(1, 2)).astype(float)
        times = interleaved(
            {
                "ours": lambda x=answers, f=noisy, g=fit: g.fit(f.release(Answers(x), rng), rng),
                "published": lambda x=items_first, s=sigma: [
                    published_private(one, s) for one in x
                ],
            }
        )
        ours, published = 1e3 * times["ours"] / reps, 1e3 * times["published"] / theirs
        print(
            f"private, all pairs, n={n} m={m} σ={sigma:.0f}: ours {np.median(ours):.3f} ms, "
            f"published {np.median(published):.1f} ms, ÷ ours {spread(published / ours)}",
            flush=True,
        )


def cost() -> None:
    """Print what privacy costs over n and m, each against the fit without it, and the exponents of
    these times.

    whole: from responses to difficulties. noise: what a mechanism does to the statistic or the
    responses that it is given. Exponents are of a power law in n and m fitted to the logarithms; ±
    is its standard error, most of it from the sums of several powers that times are.
    """
    rng, found = np.random.default_rng(1), {}
    for n, m in GRID:
        answers = drawn(n, m, reps := max(1, round(CELL / (n * m))))
        fit, known = Spectral(m=m), Answers(answers)
        known.differences()
        given = dict(m=m, epsilon_user=EPSILON)
        mechanisms = {
            "Gaussian, dense": DiscreteGaussian(**given),
            "Gaussian, sparse": DiscreteGaussian(**given, p0=edge_probability("sparse", m)),
            "Laplace": DiscreteLaplace(**given),
            "randomized response": RandomizedResponse(n=n, **given),
        }
        runs = {"no privacy": lambda x=answers, g=fit: g.fit(OpenResponses(x, None), rng)}
        for name, one in mechanisms.items():
            runs[f"{name}: whole"] = lambda x=answers, f=one, g=fit: g.fit(
                f.release(Answers(x), rng), rng
            )
            runs[f"{name}: noise"] = lambda x=known, f=one: f.release(x, rng)
        times = interleaved(runs)
        alone = times["no privacy"]
        print(
            f"n={n} m={m}, {reps} replications; no privacy {1e3 * np.median(alone) / reps:.4f} "
            "ms; ÷ it",
            flush=True,
        )
        for name in mechanisms:
            ratios = [spread(times[f"{name}: {part}"] / alone) for part in ("whole", "noise")]
            print(f"  {name:20s} whole {ratios[0]:22s} noise {ratios[1]}", flush=True)
        for name, taken in times.items():
            found.setdefault(name, []).append(np.median(taken) / reps)
    design = np.column_stack([np.ones(len(GRID)), np.log(GRID)])
    inverse = np.linalg.inv(design.T @ design)
    for name, taken in found.items():
        power = inverse @ design.T @ np.log(taken)
        left = np.log(taken) - design @ power
        error = np.sqrt(left @ left / (len(GRID) - 3) * inverse.diagonal())
        print(
            f"  {name:28s} time ∝ n^{power[1]:.2f} ± {error[1]:.2f} · m^{power[2]:.2f} ± "
            f"{error[2]:.2f}",
            flush=True,
        )


def fits() -> None:
    """Print milliseconds per fit (medians of alternating runs), ratios to ours, and the largest
    difference.
    """
    rng = np.random.default_rng(1)
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
            "square + solve": lambda x=single: np.array(
                [product_and_solve(one, True) for one in x]
            ),
        }
        found = {name: fit() for name, fit in fits.items()}
        times = {name: 1e3 * taken / reps for name, taken in interleaved(fits).items()}
        print(
            f"n={n} m={m}, {reps} replications: ours {np.median(times['ours']):.4f} ms a fit",
            flush=True,
        )
        for name in list(fits)[1:]:
            print(
                f"  {name:15s} {np.median(times[name]):7.4f} ms, ÷ ours "
                f"{spread(times[name] / times['ours'])}, apart "
                f"{np.abs(found[name] - found['ours']).max():.1e}",
                flush=True,
            )


def main() -> None:
    """Print all three, on one thread."""
    with threadpool_limits(1):
        fits()
        private()
        cost()


if __name__ == "__main__":
    main()
