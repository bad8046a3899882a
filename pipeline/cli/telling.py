"""What a command does with the events of a task: print their lines, or nothing beside JSON."""

from pipeline.workflow.events import Event
from pipeline.workflow.lines import lines_of


def print_event(event: Event) -> None:
    """Print the lines of an event."""
    for line in lines_of(event):
        print(line, flush=True)


def silent(event: Event) -> None:
    """Print nothing: the answer is JSON."""
