"""`task=status`: what is done, who is at it, how long it will take, what failed.

From the storage alone.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.cli.exit_codes import EXIT_DONE, EXIT_FAILED, EXIT_MORE_TO_DO
from pipeline.execution.amounts import format_time
from pipeline.execution.schedule import Schedule
from pipeline.execution.sessions import (
    FAILED,
    RUNNING,
    Facts,
    cost_per_second,
    sessions,
    units_per_second,
)
from pipeline.storage import agreement
from pipeline.storage.layout import counted
from pipeline.storage.replications import Listing, Store
from pipeline.study.parameters import InvalidInput
from pipeline.workflow import seen
from pipeline.workflow.failed_units import failed_units
from pipeline.workflow.invocation import Invocation
from pipeline.workflow.lines import lines_of
from pipeline.workflow.precision import all_done, on_target, settled
from pipeline.workflow.sealed import is_current
from pipeline.workflow.shortfalls import line_of
from pipeline.workflow.studies import StoredStudy
from pipeline.workflow.until import ends, ends_in_words

MOST_SESSIONS = 20, 3  # that are listed: running ones, and the last ended ones
SHOWN = (
    "started",
    "state",
    "units",
    "pending",
    "seconds",
    "workers",
    "lost",
    "host",
    "process",
    "job",
    "shard",
    "error",
)


def status(studies: Sequence[StoredStudy], invocation: Invocation, as_json: bool = False) -> int:
    """Print the state of studies, for a person or as JSON; returns the exit code."""
    listings = [stored.store.listing() if stored.store.exists() else None for stored in studies]
    found = [facts(stored, listing) for stored, listing in zip(studies, listings, strict=True)]
    code: int = max(one["exit_code"] for one in found)
    if as_json:
        print(json.dumps({"exit_code": code, "studies": found}, indent=1))
        return code
    for stored, listing, one in zip(studies, listings, found, strict=True):
        print("\n".join(_lines(one)))
        if listing is not None:
            print("\n".join(lines_of(failed_units(stored, listing, invocation))))
    return code


def facts(stored: StoredStudy, listing: Listing | None) -> dict[str, Any]:
    """What is known of a study.

    The keys are described in docs/guide.md. listing: None before it is begun.
    """
    study = stored.study
    store = stored.store
    wanted = counted(stored.study)
    one: dict[str, Any] = {
        "name": study.name,
        "storage": str(store.backend),
        "begun": listing is not None,
        "sealed": False,
        "cells": len(study.grid),
        "blocks": study.blocks,
        "replications_of_a_block": study.block,
        "units": {
            "all": int(wanted.sum()),
            "done": 0,
            "failed": 0,
            "at_most": bool(study.precision),
        },
        "targets": [str(target) for target in study.precision],
        "groups_on_target": "",
        "stops": ends(study),
        "shortfalls": "",
        "mixed": [],
        "sessions": [],
        "units_per_second": 0.0,
        "seconds_left": None,
        "exit_code": EXIT_MORE_TO_DO,
        "effort": seen.effort_facts(stored),
        "queue": seen.queue_facts(stored),
        "deserted": False,
    }
    if listing is None:
        return _with_deserted(one)
    sealed = is_current(store)
    one["sealed"] = sealed
    one["units"] |= {
        "done": int((listing.done & wanted).sum()),
        "failed": int(listing.failed.sum()),
    }
    one["groups_on_target"] = _on_target(store)
    one["shortfalls"] = _shortfalls(stored) if sealed else ""
    one["mixed"] = [writer.accepted for writer in agreement.recorded(store) if writer.accepted]
    past = sessions(store.folder)
    one["sessions"] = [_shown(session) for session in past]
    running = [session for session in past if session.state == RUNNING and session.seconds]
    one["units_per_second"] = units_per_second(running)
    pace = cost_per_second(running)
    if pace:
        one["seconds_left"] = Schedule(study, listing).cost / pace
    if all_done(study, listing, settled(store, listing) if sealed else None):
        one["exit_code"] = EXIT_FAILED if listing.failed.any() else EXIT_DONE
    elif (
        past and not running and past[-1].state == FAILED and not past[-1].shard
    ):  # whose units others do
        one["exit_code"] = EXIT_FAILED
    return _with_deserted(one)


def _shown(session: Facts) -> dict[str, Any]:
    """What is shown of a session."""
    known = session.content() | {"error": session.error}
    return {name: known[name] for name in SHOWN}


def _with_deserted(facts: dict[str, Any]) -> dict[str, Any]:
    """The same facts; failed, where there is more to do and nobody who will do it, so that no
    script waits for ever.
    """
    queue = facts["queue"]
    running = any(session["state"] == RUNNING for session in facts["sessions"])
    gone = bool(queue) and queue["known"] and not queue["left"]
    if gone and not running and facts["exit_code"] == EXIT_MORE_TO_DO:
        facts |= {"deserted": True, "exit_code": EXIT_FAILED}
    return facts


def _on_target(store: Store) -> str:
    """A line on how many groups of cells met their targets; "" without targets."""
    met = on_target(store)
    return "" if met is None else lines_of(met)[0]


def _shortfalls(stored: StoredStudy) -> str:
    """What did not converge or is not finite; that it is not known, where the moments are damaged."""
    try:
        return line_of(stored)
    except (InvalidInput, OSError) as error:
        return f"not known whether all converged and is finite: {error}"


def _lines(one: Mapping[str, Any]) -> list[str]:
    """The state of a study, for a person."""
    lines = [f"{one['name']}: {one['storage']}"]
    if not one["begun"]:
        return [*lines, "  not begun", *seen.lines_of(one)]
    units = one["units"]
    most = "at most " * one["units"]["at_most"]
    up_to = "up to " * (units["all"] < one["cells"] * one["blocks"])
    lines += [
        f"  {units['done']:,} of {most}{units['all']:,} units done "
        f"({100 * units['done'] / units['all']:.1f} %), {one['cells']:,} cells × "
        f"{up_to}{one['blocks']} blocks of {one['replications_of_a_block']:,} replications; "
        f"{'sealed' if one['sealed'] else 'not sealed'}"
    ]
    lines += [f"  target: {target}" for target in one["targets"]]
    lines += [f"  {one['groups_on_target']}"] if one["groups_on_target"] else []
    lines += [f"  {line}" for line in ends_in_words(one["stops"])]
    lines += [f"  {one['shortfalls']}"] if one["shortfalls"] else []
    lines += [
        f"  mixed: numbers of different code or arithmetic ({accepted})"
        for accepted in one["mixed"]
    ]
    running = [session for session in one["sessions"] if session["state"] == RUNNING]
    ended = [session for session in one["sessions"] if session["state"] != RUNNING]
    if running:
        left = (
            "time left unknown"
            if one["seconds_left"] is None
            else f"{most}{format_time(one['seconds_left'])} left"
        )
        hosts = len({session["host"] for session in running})
        lines += [
            f"  running: {len(running)} session{'s' * (len(running) > 1)} on {hosts} "
            f"host{'s' * (hosts > 1)}, {sum(session['workers'] for session in running)} workers, "
            f"{one['units_per_second']:.3g} units/s, {left}"
        ]
    for some, most_shown in ((running, MOST_SESSIONS[0]), (ended, MOST_SESSIONS[1])):
        lines += [_session(session) for session in some[-most_shown:]]
        lines += (
            [f"  and {len(some) - most_shown:,} sessions before"] if len(some) > most_shown else []
        )
    return [*lines, *seen.lines_of(one)]


def _session(session: Mapping[str, Any]) -> str:
    where = [
        f"{name} {session[key]}"
        for name, key in (("shard", "shard"), ("on", "host"), ("job", "job"))
        if session[key]
    ]
    return (
        f"  session {', '.join([session['started'], *where])}: {session['state']}, "
        f"{session['units']:,} of {session['pending']:,} units in {format_time(session['seconds'])}"
        + (f": {session['error']}" if session["error"] else "")
    )
