"""What a page says of a study's protocol: what was decided before, and what changed since."""

from collections.abc import Sequence
from dataclasses import dataclass

EXPLORATORY = "exploratory"
ADDED = "added"
CHANGED = "changed"
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Deviation:
    """One difference between a protocol and what was done.

    kind: what it is about, such as levels or tolerance. key: the axis, claim, metric or part.
    change: added, changed, left out or, of a claim that was added, exploratory. planned, done: in
    words, empty where there is nothing.
    """

    kind: str
    key: str
    change: str
    planned: str
    done: str


@dataclass(frozen=True)
class Protocol:
    """The protocol that is kept with a study, and how the study deviates from it.

    date: when it was written, UTC. url, registered: where and when it was published, where that was
    said. digest: of all that it fixes. is_whole: whether the file that keeps it is as it was
    written; only then deviations are known. begun_before: folders of studies of this name that were
    there when it was written.
    """

    digest: str
    date: str
    url: str = ""
    registered: str = ""
    is_whole: bool = True
    begun_before: Sequence[str] = ()
    deviations: Sequence[Deviation] = ()
