"""What must not depend on the data, whatever is released: shapes, types, exceptions.

And mechanisms that seed themselves, whose output is the same in every call.

Calls for one sample each are counted, as they are independent if the mechanism's noise is.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from pipeline.auditing.bounds import Counts, certified
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Finding, Pair, Plan
from pipeline.auditing.subject import Raised, Subject, form_of
from pipeline.study.parameters import InvalidInput

TRIED = 6  # calls of either data set, before anything is counted
MOST_CALLS = 20_000
SEEN = 8  # samples of a call by which one sees that it has no noise of its own
Trait = Callable[[Any, int], str]  # of a data set and a seed


def audited(subject: Subject, pair: Pair, promise: Promise, plan: Plan) -> Finding | None:
    """The event that a call has another form on one data set; None where forms do not differ.

    Raises InvalidInput where the mechanism fails on both data sets, and where samples of one call
    share their noise.
    """
    form = _form_of(subject)
    _check_runs(subject, pair)
    finding = _counted(form, pair, promise, plan, "a call gives")
    if finding is not None:
        return finding
    _check_one_form(form, subject, pair)
    if _has_no_noise(subject, pair):
        return _counted(_output_of(subject), pair, promise, plan, "every call gives")
    return None


def _form_of(subject: Subject) -> Trait:
    def form(dataset: object, seed: int) -> str:
        try:
            return form_of(subject.call(dataset, 1, [seed], None))
        except Raised as error:
            return error.kind

    return form


def _output_of(subject: Subject) -> Trait:
    def output(dataset: object, seed: int) -> str:
        numbers = subject.sample(dataset, 1, [seed])[0]
        return f"({', '.join(f'{number:.17g}' for number in numbers[:12])})"

    return output


def _check_runs(subject: Subject, pair: Pair) -> None:
    errors = []
    for dataset in (pair.first, pair.second):
        try:
            subject.call(dataset, 1, [0], None)
        except Raised as error:
            errors.append(error)
    if len(errors) == 2:
        raise InvalidInput("mechanism", subject.name, f"fails on both data sets: {errors[0]}")


def _check_one_form(form: Trait, subject: Subject, pair: Pair) -> None:
    """Raise InvalidInput where forms differ by chance: samples of a call share theirs."""
    forms = _traits(form, pair.first)
    if len(forms) > 1:
        texts = " or ".join(sorted(forms))
        allowed = f"gives {texts} by chance; let all outputs have one shape, as by padding"
        raise InvalidInput("mechanism", subject.name, allowed)


def _has_no_noise(subject: Subject, pair: Pair) -> bool:
    """Whether calls with other seeds give the same.

    InvalidInput where samples share their noise.
    """
    calls = [subject.sample(pair.first, SEEN, [seed]) for seed in range(3)]
    same_in_all = all(np.array_equal(calls[0], call, equal_nan=True) for call in calls[1:])
    same_within = all((call == call[:1]).all() for call in calls)
    if same_within and not same_in_all and not _may_agree(subject, pair):
        allowed = "gives equal samples in one call: draw the noise of every sample anew"
        raise InvalidInput("mechanism", subject.name, allowed)
    return same_in_all


def _may_agree(subject: Subject, pair: Pair) -> bool:
    """Whether larger calls show that samples differ after all, as where few outputs are likely."""
    call = subject.sample(pair.first, 2_000, [3])
    return not bool((call == call[:1]).all())


def _traits(trait: Trait, dataset: object) -> Counter[str]:
    """How often each trait is seen in a few calls."""
    return Counter(trait(dataset, seed) for seed in range(TRIED))


def _counted(trait: Trait, pair: Pair, promise: Promise, plan: Plan, text: str) -> Finding | None:
    """Count the trait that differs most in a few calls; None where it does not differ."""
    datasets = (pair.first, pair.second)
    seen = [_traits(trait, dataset) for dataset in datasets]
    traits = {*seen[0], *seen[1]}
    value = max(traits, key=lambda name: abs(seen[0][name] - seen[1][name]))
    lean = seen[0][value] - seen[1][value]
    if abs(lean) < TRIED / 2:
        return None
    first, second = datasets if lean > 0 else reversed(datasets)
    hits = 0
    alarms = 0
    calls = 0
    wanted = min(int(12 * np.exp(min(promise.least_epsilon, 20.0))) + 40, MOST_CALLS)
    while calls < wanted and not (calls > TRIED and time.monotonic() > plan.deadline):
        seed = TRIED + 1 + calls
        hits += trait(first, seed) == value
        alarms += trait(second, seed) == value
        calls += 1
    counts = Counts(hits, calls, alarms, calls)
    bounded = certified(counts, plan.error)
    violates = promise.broken_by(bounded)
    return Finding(pair, f"{text} {value}", counts, bounded, calls, violates)
