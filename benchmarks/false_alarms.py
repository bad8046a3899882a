"""1,000 audits of right mechanisms that spend all of their budgets, at 99.9 %: 0 to 3 false alarms.

By samples alone, since exact levels raise none. Answers are kept in outputs/audits, so that the same
command goes on; `python -m benchmarks.false_alarms 20` stops after twenty new ones.
"""

import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.kept_answers import Kept
from benchmarks.planted_faults import RIGHT, Dataset, Output, Right
from pipeline.auditing.audit import Case, Options, audit
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import Subject

AUDITS = 1_000
MOST = 3  # false alarms; expected is 1 at most
SAMPLES = 20_000


def by_samples(right: Right) -> Subject:
    """The mechanism without a parameter `rng`, so that only samples are seen of it."""

    def sampled(dataset: Dataset, samples: int) -> Output:
        return right.mechanism(dataset, samples, np.random.default_rng())

    return Subject(sampled, right.name)


def every_audit() -> Iterator[tuple[str, tuple[Right, int]]]:
    """Name -> a right mechanism and a seed."""
    for number in range(AUDITS):
        right = RIGHT[number % len(RIGHT)]
        yield f"{right.name}, seed {number}", (right, number)


def main(most: int | None = None) -> None:
    """Audit, so many at most, and print how many raised a false alarm."""
    kept = Kept("false_alarms")
    for name, (right, seed) in kept.missing(every_audit(), most):
        pair = Pair("two neighbours", right.first, right.second)
        case = Case(by_samples(right), Promise(right.epsilon), [pair])
        answer = audit(case, Options(samples=SAMPLES, repeats=0, seed=seed))
        assert answer.confidence == 0.999 and answer.level == "samples"
        kept.add(name, answer.violates)
    alarms = [name for name, is_alarm in kept.answers.items() if is_alarm]
    print(f"{len(alarms)} false alarms in {len(kept.answers)} of {AUDITS} audits; bar 0 to {MOST}")
    for name in alarms:
        print(f"  {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else None)
