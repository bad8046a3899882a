"""The command `pipeline`."""

import contextlib
import os
import re
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy loads: parallelism is across units

from collections.abc import Sequence  # noqa: E402
from typing import Any  # noqa: E402

from pipeline.cli.exit_codes import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO  # noqa: E402
from pipeline.cli.task_words import HELP, QUOTES, spelled_out, task_of, tasks_in  # noqa: E402
from pipeline.execution import copies  # noqa: E402
from pipeline.execution.errors import SweepError  # noqa: E402
from pipeline.study import signals  # noqa: E402
from pipeline.study.parameters import InvalidInput  # noqa: E402
from pipeline.workflow.tasks import TASKS  # noqa: E402

JSON = "--json"
AGAINST = "against="  # of task=compare: with which finished study a part is compared
TYPED = ("against", "archives", "archive", "share", "licence")  # texts of tasks without a config
COMPLETION = (["-sc"], ["--shell-completion"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code. Prints one line for whatever a person did wrong."""
    if arguments is not None:
        return _answer(list(arguments))
    copies.allow()
    signals.end_like_an_interrupt()  # as batch systems send SIGTERM: like Ctrl-C
    _open_streams()
    code = _answer(sys.argv[1:])
    if (
        "obstore" in sys.modules
    ):  # its threads abort while the interpreter ends: code 134, and a core file
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


def _answer(arguments: list[str]) -> int:
    """The exit code of what the arguments ask for.

    Every failure that a person can mend is one line.
    """
    try:
        code = _choose(arguments)
        sys.stdout.flush()
        return code
    except InvalidInput as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("stopped; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_MORE_TO_DO
    except BrokenPipeError:  # whoever read the output has gone, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MemoryError as error:
        print(
            f"error: not enough memory ({error}); finished units are kept: give fewer workers, or "
            "a larger machine",
            file=sys.stderr,
        )
        return EXIT_FAILED
    except (OSError, SweepError) as error:  # disk full, a share that went away
        print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_FAILED


def _open_streams() -> None:
    """Let every print work: also without stdout or stderr, also where a terminal cannot show ε."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 -- it stays open
        getattr(sys, name).reconfigure(errors="replace")


def _choose(arguments: list[str]) -> int:
    """Perform what the arguments ask for: version, help, completion, the composed config, or a
    task.
    """
    if not arguments:
        return _first_words()
    if "--version" in arguments:
        return _version()
    arguments = _with_its_code(arguments)
    if any(word.partition("=")[0] == "--with" for word in arguments):
        from pipeline.cli.flags import load_own_files

        arguments = load_own_files(arguments)
    completes = any(word.startswith("query=") for word in arguments)
    if not completes:
        _name_broken_packages()
    if any(word in HELP for word in arguments):
        return _help(arguments)
    if completes or arguments[:1] in COMPLETION:
        return _completion(arguments)
    arguments = spelled_out(arguments)
    if any(word.startswith("-") for word in arguments):
        from pipeline.cli import flags

        of_config = flags.without_config_flag(arguments)
        if of_config is not None:
            print(flags.whole_config(of_config), end="")
            return EXIT_DONE
        flags.refuse_flags([word for word in arguments if word != JSON])
    return _perform(arguments)


def _with_its_code(arguments: list[str]) -> list[str]:
    """The arguments with --with FILE.py in front, for an experiment that is such a file."""
    files = []
    for word in arguments:
        key, _, value = word.partition("=")
        path = value.strip(QUOTES)
        if key == "experiment" and path.lower().endswith(".py"):
            files.append(f"--with={path}")
    return [*(word for word in files if word not in arguments), *arguments]


def _name_broken_packages() -> None:
    """One line for each installed package that is broken and that the task does not need."""
    from pipeline.identity.registry import left_out

    for package in left_out():
        print(f"warning: {package}", file=sys.stderr)


def _perform(arguments: list[str]) -> int:
    """Perform a task; some compose no config, as their declarations say."""
    task = task_of(arguments)
    if JSON in arguments and not task.answers:
        takers = ", ".join(f"task={name}" for name, known in TASKS.items() if known.answers)
        allowed = f"is answered by {takers}, not by task={task.name}"
        raise InvalidInput("command line", JSON, allowed)
    if task.name == "compare" and any(word.startswith(AGAINST) for word in arguments):
        return _stand(arguments)
    if task.composes:
        return _run(arguments)
    return WITHOUT_CONFIG[task.name](arguments)


def _version() -> int:
    from importlib.metadata import version

    print(f"pipeline {version('private-learning-pipeline')}")
    return EXIT_DONE


def _first_words() -> int:
    """Say in a few lines what there is to type; a bare command starts nothing."""
    from pipeline.cli import help

    print(help.first())
    return EXIT_DONE


def _completion(arguments: list[str]) -> int:
    """Answer a shell that completes a command, or print what installs the completion."""
    from pipeline.cli import completion

    if any(word.startswith("query=") for word in arguments):
        completion.answer()
    else:
        completion.install(arguments[1:])
    return EXIT_DONE


def _help(arguments: list[str]) -> int:
    """Print the help page, that of a task, or the list of a kind, such as all mechanisms."""
    from pipeline.cli import help

    tasks = tasks_in(arguments)
    kinds = [
        word for word in arguments if "=" not in word and word not in HELP and word not in TASKS
    ]
    texts = [help.of_task(task) for task in tasks]
    if kinds:
        from pipeline.cli import catalogue

        texts += map(catalogue.text, kinds)
    print("\n".join(texts or [help.text()]))
    _note_other_words(arguments)
    return EXIT_DONE


def _note_other_words(arguments: list[str]) -> None:
    """Say which words change nothing on the help page."""
    others = [
        word for word in arguments if "=" in word and not word.startswith(("--with=", "task="))
    ]
    if others:
        from pipeline.study.parameters import shorten

        print(
            f"note: --help says the same with and without {shorten(' '.join(others))}; task=show "
            "prints an experiment",
            file=sys.stderr,
        )


def _new(arguments: list[str]) -> int:
    """Perform `task=new`, which writes one file."""
    from pipeline.cli import starter

    return starter.perform(arguments)


def _release(arguments: list[str]) -> int:
    """Perform `task=release`, which composes no config: only the command's own arguments matter."""
    try:
        from pipeline.cli import release
        from pipeline.cli.arguments import pairs

        return release.perform(pairs([word for word in arguments if not word.startswith("-")]))
    except KeyboardInterrupt:
        print("stopped; if the folder is not there, nothing was released", file=sys.stderr)
        return EXIT_MORE_TO_DO


def _advise(arguments: list[str]) -> int:
    """Perform `task=advise`, which composes no config and keeps nothing."""
    words = [word for word in arguments if not word.startswith("-")]
    # such as 0.9, 0.1
    texts = [
        word.partition("=")[0] for word in words if "," in word and not re.search(r"=[\['\"]", word)
    ]
    try:
        from pipeline.cli import advise
        from pipeline.cli.arguments import pairs
        from pipeline.workflow.words import AS_TYPED

        request = pairs(words, (*AS_TYPED, "target", "risk", "save", *texts))
        return advise.perform(request, JSON in arguments)
    except KeyboardInterrupt:
        print("stopped; nothing is kept", file=sys.stderr)
        return EXIT_MORE_TO_DO


def _audit(arguments: list[str]) -> int:
    """Perform `task=audit`, which composes no config and keeps nothing."""
    words = [word for word in arguments if not word.startswith("-")]
    try:
        from pipeline.cli import audit
        from pipeline.cli.arguments import pairs
        from pipeline.workflow.words import AS_TYPED

        entries = pairs(words, (*AS_TYPED, "save"))
        return audit.perform(entries, arguments, JSON in arguments)
    except KeyboardInterrupt:
        print("stopped; nothing is kept", file=sys.stderr)
        return EXIT_MORE_TO_DO


def _archive(arguments: list[str]) -> int:
    """Perform `task=archive`: what is archived says itself how it was made."""
    from pipeline.cli import archive

    return archive.perform(_pairs(arguments), JSON in arguments)


def _export(arguments: list[str]) -> int:
    """Perform `task=export`: results say themselves what they are."""
    from pipeline.cli import export

    return export.perform(_pairs(arguments), JSON in arguments)


def _shelf(arguments: list[str]) -> int:
    """Perform `task=shelf`: archives say themselves what they are."""
    from pipeline.cli import site

    return site.perform(_pairs(arguments), JSON in arguments)


def _skill(arguments: list[str]) -> int:
    """Perform `task=skill`."""
    from pipeline.cli import skill

    return skill.perform(_pairs(arguments))


def _stand(arguments: list[str]) -> int:
    """Perform `task=compare against=STUDY`, whose config is that of the study."""
    from pipeline.cli import standing

    return standing.perform(_pairs(arguments), arguments, JSON in arguments)


def _reproduce(arguments: list[str]) -> int:
    """Perform `task=reproduce`, which keeps nothing."""
    try:
        from pipeline.cli import reproduce

        return reproduce.perform(_pairs(arguments), JSON in arguments)
    except KeyboardInterrupt:
        print("stopped; nothing is kept", file=sys.stderr)
        return EXIT_MORE_TO_DO


def _pairs(arguments: list[str]) -> dict[str, Any]:
    """Key -> value of the arguments, as those of a config are read."""
    from pipeline.cli.arguments import pairs
    from pipeline.workflow.words import AS_TYPED, refuse_secrets

    words = [word for word in arguments if not word.startswith("-")]
    for word in words:
        refuse_secrets(word)
    return {key: value for key, value in pairs(words, (*AS_TYPED, *TYPED)).items() if key != "task"}


WITHOUT_CONFIG = {
    "archive": _archive,
    "export": _export,
    "reproduce": _reproduce,
    "shelf": _shelf,
    "skill": _skill,
    "new": _new,
    "advise": _advise,
    "audit": _audit,
    "release": _release,
}


def _run(arguments: list[str]) -> int:
    """A task on experiments: all is read and checked before the task begins."""
    from pipeline.cli import tasks
    from pipeline.cli.compose import compose
    from pipeline.workflow.config import read_cluster, read_experiments, read_settings
    from pipeline.workflow.invocation import Invocation

    mappings = compose([word for word in arguments if not word.startswith("-")])
    settings = [read_settings(raw) for raw in mappings]
    cluster = read_cluster(mappings[0])
    experiments = read_experiments(mappings)
    # Without a word that changes what is printed and nothing of the study or its page.
    words = [word for word in arguments if word != JSON]
    invocation = Invocation(tuple(words))
    as_json = JSON in arguments
    return tasks.perform(settings[0], cluster, experiments, mappings, invocation, as_json)


if __name__ == "__main__":
    sys.exit(main())
