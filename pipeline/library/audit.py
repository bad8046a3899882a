"""`audit` in Python: is a mechanism as private as it says?"""

from typing import Any

import threadpoolctl

from pipeline.auditing.audit import Case, Options
from pipeline.auditing.promise import Promise
from pipeline.auditing.subject import Subject
from pipeline.auditing.verdict import Audited
from pipeline.study.parameters import InvalidInput, fields, nearest, shorten
from pipeline.study.protocols import Mechanism
from pipeline.workflow import audit as workflow
from pipeline.workflow import kept_audit
from pipeline.workflow.audit import AuditRequest
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.kept_audit import OF_MERGING, SETTINGS, Keeping

BUDGETS = ("epsilon", "delta", "rho", "mu")
OF_KEEPING = ("cluster", "store", *SETTINGS)


def audit(
    mechanism: object,
    pair: object = None,
    guarantee: object = None,
    **options: object,
) -> Audited:
    """Try to refute what a mechanism promises, and say which faults would have
    been found.

    mechanism: any callable (dataset, number_of_samples) -> array with the samples
    on its first axis; with a parameter `rng` it gets a generator, and its code is
    replayed and enumerated. Or a mechanism of a problem. pair: a tuple of two
    neighbouring data sets, a list of such tuples, or `pl.Neighbours(people=5)`,
    whose worst pair is searched for; None for a problem's mechanism, or for the
    callable's attribute `neighbours`. guarantee: an ε, a `Guarantee`, or None for
    the mechanism's own. options: epsilon, delta, rho, mu in place of a guarantee;
    samples, confidence, repeats, seconds, seed, grid and sensitivity, see
    `pipeline.auditing.audit.Options`; call_seconds, how long one call may take.
    With outputs (a folder) or cluster, as in `pl.run`, samples are kept as
    studies: the same call goes on where another one stopped, on any cluster. With
    origin (another folder of outputs), samples of the same audit that are there are
    taken in after a check, as by `pl.merge`.

    The verdict is `violates`, with the pair and the event that show it, or `not
    refuted`, with its power. The same call gives the same numbers, unless time
    ran out. Raises InvalidInput for every mistake.

    >>> import numpy as np
    >>> import pipeline as pl
    >>> def flipped(bits, samples, rng):
    ...     return (rng.random((samples, len(bits))) < 0.1) ^ np.array(bits, bool)
    >>> pl.audit(flipped, ([0, 1], [1, 1]), epsilon=2.0).verdict
    'violates'
    """
    seconds = options.pop("call_seconds", workflow.CALL_SECONDS.default)
    call_seconds = workflow.checked_seconds(seconds)
    lasting = [name for name in OF_KEEPING if name not in OF_MERGING]
    where = {name: options[name] for name in lasting if name in options}
    keeping = _keeping(options)
    budgets = {name: options.pop(name) for name in BUDGETS if name in options}
    _check_names(options)
    chosen, _ = workflow.options_of(options)
    promise = workflow.promise_of(guarantee, mechanism, budgets)
    if isinstance(mechanism, Mechanism) and not isinstance(mechanism, type):
        if pair is not None:
            allowed = "is for callables: a problem's mechanism has the pairs of its problem"
            raise InvalidInput("pair", shorten(pair), f"{allowed}; leave it out")
        audits = workflow.audits_for(mechanism)
        case = workflow.case_of_part(mechanism, audits, chosen.grid, promise)
    else:
        case = _case_of_callable(mechanism, pair, promise, chosen)
    command = workflow.call_of(case, budgets, {**options, **where})
    with threadpoolctl.threadpool_limits(1, "blas"):
        request = AuditRequest(case, chosen, command, call_seconds)
        if keeping is not None:
            return kept_audit.perform(request, keeping)
        return workflow.perform(request)


def _keeping(options: dict[str, Any]) -> Keeping | None:
    """Where samples are kept, taken from the options; None if they are not."""
    changes = {name: options.pop(name) for name in OF_KEEPING if name in options}
    if not changes:
        return None
    cluster = kept_audit.cluster_of(changes.pop("cluster", "local"))
    return Keeping(changes, cluster, Invocation(("audit",)))


def _case_of_callable(
    mechanism: object,
    pair: object,
    promise: Promise,
    options: Options,
) -> Case:
    subject = Subject.of(mechanism, options.grid)
    pairs, relation = workflow.pairs_of(pair, mechanism)
    law = getattr(mechanism, "law", None)
    return Case(subject, promise, pairs, relation, law)


def _check_names(options: dict[str, Any]) -> None:
    """Raise InvalidInput for an option that there is not."""
    known = [*fields(Options), *BUDGETS, *OF_KEEPING, "call_seconds"]
    for name, value in options.items():
        if name in known:
            continue
        allowed = f"no such option; {nearest(name, known)}"
        raise InvalidInput(name, value, allowed)
