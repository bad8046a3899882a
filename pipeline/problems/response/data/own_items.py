"""Items of a person's own file: levels and coordinates of studies.

Their number, names, and order without privacy.
"""

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from pipeline.problems.common.own_items import leaving_budget, of_item, ranks, with_all
from pipeline.problems.common.spending import questions_of_survey
from pipeline.study.arrays import Floats, Integers
from pipeline.study.frozen import read_only
from pipeline.study.parameters import DataFile

from ..theory.spectral_fit import spectral_fit
from .files import load
from .recorded import stand_in_table

STAND_IN_ITEMS = 12

Path = Annotated[DataFile | None, "responses or ratings of real people; null is a stand-in"]
Ratings = Annotated[bool, "accept ratings that are not MovieLens ml-latest-small"]


class Items(NamedTuple):
    """What a file says of its items.

    persons: n. most: answers of the person who gave most. names: (m,).
    theta: (m,), β* of all persons, as `RecordedResponses` has it.
    answers: (m,), how many persons answered each item.
    """

    persons: int
    most: int
    names: tuple[str, ...]
    theta: Floats
    answers: Integers


@lru_cache(maxsize=4)
@read_only
def _items(path: DataFile | None, other_ratings: bool) -> Items:
    if path is None:
        table = stand_in_table(STAND_IN_ITEMS)
    else:
        table = load(path, other_ratings)
    pairs = None if table.observed is None else table.pairs[None]
    theta = spectral_fit(table.differences[None], pairs)[0]
    answers = np.einsum("ii->i", table.pairs).astype(np.int64)
    persons, most = table.answers.shape
    if table.observed is not None:
        most = int(table.observed.sum(axis=1).max())
    return Items(persons, most, table.names, theta, answers)


def file_persons(
    data_path: Path, other_ratings: Ratings
) -> Annotated[int, "persons of the file", "persons"]:
    """Number of persons in a file of responses."""
    return _items(data_path, other_ratings).persons


def file_items(
    data_path: Path, other_ratings: Ratings
) -> Annotated[int, "items of the file", "items"]:
    """Number of items in a file of responses."""
    return len(_items(data_path, other_ratings).names)


def file_questions(
    mechanism: str, person: float, data_path: Path, other_ratings: Ratings
) -> Annotated[int, "items of the file that each person is asked", "items"]:
    """As many as the person who answered most; fewer where nobody is trusted.

    Then so many as a person's budget is best spent on, drawn at random from
    those that the person answered.
    """
    most = _items(data_path, other_ratings).most
    if mechanism == "randomized_response":
        return questions_of_survey(person, most)
    return most


def file_messages(
    data_path: Path, other_ratings: Ratings
) -> Annotated[int, "answers to the item that is answered least", "answers"]:
    """Smallest number of answers to one item."""
    return int(_items(data_path, other_ratings).answers.min())


def file_names(data_path: Path, other_ratings: Ratings) -> tuple[str, ...]:
    """Levels of the axis `item`: all items, then each, the most difficult without privacy first."""
    items = _items(data_path, other_ratings)
    order = np.argsort(-items.theta, kind="stable")
    return with_all(tuple(items.names[k] for k in order))


def rank(
    item: str, data_path: Path, other_ratings: Ratings
) -> Annotated[float, "rank without privacy", "1"]:
    """Place of an item by difficulty without privacy, 1 the most difficult; of all their mean."""
    items = _items(data_path, other_ratings)
    return of_item(item, items.names, ranks(items.theta[None])[0])


def score(
    item: str, data_path: Path, other_ratings: Ratings
) -> Annotated[float, "difficulty without privacy", "logits"]:
    """β* of an item; of all items their mean, 0."""
    items = _items(data_path, other_ratings)
    return of_item(item, items.names, items.theta)


def times_answered(
    item: str, data_path: Path, other_ratings: Ratings
) -> Annotated[float, "answers to the item", "1"]:
    """Answers to an item; of all items their mean."""
    items = _items(data_path, other_ratings)
    return of_item(item, items.names, items.answers)


def epsilon_answer(
    epsilon_user: float, m: int
) -> Annotated[
    float, "privacy budget of one answer where each has its own, as randomized response", "nats"
]:
    """ε of all answers of a person over m, the share of one of them."""
    return epsilon_user / m


def leaving_epsilon(
    person: float, person_delta: float, questions: int, messages: int, mechanism: str
) -> Annotated[float, "budget of one response as it leaves its person", "nats"]:
    """ε₀ of one of the responses of a person, at which all of them keep the promise.

    NaN with a curator, to whom responses are told as they are.
    """
    return leaving_budget(person, person_delta, questions, messages, mechanism)
