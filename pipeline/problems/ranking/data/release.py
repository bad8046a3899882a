"""`task=release` for comparisons: wins of each item over each other, with unseeded noise.

What is released is made of the noisy counts and of settings alone. A file is refused
for its header alone; a row that is wrong by itself is left out without a word.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.privacy.published_counts import PublishedCounts
from pipeline.problems.common import count_release
from pipeline.problems.common.count_release import (
    AnswerRow,
    ReleaseRequest,
    answers_of,
    checked,
    count_disclosure,
    published,
    request_of,
    statement,
)
from pipeline.problems.common.normal_scores import SingleScores
from pipeline.problems.common.ranks import difference_errors
from pipeline.problems.common.release_arguments import is_check, receipt, target_of
from pipeline.problems.common.release_folder import PageOf, Table, new_folder, plain_text, write
from pipeline.problems.common.release_intervals import (
    ENDS,
    LEVEL,
    OF_SCORES,
    OF_SUMS,
    RANKS,
    Noise,
    cells,
    chance_wrong,
    joined,
    score_cells,
    sum_cells,
)
from pipeline.problems.common.sheets import Sheet, whole_number
from pipeline.problems.common.tables import Unreadable
from pipeline.study.parameters import shorten
from pipeline.study.untyped import Config

from ..mechanisms.sums import ProtectedCounts, ProtectedScores
from ..theory.count_inference import count_scores
from ..theory.fit import weighted_fit
from .choices import pair_index
from .files import ROLES, check_sides, winner_and_loser

MECHANISMS: dict[str, type[Any]] = {
    **count_release.MECHANISMS,
    "noisy_counts": ProtectedCounts,
    "noisy_scores": ProtectedScores,
}
HEADERS = (
    "winner,loser or left,right,label, with a column user if persons are to be protected as a whole"
)
LEADS = ("lead_low", "lead_high", "wrong")
RIDGE = 1.0  # λ of the fit, which keeps scores finite


def release(arguments: Config, page_of: PageOf) -> str:
    """Release the comparisons of the file `data.path` into the new folder `outputs`.

    Returns the account to print. data.items names the items; page_of makes the page on
    what is promised, which lies beside the tables; check=true releases
    nothing, and returns what rows are left out. arguments: key -> value, as typed on
    the command line. Raises InvalidInput for any mistake in them or in the header of
    the file, before anything is written; OSError where the disk is full.
    """
    request = request_of(arguments, "comparisons, one a row", "items", {}, MECHANISMS)
    checks = is_check(arguments)
    target = None if checks else target_of(arguments)
    answers = answers_of(request, HEADERS, lambda sheet: _Reader(sheet, request.names))
    if target is None:
        return checked(answers)
    pairs = len(request.names) * (len(request.names) - 1) // 2
    result, most = published(request, answers, pairs, "one comparison")
    has_persons = answers.person is not None
    account = statement(request, result, most, has_persons, "one comparison", "pair")
    if isinstance(request.mechanism, ProtectedScores):
        account |= SCORES
        tables = _score_tables(request, result)
    else:
        account |= COUNTS
        tables = _tables(request, result)
    disclosed = count_disclosure(request, result, most, account, has_persons)
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, tables, disclosed, page_of)
    return receipt(target, account)


COUNTS = {
    "comparisons.csv": "comparisons that first won against second, and second against first, plus "
    "noise; may be negative. lead_low, lead_high: contain by how many logits the first leads, of "
    f"each pair with probability {LEVEL:.0%}; wrong: chance that the better one is the other than "
    "it seems",
    "items.csv": "scores in logits, centred, of the Bradley-Terry-Luce fit to comparisons.csv "
    f"alone: counts below 0 as 0, ridge λ = {RIDGE:g}; {OF_SCORES}",
}
SCORES = {
    "items.csv": "comparisons that each item won less those that it lost, plus noise; to be "
    f"compared among items that were compared equally often; {OF_SUMS}",
    "public": "names in data.items, law of the noise; every item has its number, whether it was "
    "compared or not",
}


class _Reader:
    """Reads rows below one header, each by itself. named: whether it has a column of users."""

    def __init__(self, sheet: Sheet, names: Sequence[str]) -> None:
        """names: of the items. Raises `Unreadable` for the header."""
        self._sheet = sheet
        self._roles = sheet.roles(ROLES)
        self._index = {name: k for k, name in enumerate(names)}
        check_sides(sheet, self._roles, HEADERS)
        self.named = "user" in self._roles
        if self.named and "count" in self._roles:
            raise Unreadable(
                "has columns of users and of counts; a row must be one comparison of its user"
            )

    def answer(self, row: int) -> AnswerRow | None:
        """A comparison, None for a tie. Raises `Unreadable` with the reason if the row is wrong."""
        pair = winner_and_loser(self._sheet, self._roles, row)
        if pair is None:
            return None
        for name in pair:
            if name not in self._index:
                raise Unreadable(f"{shorten(name, 30)!r} is not in data.items")
        if pair[0] == pair[1]:
            raise Unreadable(f"compares {shorten(pair[0], 30)!r} with itself")
        person = None
        if self.named:
            person = self._sheet.columns[self._roles["user"]][row]
            if not person:
                raise Unreadable("the user has no name")
        times = 1
        if "count" in self._roles:
            times = whole_number(self._sheet.columns[self._roles["count"]][row])
        winner = self._index[pair[0]]
        loser = self._index[pair[1]]
        group = int(pair_index(winner, loser, len(self._index)))
        return AnswerRow(person, group, int(winner > loser), times)


def _tables(request: ReleaseRequest, result: PublishedCounts) -> dict[str, Table]:
    """The tables of a release by the names of their files, from counts (pairs, 2), noisy."""
    counts = result.counts
    names = [plain_text(name) for name in request.names]
    first, second = np.triu_indices(len(names), 1)
    won = np.maximum(counts, 0).astype(float)
    fitted = weighted_fit(won[:, 0], won.sum(axis=1), len(names), RIDGE)
    noise = Noise.of(result.noise)
    scores = count_scores(fitted, counts, noise.variance, noise.fourth)
    pairs = zip(first.tolist(), second.tolist(), counts.tolist(), strict=True)
    comparisons = [(names[i], names[j], *wins) for i, j, wins in pairs]
    items = list(zip(names, fitted.tolist(), strict=True))
    wins_header = ("first", "second", "first_won", "second_won")
    return {
        "comparisons.csv": ((*wins_header, *LEADS), joined(comparisons, _leads(scores))),
        "items.csv": (("item", "score", *ENDS, *RANKS), joined(items, score_cells(scores))),
    }


def _leads(scores: SingleScores) -> list[tuple[str | float, ...]]:
    """By how much the first of each pair leads, within which ends, and how likely it does not."""
    first, second = np.triu_indices(len(scores.theta), 1)
    leads = scores.theta[first] - scores.theta[second]
    errors = difference_errors(scores.covariance)[first, second]
    ends = cells(scores.differences_of(first, second, LEVEL))
    excess = scores.excess_of(slice(0, 1), of_differences=True)
    of_leads = None if excess is None else excess[0, first, second]
    chances = chance_wrong(leads, errors, of_leads)
    return [(*end, chance) for end, chance in zip(ends, chances, strict=True)]


def _score_tables(request: ReleaseRequest, result: PublishedCounts) -> dict[str, Table]:
    """The table of a release of scores, (m,), noisy, by the name of its file."""
    scores = result.counts
    names = [plain_text(name) for name in request.names]
    items = list(zip(names, scores.tolist(), strict=True))
    intervals = sum_cells(scores, Noise.of(result.noise))
    header = ("item", "wins_minus_losses", *ENDS, *RANKS)
    return {"items.csv": (header, joined(items, intervals))}
