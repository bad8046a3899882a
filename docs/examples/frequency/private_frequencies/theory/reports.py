"""How likely a report supports a value, for every mechanism: two numbers that decide its variance.

k: number of values. epsilon: budget of one person, in nats.
"""

import math
from typing import NamedTuple


class Support(NamedTuple):
    """Probability that a report supports the value of its person, and any other value.

    Wang et al., "pure" protocols.

    >>> [round(chance, 3) for chance in randomized_response(4, math.log(3))]
    [0.5, 0.167]
    """

    held: float
    other: float

    @property
    def lean(self) -> float:
        """held − other: what the expected support changes by with the frequency of a value."""
        return self.held - self.other


TRUTHFUL = Support(1.0, 0.0)  # without privacy


def randomized_response(k: int, epsilon: float) -> Support:
    """The value itself with probability e^ε/(e^ε + k − 1), each other with 1/(e^ε + k − 1).

    Source: Wang et al., DE.
    """
    odds = math.exp(epsilon)
    return Support(odds / (odds + k - 1), 1 / (odds + k - 1))


def symmetric_unary(epsilon: float) -> Support:
    """Bits of the unary code that are kept with probability e^(ε/2)/(e^(ε/2) + 1).

    Source: Wang et al., SUE.
    """
    kept = 1 / (1 + math.exp(-epsilon / 2))
    return Support(kept, 1 - kept)


def optimised_unary(epsilon: float) -> Support:
    """The bit of the value is 1 with probability ½, the others with 1/(e^ε + 1).

    Source: Wang et al., OUE.
    """
    return Support(0.5, 1 / (math.exp(epsilon) + 1))


def hash_range(epsilon: float) -> int:
    """g = ⌊e^ε⌉ + 1, the number of hash values.

    Source: Wang et al., OLH: the variance is least at g = e^ε + 1.
    """
    return round(math.exp(epsilon)) + 1


def local_hashing(epsilon: float) -> Support:
    """Values with the reported hash value, by a hash function of one's own that gives each of g
    values equally likely.

    Source: Wang et al., OLH.
    """
    odds, g = math.exp(epsilon), hash_range(epsilon)
    return Support(odds / (odds + g - 1), 1 / g)


def subset_size(k: int, epsilon: float) -> int:
    """d, the size of a reported set: the whole number beside k/(e^ε + 1) with the lesser risk.

    Source: Ye and Barg.

    >>> [subset_size(100, epsilon) for epsilon in (0.01, 1, 3, 9)]
    [50, 27, 5, 1]
    """
    odds = math.exp(epsilon)
    low = math.floor(k / (odds + 1))
    sizes = [size for size in (low, low + 1) if 1 <= size < k]
    return min(sizes, key=lambda size: (size * odds + k - size) ** 2 / (size * (k - size)))


def subset_selection(k: int, epsilon: float) -> Support:
    """A set of d values, e^ε times as likely if it has the person's own. Source: Ye and Barg."""
    odds, d = math.exp(epsilon), subset_size(k, epsilon)
    held = d * odds / (d * odds + k - d)
    return Support(held, (held * (d - 1) + (1 - held) * d) / (k - 1))
