"""Level 3 from look to look: samples of both data sets until the promise is broken, then rare
events.
"""

import time
from dataclasses import replace

from pipeline.auditing import rare, samples
from pipeline.auditing.promise import Promise
from pipeline.auditing.rare import Tilts
from pipeline.auditing.samples import Finding, Look, Pair, Plan, Streams
from pipeline.auditing.subject import Subject


def audited(subject: Subject, pair: Pair, promise: Promise, plan: Plan) -> Finding:
    """The certified bounds of a pair, at the first look at which the promise is broken or at the
    last.

    Where draws can be tilted, a share of the error probability is for an event that they find.
    """
    tilts = Tilts.of(subject, pair, plan.samples)
    of_looks = plan
    if tilts is not None:
        of_looks = replace(plan, error=plan.error * (1 - rare.SHARE))
    streams = Streams(subject, pair, plan.seed)
    last: Look | None = None
    for count, error in of_looks.looks():
        if last is not None and time.monotonic() > plan.deadline:
            break
        streams.up_to(count, plan.deadline)
        last = samples.look(streams, promise, error)
        if last.finding.violates or streams.full:
            break
    assert last is not None
    best = last.with_curve()
    if tilts is None or best.violates or time.monotonic() > plan.deadline:
        return best
    finding = _of_rare(tilts, streams, promise, plan)
    if finding is None or promise.spent_by(finding.bounded) <= promise.spent_by(best.bounded):
        return best
    return replace(finding, points=best.points)


def _of_rare(tilts: Tilts, streams: Streams, promise: Promise, plan: Plan) -> Finding | None:
    """What tilted draws find; samples that certify bound its alarms. None without weights."""
    certify = streams.all_of("certify")
    size = len(certify[0])
    error = plan.error * rare.SHARE
    event = rare.chosen(tilts, streams.all_of("choose"), promise, error, size, plan.seed)
    if event is None:
        return None
    hits = rare.counted(tilts, event, error, plan.seed)
    if hits is None:
        return None
    neighbour = certify[0] if event.swapped else certify[1]
    alarms = event.happened(event.score(neighbour))
    return rare.finding_of(tilts, event, promise, hits, alarms, size, error)
