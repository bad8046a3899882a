"""`advise` in Python: how small ε may be, or how many people are needed, to meet a target."""

from collections.abc import Sequence
from typing import Any

import threadpoolctl

from pipeline.advice.answer import answer
from pipeline.advice.question import read
from pipeline.cli import advise_files
from pipeline.cli.advise import first_record, flag, plain


def advise(
    problem: str, target: str | Sequence[str], *, unknown: str | None = None, quick: bool = False,
    save: str | None = None, **known: Any
) -> dict[str, Any]:
    """The least ε, or the least of another unknown, at which targets are met, certified by fresh simulation.

    target: such as "kendall<=0.1", several with commas between or in a list: what means of metrics are to be. unknown:
    epsilon, people, items, questions or missing, as far as the problem knows of it; the one that is needed and not
    given if left out. quick: only the first answer, from the atlas of cells that were solved in advance: never
    certified, in a second or two. save: a file for the atlas's curves, .csv, .svg, .pdf or .png, or a page, .html.
    known: parameters of the problem by their names, or by those words; model, mechanism and estimator; seed; files of
    own data as `**{"data.path": …}`.
    Returns what `pipeline task=advise --json` prints; docs/advise.md says what each entry is. The same call gives the
    same numbers. Takes seconds, up to some minutes for large sizes.
    Raises InvalidInput for every mistake, where targets are out of reach or are met already, and, if quick, where the
    atlas has no cells for the question.

    >>> import pipeline as pl
    >>> found = pl.advise("ranking", "kendall<=0.2", m=6, L=200)
    >>> found["unknown"], found["certified"], 0.1 < found["value"] < 0.3
    ('epsilon', True, True)
    """
    flag({"quick": quick}, "quick")
    question = read({"problem": problem, "target": target, "unknown": unknown, **known})
    if save is not None:
        advise_files.save(advise_files.file(save), question)
    if quick:
        found: dict[str, Any] = plain(first_record(question))
        return found
    with threadpoolctl.threadpool_limits(1, "blas"):
        found = plain(answer(question).record())
    return found
