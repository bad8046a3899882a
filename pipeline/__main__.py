"""The command `pipeline`: the only place where all layers meet."""

import contextlib
import os
import shlex
import signal
import sys

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy loads: parallelism is across units

from collections.abc import Sequence  # noqa: E402
from typing import Any  # noqa: E402

from pipeline.codes import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO  # noqa: E402
from pipeline.parameters import InvalidInput  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code and prints one line for whatever a person did wrong."""
    if arguments is not None:
        return _answer(list(arguments))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's, at any time, is no worse than Ctrl-C
    _open_streams()
    code = _answer(sys.argv[1:])
    if "obstore" in sys.modules:  # a thread of it that meets an interpreter that ends aborts: code 134, and a core file
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return code


def _answer(arguments: list[str]) -> int:
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
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except MemoryError as error:
        print(f"error: not enough memory ({error}); give a smaller block or fewer workers", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:  # disk full, a share that went away
        print(f"error: {error}; finished units are kept, the same command goes on", file=sys.stderr)
        return EXIT_FAILED


def _open_streams() -> None:
    """Let every print work: also without stdout or stderr, also where a terminal cannot show ε."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
        getattr(sys, name).reconfigure(errors="replace")


def _choose(arguments: list[str]) -> int:
    if any(a in ("-h", "--help", "help") for a in arguments):
        from pipeline import help

        print(help.text())
        return EXIT_DONE
    if any(a.startswith("query=") for a in arguments):
        from pipeline import complete

        complete.answer()
        return EXIT_DONE
    if arguments and arguments[0] in ("-sc", "--shell-completion"):
        return _install_completion(arguments[1:])
    if flags := [a for a in arguments if a.startswith("-")]:
        raise InvalidInput("command line", flags[0], "no such flag; write key=value pairs, or --help")
    return _run(arguments)


def _install_completion(arguments: list[str]) -> int:
    """Print the hook that a shell evaluates; Hydra has one for each shell."""
    import hydra

    from pipeline.compose import folder

    allowed = [f"{what}={shell}" for what in ("install", "uninstall") for shell in ("bash", "zsh", "fish")]
    if arguments not in [[one] for one in allowed]:
        raise InvalidInput("--shell-completion", " ".join(arguments), f"allowed: {', '.join(allowed)}")
    sys.argv[1:] = ["--shell-completion", *arguments]
    hydra.main(config_path=str(folder()), config_name="config", version_base="1.3")(lambda config: None)()
    return EXIT_DONE


def _run(arguments: list[str]) -> int:
    if any(a.lstrip("+").replace("'", "").replace('"', "") == "task=release" for a in arguments):
        try:
            from pipeline import release
            from pipeline.compose import pairs

            return release.perform(pairs(arguments))
        except KeyboardInterrupt:
            print("stopped; if the folder is not there, nothing was released", file=sys.stderr)
            return EXIT_MORE_TO_DO
    from pipeline import tasks
    from pipeline.compose import compose
    from pipeline.config import read_cluster, read_experiments, read_settings

    mappings = compose(arguments)
    settings = [read_settings(raw) for raw in mappings][0]
    cluster: Any = read_cluster(mappings[0])
    experiments = read_experiments(mappings)
    command = shlex.join(["pipeline", *arguments])
    return tasks.perform(settings, cluster, experiments, mappings, command)


if __name__ == "__main__":
    sys.exit(main())
