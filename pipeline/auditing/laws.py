"""Level 1 of an audit: exact laws of both data sets, compared with what is promised."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.auditing.enumeration import Enumerator, law_of
from pipeline.auditing.exact import Law, aligned, epsilon_at
from pipeline.auditing.promise import Promise
from pipeline.auditing.samples import Pair
from pipeline.auditing.subject import NotFinite, Subject
from pipeline.study.arrays import Floats

ROUNDING = 1e-12  # of chances, which are neglected
CHECKED = 500  # samples that must agree with a law
FAR = 7.0
ORDERS = 1 + np.geomspace(1e-3, 1e3, 100)
LawOf = Callable[[Any], Law]


@dataclass(frozen=True)
class Exact:
    """What the laws of a pair say exactly. epsilon: at the promise's δ. rho: of zCDP.

    curve: (points, 2), chances of false alarms and powers of the best tests. event: the output
    that tells most.
    """

    pair: Pair
    epsilon: float
    rho: float
    violates: bool
    outputs: int
    event: str
    curve: Floats


def compared(pair: Pair, promise: Promise, law: LawOf) -> Exact:
    """The exact comparison of a pair, both ways. Raises NotFinite where a law is not finite."""
    chances, others, outcomes = aligned(law(pair.first), law(pair.second))
    epsilons = [
        epsilon_at(ours, theirs, promise.delta, ROUNDING)
        for ours, theirs in ((chances, others), (others, chances))
    ]
    rho = max(_rho(chances, others), _rho(others, chances))
    violates = promise.epsilon is not None and max(epsilons) > promise.epsilon * (1 + 1e-9)
    violates |= promise.rho is not None and rho > promise.rho * (1 + 1e-9)
    curve = _curve(chances, others)
    if promise.mu is not None:
        violates |= bool((curve[:, 1] > _by_mu(curve[:, 0], promise) + 1e-9).any())
    with np.errstate(divide="ignore"):
        ratios = np.abs(np.log(chances) - np.log(others))
    most = int(np.nanargmax(ratios))
    event = f"the output is {_text(outcomes[most])}: chances {chances[most]:.6g}"
    event = f"{event} and {others[most]:.6g}"
    return Exact(pair, max(epsilons), rho, violates, len(outcomes), event, curve)


def enumerated(subject: Subject) -> LawOf:
    """The law of a data set by running the mechanism on all paths of its random numbers."""

    def law(dataset: object) -> Law:
        """The law, if samples agree with it: else random numbers come from elsewhere as well."""

        def run(rng: Enumerator) -> Floats:
            numbers: Floats = subject.numbers(subject.called_with(dataset, 1, rng), 1)[0]
            return numbers

        exact = law_of(run)
        _check_agreement(exact, subject.sample(dataset, CHECKED, [CHECKED]))
        return exact

    if not subject.takes_rng:
        raise NotFinite("the mechanism has no parameter rng")
    return law


def _check_agreement(law: Law, outputs: Floats) -> None:
    """Raise NotFinite unless samples agree with a law, each chance to within `FAR` deviations."""
    rows, counts = np.unique(outputs + 0.0, axis=0, return_counts=True)
    seen: dict[Hashable, int] = {}
    for row, count in zip(rows, counts, strict=True):
        seen[tuple(row.tolist())] = int(count)
    if not seen.keys() <= law.keys():
        raise NotFinite("samples have other outputs than the paths of the code")
    for output, chance in law.items():
        deviation = np.sqrt(chance * (1 - chance) * CHECKED) + 1
        if abs(seen.get(output, 0) - chance * CHECKED) > FAR * deviation:
            raise NotFinite("samples have another law than the paths of the code")


def _text(outcome: object) -> str:
    if isinstance(outcome, tuple):
        return f"({', '.join(f'{number:g}' for number in outcome)})"
    return str(outcome)


def _rho(chances: Floats, others: Floats) -> float:
    """sup over α of D_α/α."""
    seen = chances > 0
    if (others[seen] <= 0).any():
        return np.inf
    first = np.log(chances[seen])[:, None]
    second = np.log(others[seen])[:, None]
    exponents = ORDERS * first + (1 - ORDERS) * second
    divergences = np.logaddexp.reduce(exponents, axis=0) / (ORDERS - 1)
    return float(np.max(divergences / ORDERS))


def _curve(chances: Floats, others: Floats) -> Floats:
    """Power of the best test at each chance of a false alarm, in the order of ratios."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-(chances / others))
    powers = np.concatenate([[0.0], np.cumsum(chances[order])])
    alarms = np.concatenate([[0.0], np.cumsum(others[order])])
    return np.stack([alarms, powers], axis=1)


def _by_mu(alarms: Floats, promise: Promise) -> Floats:
    only_mu = Promise(mu=promise.mu)
    return only_mu.trade_off(np.clip(alarms, 0, 1))
