"""Certified bounds beside those of a tester by histograms, of StatDP's kind, at equal samples.

The rival chooses the event among all single outputs, half-lines and bins of each number on one half
of the samples, as Ding et al. (2018) do, and certifies on the other half by the same bounds of
Clopper and Pearson; all in NumPy. Both see samples alone. dp_auditorium would be the other rival; it
needs TensorFlow and is no dependency here.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.false_alarms import by_samples
from benchmarks.planted_faults import RIGHT, Right
from pipeline.auditing.bounds import Counts, certified
from pipeline.auditing.looks import audited
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair, Plan
from pipeline.study.arrays import Booleans, Floats

SAMPLES = 100_000
SEEDS = 6  # samples are drawn anew with each, by both
ERROR = 0.001
BINS = 20
LARGE = 1e9  # a promise that no bound breaks, so that all samples are used


@dataclass(frozen=True)
class Event:
    """Outputs with a number between two ends; column None is a whole output, equal to `row`."""

    column: int | None
    low: float
    high: float
    row: tuple[float, ...] = ()

    def happened(self, outputs: Floats) -> Booleans:
        """Whether it happened, of each output."""
        if self.column is None:
            equal: Booleans = (outputs == np.array(self.row)).all(axis=1)
            return equal
        values = outputs[:, self.column]
        between: Booleans = (values >= self.low) & (values < self.high)
        return between


def events(outputs: Floats) -> Iterator[Event]:
    """All events that the rival tries."""
    rows = np.unique(outputs, axis=0)
    if len(rows) <= BINS**2:
        for row in rows:
            yield Event(None, 0, 0, tuple(row.tolist()))
    for column in range(outputs.shape[1]):
        values = np.unique(outputs[:, column])
        if len(values) > BINS:
            values = np.unique(np.quantile(outputs[:, column], np.linspace(0, 1, BINS + 1)))
        edges = [-np.inf, *values.tolist(), np.inf]
        for left, right in zip(edges, edges[1:], strict=False):
            yield Event(column, left, right)
            yield Event(column, -np.inf, right)
            yield Event(column, left, np.inf)


def by_histograms(first: Floats, second: Floats) -> float:
    """The rival's certified ε."""
    half = len(first) // 2
    sides = [(first, second), (second, first)]
    best = -1.0
    chosen: tuple[Event, int] | None = None
    for event in events(np.concatenate([first[:half], second[:half]])):
        for number, (ours, theirs) in enumerate(sides):
            bound = _bound(event, ours[:half], theirs[:half])
            if bound > best:
                best = bound
                chosen = (event, number)
    assert chosen is not None
    event, number = chosen
    ours, theirs = sides[number]
    return _bound(event, ours[half:], theirs[half:])


def _bound(event: Event, ours: Floats, theirs: Floats) -> float:
    hits = int(event.happened(ours).sum())
    alarms = int(event.happened(theirs).sum())
    return certified(Counts(hits, len(ours), alarms, len(theirs)), ERROR).epsilon(0.0)


def compared(right: Right, samples: int, seed: int) -> tuple[float, float, float, float]:
    """ε and seconds of ours, and of the rival, each with its own samples of one number."""
    pair = Pair("two neighbours", right.first, right.second)
    subject = by_samples(right)
    began = time.process_time()
    finding = audited(subject, pair, Promise(LARGE), Plan(samples, ERROR, seed))
    ours = time.process_time() - began
    began = time.process_time()
    datasets = (pair.first, pair.second)
    outputs = [subject.sample(data, samples, [seed, k]) for k, data in enumerate(datasets)]
    rival = by_histograms(*outputs)
    theirs = time.process_time() - began
    return finding.bounded.epsilon(0.0), ours, rival, theirs


def main(most: int | None = None, samples: int = SAMPLES) -> None:
    """Print both bounds of each mechanism, means over seeds, and the ratio of seconds."""
    for right in RIGHT[:most]:
        rows = np.array([compared(right, samples, seed) for seed in range(SEEDS)])
        ours, seconds, rival, rival_seconds = rows.mean(axis=0)
        error = (rows[:, 0] - rows[:, 2]).std(ddof=1) / np.sqrt(SEEDS)
        ratio = rival_seconds / seconds
        print(
            f"  {right.name}: ε ≥ {ours:.4f} in {seconds:.2f} s; histograms {rival:.4f} in "
            f"{rival_seconds:.2f} s, {ratio:.1f} × as long; difference ± {error:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
