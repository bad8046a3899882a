"""What a mechanism means for one person: budgets, posterior odds, and how well the best attacker does."""

import math
from typing import Any

RATES = (0.01, 0.05)  # of false alarms


def terms(mechanism: Any) -> dict[str, Any]:
    """For "answer" and "person" what the mechanism's `attacks()` say; null where it says nothing.

    odds: by what factor a release can change anybody's odds of one neighbour against the other, at most; null where
    that is not bounded. certain: how sure who thought both equally likely can become. attacker: true alarms of the best
    test at each rate of false ones. exact: whether it is attained, or a bound.
    """
    attacks = mechanism.attacks() if hasattr(mechanism, "attacks") else {}
    return {what: _terms(attacks[what]) if what in attacks else None for what in ("answer", "person")}


def _terms(attack: Any) -> dict[str, Any]:
    pure = attack.delta == 0
    return {"budget": float(attack.epsilon), "delta": float(attack.delta),
            "odds": math.exp(min(attack.epsilon, 700.0)) if pure else None,
            "certain": 1 / (1 + math.exp(-attack.epsilon)) if pure else None,
            "attacker": [{"false_alarms": rate, "true_alarms": float(attack.power(rate))} for rate in RATES],
            "exact": bool(attack.exact)}
