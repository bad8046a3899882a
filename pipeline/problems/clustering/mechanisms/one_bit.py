"""Base of mechanisms whose users release one private bit each."""

from dataclasses import dataclass
from typing import ClassVar

from scipy.special import expit

from pipeline.privacy.attacks import Attack, FlippedBits
from pipeline.study.guarantee import NOBODY, ONE_PERSON, Guarantee
from pipeline.study.parameters import parameter
from pipeline.study.parts import BaseMechanism

from ..model import Users

RECORD = Guarantee(
    trust=NOBODY,
    unit=ONE_PERSON,
    protects="all of a user's record: which items are rated, and how",
    neighbours="one user's record replaced by any other",
    public="what each user is asked, which is drawn without her record",
    budget="pure ε-LDP for a user's record",
    composition="a user gives one bit only",
)


@dataclass(frozen=True)
class OneBit(BaseMechanism):
    """Mechanisms whose users release one bit each, flipped with probability 1/(1 + e^ε).

    At ε = ∞ no bit is flipped.
    Source: Banerjee, Hegde and Massoulié, Proposition 4.
    """

    N: int = parameter("items", unit="items", low=2)
    epsilon: float = parameter(
        "privacy budget of a user's record; infinite is no privacy",
        unit="nats",
        above=0,
        infinite=True,
    )

    guarantee: ClassVar[Guarantee] = RECORD
    accepts: ClassVar[type] = Users

    @property
    def keep(self) -> float:
        """e^ε/(1 + e^ε), the probability that a bit is released as it is."""
        return float(expit(self.epsilon))

    def spent(self) -> dict[str, float]:
        """Budget of a user, in nats."""
        return {"a user's record": self.epsilon}

    def attacks(self) -> dict[str, Attack]:
        """The best attack on a user's record, all of which is one bit."""
        attack = FlippedBits(self.epsilon, 1)
        return {"answer": attack, "person": attack}
