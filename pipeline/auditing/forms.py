"""What must not depend on the data, whatever is released: shapes, types, exceptions.

And mechanisms that seed themselves, whose output is the same in every call.

Calls for one sample each are counted, as they are independent if the mechanism's noise is.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pipeline.auditing.bounds import Counts, certified
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Finding, Pair, Plan, Scored, chosen, padded
from pipeline.auditing.scores import learned
from pipeline.auditing.subject import Raised, Subject, form_of
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput

TRIED = 6  # calls of either data set, before anything is counted
MOST_CALLS = 20_000
SEEN = 8  # samples of a call by which one sees that it has no noise of its own
STEADY = 900  # samples of a call that is compared with others on the same data
COMPARED = 4  # other calls
DRIFTED = 1e-6  # error probability of calling calls different
Trait = Callable[[Any, int], str]  # of a data set and a seed


def broken(subject: Subject, pairs: Sequence[Pair], promise: Promise, plan: Plan) -> Finding | None:
    """The event of the first pair that a call has another form on one data set, so often that the
    promise is broken; None where that is no pair's.

    Raises InvalidInput where the mechanism fails on both data sets of a pair, and where samples of
    one call share their noise.
    """
    looks = _Looks(subject)
    for pair in pairs:
        finding = _audited(looks, pair, promise, plan)
        if finding is not None and finding.violates:
            return finding
    return None


def _audited(looks: "_Looks", pair: Pair, promise: Promise, plan: Plan) -> Finding | None:
    """What calls show of a pair; None where their forms do not differ."""
    subject = looks.subject
    _check_runs(looks, pair)
    seen = (looks.forms(pair.first), looks.forms(pair.second))
    finding = _counted(_form_of(subject), seen, pair, promise, plan, "a call gives")
    if finding is not None:
        return finding
    _check_one_form(looks, pair)
    if looks.has_no_noise(pair.first):
        output = _output_of(subject)
        seen = (_traits(output, pair.first), _traits(output, pair.second))
        return _counted(output, seen, pair, promise, plan, "every call gives")
    return None


class _Looks:
    """A few calls on each data set, made once, as a data set is in several pairs."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._errors: dict[int, Raised | None] = {}  # by id: data sets live as long as pairs
        self._forms: dict[int, Counter[str]] = {}
        self._noiseless: dict[int, bool] = {}

    def error(self, dataset: object) -> Raised | None:
        """What the first call raises, if it does."""
        number = id(dataset)
        if number not in self._errors:
            self._errors[number] = _error_of(self.subject, dataset)
        return self._errors[number]

    def forms(self, dataset: object) -> Counter[str]:
        """How often each form is seen."""
        number = id(dataset)
        if number not in self._forms:
            self._forms[number] = _traits(_form_of(self.subject), dataset)
        return self._forms[number]

    def has_no_noise(self, dataset: object) -> bool:
        """Whether calls with other seeds give the same."""
        number = id(dataset)
        if number not in self._noiseless:
            self._noiseless[number] = _has_no_noise(self.subject, dataset)
        return self._noiseless[number]


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


def _check_runs(looks: _Looks, pair: Pair) -> None:
    error = looks.error(pair.first)
    other = looks.error(pair.second)
    if error is not None and other is not None:
        raise InvalidInput("mechanism", looks.subject.name, f"fails on both data sets: {error}")


def _error_of(subject: Subject, dataset: object) -> Raised | None:
    try:
        subject.call(dataset, 1, [0], None)
    except Raised as error:
        return error
    return None


def _check_one_form(looks: _Looks, pair: Pair) -> None:
    """Raise InvalidInput where forms differ by chance: samples of a call share theirs."""
    forms = looks.forms(pair.first)
    if len(forms) > 1:
        texts = " or ".join(sorted(forms))
        allowed = f"gives {texts} by chance; let all outputs have one shape, as by padding"
        raise InvalidInput("mechanism", looks.subject.name, allowed)


def _has_no_noise(subject: Subject, dataset: object) -> bool:
    """Whether calls with other seeds give the same.

    InvalidInput where samples share their noise.
    """
    calls = [subject.sample(dataset, SEEN, [seed]) for seed in range(3)]
    same_in_all = all(np.array_equal(calls[0], call, equal_nan=True) for call in calls[1:])
    same_within = all((call == call[:1]).all() for call in calls)
    if same_within and not same_in_all and not _may_agree(subject, dataset):
        allowed = "gives equal samples in one call: draw the noise of every sample anew"
        raise InvalidInput("mechanism", subject.name, allowed)
    return same_in_all


def _may_agree(subject: Subject, dataset: object) -> bool:
    """Whether larger calls show that samples differ after all, as where few outputs are likely."""
    call = subject.sample(dataset, 2_000, [3])
    return not bool((call == call[:1]).all())


def check_steady(subject: Subject, pair: Pair, plan: Plan) -> None:
    """Raise InvalidInput where calls on the same data have laws that differ.

    Then their samples are not independent: they share noise, or a call depends on earlier ones. It
    errs with probability `DRIFTED`.
    """
    count = min(STEADY, plan.samples)
    first = subject.sample(pair.first, count, [plan.seed, 31])
    for call in range(COMPARED):
        subject.sample(pair.second, SEEN, [plan.seed, 32, call])
        later = subject.sample(pair.first, count, [plan.seed, 33, call])
        if _differ(first, later, DRIFTED / COMPARED):
            allowed = (
                "gives other outputs in other calls on the same data: draw all noise anew for "
                "every sample, and keep nothing from call to call"
            )
            raise InvalidInput("mechanism", subject.name, allowed)


def _differ(first: Floats, second: Floats, error: float) -> bool:
    """Whether samples of two calls are of laws that differ. It errs with probability `error`."""
    width = max(first.shape[1], second.shape[1])
    parts = [np.array_split(padded(side, width), 3) for side in (first, second)]
    taught, tried, counted = zip(*parts, strict=True)
    choose = Scored(*tried)
    events = chosen(learned(*taught), choose, Promise(1.0), error, len(counted[0]))
    return certified(Scored(*counted).counted(events[0]), error).epsilon(0) > 0


def _traits(trait: Trait, dataset: object) -> Counter[str]:
    """How often each trait is seen in a few calls."""
    return Counter(trait(dataset, seed) for seed in range(TRIED))


def _counted(
    trait: Trait,
    seen: tuple[Counter[str], Counter[str]],
    pair: Pair,
    promise: Promise,
    plan: Plan,
    text: str,
) -> Finding | None:
    """Count the trait that differs most in a few calls; None where it does not differ.

    seen: in these, on either data set.
    """
    datasets = (pair.first, pair.second)
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
