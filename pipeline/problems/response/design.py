"""Who answers what, of how different difficulty: what a prediction needs to know of a study."""

from dataclasses import dataclass

from .model import Rasch

PERSONS = 500  # abilities, of as many persons or of a sample


@dataclass(frozen=True)
class Design:
    """Persons, items and how they are spread, as `Rasch` has them; see there.

    n: persons. m: items. p: probability that a response is
    observed. questions: items that each person answers; None is
    all.
    """

    n: int
    m: int
    p: float
    item_law: str
    item_spread: float
    spacing: float
    person_spread: float
    questions: int | None = None

    @property
    def answers(self) -> int:
        """Items that each person answers."""
        return self.m if self.questions is None else self.questions

    @property
    def model(self) -> Rasch:
        """The model, of at most `PERSONS` persons who answer all items."""
        return Rasch(
            n=min(self.n, PERSONS),
            m=self.m,
            p=self.p,
            item_law=self.item_law,
            item_spread=self.item_spread,
            spacing=self.spacing,
            person_spread=self.person_spread,
        )
