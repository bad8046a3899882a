"""Names of tasks as words: `pipeline verify repair=true` is `pipeline task=verify repair=true`."""

from collections.abc import Sequence

from pipeline.study.parameters import InvalidInput, nearest
from pipeline.workflow.tasks import TASKS, Task

HELP = ("-h", "--help", "help")
QUOTES = "'\""
FROM = "from="
SEVERAL = "studies"  # the key that takes several words, with commas between


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """The arguments with task=NAME in place of the name of a task, and key=value in place of the
    words that this task takes without a key.

    Raises InvalidInput for a task that is named in both ways.

    >>> spelled_out(["replay", "c0-0", "outputs=there"])
    ['task=replay', 'unit=c0-0', 'outputs=there']
    """
    arguments = list(map(_renamed, arguments))
    place = _place_of_name(arguments)
    if place is None:
        return arguments
    task = TASKS[arguments[place]]
    for word in arguments:
        if _key(word) == "task":
            allowed = f"is given twice: {task.name} is a task as well; write one of them"
            raise InvalidInput("task", word.partition("=")[2], allowed)
    rest = arguments[place + 1 :]
    if task.bare:
        rest = _with_key(rest, task.bare)
    return [*arguments[:place], f"task={task.name}", *rest]


def _renamed(word: str) -> str:
    """from=PLACE as the config has it, in which no key is a word of Python."""
    return f"origin={word.removeprefix(FROM)}" if word.startswith(FROM) else word


def task_of(arguments: Sequence[str]) -> Task:
    """The task that the arguments name, of several the last; InvalidInput for an unknown one."""
    name = "run"
    for word in arguments:
        if _key(word) == "task" and "=" in word:
            name = word.partition("=")[2].strip(QUOTES)
    if name not in TASKS:
        raise InvalidInput("task", name, nearest(name, TASKS))
    return TASKS[name]


def tasks_in(arguments: Sequence[str]) -> list[Task]:
    """The tasks that the arguments name, as `status` or `task=status`, for a page of help."""
    names = []
    for word in arguments:
        if "=" not in word:
            names.append(word)
        elif _key(word) == "task":
            names.append(word.partition("=")[2].strip(QUOTES))
    return [TASKS[name] for name in names if name in TASKS]


def _place_of_name(arguments: Sequence[str]) -> int | None:
    """Where the name of a task stands, which is the first word that is no flag."""
    for place, word in enumerate(arguments):
        if word.startswith("-") or word in HELP:
            continue
        return place if word in TASKS else None
    return None


def _with_key(words: Sequence[str], key: str) -> list[str]:
    """The words with key=value in front, in place of those that have no key."""
    values = [word for word in words if _is_bare(word)]
    others = [word for word in words if not _is_bare(word)]
    if not values:
        return others
    if key == SEVERAL:
        return [f"{key}={','.join(values)}", *others]
    return [f"{key}={values[0]}", *values[1:], *others]


def _is_bare(word: str) -> bool:
    """Whether a word has no key, and is no flag."""
    return "=" not in word and not word.startswith(("-", "~")) and word not in HELP


def _key(word: str) -> str:
    """The key of an argument, without signs and quotes."""
    return word.partition("=")[0].strip(QUOTES).lstrip("+").strip(QUOTES)
