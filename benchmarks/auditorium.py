"""Certified bounds and seconds beside testers of dp_auditorium, on equal samples.

It is no dependency, as it needs TensorFlow: put its folder on PYTHONPATH, in an environment with
TensorFlow and etils. Its testers answer for one ε; so ε is halved in on both directions, `HALVINGS`
times each, without a correction for many answers, which favours the rival. Outputs are numbered for
its histograms once. `python -m benchmarks.auditorium "one bit"` runs the tester that trains a network,
too, which takes a minute for a mechanism.
"""

import importlib
import sys
import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from benchmarks.false_alarms import by_samples
from benchmarks.histograms import ERROR, LARGE, SAMPLES
from benchmarks.planted_faults import RIGHT, Right
from pipeline.auditing.looks import audited
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair, Plan
from pipeline.study.arrays import Array, Floats, Integers

HALVINGS = 5
LOW = 0.05
HIGH = 1.2
TESTERS = ("histogram", "hockey stick")
WITH_TREES = "a histogram"  # for which scikit-learn is imported
Tester = Callable[[Any, Any, float], float]  # of both samples and an ε: a lower bound of δ


def _module(name: str) -> Any:  # noqa: ANN401 - a package that is not installed here
    return importlib.import_module(f"dp_auditorium.{name}")


def numbered(first: Floats, second: Floats) -> tuple[Integers, Integers]:
    """Outputs of both sides, numbered from 0, as the histogram tester wants them."""
    both = np.concatenate([first, second])
    _, numbers = np.unique(both, axis=0, return_inverse=True)
    of_all: Integers = numbers.ravel()
    return of_all[: len(first)], of_all[len(first) :]


def by_histogram(first: Integers, second: Integers, epsilon: float) -> float:
    """The histogram tester."""
    outputs = int(max(first.max(), second.max())) + 1
    budget = _module("configs.privacy_property").ApproximateDp(epsilon=epsilon, delta=0.0)
    configs = _module("configs.property_tester_config")
    config = configs.HistogramPropertyTesterConfig(True, outputs, 0.0, 1.0, budget)
    tester = _module("testers.histogram_tester").HistogramTester(config)
    return float(tester.estimate_lower_bound(first, second, ERROR))


def by_hockey_stick(first: Floats, second: Floats, epsilon: float) -> float:
    """The tester that trains a network, with its own defaults."""
    testers = _module("testers.hockey_stick_tester")
    budget = _module("configs.privacy_property").ApproximateDp(epsilon=epsilon, delta=0.0)
    configs = _module("configs.property_tester_config")
    training = testers.make_default_hs_training_config()
    config = configs.HockeyStickPropertyTesterConfig(training, budget)
    tester = testers.HockeyStickPropertyTester(config, testers.make_default_hs_base_model())
    return float(tester.estimate_lower_bound(first, second, ERROR))


def largest(tester: Tester, first: Array, second: Array) -> float:
    """The largest ε at which a tester still finds a δ above 0, both ways."""
    best = 0.0
    for ours, theirs in ((first, second), (second, first)):
        low = LOW
        high = HIGH
        if tester(ours, theirs, low) <= 0:
            continue
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if tester(ours, theirs, middle) > 0:
                low = middle
            else:
                high = middle
        best = max(best, low)
    return best


def _ours(right: Right, epsilon: float) -> tuple[float, float, int]:
    """ε, seconds and samples of an audit by samples, which ends where more than an ε is certified.

    Seconds for drawing are included.
    """
    pair = Pair("two neighbours", right.first, right.second)
    began = time.process_time()
    finding = audited(by_samples(right), pair, Promise(epsilon), Plan(SAMPLES, ERROR, 0))
    seconds = time.process_time() - began
    return finding.bounded.epsilon(0.0), seconds, finding.samples


def compared(right: Right, names: Collection[str]) -> None:
    """Print the bounds of a mechanism, and how many times as long its rivals took."""
    epsilon, seconds, _ = _ours(right, LARGE)
    subject = by_samples(right)
    datasets = (right.first, right.second)
    first, second = (subject.sample(data, SAMPLES, [0, k]) for k, data in enumerate(datasets))
    print(f"  {right.name}: ε ≥ {epsilon:.4f} in {seconds:.3f} s", flush=True)
    for name in names:
        began = time.process_time()
        if name == "histogram":
            rival = largest(by_histogram, *numbered(first, second))
        else:
            rival = largest(by_hockey_stick, first, second)
        rival_seconds = time.process_time() - began
        print(f"    {name}: {rival:.4f}, {rival_seconds / seconds:.1f} × as long", flush=True)
        if rival > 0:
            _, until, samples = _ours(right, rival)
            print(
                f"      ours certifies as much by {samples:,} samples; "
                f"the rival takes {rival_seconds / until:.1f} × as long",
                flush=True,
            )


def main(words: Collection[str] = ()) -> None:
    """Compare all mechanisms by the histogram tester, or those that are named by both."""
    chosen = [right for right in RIGHT if not words or right.name in words]
    for right in RIGHT:
        if right.name == WITH_TREES:
            _ours(right, LARGE)  # what is imported only once is not counted
    largest(by_histogram, np.zeros(2, int), np.ones(2, int))
    for right in chosen:
        compared(right, TESTERS if words else TESTERS[:1])


if __name__ == "__main__":
    main(sys.argv[1:])
