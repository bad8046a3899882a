"""What the shell offers after TAB; Hydra's own hook cannot complete names with a slash."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from pipeline.cli.compose import compose
from pipeline.cli.task_words import spelled_out
from pipeline.study.parameters import InvalidInput, fields, kinds_of
from pipeline.workflow.config_files import GROUPS, folder, options
from pipeline.workflow.settings import Settings
from pipeline.workflow.tasks import TASKS

SHELLS = ("bash", "zsh", "fish")


def candidates(line: str) -> list[str]:
    """Words that may stand at the end of a command line: names of tasks first, key= while a key is
    typed, then its values.
    """
    words = line.split(" ")
    last = words[-1]
    before = _spelled_out(words[1:-1])
    if "=" not in last:
        offered = {*_keys([word for word in before if "=" in word])}
        if not [word for word in before if not word.startswith("-")]:
            offered |= TASKS.keys()
        return sorted(word for word in offered if word.startswith(last))
    key = last.partition("=")[0]
    offers = (f"{key}={value}" for value in _values(key))
    return [word for word in offers if word.startswith(last)]


def _spelled_out(words: list[str]) -> list[str]:
    """The words before the last one, with task=NAME in place of the name of a task."""
    try:
        return spelled_out(words)
    except InvalidInput:
        return words


def _keys(words: list[str]) -> Iterator[str]:
    """Keys that may be given, each with its sign."""
    yield from ("experiment=", "suite=", "size=", "cluster=")
    for name in fields(Settings):
        if name not in ("store", "protocol"):  # whose fields have dotted names
            yield f"{name}="
    for name in _dotted(words):
        yield f"{name}="


def _values(key: str) -> Iterable[str]:
    """Values of a key, where there are few."""
    if key == "task":
        return TASKS
    if key in GROUPS:
        return options(key)
    setting = fields(Settings).get(key)
    if setting is not None and "bool" in kinds_of(setting):
        return ("true", "false")
    return ()


def answer() -> None:
    """Answer the hook: print the completions of the line in COMP_LINE."""
    print(" ".join(candidates(os.environ.get("COMP_LINE", ""))))


def install(arguments: Sequence[str]) -> None:
    """Print the hook that a shell evaluates.

    Hydra has one for each shell. arguments: such as ["install=bash"].
    """
    import hydra

    allowed = [f"install={shell}" for shell in SHELLS]
    allowed += [f"uninstall={shell}" for shell in SHELLS]
    if len(arguments) != 1 or arguments[0] not in allowed:
        raise InvalidInput(
            "--shell-completion", " ".join(arguments), f"allowed: {', '.join(allowed)}"
        )
    sys.argv[1:] = ["--shell-completion", *arguments]
    hydra.main(config_path=str(folder()), config_name="config", version_base="1.3")(
        lambda config: None
    )()


def _dotted(words: list[str]) -> Iterator[str]:
    """Keys of the config that the words before give, those of sections with dots."""
    try:
        config = compose(words)[0]
    except InvalidInput:
        config = compose([])[0]
    for key, value in config.items():
        if key in ("experiments", "figures"):
            continue
        if not isinstance(value, dict):
            yield key
            continue
        for name in value:
            yield f"{key}.{name}"
