"""Who contributed units to a study, and what of these was verified: records that stay with it.

    replications/merged/CONTRIBUTOR.json   how many units came, from which writers, how many of
                                           these were simulated again here, and with what bound
    replications/merged/CONTRIBUTOR.plan   units that are being taken in; it is deleted at the end

A record is written before the first unit comes, so that no unit is here without it.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.storage.integrity import Damage
from pipeline.storage.replications import RAW, Store
from pipeline.study.arrays import Array
from pipeline.study.files import PARTIAL
from pipeline.study.streams import canonical, digest

FOLDER = f"{RAW}/merged"
RECORD = ".json"
PLAN = ".plan"
ENTRY = np.dtype([("block", "<u8"), ("cell", "<u8")])


@dataclass(frozen=True)
class VerifiedWriter:
    """A writer of a contributor, and the check of its units.

    recomputed: units that were simulated here. close: of these, equal within 1e-9 and not to the
    last bit. most_false: share of its units that could be false, with confidence 95 %.
    """

    writer: str
    units: int
    recomputed: int
    close: int
    most_false: float


@dataclass(frozen=True)
class Contribution:
    """What a contributor brought. date: of the last time, UTC. nonce: by which units were drawn."""

    contributor: str
    date: str
    nonce: str
    units: int
    writers: tuple[VerifiedWriter, ...]

    def content(self) -> bytes:
        """The record's file."""
        entries = dataclasses.asdict(self)
        entries["digest"] = digest(canonical(_plain(entries)), 8).hex()
        return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode()


def all_of(store: Store) -> list[Contribution]:
    """All contributions to a study, by the names of their contributors; damaged ones left out."""
    there = (_read(store, key) for key in _records(store))
    known = [contribution for contribution in there if contribution is not None]
    return sorted(known, key=lambda contribution: contribution.contributor)


def find(store: Store, contributor: str) -> Contribution | None:
    """What a contributor brought before; None if nothing."""
    return _read(store, f"{_name(contributor)}{RECORD}")


def record(store: Store, contribution: Contribution) -> None:
    """Write the record of a contribution, in place of an older one of its contributor."""
    key = f"{FOLDER}/{_name(contribution.contributor)}{RECORD}"
    store.backend.put(key, contribution.content())


def planned(store: Store, contributor: str) -> Array:
    """Units, see ENTRY, that were to be taken in when a merge was interrupted; none otherwise."""
    content = store.backend.read(f"{FOLDER}/{_name(contributor)}{PLAN}") or b""
    whole = len(content) - len(content) % ENTRY.itemsize
    return np.frombuffer(content[:whole], ENTRY)


def plan(store: Store, contributor: str, units: Array) -> None:
    """Note which units are being taken in."""
    store.backend.put(f"{FOLDER}/{_name(contributor)}{PLAN}", units.astype(ENTRY).tobytes())


def forget_plan(store: Store, contributor: str) -> None:
    """Note that all of them are here."""
    store.backend.delete(f"{FOLDER}/{_name(contributor)}{PLAN}")


def damaged(store: Store) -> Iterator[Damage]:
    """Records that are not what this program wrote."""
    folder = FOLDER.removeprefix(f"{RAW}/")
    for key in _records(store):
        if _read(store, key) is None:
            yield Damage(f"{folder}/{key}", "is not what this program wrote")


def as_attribute(contributions: Iterable[Contribution]) -> str:
    """Contributions as an attribute of sealed results has them."""
    entries = [dataclasses.asdict(contribution) for contribution in contributions]
    return json.dumps(entries, sort_keys=True)


def _records(store: Store) -> list[str]:
    keys = store.backend.keys(FOLDER)
    return sorted(key for key in keys if not key.endswith((PLAN, PARTIAL)))


def _read(store: Store, key: str) -> Contribution | None:
    """A record; None where there is none, or one that is not what was written."""
    content = store.backend.read(f"{FOLDER}/{key}")
    try:
        entries: dict[str, Any] = json.loads(content or b"")
        del entries["digest"]
        writers = tuple(VerifiedWriter(**writer) for writer in entries.pop("writers"))
        contribution = Contribution(writers=writers, **entries)
        is_sound = key == f"{_name(contribution.contributor)}{RECORD}"
        is_sound = is_sound and contribution.content() == content
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return contribution if is_sound else None


def _name(contributor: str) -> str:
    """The name of a contributor's files."""
    return digest(canonical({"contributor": contributor}), 8).hex()


def _plain(entries: dict[str, Any]) -> dict[str, Any]:
    """Entries whose digest is made: lists in place of tuples, as JSON has them."""
    plain: dict[str, Any] = json.loads(json.dumps(entries))
    return plain
