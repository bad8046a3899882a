"""Commands in processes of their own that start at once: forked from one that has loaded what they need.

As a script it is that process: of each line of stdin, a JSON list with a file and the words of a command, it forks
one that performs the command and writes what it prints to the file. It answers with the number of the process, and
with its exit code, −9 for one that was killed.
"""

import contextlib
import json
import os
import subprocess
import sys

from tests.helpers.engine import ROOT, environment

LOADED = (
    "pipeline.__main__",
    "pipeline.cli.archive",
    "pipeline.cli.merge",
    "pipeline.cli.tasks",
    "pipeline.reporting.page",
    "matplotlib.figure",
    "zarr",
)


class ForkedCommands:
    """Starts commands; to be entered. scratch: where they have their temporary files."""

    def __init__(self, scratch):
        self.scratch = scratch

    def __enter__(self):
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.forked_commands"],
            cwd=ROOT,
            env=environment(TMPDIR=str(self.scratch)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._server.stdout.readline()
        return self

    def __exit__(self, *_):
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def start(self, printed, words):
        """Start a command; the number of its process."""
        self._server.stdin.write(json.dumps([str(printed), *words]) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def end(self):
        """The exit code of the command that was started last."""
        return int(self._server.stdout.readline())

    def run(self, printed, words):
        """Perform a command to its end; its exit code."""
        self.start(printed, words)
        return self.end()


def _serve():
    from pipeline.reporting import page

    for name in LOADED:
        __import__(name)
    page.environment().get_template("page.html.j2")
    print("ready", flush=True)
    for line in sys.stdin:
        printed, *words = json.loads(line)
        number = os.fork()
        if number == 0:
            _perform(printed, words)
        print(number, flush=True)
        _, status = os.waitpid(number, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _perform(printed, words):
    """Perform a command and end this process, as the interpreter would."""
    from pipeline.__main__ import main

    code = 1
    try:
        with open(printed, "w") as file, contextlib.redirect_stdout(file):
            code = main(words)
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve()
