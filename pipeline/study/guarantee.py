"""What a mechanism guarantees: whom one must trust, what is protected, how much, and what is
public.

A mechanism's class states its guarantee once, as `guarantee`. `BaseMechanism.stated` fits the words
to the parameters of an object, and `BaseMechanism.promise` adds its budgets in numbers. Reports,
advice, releases and audits read these and nothing else.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.study.parameters import Checked, InvalidInput, parameter

NOBODY = "nobody"  # answers are protected before they leave their person
SHUFFLER = "shuffler"
CURATOR = "curator"
EVERYBODY = "everybody"  # nothing is protected
TRUSTS = {
    NOBODY: "nobody has to be trusted: answers are protected before they leave their person",
    SHUFFLER: "a shuffler is trusted, who mixes the messages of all people and forgets who sent "
    "them",
    CURATOR: "a curator is trusted, who sees all answers and adds noise to what is released",
    EVERYBODY: "everybody who sees the release is trusted: nothing is protected",
}
WHOM = {NOBODY: "nobody", SHUFFLER: "a shuffler", CURATOR: "a curator", EVERYBODY: "everybody"}
ONE_PERSON = "person"
ONE_ANSWER = "answer"
NOTHING = "nothing"
UNITS = (ONE_PERSON, ONE_ANSWER, NOTHING)
REPLACED = "replaced"  # neighbours differ in a unit that another one replaces
THERE_OR_NOT = "there_or_not"  # neighbours differ in whether a unit is there
NO_RELATION = "none"
RELATIONS = (REPLACED, THERE_OR_NOT, NO_RELATION)


@dataclass(frozen=True, kw_only=True)
class Guarantee(Checked):
    """What a mechanism guarantees, in words and, where they are known, in numbers.

    `print` gives one line for each aspect. Raises InvalidInput for a word that is none of those
    allowed, for no words at all, and for a unit that does not fit the trust.
    Source: NIST SP 800-226, whose words it uses: unit, trust, budget, composition.

    >>> flipped = Guarantee(
    ...     trust="nobody",
    ...     unit="answer",
    ...     protects="one comparison of one user",
    ...     neighbours="that comparison replaced by its opposite",
    ...     budget="pure ε-LDP per comparison",
    ...     composition="k comparisons of a user cost k times as much",
    ... )
    >>> print(flipped)
    trust: nobody has to be trusted: answers are protected before they leave their person
    unit: one comparison of one user
    neighbours: that comparison replaced by its opposite
    budget: pure ε-LDP per comparison
    composition: k comparisons of a user cost k times as much
    """

    trust: str = parameter("who must be trusted", choices=tuple(TRUSTS))
    unit: str = parameter("what the budget is that of", choices=UNITS)
    protects: str = parameter("the unit in words, such as 'all comparisons of one user'")
    neighbours: str = parameter("how two data sets differ that are hard to tell apart, in words")
    relation: str = parameter("how they differ in the unit", default=REPLACED, choices=RELATIONS)
    budget: str = parameter("kind of the budget in words, such as 'pure ε-DP for a person'")
    public: str = parameter("what everybody may learn besides the release", default="")
    composition: str = parameter("what several answers of a person cost together", default="")
    epsilon: float | None = parameter(
        "budget of a person", unit="nats", default=None, low=0, infinite=True
    )
    delta: float = parameter("δ at which it holds", default=0.0, low=0, high=1)
    rho: float | None = parameter("budget of a person in zCDP", default=None, low=0)
    answer_epsilon: float | None = parameter(
        "budget of one answer", unit="nats", default=None, low=0, infinite=True
    )
    answers: int | None = parameter("answers of a person in a release", default=None, low=1)
    rounds: int = parameter("releases that share the budget of a person", default=1, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("protects", "neighbours", "budget"):
            if not getattr(self, name).strip():
                raise InvalidInput(name, getattr(self, name), "must be words")
        if (self.unit == NOTHING) != (self.trust == EVERYBODY):
            allowed = f"unit={NOTHING} goes with trust={EVERYBODY}, and with no other"
            raise InvalidInput("unit", self.unit, allowed)

    @property
    def protected(self) -> bool:
        """Whether anything is protected."""
        return self.unit != NOTHING

    def amounts(self) -> str:
        """The budgets in numbers; empty where none is known.

        >>> UNPROTECTED.amounts()
        'a person: ε = ∞'
        """
        texts = []
        if self.epsilon is not None:
            texts.append(f"a person: {amount(self.epsilon, self.delta)}")
        if self.rho is not None:
            texts.append(f"ρ = {self.rho:.4g}")
        each = self.answer_epsilon
        if each is not None and each != self.epsilon:
            texts.append(f"one answer: {amount(each, 0.0)}")
        if self.answers is not None and self.rounds == 1:
            texts.append(f"answers of a person: {self.answers:,}")
        elif self.answers is not None:
            texts.append(f"answers of a person: {self.answers:,} in each of {self.rounds:,} rounds")
        return "; ".join(texts)

    def rows(self) -> Iterator[tuple[str, str]]:
        """(aspect, text) of each aspect that has a text, for lists and tables."""
        texts = {
            "trust": TRUSTS[self.trust],
            "unit": self.protects,
            "neighbours": self.neighbours,
            "public": self.public,
            "budget": self.budget,
            "composition": self.composition,
            "amounts": self.amounts(),
        }
        for aspect, text in texts.items():
            if text:
                yield aspect, text

    def __str__(self) -> str:
        return "\n".join(f"{aspect}: {text}" for aspect, text in self.rows())


def amount(epsilon: float, delta: float) -> str:
    """A budget as it is written: ε, or (ε, δ).

    >>> amount(0.5, 0.0), amount(0.5, 1e-6)
    ('ε = 0.5', '(ε = 0.5, δ = 1e-06)')
    """
    number = "∞" if math.isinf(epsilon) else f"{epsilon:.4g}"
    if delta == 0:
        return f"ε = {number}"
    return f"(ε = {number}, δ = {delta:g})"


def unprotected(budget: str) -> Guarantee:
    """That nothing is protected. budget: why, in words.

    >>> unprotected("ε = ∞: no protection").protected
    False
    """
    return Guarantee(
        trust=EVERYBODY,
        unit=NOTHING,
        protects="nothing",
        neighbours="none",
        relation=NO_RELATION,
        budget=budget,
        epsilon=math.inf,
    )


UNPROTECTED = unprotected("ε = ∞: no protection")
