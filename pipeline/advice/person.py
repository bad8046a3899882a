"""What a mechanism means for one person: budgets, posterior odds, and how well the best attacker
does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.study.disclosure import RATES
from pipeline.study.disclosure import Attack as BestAttack
from pipeline.study.guarantee import Guarantee
from pipeline.study.protocols import Mechanism

HIGH = 10.0  # nats of a person above which an answer warns: odds may change by a factor of 22,026
SURE = 0.999  # from which on a chance is "more than 99.9 %"


@dataclass(frozen=True)
class Attack:
    """The best test of an attacker: how often it finds the truth, at a rate of false alarms."""

    false_alarms: float
    true_alarms: float


@dataclass(frozen=True)
class Terms:
    """What a budget means for a person. budget: ε in nats, with its delta.

    odds: by what factor a release can change anybody's odds of one neighbour against the other, at
    most; None where that is not bounded. certain: how sure somebody can become who thought both
    equally likely. exact: whether the attackers' rates are attained, or a bound.
    """

    budget: float
    delta: float
    odds: float | None
    certain: float | None
    attacker: Sequence[Attack]
    exact: bool


def is_high(guarantee: Guarantee) -> bool:
    """Whether hardly any privacy is left to a person."""
    return guarantee.epsilon is not None and guarantee.epsilon > HIGH


def certainty(epsilon: float) -> str:
    """How sure somebody can become to whom two possibilities seemed equally likely: 1/(1 + e^−ε),
    in words.

    >>> certainty(1.0), certainty(10.0)
    ('73.1 % sure', 'more than 99.9 % sure')
    """
    chance = 1 / (1 + math.exp(-epsilon))
    if chance > SURE:
        return f"more than {100 * SURE:.1f} % sure"
    return f"{100 * chance:.1f} % sure"


def terms(mechanism: Mechanism) -> dict[str, Terms | None]:
    """What `attacks()` of a mechanism say of an "answer" and a "person"; None for nothing."""
    attacks = mechanism.attacks()
    by_unit = dict[str, Terms | None]()
    for unit in ("answer", "person"):
        by_unit[unit] = _terms(attacks[unit]) if unit in attacks else None
    return by_unit


def _terms(attack: BestAttack) -> Terms:
    """What one attack, as `privacy.attacks` describes it, says."""
    odds = None
    certain = None
    if attack.delta == 0:
        odds = math.exp(min(attack.epsilon, 700.0))
        certain = 1 / (1 + math.exp(-attack.epsilon))
    return Terms(
        budget=float(attack.epsilon),
        delta=float(attack.delta),
        odds=odds,
        certain=certain,
        attacker=[Attack(rate, float(attack.power(rate))) for rate in RATES],
        exact=bool(attack.exact),
    )
