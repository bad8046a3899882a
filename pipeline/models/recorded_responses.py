"""Right and wrong answers that real people gave, or that follow from their ratings, as the data of a study."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pipeline.models import response_stand_in
from pipeline.models.rasch import ItemParameters, Responses
from pipeline.models.response_files import Table, load
from pipeline.parameters import DataFile, InvalidInput, parameter
from pipeline.theory.rasch_fit import spectral_fit


@dataclass(frozen=True)
class RecordedItems(ItemParameters):
    """Truth of recorded responses: the fit to everybody's. chosen: (reps, m), indices of items; abilities: none."""

    chosen: np.ndarray


class RecordedAnswers(Responses):
    """Responses to chosen items of n persons drawn without replacement, anew in every replication.

    chosen: (reps, m), indices of items of the table. Drawn when first asked for; asking again gives the same numbers.
    Memory reps · n · m bytes, twice that where some are missing.
    """

    def __init__(self, table: Table, n: int, chosen: np.ndarray, rng: np.random.Generator):
        self._table, self._chosen, self._rng = table, chosen, rng
        self.persons, self.items = n, chosen.shape[1]

    @cached_property
    def _drawn(self):
        everybody = np.tile(np.arange(len(self._table.answers), dtype=np.int32), (len(self._chosen), 1))
        people = self._rng.permuted(everybody, axis=1)[:, : self.persons, None]
        place = people, self._chosen[:, None]
        return self._table.answers[place], None if self._table.observed is None else self._table.observed[place]


@dataclass(frozen=True)
class RecordedResponses:
    """Responses of n of a file's persons, drawn without replacement in every replication, to its m items.

    β*: the spectral fit to everybody's complete data, counts max(Y, 1) + 1 whatever the study's pseudo-count, as the
    paper measures errors. So at n = everybody without privacy, `spectral` as it is by default has no error at all.
    Files, by their beginning:
    * persons × items, a CSV of 0, 1 and nothing or NA for missing. The 1,000 × 5 of LSAT-6 are known by their counts.
    * UCI 320, student-por.csv: 649 × G1, G2, G3, 1 is above the median of all.
    * UCI 467, an ARFF file: students × 4 marks, 1 is Best or Vg.
    * userId,movieId,rating,timestamp: ratings, completed to low rank (`response_ratings`), 1 is below the person's
      mean. Of the 200 most-rated films a random set of m, anew in every replication; β* is the fit to these.
    * none: a synthetic stand-in, 1,000 persons × m items.
    Medians and completion are of everybody: what a mechanism protects is the answers as made, not what they are from.
    Source: Nguyen and Zhang, §5. One time cost O(persons · items²).
    """

    n: int = parameter("persons drawn from the file", unit="persons", low=1, high=10**7)
    m: int = parameter("items, all of the file, or a random set of those of ratings", unit="items", low=2)
    data_path: "DataFile | None" = parameter("responses or ratings of real people; null is a stand-in", default=None)
    other_ratings: bool = parameter("accept ratings that are not MovieLens ml-latest-small", default=False)

    population: ClassVar[tuple[str, ...]] = ()
    produces: ClassVar[type] = Responses

    def __post_init__(self):
        persons, items = self._table.answers.shape
        if self.m > items or self.m < items and not self._table.subsets:
            raise InvalidInput("m", self.m, f"there are {items:,} items; give m={items}"
                               + (" or less" if self._table.subsets else ""))
        if self.n > persons:
            raise InvalidInput("n", self.n, f"there are {persons:,} persons; give n={persons} or less")

    @property
    def _table(self) -> Table:
        return _stand_in(self.m) if self.data_path is None else load(self.data_path, self.other_ratings)

    @property
    def source(self) -> str:
        """One sentence for the report: what data, how many, their hash and their terms; or that they are made up."""
        return self._table.source

    def truth(self, rng: np.random.Generator, reps: int, population: np.random.Generator) -> RecordedItems:
        """β* of everybody, (reps, m), the same in every replication unless the items are a random set."""
        table, items = self._table, len(self._table.names)
        chosen = np.arange(items)[None]
        if self.m < items:
            chosen = np.sort(rng.permuted(np.tile(chosen, (reps, 1)), axis=1)[:, : self.m], axis=1)
        block = chosen[:, :, None], chosen[:, None]
        theta = spectral_fit(table.differences[block], None if table.observed is None else table.pairs[block])
        shape = reps, self.m
        return RecordedItems(np.broadcast_to(theta, shape), np.empty((reps, 0)), np.broadcast_to(chosen, shape))

    def simulate(self, truth: RecordedItems, rng: np.random.Generator) -> RecordedAnswers:
        """Responses of n persons drawn anew in every replication, to the items of the truth."""
        return RecordedAnswers(self._table, self.n, truth.chosen, rng)

    def work(self) -> float:
        """Predicted cost of one replication and its differences, in steps of about a nanosecond."""
        persons, items = self._table.answers.shape
        missing = self._table.observed is not None
        return (25 * persons + (6 if missing else 3) * self.n * self.m
                + (0.03 if missing else 0.018) * self.n * self.m**2 + (self.m < items) * 0.6 * self.m**3)


@lru_cache(maxsize=8)
def _stand_in(items: int) -> Table:
    if items > response_stand_in.MOST_ITEMS:
        raise InvalidInput("m", items, f"the stand-in has at most {response_stand_in.MOST_ITEMS:,} items; give fewer, "
                           "or data.path")
    answers = response_stand_in.answers(items)
    return Table.of(answers, None, [f"item {k + 1}" for k in range(items)], "Synthetic stand-in made by this program, "
                    f"{len(answers):,} persons × {items} items under the Rasch model, nobody's: give data.path")
