"""What a task works on: studies, settings, cluster, invocation, and who listens."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipeline.execution import notices
from pipeline.execution.clusters import Cluster
from pipeline.execution.notices import NOTE, Notice
from pipeline.workflow.events import Event, Noted, Warned
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

    @contextlib.contextmanager
    def taking_notices(self) -> Iterator[None]:
        """Within this, what the engine warns of or notes in this process is told as events."""
        with notices.taken(self._tell_notice):
            yield

    def _tell_notice(self, notice: Notice) -> None:
        event = Noted(notice.text) if notice.kind == NOTE else Warned(notice.text)
        self.tell(event)

    def of(self, studies: Sequence[StoredStudy]) -> "Job":
        """The same job for other studies, such as those with the levels of the next round."""
        return dataclasses.replace(self, studies=tuple(studies))
