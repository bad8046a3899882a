"""What a mechanism means for one person: budgets, posterior odds, and how well the best attacker
does.
"""

import math
from dataclasses import dataclass
from typing import Any

RATES = (0.01, 0.05)  # of false alarms
HIGH = 10.0  # nats of a person above which an answer warns: odds may change by a factor of 22,026
SURE = 0.999  # from which on a chance is "more than 99.9 %"


@dataclass(frozen=True)
class Budgets:
    """What a mechanism's release costs a person, in nats. person: all that one gives.

    answer: one answer of it.

    None where the mechanism does not say; infinite where nothing is protected. delta: chance with
    which the person's budget does not hold. answers: how many answers of that budget a person
    gives, if the mechanism says so.
    """

    person: float | None
    answer: float | None
    delta: float = 0.0

    @property
    def high(self) -> bool:
        """Whether hardly any privacy is left to a person."""
        return self.person is not None and self.person > HIGH


def budgets(mechanism: Any) -> Budgets:
    """Budgets of a person and of an answer: from the mechanism's `attacks()`, or else the greatest
    that is `spent`.
    """
    means = terms(mechanism)
    answer = means["answer"]
    person = means["person"]
    each = answer["budget"] if answer else None
    if person:
        return Budgets(person["budget"], each, person["delta"])
    spent = [float(budget) for budget in mechanism.spent().values()]
    if not spent and mechanism.unit == "none":
        return Budgets(math.inf, each)
    return Budgets(max(spent, default=None), each)


def certainty(epsilon: float) -> str:
    """How sure somebody can become to whom two possibilities seemed equally likely: 1/(1 + e^−ε),
    in words.

    >>> certainty(1.0), certainty(10.0)
    ('73.1 % sure', 'more than 99.9 % sure')
    """
    chance = 1 / (1 + math.exp(-epsilon))
    return (
        f"more than {SURE:.1%} sure".replace("%", " %")
        if chance > SURE
        else f"{100 * chance:.1f} % sure"
    )


def terms(mechanism: Any) -> dict[str, Any]:
    """For "answer" and "person" what the mechanism's `attacks()` say; null where it says nothing.

    odds: by what factor a release can change anybody's odds of one neighbour against the other, at
    most; null where that is not bounded. certain: how sure who thought both equally likely can
    become. attacker: true alarms of the best test at each rate of false ones. exact: whether it is
    attained, or a bound.
    """
    attacks = mechanism.attacks()
    return {
        unit: _terms(attacks[unit]) if unit in attacks else None for unit in ("answer", "person")
    }


def _terms(attack: Any) -> dict[str, Any]:
    pure = attack.delta == 0
    return {
        "budget": float(attack.epsilon),
        "delta": float(attack.delta),
        "odds": math.exp(min(attack.epsilon, 700.0)) if pure else None,
        "certain": 1 / (1 + math.exp(-attack.epsilon)) if pure else None,
        "attacker": [
            {"false_alarms": rate, "true_alarms": float(attack.power(rate))} for rate in RATES
        ],
        "exact": bool(attack.exact),
    }
