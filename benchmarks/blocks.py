"""Samplers of the block model: ns per sensed entry against the generator alone, and a dense
transcription.

The generator's own cost is that of one uniform number for every entry that is sensed, in the same
process, interleaved. `dense` transcribes the paper's figures with whole users × items matrices, in
batches; where it would take long, on fewer users, and scaled up.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.clustering.mechanisms.one_bit_sketch import OneBitSketch
from pipeline.problems.clustering.mechanisms.pairwise_preference import PairwisePreference
from pipeline.problems.clustering.model import BlockModel

SIZES = {(400, 20): 10**6, (1000, 30): 10**6, (2000, 100): 10**6}  # items, ratings a user: users
MANY = 10**7
DENSE = 4000  # users of the dense transcription
DRAWS = 1 << 20  # random numbers at a time
ROUNDS = 3


def dense(
    rng: np.random.Generator, users: int, w: int, likes: np.ndarray, keep: float, theta: float
) -> np.ndarray:
    """MaxSense as in Figure 2: scores (N,) from matrices of users and items, 500 users at a time."""
    scores = np.zeros(len(likes))
    for start in range(0, users, 500):
        shape = min(500, users - start), len(likes)
        rated = np.zeros(shape, bool)
        np.put_along_axis(
            rated, np.argpartition(rng.random(shape), w - 1, axis=1)[:, :w], True, axis=1
        )
        sensed = rng.random(shape) < theta / w
        bit = (sensed & rated & (rng.random(shape) < likes)).any(axis=1) ^ (
            rng.random(shape[0]) >= keep
        )
        scores += bit @ sensed
    return scores


def _seconds(work):
    start = time.process_time()  # of the one thread: others may be busy
    work()
    return time.process_time() - start


def _numbers(rng, n):
    while n > 0:
        rng.random(min(n, DRAWS))
        n -= DRAWS


def main() -> None:
    """Print ns of CPU per sensed entry, ratios to the generator's own cost, replications per second
    (medians).
    """
    rng = np.random.Generator(np.random.Philox(1))
    with threadpool_limits(1):
        for (items, w), users in SIZES.items():
            model = BlockModel(U=users, N=items, w=w, b="0.9, 0.1")
            truth = model.truth(rng, 1, rng)
            data, many = (
                BlockModel(U=n, N=items, w=w, b="0.9, 0.1").simulate(truth, rng)
                for n in (users, MANY)
            )
            single = MaxSense(N=items, w=w, epsilon=1.0)
            several = MultiMaxSense(N=items, w=w, epsilon=4.0)
            one_bit, pairs = OneBitSketch(N=items), PairwisePreference(N=items, epsilon=1.0)
            likes = np.where(truth.clusters[0], 0.1, 0.9)
            entries = {
                "MaxSense": users * items / w,
                f"MaxSense, {MANY:.0e} users": MANY * items / w,
                "Multi-MaxSense, Q = 4": users * several.questions * several.size,
                f"Multi-MaxSense, {MANY:.0e} users": MANY * several.questions * several.size,
            }
            runs = {
                "MaxSense": lambda m=single, d=data: m.release(d, rng),
                f"MaxSense, {MANY:.0e} users": lambda m=single, d=many: m.release(d, rng),
                "Multi-MaxSense, Q = 4": lambda m=several, d=data: m.release(d, rng),
                f"Multi-MaxSense, {MANY:.0e} users": lambda m=several, d=many: m.release(d, rng),
                "one bit": lambda m=one_bit, d=data: m.release(d, rng),
                "Pairwise-Preference": lambda m=pairs, d=data: m.release(d, rng),
                "dense": lambda likes=likes, w=w: dense(rng, DENSE, w, likes, 0.73, 1.0),
                "generator": lambda: _numbers(rng, DRAWS),
            }
            times = {name: [] for name in runs}
            for _ in range(ROUNDS):
                for name, run in runs.items():
                    times[name].append(_seconds(run))
            found = {name: float(np.median(taken)) for name, taken in times.items()}
            own = 1e9 * found["generator"] / DRAWS
            print(
                f"N={items} w={w}, {users:.0e} users; the generator alone {own:.1f} ns a number",
                flush=True,
            )
            for name, n in entries.items():
                each = 1e9 * found[name] / n
                print(
                    f"  {name:27s} {1e3 * found[name]:8.1f} ms, {n:.1e} entries, {each:8.4f} ns "
                    f"each, ÷ generator {each / own:.4f}"
                )
            scale = users / DENSE
            print(
                f"  replications a second of {users:.0e} users: MaxSense "
                f"{1 / found['MaxSense']:.1f}, dense {1 / (scale * found['dense']):.4f}, ratio "
                f"{scale * found['dense'] / found['MaxSense']:.0f}; one bit "
                f"{1 / found['one bit']:.0f}, Pairwise-Preference "
                f"{1 / found['Pairwise-Preference']:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
