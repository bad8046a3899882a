"""`task=verify` in the terminal: what is damaged, line by line, and what to do about it."""

from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.cli.json_answer import print_json
from pipeline.execution.clusters import Cluster
from pipeline.study.untyped import JsonObject
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.verify import Verified, verify, verify_copy


def perform(
    studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster, as_json: bool = False
) -> int:
    """Check studies, and repair them if that is wanted; returns the exit code."""
    if as_json:
        return _perform_as_json(studies, settings, cluster)
    code = EXIT_DONE
    for verified in verify(studies, settings, cluster):
        for line in verified.damages.lines():
            print(f"  damaged: {line}")
        print(_summary(verified))
        code = max(code, _exit_code(verified))
    return code


def _perform_as_json(studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster) -> int:
    checked = list(verify(studies, settings, cluster))
    code = max(map(_exit_code, checked))
    return print_json(code, {"studies": [record(verified) for verified in checked]})


def _exit_code(verified: Verified) -> int:
    """1 for damage that is not repaired."""
    return EXIT_DONE if verified.sound or verified.repaired else EXIT_FAILED


def record(verified: Verified) -> JsonObject:
    """The check of a study as one object of JSON."""
    return {
        "name": verified.study,
        "units": verified.units,
        "sound": verified.sound,
        "repaired": verified.repaired,
        "damaged": verified.damages.lines(),
    }


def perform_on_copy(path: str, as_json: bool = False) -> int:
    """Check a copy of results; returns the exit code."""
    verified = verify_copy(path)
    if as_json:
        code = EXIT_FAILED if verified.damaged else EXIT_DONE
        entries = {"folder": str(verified.folder), "damaged": list(verified.damaged)}
        return print_json(code, entries)
    for line in verified.damaged:
        print(f"  damaged: {line}")
    if verified.damaged:
        print(f"{verified.folder}: {len(verified.damaged)} damaged files")
        return EXIT_FAILED
    print(f"{verified.folder}: every byte is as it was written")
    return EXIT_DONE


def _summary(verified: Verified) -> str:
    """What was found of a study, in one line."""
    count = len(verified.damages.lines())
    text = f"{verified.study}: {verified.units:,} units checked, {count} damaged"
    if count == 0:
        return text
    if verified.repaired:
        return f"{text}, {count} repaired: run again to simulate them anew"
    return f"{text}; repair=true marks them as not run"
