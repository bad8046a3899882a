"""Parameters made of others: budgets from positions relative to a crossover, and these positions."""

import math
from typing import Annotated

from pipeline.study.parameters import InvalidInput

from .theory import risks

Values = Annotated[int, "values"]
Epsilon = Annotated[float, "privacy budget of one person"]


def epsilon_from_odds(
    odds: Annotated[
        float, "e^ε, how much likelier a report may be from one value than from another"
    ],
) -> Annotated[float, "privacy budget of one person", "nats"]:
    """ε = log odds."""
    if not 1 < odds < math.inf:
        raise InvalidInput("odds", odds, "must be a number > 1, as it is e^ε")
    return math.log(odds)


def epsilon_from_share(
    k: Values,
    share: Annotated[
        float, "k/(3e^ε + 2), 1 at the crossover of variances where nobody holds a value"
    ],
) -> Annotated[float, "privacy budget of one person", "nats"]:
    """ε with k = share · (3e^ε + 2)."""
    if not 0 < share < k / 5:
        raise InvalidInput(
            "share", share, f"must be a number > 0 and < k/5 = {k / 5:g}, so that ε is above 0"
        )
    return math.log((k / share - 2) / 3)


def odds(
    epsilon: Epsilon,
) -> Annotated[float, "e^ε, the largest ratio of probabilities of a report", "1"]:
    """e^ε."""
    return math.exp(epsilon)


def crossover_share(k: Values, epsilon: Epsilon) -> Annotated[float, "k/(3e^ε + 2)", "1"]:
    """k over its value at the crossover of variances on values that nobody holds."""
    return k / risks.absent_crossover(epsilon)


def total_crossover_share(
    k: Values, epsilon: Epsilon
) -> Annotated[float, "k over that of equal exact risks", "1"]:
    """k over its value at the crossover of the risks of all values together."""
    return k / risks.total_crossover(epsilon)
