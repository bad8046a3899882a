"""Commands one after another in one process of their own, and how many units each simulates.

`python -m tests.helpers.commands_counted JSON` has an interpreter of its own, as another copy of the
package needs. `in_a_fork` leaves out what every interpreter does again: imports, and fingerprints.
"""

import contextlib
import functools
import importlib
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pipeline.__main__
import pipeline.execution.runner as runner_module
import pipeline.workflow.reports as reports
from pipeline.__main__ import main
from pipeline.execution import schedule, trials
from pipeline.execution.runner import Runner
from pipeline.problems.ranking.model import BTL
from tests.helpers.engine import empty_report

AS_IT_IS = {"all_units": 1}  # nothing of the program is replaced


def patch(patches):
    """What a test changes in this process."""
    if "environment" in patches:
        changed = runner_module.environment() | patches["environment"]
        runner_module.environment = lambda: changed
    if "without_report" in patches:
        reports.write = empty_report
    if "draw" in patches:
        original_truth = BTL.truth
        BTL.truth = lambda self, rng, *rest: (rng.random(), original_truth(self, rng, *rest))[1]
    if "one_process" in patches:  # parts of one's own are not tried in a second one
        trials._elsewhere = lambda trial: []
    if "all_units" not in patches:  # one reference unit of every combination, and no more
        schedule.SHARE = schedule.SECONDS = 0.0


def outcomes(patches, commands):
    """For each command: exit code, what it printed, and how many units it simulated."""
    patch(patches)
    simulated = []
    original = Runner._simulate
    Runner._simulate = lambda self, *rest: (simulated.append(0), original(self, *rest))[1]
    answers = []
    for words in commands:
        simulated.clear()
        with (
            contextlib.redirect_stdout(io.StringIO()) as out,
            contextlib.redirect_stderr(io.StringIO()) as err,
        ):
            code = main(words)
        answers.append((code, out.getvalue(), err.getvalue(), len(simulated)))
    return answers


class Fork:
    """A process that is forked from this one, works in a folder, and calls a function."""

    def __init__(self, act, folder, variables=()):
        reader, writer = os.pipe()
        self.reader = reader
        self.child = os.fork()
        if self.child == 0:
            os.close(reader)
            try:
                os.chdir(folder)
                os.environ.update(variables)
                answer = act()
            except BaseException:
                answer = traceback.format_exc()
            with os.fdopen(writer, "w") as channel:
                json.dump(answer, channel)
            os._exit(0)
        os.close(writer)

    def answer(self):
        """What the function returned, when it has."""
        with os.fdopen(self.reader) as channel:
            answer = json.load(channel)
        os.waitpid(self.child, 0)
        return answer


def in_a_fork(act, folder, variables=()):
    """What a function returns in a process that is forked from this one and works in a folder."""
    return Fork(act, folder, variables).answer()


@functools.cache
def warm():
    """Load what every fork that runs a command would load again."""
    for name in ("hydra.core.override_parser.overrides_parser", "pipeline.library.runs"):
        importlib.import_module(name)


def command_in_a_fork(words, folder, variables=()):
    """What a command ends with, where only what it says and writes matters: it has no start to pay for."""
    warm()
    ((code, out, err, _),) = in_a_fork(lambda: outcomes(AS_IT_IS, [words]), folder, variables)
    return subprocess.CompletedProcess(words, code, out, err)


def as_the_command():
    """Let this process have the script of the command.

    With one of its own it would count as a person's, and all of its modules be executed again.
    """
    sys.modules["__main__"].__file__ = pipeline.__main__.__file__


if __name__ == "__main__":
    as_the_command()
    patches, commands, target = json.loads(sys.argv[1])
    Path(target).write_text(json.dumps(outcomes(patches, commands)))
