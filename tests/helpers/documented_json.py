"""What docs/programs.md says of the answers in JSON, to be compared with what tasks print."""

import re
from functools import cache

from tests.helpers.engine import ROOT

NOT_THERE = {"advise", "audit"}  # pages of their own describe these
ROW = re.compile(r"^\| (`.*?) \| (.*?) \|(?: (.*?) ?\|)?$")
INNERMOST = re.compile(r"\([^()]*\)")


@cache
def documented():
    """Task -> keys of its answer, and keys of a study in it."""
    text = (ROOT / "docs/programs.md").read_text()
    table = text.partition("## Keys")[2].partition("\n\n`verify")[0]
    keys = {}
    for line in table.splitlines():
        while INNERMOST.search(line):
            line = INNERMOST.sub("", line)
        row = ROW.match(line)
        if row is None:
            continue
        tasks, *cells = row.groups(default="")
        for task in re.findall("`([^`]*)`", tasks):
            keys[task] = [set(re.findall("`([^`]*)`", cell)) for cell in cells]
    return keys


def check(task, answer):
    """Fail unless an answer has the keys that the page says, and no others."""
    if task in NOT_THERE:
        return
    of_answer, of_study = documented()[task]
    assert set(answer) - {"exit_code"} == of_answer, task
    if of_study:
        assert answer["studies"], f"{task}: nothing is compared"
        for study in answer["studies"]:
            assert set(study) == of_study, task
