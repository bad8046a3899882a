"""How a problem calls people, what they answer, and what these answers are to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """Words for what all problems have, from which texts of mechanisms are made.

    person: who answers. answer: what a person gives. question: what an answer is to. answers,
    answered: what a person does, and what is done to a question. others: what may replace a
    person's answers, whose questions are public.

    >>> words = Words("user", "comparison", "pair", "compares", "compared", "others of these pairs")
    >>> words.all_answers, words.replaced
    ('all comparisons of a user', 'these comparisons replaced by others of these pairs')
    """

    person: str
    answer: str
    question: str
    answers: str
    answered: str
    others: str

    @property
    def all_answers(self) -> str:
        """What the budget of a person is that of."""
        return f"all {self.answer}s of a {self.person}"

    @property
    def all_of_one(self) -> str:
        """What is protected where that is a person."""
        return f"all {self.answer}s of one {self.person}"

    @property
    def replaced(self) -> str:
        """How neighbours differ where it is public to which questions answers are."""
        return f"these {self.answer}s replaced by {self.others}"
