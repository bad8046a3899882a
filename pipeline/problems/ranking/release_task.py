"""`task=release` for comparisons: how often each item won against each other one, with noise that nothing can seed.

What is released is made of the noisy counts and of settings alone. A file is refused for its header or for a row that
is wrong by itself, never for what rows say together.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.problems.common import sheets
from pipeline.problems.common.count_release import Answers, Asked, asked_for, published, statement
from pipeline.problems.common.release_arguments import receipt, target_of
from pipeline.problems.common.release_folder import Table, new_folder, plain_text, write
from pipeline.problems.common.sheets import Sheet
from pipeline.problems.common.tables import Unreadable
from pipeline.study.arrays import Integers
from pipeline.study.parameters import InvalidInput, shorten

from .comparison_files import ROLES, pair_index, winner_and_loser
from .theory.fit import weighted_fit

HEADERS = "winner,loser or left,right,label, with a column user if persons are to be protected as a whole"
RIDGE = 1.0  # λ of the fit, which keeps scores finite


def release(arguments: Mapping[str, Any]) -> str:
    """Release the comparisons of the file `data.path` into the new folder `outputs`; returns the account to print.

    data.items names the items. arguments: key -> value, as typed on the command line. Raises InvalidInput for any
    mistake in them or in the file, before anything is written; OSError where the disk is full.
    """
    asked = asked_for(arguments, "comparisons, one a row", "items", {})
    target = target_of(arguments)
    try:
        answers = _answers(sheets.read(asked.data, HEADERS), asked.names)
    except Unreadable as error:
        raise InvalidInput("data.path", asked.data.path, str(error)) from None
    pairs = len(asked.names) * (len(asked.names) - 1) // 2
    result, most = published(asked, answers, pairs, "one comparison")
    account = statement(asked, result, most, answers.person is not None, "one comparison", "pair") | {
        "comparisons.csv": "comparisons that first won against second, and second against first, plus noise; may be "
                           "negative",
        "items.csv": "scores in logits, centred, of the Bradley-Terry-Luce fit to comparisons.csv alone: counts "
                     f"below 0 as 0, ridge λ = {RIDGE:g}"}
    with new_folder(target, arguments["outputs"]) as folder:
        write(folder, _tables(asked, result.counts), account)
    return receipt(target, account)


def _answers(sheet: Sheet, names: tuple[str, ...]) -> Answers:
    """The comparisons, each row checked by itself."""
    roles = sheet.roles(ROLES)
    index = {name: k for k, name in enumerate(names)}
    first, second, rows = [], [], []
    for row, number in enumerate(sheet.numbers):
        both = winner_and_loser(sheet, roles, row, HEADERS)
        if both is None:
            continue  # a tie
        for name in both:
            if name not in index:
                raise Unreadable(f"row {number}: {shorten(name, 30)!r} is not in data.items")
        if both[0] == both[1]:
            raise Unreadable(f"row {number}: compares {shorten(both[0], 30)!r} with itself")
        first.append(index[both[0]])
        second.append(index[both[1]])
        rows.append(row)
    winner, loser = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    person = None
    if "user" in roles:
        named = sheet.names(roles["user"], "user")
        person = [named[row] for row in rows]
    times = np.ones(len(rows), np.int64)
    if "count" in roles:
        if person is not None:
            raise Unreadable("has columns of users and of counts; a row must be one comparison of its user")
        times = sheet.counts(roles["count"])[rows]
    return Answers(person, pair_index(winner, loser, len(names)), (winner > loser).astype(np.int64), times)


def _tables(asked: Asked, counts: Integers) -> dict[str, Table]:
    """The tables of a release by the names of their files. counts: (pairs, 2), noisy: first won, second won."""
    names = [plain_text(name) for name in asked.names]
    first, second = np.triu_indices(len(names), 1)
    won = np.maximum(counts, 0).astype(float)
    scores = weighted_fit(won[:, 0], won.sum(axis=1), len(names), RIDGE)
    rows = [(names[i], names[j], *both) for i, j, both in zip(first.tolist(), second.tolist(), counts.tolist(),
                                                            strict=True)]
    return {"comparisons.csv": (("first", "second", "first_won", "second_won"), rows),
            "items.csv": (("item", "score"), list(zip(names, scores.tolist(), strict=True)))}
