"""What a task works on: studies, settings, cluster, invocation, and who listens."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipeline.execution.clusters import Cluster
from pipeline.workflow.events import Event
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy

# Called with every event, in the order in which things happen; it may be called from a thread.
Subscriber: TypeAlias = Callable[[Event], None]


@dataclass(frozen=True)
class Job:
    """The input of a task.

    studies: one, or all those of a suite. invocation: what repeats the task. subscribers: called
    with every event; none means silence.

        job = Job(studies, settings, cluster, invocation).subscribed(print_event)
        run.run(job)
    """

    studies: tuple[StoredStudy, ...]
    settings: Settings
    cluster: Cluster
    invocation: Invocation
    subscribers: tuple[Subscriber, ...] = ()

    def tell(self, event: Event) -> None:
        """Call all subscribers with an event."""
        for subscriber in self.subscribers:
            subscriber(event)

    def subscribed(self, *subscribers: Subscriber) -> "Job":
        """The same job with more subscribers."""
        return dataclasses.replace(self, subscribers=(*self.subscribers, *subscribers))

    def of(self, studies: Sequence[StoredStudy]) -> "Job":
        """The same job for other studies, such as those with the levels of the next round."""
        return dataclasses.replace(self, studies=tuple(studies))
