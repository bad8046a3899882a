"""`task=verify` in the terminal: what is damaged, line by line, and what to do about it."""

from collections.abc import Sequence

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED
from pipeline.execution.clusters import Cluster
from pipeline.workflow.settings import Settings
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.verify import Verified, verify, verify_copy


def perform(studies: Sequence[StoredStudy], settings: Settings, cluster: Cluster) -> int:
    """Check studies, and repair them if that is wanted; returns the exit code."""
    code = EXIT_DONE
    for verified in verify(studies, settings, cluster):
        for line in verified.damages.lines():
            print(f"  damaged: {line}")
        print(_summary(verified))
        if not verified.sound and not verified.repaired:
            code = EXIT_FAILED
    return code


def perform_on_copy(path: str) -> int:
    """Check a copy of results; returns the exit code."""
    verified = verify_copy(path)
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
