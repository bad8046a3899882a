"""Certified bounds and seconds beside testers of dp_auditorium, on equal samples.

It is no dependency, as it needs TensorFlow: put its folder on PYTHONPATH, in an environment with
TensorFlow and etils. Its testers answer for one ε; so ε is halved in on both directions, `HALVINGS`
times each, without a correction for many answers, which favours the rival.
"""

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.false_alarms import by_samples
from benchmarks.histograms import ERROR, LARGE, SAMPLES
from benchmarks.planted_faults import RIGHT, Right
from pipeline.auditing.looks import audited
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair, Plan
from pipeline.study.arrays import Floats

HALVINGS = 5
LOW = 0.05
HIGH = 1.2
Tester = Callable[[Floats, Floats, float], float]  # of both samples and an ε: a lower bound of δ


def _module(name: str) -> Any:  # noqa: ANN401 - a package that is not installed here
    return importlib.import_module(f"dp_auditorium.{name}")


def by_histogram(first: Floats, second: Floats, epsilon: float) -> float:
    """The histogram tester, with outputs numbered."""
    both = np.concatenate([first, second])
    outputs, numbers = np.unique(both, axis=0, return_inverse=True)
    budget = _module("configs.privacy_property").ApproximateDp(epsilon=epsilon, delta=0.0)
    configs = _module("configs.property_tester_config")
    config = configs.HistogramPropertyTesterConfig(True, len(outputs), 0.0, 1.0, budget)
    tester = _module("testers.histogram_tester").HistogramTester(config)
    ours = numbers.ravel()[: len(first)]
    theirs = numbers.ravel()[len(first) :]
    return float(tester.estimate_lower_bound(ours, theirs, ERROR))


def by_hockey_stick(first: Floats, second: Floats, epsilon: float) -> float:
    """The tester that trains a network, with its own defaults."""
    testers = _module("testers.hockey_stick_tester")
    budget = _module("configs.privacy_property").ApproximateDp(epsilon=epsilon, delta=0.0)
    configs = _module("configs.property_tester_config")
    training = testers.make_default_hs_training_config()
    config = configs.HockeyStickPropertyTesterConfig(training, budget)
    tester = testers.HockeyStickPropertyTester(config, testers.make_default_hs_base_model())
    return float(tester.estimate_lower_bound(first, second, ERROR))


def largest(tester: Tester, first: Floats, second: Floats) -> float:
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


def _ours(right: Right) -> tuple[float, float]:
    """ε and seconds of an audit by samples, those for drawing them included."""
    pair = Pair("two neighbours", right.first, right.second)
    began = time.process_time()
    finding = audited(by_samples(right), pair, Promise(LARGE), Plan(SAMPLES, ERROR, 0))
    return finding.bounded.epsilon(0.0), time.process_time() - began


def main(most: int | None = None) -> None:
    """Print both bounds of each mechanism, and how many times as long the rival took."""
    for right in RIGHT[:most]:
        epsilon, seconds = _ours(right)
        subject = by_samples(right)
        datasets = (right.first, right.second)
        first, second = (subject.sample(data, SAMPLES, [0, k]) for k, data in enumerate(datasets))
        print(f"  {right.name}: ε ≥ {epsilon:.4f} in {seconds:.2f} s", flush=True)
        for tester in (by_histogram, by_hockey_stick):
            began = time.process_time()
            rival = largest(tester, first, second)
            ratio = (time.process_time() - began) / seconds
            print(f"    {tester.__name__}: {rival:.4f}, {ratio:.0f} × as long", flush=True)


if __name__ == "__main__":
    main()
