"""Noise on the integers, ns a draw: the seeded samplers against OpenDP and against the sampler
published in Python.

The published samplers are those of the supplement of Nguyen and Zhang, word for word but for
indentation, which the text lost; they ask NumPy's global generator.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.privacy import vetted_noise as vetted
from pipeline.privacy.integer_noise import discrete_gaussian, discrete_laplace
from pipeline.study.parameters import InvalidInput

SPREADS = [1.0, 10.0, 302.0, 4290.0]  # σ of the discrete Gaussian, scale of the discrete Laplace
BATCHES = [10**5, 10**6, 10**7]
OPENDP, PUBLISHED = 10_000, 2_000  # draws
ROUNDS = 5


def exponential_bernoulli_sample(gamma):
    """1 with probability exp(−gamma)."""
    if 0 <= gamma <= 1:
        K = 1
        while True:
            A = 1 if np.random.rand() < gamma / K else 0  # noqa: NPY002
            if A == 0:
                break
            K += 1
        return 1 if K % 2 == 1 else 0
    for _ in range(1, int(np.floor(gamma) + 1)):
        if exponential_bernoulli_sample(1) == 0:
            return 0
    return exponential_bernoulli_sample(gamma - np.floor(gamma))


def published_gaussian(sigma):
    """One draw from N_Z(0, σ²)."""
    t = int(np.floor(sigma) + 1)
    U = np.random.choice(t)  # noqa: NPY002
    D = exponential_bernoulli_sample(U / t)
    if D == 0:
        return published_gaussian(sigma)
    V = 0
    while exponential_bernoulli_sample(1) != 0:
        V += 1
    B = 1 if np.random.rand() < 1.0 / 2 else 0  # noqa: NPY002
    if B == 1 and U == 0 and V == 0:
        return published_gaussian(sigma)
    Z = (1 - 2 * B) * (U + t * V)
    C = exponential_bernoulli_sample((np.abs(Z) - sigma**2 / t) ** 2 / (2 * sigma**2))
    return published_gaussian(sigma) if C == 0 else Z


def published_laplace(eps):
    """One draw from the discrete Laplace of scale 1/eps."""
    alpha = np.exp(-eps)
    zero = 0 if np.random.rand() < (1.0 - alpha) / (1.0 + alpha) else 1  # noqa: NPY002
    return zero * np.random.geometric(1 - alpha) * (-1 if np.random.rand() < 0.5 else 1)  # noqa: NPY002


def _per_draw(draw, n):
    start = time.perf_counter()
    draw()
    return 1e9 * (time.perf_counter() - start) / n


def main() -> None:
    """Print ns per draw (medians of alternating runs) and how many times the seeded samplers are
    faster.
    """
    zeros = np.zeros(OPENDP, int)
    try:
        vetted.release([0], variance=1.0)
    except InvalidInput as error:
        print(error)
        zeros = None
    print(
        f"{'law':>8} {'σ, scale':>8} {'ours 1e5':>9} {'ours 1e6':>9} {'ours 1e7':>9} "
        f"{'OpenDP':>9} {'published':>9} {'OpenDP/':>9} {'published/':>10}  ns a draw, one "
        "thread, Philox; new law: ms"
    )
    rng = np.random.Generator(np.random.Philox(1))
    with threadpool_limits(1):
        for law, s in ((law, s) for law in ("gaussian", "laplace") for s in SPREADS):
            sampler, given = (
                (discrete_gaussian, s * s) if law == "gaussian" else (discrete_laplace, s)
            )
            published, argument = (
                (published_gaussian, s) if law == "gaussian" else (published_laplace, 1 / s)
            )
            noise = {"variance": given} if law == "gaussian" else {"scale": given}
            new = _per_draw(lambda f=sampler, p=given: f(rng, p, 0), 1e6)
            runs = {n: (lambda f=sampler, p=given, n=n: f(rng, p, n), n) for n in BATCHES}
            if zeros is not None:
                runs["OpenDP"] = (lambda p=noise: vetted.release(zeros, **p), OPENDP)
            runs["published"] = (
                lambda f=published, a=argument: [f(a) for _ in range(PUBLISHED)],
                PUBLISHED,
            )
            times = {name: [] for name in runs}
            for _ in range(ROUNDS):
                for name, run in runs.items():
                    times[name].append(_per_draw(*run))
            found = {name: np.median(taken) for name, taken in times.items()}
            opendp, slow, ours = found.get("OpenDP", np.nan), found["published"], found[10**6]
            print(
                f"{law:>8} {s:8g}",
                *(f"{found[n]:9.1f}" for n in BATCHES),
                f"{opendp:9.0f} {slow:9.0f} {opendp / ours:9.0f} {slow / ours:10.0f}  {new:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
