"""`advise` in Python: how small ε may be, or how many people are needed, to meet a target."""

import warnings
from collections.abc import Sequence

import threadpoolctl

from pipeline.advice.advised import Advised
from pipeline.advice.trusted import Trusted
from pipeline.workflow import advise as workflow
from pipeline.workflow.own_audits import OwnAudit


def advise(
    problem: str,
    target: str | Sequence[str],
    *,
    unknown: str | None = None,
    quick: bool = False,
    save: str | None = None,
    **known: object,
) -> Advised | Trusted:
    """The least ε, or the least of another unknown, at which targets are met, certified by fresh
    simulation.

    target: such as "kendall<=0.1", several with commas between or in a list: what
    means of metrics are to be. unknown: epsilon, people, items, questions or
    missing, as far as the problem knows of it; the one that is needed and not given
    if left out. quick: only the first answer, from the atlas of cells that were
    solved in advance: never certified, in a second or two. save: a file for the
    certified answer as a page, .html, or for the atlas's curves, .csv, .svg, .pdf
    or .png; with quick, .html is a page over the atlas. known: parameters of the
    problem by their names, or by those words; model, mechanism and estimator; seed;
    files of own data as `**{"data.path": …}`. Returns an `Answer`, with quick a
    `First`; docs/advise.md says what their attributes are. Printed, it is what the
    command prints; `.record()` is what the command prints with --json. The same
    call gives the same numbers. A mechanism of one's own is audited first, and
    refused where that contradicts its promise; a warning says if it cannot be
    audited. Takes seconds, up to some minutes for large sizes. Raises InvalidInput
    for every mistake, where targets are out of reach or are met already, and, if
    quick, where the atlas has no cells for the question.

    >>> import pipeline as pl
    >>> answer = pl.advise("ranking", "kendall<=0.2", m=6, L=200, unknown="epsilon")
    >>> answer.unknown, answer.certified, 0.1 < answer.value < 0.3
    ('epsilon', True, True)
    """
    entries = {"problem": problem, "target": target, "unknown": unknown, **known}
    entries["quick"] = quick
    if save is not None:
        entries["save"] = save
    request = workflow.read_request(entries)
    with threadpoolctl.threadpool_limits(1, "blas"):
        for event in workflow.advise(request):
            if isinstance(event, OwnAudit) and event.audited is None:
                warnings.warn(str(event), stacklevel=2)
            if isinstance(event, Advised | Trusted):
                return event
    raise AssertionError("a question has an answer")
