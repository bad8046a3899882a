"""Votes with a curator's noise: one charge, law and variance for studies and releases.

A study draws seeded noise of this width (`curator`), and
`task=release` draws OpenDP's (`data.release`); neither has
a charge, a law or a variance of its own.
"""

from dataclasses import dataclass

from pipeline.privacy.published_counts import PublishedCounts
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.curator_sums import PromisedNoise, changed_by_person
from pipeline.problems.common.person import PERSON_DELTA, ROUNDS, promised
from pipeline.study.arrays import Integers
from pipeline.study.parameters import parameter
from pipeline.study.untyped import AnyField

from ..design import WORDS
from ..theory.vote_sensitivity import VOTES, vote_sensitivity

WHICH_VOTES: AnyField = parameter(
    "what gets noise: answers for each label, their difference, or the difference where who "
    "labelled what is public",
    default="counts",
    choices=VOTES,
)


@dataclass(frozen=True)
class ProtectedVotes(PromisedNoise):
    """Integers that count votes on tasks, and the noise that protects workers.

    With person_delta = 0 noise is discrete Laplace, and
    pure ε-DP; otherwise it is discrete Gaussian, ρ-zCDP,
    and (ε, δ)-DP.

    votes: `counts` are the answers for each label, both
    with noise, and `net` their difference, with one noise.
    Both protect who labelled what. `public` is the
    difference where who labelled what may be known: it
    needs as much noise as `net`, as a worker changes
    differences most by other answers to the same tasks.
    Source: Canonne, Kamath and Steinke (2020); Ghosh,
    Roughgarden and Sundararajan (2009).

    >>> counts = ProtectedVotes(person=1.0, votes="counts")
    >>> net = ProtectedVotes(person=1.0, votes="net")
    >>> round(counts.variance(5) / net.variance(5), 2)
    2.0
    """

    person: float = promised(WORDS)
    person_delta: float = PERSON_DELTA
    neighbours_are: str = changed_by_person("a worker's answers")
    votes: str = WHICH_VOTES
    rounds: int = ROUNDS

    def sensitivity(self, questions: int) -> Sensitivity:
        """What one worker can change, who answers so many tasks."""
        return vote_sensitivity(questions, self.votes, self.neighbours_are)

    def charge(self, questions: int) -> int:
        """The sensitivity that the noise hides."""
        return self.noise.charge(self.sensitivity(questions))

    def width(self, questions: int) -> float:
        """Width of the noise; raises InvalidInput where it cannot be drawn."""
        charge = self.charge(questions)
        where = f" for {questions:,} answers of a worker"
        self.noise.checked_width("person", self.person, charge, where)
        return self.noise.width(charge)

    def variance(self, questions: int) -> float:
        """Of the noise in the difference of both labels' answers to a task."""
        of_number = self.noise.variance(self.width(questions))
        if self.votes == "counts":
            return 2 * of_number
        return of_number

    def numbers(self, counts: Integers) -> Integers:
        """What gets noise, of answers for both labels, (…, 2): these, or (…, 1), their difference.

        It is answers for the second label less those for
        the first.
        """
        if self.votes == "counts":
            return counts
        return counts[..., 1:] - counts[..., :1]

    def publish(self, counts: Integers, most: int, named: bool) -> PublishedCounts:
        """Numbers of real people's votes, once, each with OpenDP's noise.

        counts: (tasks, 2). most: answers of a worker that
        count. named: whether rows name workers; charged as
        if they did. Raises InvalidInput for a budget whose
        noise is too wide or none, and without OpenDP.
        """
        questions = min(most, len(counts))
        self.width(questions)
        released = self.noise.publish(self.numbers(counts), self.charge(questions))
        sensitivity = self.sensitivity(questions)
        return PublishedCounts(released.counts, released.noise, sensitivity, released.spent)
