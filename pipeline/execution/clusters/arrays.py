"""A study as jobs without a driver: an array that simulates, and a last job that seals and reports.

The job's scripts are those of `jobs/`; what a job may use is given as options of the batch system's
command, which override the directives in a script.
"""

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.execution.systems.base import System
from pipeline.execution.systems.commands import Refused, call, inherited_environment
from pipeline.execution.systems.sizes import Sizes
from pipeline.study.parameters import InvalidInput

ANY_SYSTEM = "any.sh"  # the script for systems that have none of their own


@dataclass(frozen=True)
class Submission:
    """What is submitted.

    words: of the run, for the jobs. again: words that submit all of it again.
    """

    system: System
    sizes: Sizes
    words: Sequence[str]
    again: Sequence[str] = ()

    def check(self) -> None:
        """Raise InvalidInput for what the batch system would refuse, as far as it can be asked."""
        system = self.system
        if not shutil.which(self._pipeline):
            allowed = "is no command; export PIPELINE=PATH of one that all nodes see"
            raise InvalidInput("PIPELINE", self._pipeline, allowed)
        for command in (system.submits, system.cancels):
            if not shutil.which(command):
                allowed = f"{command} is not on this machine; start this where jobs are submitted"
                raise InvalidInput("cluster", system.name, allowed)
        split = [word for word in (*self.words, *self.again) if re.search(r"\s", word)]
        if split and not system.takes_words:
            allowed = f"no blanks inside a word: jobs of {system.name} would split it there"
            raise InvalidInput("command line", split[0], allowed)
        try:
            system.make_folders()
        except OSError as error:
            allowed = f"cannot be written: {error.strerror}"
            raise InvalidInput("cluster.folder", system.folder, allowed) from None
        tried = [*self._options(last=False), str(self._script), *self.words]
        try:
            system.try_out(*tried, env=self._environment())
        except Refused as error:
            raise system.refusal(error) from None

    def submit(self) -> list[str]:
        """Submit; the numbers of the jobs.

        InvalidInput if one is refused: those before it are then cancelled.
        """
        numbers: list[str] = []
        try:
            array = None
            if self.sizes.shards > 1:
                array = self._submit(last=False, after=None)
                numbers.append(array)
            numbers.append(self._submit(last=True, after=array))
        except Refused as error:
            with contextlib.suppress(Refused):
                if numbers:
                    call(self.system.cancel(numbers))
            raise self.system.refusal(error) from None
        return numbers

    @property
    def _pipeline(self) -> str:
        """The command that jobs run: of this environment, unless a person exports another."""
        return os.environ.get("PIPELINE") or str(Path(sys.executable).with_name("pipeline"))

    @property
    def _script(self) -> Path:
        package = Path(__file__).resolve().parents[2]
        folder = package / "jobs"
        if not folder.is_dir():  # in a working copy, beside the package
            folder = package.parent / "jobs"
        script = folder / f"{self.system.name}.sh"
        if script.is_file():
            return script
        return folder / ANY_SYSTEM

    def _submit(self, last: bool, after: str | None) -> str:
        options = self._options(last, after)
        return self.system.submit(options, self._script, self.words, self._environment(after))

    def _environment(self, after: str | None = None) -> dict[str, str]:
        """Variables for the job's script. after: number of the array that the job follows."""
        system = self.system
        sizes = self.sizes
        ours = {
            "SHARDS": str(sizes.shards),
            "CORES": str(system.cores),
            "WORDS": " ".join(self.words),
            "AGAIN": " ".join(self.again),
            "SECONDS_TO_RUN": str(sizes.seconds - sizes.reserve),
            "WORKER_MEMORY": f"{sizes.memory_of_worker(system.cores)}B",
            "AFTER": after or "",
            "PIPELINE": self._pipeline,
            "MORE": str(system.sourced),
            "TASK_VARIABLE": system.task_variable,
            "FOLDER": os.getcwd(),
        }
        return inherited_environment(system.hides_environment) | ours

    def _options(self, last: bool, after: str | None = None) -> list[str]:
        """Options of the command that submits.

        last: one job instead of an array. after: number of an earlier job.
        """
        array = f"1-{self.sizes.shards}"
        if last:
            return self.system.submission_options(self.sizes, None, after)
        return self.system.submission_options(self.sizes, array, after)
