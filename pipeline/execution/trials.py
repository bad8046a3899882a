"""Parts tried before the first unit: in this process, and a person's own also in a second one.

In a second process texts have other hashes, sets another order, objects other addresses. The
program's own parts are tried there by its tests. A set may have the same order there by chance: one
of two texts in half of all processes. So code that makes sets is tried in several.
"""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import cloudpickle

from pipeline.execution import notices
from pipeline.execution.set_order import makes_sets
from pipeline.execution.trial import Record, Trial, own_parts
from pipeline.identity.fingerprints import uncovered
from pipeline.identity.registry import adopt, registrations
from pipeline.identity.surroundings import watched
from pipeline.study.handover import left_running
from pipeline.study.parameters import printable
from pipeline.study.returned import WrongPart
from pipeline.study.study import Study

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "import pipeline.execution.trials as trials; trials._answer()"
)
SECONDS = 60.0  # that another process may take
FOR_SETS = 5  # other processes for code that makes sets; for any other code there is one
AT_A_TIME = 2  # of these


class ProcessEnded(Exception):
    """The second process did not end by itself, or was ended by a part."""


def check_parts(study: Study, combinations: Sequence[tuple[int, ...]]) -> None:
    """Make sure that the parts of some cells are deterministic and give what they must.

    Raises WrongPart.

    combinations: cells of each combination of parts: of the program's parts one is tried, of a
    person's own all. Those that end a process, or do not end, are left to the units.
    """
    with_own_parts = _with_own_parts(study, combinations)
    cells = [cells[0] for cells in combinations]
    for others in with_own_parts:
        cells += others[1:]
    trial = Trial.of(study, cells)
    elsewhere: list[_Elsewhere] = []
    if with_own_parts:
        try:
            elsewhere = _elsewhere(trial)
        except ProcessEnded:
            return
    with watched() as met:
        records = trial.run()
    trial.check(records, trial.run_reversed())
    read = set(uncovered(met, trial.parts))
    left: set[str] = set()
    for other in elsewhere:
        trial.check(records, other.records, elsewhere=True)
        read.update(other.read)
        left.update(other.left)
    _say_what_parts_read(read)
    _say_who_leaves_threads(left)


def _with_own_parts(study: Study, combinations: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Combinations in which a person's own parts are."""
    return [cells for cells in combinations if own_parts(study, cells[:1])]


def _say_what_parts_read(contents: Collection[str]) -> None:
    """Say in one line on what parts depend that no fingerprint covers."""
    if not contents:
        return
    reads = printable(", ".join(sorted(contents)))
    notices.note(
        f"a part, while it runs, {reads}: no fingerprint covers that, so numbers of runs "
        "with another content may be mixed unnoticed; let its file read it when it is loaded"
    )


def _say_who_leaves_threads(names: Collection[str]) -> None:
    """Say in one line which parts leave threads running when their methods end."""
    if not names:
        return
    who = printable(", ".join(sorted(names)))
    notices.note(
        f"{who}: threads still run when a method ends; what they write from then on may change "
        "numbers unnoticed: let the method wait for them"
    )


def check_own_parts(study: Study, combinations: Sequence[tuple[int, ...]]) -> None:
    """Do what `check_parts` does, for combinations with a person's own parts only.

    Raises WrongPart.
    """
    with_own_parts = _with_own_parts(study, combinations)
    if with_own_parts:
        check_parts(study, with_own_parts)


@dataclass(frozen=True)
class _Elsewhere:
    """What a second process made.

    read: what parts read meanwhile that no fingerprint covers. left: names of parts that leave
    threads running.
    """

    records: list[Record]
    read: list[str]
    left: list[str]


def _elsewhere(trial: Trial) -> list[_Elsewhere]:
    """What other processes make; nothing where these cannot have the parts.

    Raises Ended, WrongPart.
    """
    try:
        order = cloudpickle.dumps((registrations(), cloudpickle.dumps(trial)))
    except Exception:  # as of a part that holds a lock
        return []
    number = FOR_SETS if makes_sets(trial.parts) else 1
    seeds = [str(seed) for seed in range(1, number + 2)]
    here = os.environ.get("PYTHONHASHSEED")
    others = [seed for seed in seeds if seed != here][:number]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        answers = [*pool.map(lambda seed: _in_another_process(order, seed), others)]
    return [answer for answer in answers if answer is not None]


def _in_another_process(order: bytes, seed: str) -> _Elsewhere | None:
    """What a process with this seed of hashes makes; None where it cannot have the parts.

    Raises Ended, WrongPart.
    """
    path = json.dumps([entry or os.getcwd() for entry in sys.path])
    environment = os.environ | {"PYTHONHASHSEED": seed}
    try:
        done = subprocess.run(
            [sys.executable, "-c", START, path],
            input=order,
            capture_output=True,
            timeout=SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise ProcessEnded from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise ProcessEnded from None
    if not answer:
        return None
    if "wrong" in answer:
        raise WrongPart(*answer["wrong"])
    return _Elsewhere(answer["records"], answer["read"], answer["left"])


def _answer() -> None:
    """In the second process: read what to try, and write what was made."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what parts print
    json.dump(_tried(), channel)
    channel.close()


def _tried() -> dict[str, Any]:
    try:
        brought, packed = cloudpickle.load(sys.stdin.buffer)
        adopt(brought)
        trial: Trial = cloudpickle.loads(packed)
        with watched() as met, left_running() as left:
            records = trial.run_reversed()
        return {"records": records, "read": uncovered(met, trial.parts), "left": sorted(left)}
    except WrongPart as wrong:
        return {"wrong": [wrong.key, str(wrong.value), wrong.allowed]}
    except Exception:
        return {}
