"""Median, quantiles and a trimmed mean of many values, block by block, in bounded memory.

`python -m benchmarks.quantiles [values]` draws normal values in blocks of a million and merges their
sketches: 10⁸ values by default. It prints estimates beside the truth, the bytes of the sketch, the
peak memory of the process, and processor seconds. Half of the blocks are merged apart from the rest.
"""

import resource
import sys
import time

import numpy as np
from scipy.stats import norm

from pipeline.analysis.order_statistics import Sketch

BLOCK = 10**6
SHARES = (0.001, 0.25, 0.5, 0.975)


def main(values: int = 10**8) -> None:
    """Draw, count, merge, print."""
    start = time.process_time()
    halves = [Sketch.of(np.empty(0)), Sketch.of(np.empty(0))]
    blocks = max(1, values // BLOCK)
    for number in range(blocks):
        drawn = np.random.default_rng([40, number]).standard_normal(BLOCK)
        halves[number % 2] = halves[number % 2].merged(Sketch.of(drawn))
    sketch = halves[1].merged(halves[0])
    for share in SHARES:
        print(f"quantile {share:g}: {sketch.quantile(share)}, true {norm.ppf(share):.6f}")
    print(f"trimmed mean: {sketch.trimmed_mean(0.1)}, true 0")
    size = sketch.keys.nbytes + sketch.counts.nbytes
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = time.process_time() - start
    print(
        f"{sketch.n:,} values: {size:,} bytes, {sketch.dropped} bits dropped, peak {peak:.0f} MB, "
        f"{seconds:.1f} s of a processor"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
