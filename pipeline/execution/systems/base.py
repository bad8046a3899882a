"""The abstract base of all batch systems: what a system has to tell.

A new system is a subclass with `name`, `submits`, `cancels`, `listing` and `options`; all else has
a default. Its class is found by an entry point of the group `pipeline.systems`, or by
`pipeline.execution.systems.registry.register`; docs/clusters.md has one.
"""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pipeline.execution.clusters.batch import HOUR, Batch
from pipeline.execution.systems.commands import Refused, call
from pipeline.execution.systems.listing import Columns
from pipeline.execution.systems.sizes import Sizes, clock
from pipeline.study.parameters import InvalidInput

# Said of systems that cannot be had for tests.
UNTRIED = "never executed on a real system: look at the first jobs"
# Field -> what a message of a batch system about it mentions.
FIELDS_MEANT = {
    "account": "account|project",
    "queue": "partition|queue",
    "walltime": "time",
    "memory": "memory",
    "cores": "cpu|processor|slots",
}


class System(Batch, ABC):
    """A batch system.

    Class attributes of a system:
        name: by which a person chooses it, as `cluster=NAME`; `jobs/NAME.sh` is the script of its
            arrays, `jobs/any.sh` if there is none.
        submits, cancels: its commands.
        listing: command that lists this user's unfinished jobs, one a line, its number first.
        columns: where a line of `listing`, or of `ask`, has a job's state and why it waits.
        nothing_left: pattern of an error by which that command says that there are no such jobs.
        number_pattern: of a job's number in what `submits` prints.
        takes_words: whether `submits` hands words after the script to it; else in `$WORDS`.
        tries: options with which `submits` only says whether it would accept a job.
        shows_queue: command that fails for a queue that is not there.
        hosts: command that lists the nodes, their names or addresses first in each line.
        job_variable, task_variable: environment variables that number a job, and a task of an
            array.
        hides_environment: whether other users cannot see what a job inherits.
        cancels_follower: whether a job that follows a cancelled array sees that, and ends.
        untried: whether no such system could be had for tests.
        jobqueue: class of dask-jobqueue that writes directives into the scripts of a driver's
            jobs; empty: `submits` gets `options` instead.
        charges: what that class calls the account.
    """

    name: ClassVar[str]
    submits: ClassVar[str]
    cancels: ClassVar[str]
    listing: ClassVar[tuple[str, ...]]
    columns: ClassVar[Columns] = Columns()
    nothing_left: ClassVar[str | None] = None
    number_pattern: ClassVar[str] = r"\d+"
    takes_words: ClassVar[bool] = False
    tries: ClassVar[tuple[str, ...]] = ()
    shows_queue: ClassVar[tuple[str, ...]] = ()
    hosts: ClassVar[tuple[str, ...]] = ()
    job_variable: ClassVar[str] = ""
    task_variable: ClassVar[str] = ""
    hides_environment: ClassVar[bool] = False
    cancels_follower: ClassVar[bool] = False
    untried: ClassVar[bool] = False
    jobqueue: ClassVar[str] = ""
    charges: ClassVar[str] = "project"

    @abstractmethod
    def options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """Options of `submits` for one job or an array.

        Args:
            sizes: memory and walltime of each job.
            array: numbers of the array's tasks, such as 1-20; None: a single job.
            after: number of a job that must have ended, however it ended; None: none.
        """

    def directives_of_workers(self) -> list[str]:
        """What a driver's jobs need besides cores, memory, walltime, queue and account."""
        return []

    def options_of_workers(self) -> list[str]:
        """Options of `submits` for a driver's job; none where its script has directives."""
        if self.jobqueue:
            return []
        sizes = Sizes(1, self.memory_of_workers, self.seconds(), self.reserve())
        return self.submission_options(sizes, None, None)

    def submission_options(self, sizes: Sizes, array: str | None, after: str | None) -> list[str]:
        """`options`, and the further directives of the person, word by word."""
        options = self.options(sizes, array, after)
        for directive in self.further:
            options += shlex.split(directive)
        return options

    def time_limit(self, seconds: int) -> str:
        """A walltime as the system writes it."""
        return clock(seconds)

    def watch(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs for a person."""
        return list(self.listing)

    def ask(self, numbers: Sequence[str]) -> list[str]:
        """The command that lists jobs with their states; others may be among them."""
        return list(self.listing)

    def ask_for_workers(self, job_name: str) -> list[str] | None:
        """The command that lists this user's jobs of a name; None where there is none."""
        return None

    def cancel(self, numbers: Sequence[str]) -> list[str]:
        """The command that cancels jobs."""
        return [self.cancels, *numbers]

    @classmethod
    def job_of(cls, environment: Mapping[str, str]) -> str | None:
        """What the system calls the job of a process, by its environment; None outside of one."""
        number = environment.get(cls.job_variable)
        task = environment.get(cls.task_variable, "")
        if number is None or not task.isdigit() or task == "0":
            return number
        return f"{number}.{task}"

    def give(
        self, options: Sequence[str], script: Path, words: Sequence[str], env: Mapping[str, str]
    ) -> str:
        """Give a script to the system; what `submits` prints. Refused if it is not accepted."""
        return call([self.submits, *options, str(script), *words], env=env)

    def submit(
        self, options: Sequence[str], script: Path, words: Sequence[str], env: Mapping[str, str]
    ) -> str:
        """Submit a script; the job's number. Refused if it is not accepted."""
        if not self.takes_words:
            words = ()
        printed = self.give(options, script, words, env)
        number = re.search(self.number_pattern, printed)
        if not number:
            raise Refused(f"{self.submits} says {' '.join(printed.split())!r}, which names no job")
        return number[0]

    def try_out(
        self, *words: str, text: str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Ask whether a job would be accepted, as far as the system answers; Refused if not."""
        if self.tries:
            call([self.submits, *self.tries, *words], text=text, env=env)
        elif self.shows_queue and self.queue:
            call([*self.shows_queue, self.queue])

    def says_none(self, error: Refused) -> bool:
        """Whether this is how the system says that there are no such jobs (any more)."""
        return self.nothing_left is not None and bool(re.search(self.nothing_left, str(error)))

    def refusal(self, error: Refused) -> InvalidInput:
        """The field that the system's message most likely refers to, with the message."""
        message = f"{self.submits} says: {error}"
        values: dict[str, Any] = {
            "account": self.account,
            "queue": self.queue,
            "walltime": self.walltime or HOUR,
            "memory": self.memory,
            "cores": self.cores,
        }
        for name, pattern in FIELDS_MEANT.items():
            if re.search(pattern, str(error), re.IGNORECASE):
                return InvalidInput(f"cluster.{name}", values[name], message)
        return InvalidInput("cluster", self.name, message)


def attached(option: str, value: str | None) -> list[str]:
    """An option with its value in one word, unless there is none.

    >>> attached("--account=", "stat"), attached("--account=", None)
    (['--account=stat'], [])
    """
    if value is None:
        return []
    return [option + value]


def apart(option: str, value: str | None) -> list[str]:
    """An option and its value as two words, unless there is none.

    >>> apart("-A", "stat"), apart("-A", None)
    (['-A', 'stat'], [])
    """
    if value is None:
        return []
    return [option, value]
