"""Real people's right and wrong answers, or answers made of ratings, as the data of a study."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar

import numpy as np

from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import DataFile, InvalidInput, parameter
from pipeline.study.parts import BaseModel

from ..model import ItemParameters, Responses, chances_of
from ..questions import QUESTIONS, items_of_person
from ..releases import Inclusion
from ..sampling.surveys import thinned
from ..theory.spectral_fit import spectral_fit
from . import stand_in
from .files import load
from .table import Table


@dataclass(frozen=True)
class RecordedItems(ItemParameters):
    """Truth of recorded responses: the fit to everybody's. No abilities.

    chosen: (reps, m), indices of items. names: of all items of
    the file; those of the columns, where all are chosen. counts:
    (reps, m, m), Y that is expected of the persons drawn.
    """

    chosen: Annotated[Integers, "reps", "m"]
    names: tuple[str, ...]
    counts: Annotated[Floats, "reps", "m", "m"]

    @property
    def has_counts(self) -> bool:
        """Everybody's counts are known."""
        return True

    @cached_property
    def expected_counts(self) -> Floats:
        """Everybody's counts, times the share of persons that are drawn; (reps, m, m)."""
        return self.counts


class RecordedAnswers(Responses):
    """Responses to chosen items of n persons drawn without replacement, anew in every replication.

    chosen: (reps, m), indices of items of the table. questions:
    how many answers of a person count, at random of those in the
    table; None is all. Drawn when first asked for; asking again
    gives the same numbers. Memory reps · n · m bytes, twice that
    where some are missing.
    """

    _keeps: ClassVar[bool] = True

    def __init__(
        self,
        table: Table,
        n: int,
        chosen: Integers,
        rng: np.random.Generator,
        questions: int | None = None,
    ):
        self._table = table
        self._chosen = chosen
        self._rng = rng
        self.persons = n
        self.items = chosen.shape[1]
        self.most_answers = questions
        self.complete = table.observed is None and questions is None

    @property
    def inclusion(self) -> Inclusion | None:
        """Known where everybody recorded answered everything."""
        if self._table.observed is not None:
            return None
        return chances_of(self.most_answers or self.items, self.items)

    @cached_property
    def _drawn(self) -> tuple[Booleans, Booleans | None]:
        numbers = np.arange(len(self._table.answers), dtype=np.int32)
        everybody = np.tile(numbers, (len(self._chosen), 1))
        people = self._rng.permuted(everybody, axis=1)[:, : self.persons, None]
        cells = (people, self._chosen[:, None])
        answers = self._table.answers[cells]
        observed = None
        if self._table.observed is not None:
            observed = self._table.observed[cells]
        if self.most_answers is None:
            return answers, observed
        if observed is None:
            observed = np.ones(answers.shape, bool)
        counted = thinned(self._rng, observed, self.most_answers)
        return answers & counted, counted


@dataclass(frozen=True)
class RecordedResponses(BaseModel):
    """Responses of n of a file's persons, drawn without replacement, to its m items.

    Drawn anew in every replication.
    β*: the spectral fit to the responses of all persons, counts max(Y, 1) + 1
    whatever the study's pseudo-count, as the paper measures errors. So `spectral`
    with its defaults has no error at n = all persons without privacy. Files (see
    `files`): responses, persons × items; the grades of UCI 320; the marks of UCI
    467; ratings, which are completed to low rank (see `rating_completion`): of the
    200 most-rated films every replication takes a random set of m, and β* is the
    fit to these. Without a file, a synthetic stand-in: 1,000 persons × m items.
    Medians and completion depend on everybody: mechanisms protect the answers, not
    the grades or ratings behind them. questions: how many answers of a person count,
    at random of those in the file, as a release counts them.
    Source: Nguyen and Zhang, §5. O(persons · items²), once.
    """

    n: int = parameter("persons drawn from the file", unit="persons", low=1, high=10**7)
    m: int = parameter("items: all of the file, or of ratings a random set", unit="items", low=2)
    data_path: DataFile | None = parameter(
        "responses or ratings of real people; null is a stand-in", default=None
    )
    other_ratings: bool = parameter(
        "accept ratings that are not MovieLens ml-latest-small", default=False
    )

    questions: int | None = QUESTIONS

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Responses

    @property
    def by_replication(self) -> bool:  # type: ignore[override]  # of an object: questions decide
        """Where all answers count; which do otherwise is drawn by compiled code."""
        return self.questions is None

    def __post_init__(self) -> None:
        super().__post_init__()
        items_of_person(self.questions, self.m)  # raises InvalidInput
        persons, items = self._table.answers.shape
        if self._table.subsets and self.m > items:
            allowed = f"there are {items:,} items; give m={items} or less"
            raise InvalidInput("m", self.m, allowed)
        if not self._table.subsets and self.m != items:
            raise InvalidInput("m", self.m, f"there are {items:,} items; give m={items}")
        if self.n > persons:
            allowed = f"there are {persons:,} persons; give n={persons} or less"
            raise InvalidInput("n", self.n, allowed)

    @property
    def _table(self) -> Table:
        if self.data_path is None:
            return stand_in_table(self.m)
        return load(self.data_path, self.other_ratings)

    @property
    def source(self) -> str:
        """A sentence for the report: which data, how many, hash and terms of use, or synthetic."""
        return self._table.source

    def truth(
        self, rng: np.random.Generator, reps: int, population: np.random.Generator
    ) -> RecordedItems:
        """β* of all persons, (reps, m), one for all replications unless items are a random set."""
        table = self._table
        items = len(table.names)
        chosen = np.arange(items)[None]
        if self.m < items:
            permuted = rng.permuted(np.tile(chosen, (reps, 1)), axis=1)
            chosen = np.sort(permuted[:, : self.m], axis=1)
        block = (chosen[:, :, None], chosen[:, None])
        pairs = None if table.observed is None else table.pairs[block]
        counts = table.differences[block]
        theta = spectral_fit(counts, pairs)
        drawn = counts * (self.n / len(table.answers))
        shape = (reps, self.m)
        return RecordedItems(
            np.broadcast_to(theta, shape),
            np.empty((reps, 0)),
            np.broadcast_to(chosen, shape),
            table.names,
            np.broadcast_to(drawn, (reps, self.m, self.m)),
        )

    def simulate(self, truth: RecordedItems, rng: np.random.Generator) -> RecordedAnswers:
        """Responses of n persons drawn anew in every replication, to the items of the truth."""
        return RecordedAnswers(self._table, self.n, truth.chosen, rng, self._most)

    @property
    def _most(self) -> int | None:
        """Answers of a person that count; None is all."""
        questions = items_of_person(self.questions, self.m)
        return None if questions == self.m else questions

    def cost(self) -> float:
        """Predicted cost of one replication and its differences, in steps of about a nanosecond."""
        persons, items = self._table.answers.shape
        draw: float = 3 * self.n * self.m
        count = 0.005 * self.n * self.m**2
        if self._table.observed is not None:
            draw = 6 * self.n * self.m
            count = 0.009 * self.n * self.m**2
        steps: float = 25 * persons + draw + count
        if self.m < items:
            steps += 0.6 * self.m**3
        return steps

    def memory(self) -> float:
        """Bytes of one replication: numbers of all persons, and responses as drawn and released.

        And which of these are observed.
        """
        numbers = 8 * len(self._table.answers)
        if self._table.observed is None and self._most is None:
            return numbers + 2 * self.n * self.m
        return numbers + 4 * self.n * self.m


def all_observed(data_path: DataFile | None, other_ratings: bool = False) -> bool:
    """Whether every response of the data is observed, so that shuffling may amplify privacy."""
    return data_path is None or load(data_path, other_ratings).observed is None


@lru_cache(maxsize=8)
@read_only
def stand_in_table(items: int) -> Table:
    """The stand-in's table of 1,000 persons; `InvalidInput` above 1,000 items."""
    if items > stand_in.MOST_ITEMS:
        most = f"the stand-in has at most {stand_in.MOST_ITEMS:,} items"
        raise InvalidInput("m", items, f"{most}; give fewer, or data.path")
    answers = stand_in.answers(items)
    return Table.of(
        answers,
        None,
        [f"item {k + 1}" for k in range(items)],
        f"Synthetic stand-in made by this program, {len(answers):,} persons × "
        f"{items} items under the Rasch model, no real data: give data.path",
    )
