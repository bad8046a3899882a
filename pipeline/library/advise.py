"""`advise` in Python: how small ε may be, or how many people are needed, to meet a target."""

from collections.abc import Sequence
from typing import Any

import threadpoolctl

from pipeline.advice.answer import answer
from pipeline.advice.question import read
from pipeline.cli import advise_files
from pipeline.cli.advise import first_record, flag, plain
from pipeline.cli.advise_page import save_answer


def advise(
    problem: str,
    target: str | Sequence[str],
    *,
    unknown: str | None = None,
    quick: bool = False,
    save: str | None = None,
    **known: Any,
) -> dict[str, Any]:
    """The least ε, or the least of another unknown, at which targets are met, certified by fresh
    simulation.

    target: such as "kendall<=0.1", several with commas between or in a list: what means of metrics
    are to be. unknown: epsilon, people, items, questions or missing, as far as the problem knows of
    it; the one that is needed and not given if left out. quick: only the first answer, from the
    atlas of cells that were solved in advance: never certified, in a second or two. save: a file
    for the certified answer as a page, .html, or for the atlas's curves, .csv, .svg, .pdf or .png;
    with quick, .html is a page over the atlas. known: parameters of the problem by their names, or
    by those words; model, mechanism and estimator; seed; files of own data as `**{"data.path": …}`.
    Returns what `pipeline task=advise --json` prints; docs/advise.md says what each entry is. The
    same call gives the same numbers. Takes seconds, up to some minutes for large sizes. Raises
    InvalidInput for every mistake, where targets are out of reach or are met already, and, if
    quick, where the atlas has no cells for the question.

    >>> import pipeline as pl
    >>> found = pl.advise("ranking", "kendall<=0.2", m=6, L=200)
    >>> found["unknown"], found["certified"], 0.1 < found["value"] < 0.3
    ('epsilon', True, True)
    """
    flag({"quick": quick}, "quick")
    where = None if save is None else advise_files.file(save)
    question = read({"problem": problem, "target": target, "unknown": unknown, **known})
    page_of_answer = where is not None and advise_files.is_page(where) and not quick
    if where is not None and not page_of_answer:
        advise_files.save(where, question, quick)
    if quick:
        record: dict[str, Any] = plain(first_record(question))
        return record
    with threadpoolctl.threadpool_limits(1, "blas"):
        advised = answer(question)
        if where is not None and page_of_answer:
            save_answer(where, advised)
        record = plain(advised.record())
    return record
