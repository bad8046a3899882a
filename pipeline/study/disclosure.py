"""What is told to people about a promise: its guarantee, and what the best attacker learns.

Pages for those who must answer for data read these and nothing else. A release of real people's
data gives one, with its account, to the page that lies beside it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pipeline.study.guarantee import Guarantee

RATES = (0.01, 0.05)  # of false alarms, which are told in words
STEPS = 100
LARGEST = 700.0  # exponent of e that is a number
LEVELS = tuple(sorted({0.002, 0.005, *RATES, *(step / STEPS for step in range(STEPS + 1))}))


class Attack(Protocol):
    """The best attack, which `attacks()` of a mechanism give; `pipeline.privacy.attacks` has them.

    epsilon, delta: budget of what it attacks.
    """

    @property
    def epsilon(self) -> float:
        """Budget, in nats."""

    @property
    def delta(self) -> float:
        """0 where the budget is pure."""

    @property
    def exact(self) -> bool:
        """False where `power` is a bound."""

    def power(self, false_alarms: float) -> float:
        """Chance of a true alarm of the best test with that chance of a false one."""


@dataclass(frozen=True)
class TradeOff:
    """How often the best attack finds the truth, against how often it is wrong.

    attacked: what is attacked, in words. epsilon, delta: budget of that, nats. exact: whether the
    chances are attained; otherwise they are bounds. false_alarms: `LEVELS`, and where what the
    budget allows has its corner; true_alarms: at each of them.
    """

    attacked: str
    epsilon: float
    delta: float
    exact: bool
    false_alarms: Sequence[float]
    true_alarms: Sequence[float]

    def at(self, false_alarms: float) -> float:
        """Chance of a true alarm at one of `LEVELS`."""
        return self.true_alarms[self.false_alarms.index(false_alarms)]


def levels_of(epsilon: float, delta: float) -> list[float]:
    """`LEVELS`, and the corner of what (ε, δ) allows, (1 − δ)/(1 + e^ε)."""
    corner = (1 - delta) / (1 + math.exp(min(epsilon, LARGEST)))
    return sorted({*LEVELS, corner})


def trade_off(attack: Attack, attacked: str) -> TradeOff:
    """The trade-off of an attack. attacked: what is attacked, in words."""
    levels = levels_of(float(attack.epsilon), float(attack.delta))
    return TradeOff(
        attacked=attacked,
        epsilon=float(attack.epsilon),
        delta=float(attack.delta),
        exact=bool(attack.exact),
        false_alarms=levels,
        true_alarms=[float(attack.power(level)) for level in levels],
    )


def promised_trade_off(epsilon: float, delta: float, attacked: str) -> TradeOff:
    """What (ε, δ) allows any attack on any mechanism: min(e^ε α + δ, 1 − e^−ε (1 − α − δ)).

    Source: Kairouz, Oh and Viswanath (2015), Theorem 2.1.

    >>> round(promised_trade_off(1.0, 0.0, "a person").at(0.01), 5)  # e · 0.01
    0.02718
    """
    steepest = math.exp(min(epsilon, LARGEST))
    levels = levels_of(epsilon, delta)
    chances = []
    for level in levels:
        rising = steepest * level + delta
        falling = 1 - (1 - level - delta) / steepest
        chances.append(min(1.0, rising, falling))
    return TradeOff(attacked, epsilon, delta, False, levels, chances)


@dataclass(frozen=True)
class Disclosure:
    """What a release says of itself, without anything of the rows of its data.

    guarantee: in words and in numbers. account: as `release.json` has it. trade_offs: of attacks.
    """

    guarantee: Guarantee
    account: Mapping[str, Any]
    trade_offs: Sequence[TradeOff] = field(default=())
