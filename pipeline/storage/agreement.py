"""Which code and arithmetic computed stored numbers, and which of these agree bit for bit.

A writer is what computes: fingerprints of the parts of the study, and the environment.
The first writer of a study is recorded; a later one is recorded once it has reproduced
stored units of every combination of model, mechanism and estimator exactly, or because
the user accepted it.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.storage.integrity import Damage
from pipeline.storage.replications import RAW, Store
from pipeline.study.files import PARTIAL
from pipeline.study.streams import canonical, digest

FOLDER = f"{RAW}/agreed"
TRYING = f"{RAW}/trying"
SHOWN = 4  # names in one message
UNKNOWN = "no record is left of the code and arithmetic that computed them"


@dataclass(frozen=True)
class Writer:
    """What computes numbers: code and arithmetic.

    code: part -> fingerprint.
    environment: name -> version or kind.
    modules: name -> digest, which says what changed.
    """

    code: Mapping[str, str]
    environment: Mapping[str, str]
    modules: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """16 hexadecimal digits that name it."""
        text = canonical({"code": dict(self.code), "environment": dict(self.environment)})
        return digest(text, 8).hex()

    def differences(self, other: "Writer") -> list[str]:
        """What differs from another writer, in short texts; code before versions."""
        before = other.environment
        after = self.environment
        versions = [
            change(name, before.get(name, "none"), after.get(name, "none"))
            for name in unlike(before, after)
        ]
        parts = unlike(self.code, other.code)
        if not parts:
            return versions
        code = f"code of {some(parts)}"
        edited = unlike(self.modules, other.modules)
        if edited:
            code = f"{code} in {some(edited)}"
        return [code, *versions]

    def distance(self, other: "Writer") -> int:
        """How many parts, versions and kinds differ."""
        parts = unlike(self.code, other.code)
        versions = unlike(self.environment, other.environment)
        return len(parts) + len(versions)


def unlike(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Names under which two mappings hold different texts, or only one of them does."""
    return [name for name in {**first, **second} if first.get(name) != second.get(name)]


def some(names: list[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:SHOWN])
    more = len(names) - SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def change(name: str, before: str, after: str) -> str:
    """What changed of a version or kind, such as `numpy 2.3.1 → 2.4.6`."""
    if name != "CPU features":
        return f"{name} {before} → {after}"
    lost = sorted({*before.split()} - {*after.split()})
    gained = sorted({*after.split()} - {*before.split()})
    signs = [f"−{feature}" for feature in lost] + [f"+{feature}" for feature in gained]
    return f"CPU features {' '.join(signs)}"


@dataclass(frozen=True)
class Agreed:
    """A recorded writer. accepted: why a person accepted it although its numbers differ.

    Empty if they agree.

    tried: combinations of model, mechanism and estimator whose parts it has shown to be
    deterministic.
    """

    writer: Writer
    accepted: str = ""
    tried: tuple[str, ...] = ()


def find(store: Store, writer: Writer) -> Agreed | None:
    """The record of a writer; None if there is none, or a damaged one."""
    return _read(store, f"{writer.id}.json")


def agrees(store: Store, writer: Writer) -> bool:
    """Whether a writer is recorded; one whose record is damaged is not."""
    return find(store, writer) is not None


def record(store: Store, writer: Writer, accepted: str = "", tried: Collection[str] = ()) -> None:
    """Record a writer whose numbers agree, or are accepted."""
    agreed = Agreed(writer, accepted, tuple(sorted(tried)))
    store.backend.put(f"{FOLDER}/{writer.id}.json", _content(agreed))


def recorded(store: Store) -> list[Agreed]:
    """All recorded writers, by name.

    Damaged records are left out: their writers are compared again.
    """
    records = (_read(store, key) for key in sorted(store.backend.keys(FOLDER)))
    return [agreed for agreed in records if agreed is not None]


def damaged(store: Store) -> Iterator[Damage]:
    """Records that are not what this program wrote.

    Without them their writers are compared again.
    """
    folder = FOLDER.removeprefix(f"{RAW}/")
    for key in sorted(store.backend.keys(FOLDER)):
        if not key.endswith(PARTIAL) and _read(store, key) is None:
            yield Damage(f"{folder}/{key}", "is not what this program wrote")


def begin(store: Store, writer_id: str, unit: str, before: int | None = None) -> int:
    """Note that a process begins to make a unit.

    How many before it have and did not end, unless given in `before`.

    The caller holds the lock, so no process of that writer is still making the unit: those that
    began it before were ended.
    """
    if before is None:
        last = trying(store, writer_id)
        before = last[1] if last is not None and last[0] == unit else 0
    store.backend.put(f"{TRYING}/{writer_id}", f"{unit} {before + 1}\n".encode())
    return before


def trying(store: Store, writer_id: str) -> tuple[str, int] | None:
    """What a process of a writer began and did not finish, and how many processes did so.

    None if there is nothing.
    """
    content = store.backend.read(f"{TRYING}/{writer_id}") or b""
    unit, _, count = content.decode(errors="replace").rpartition(" ")
    return (unit, int(count)) if count.strip().isdecimal() else None


def tries(store: Store) -> list[tuple[str, int]]:
    """What processes of all writers began and did not finish; see `trying`."""
    all_tries = (trying(store, key) for key in sorted(store.backend.keys(TRYING)))
    return [begun for begun in all_tries if begun is not None]


def forget_tries(store: Store, *writer_ids: str) -> None:
    """Forget what processes of these writers, or of all, began."""
    names = writer_ids or store.backend.keys(TRYING)
    keys = [f"{TRYING}/{name}" for name in names]
    if keys:
        store.backend.delete(*keys)


def _content(agreed: Agreed) -> bytes:
    text: dict[str, Any] = {
        "code": dict(agreed.writer.code),
        "environment": dict(agreed.writer.environment),
        "modules": dict(agreed.writer.modules),
        "accepted": agreed.accepted,
    }
    if agreed.tried:
        text["tried"] = [*agreed.tried]
    whole = text | {"digest": digest(canonical(text), 8).hex()}
    return (json.dumps(whole, indent=1, sort_keys=True) + "\n").encode()


def _read(store: Store, key: str) -> Agreed | None:
    """A record; None where there is none, or one that is not what was written."""
    content = store.backend.read(f"{FOLDER}/{key}")
    try:
        text: dict[str, Any] = json.loads(content or b"")
        writer = Writer(text["code"], text["environment"], text["modules"])
        agreed = Agreed(writer, text["accepted"], tuple(text.get("tried", ())))
        is_sound = key == f"{writer.id}.json" and content == _content(agreed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return agreed if is_sound else None


def provenance(store: Store, writers: Collection[str]) -> list[dict[str, Any]]:
    """Records of some writers, by their ids: code, environment, and why they were accepted.

    A writer without a record counts as one that differs: nothing shows that its numbers
    agree.
    """
    known = {agreed.writer.id: agreed for agreed in recorded(store)}
    return [_described(name, known.get(name)) for name in sorted(writers)]


def _described(writer_id: str, agreed: Agreed | None) -> dict[str, Any]:
    """The record of a writer for people; agreed: None where there is none."""
    if agreed is None:
        return {"writer": writer_id, "accepted": UNKNOWN}
    return {
        "writer": writer_id,
        "code": dict(agreed.writer.code),
        "environment": dict(agreed.writer.environment),
        "accepted": agreed.accepted,
    }


def nearest(store: Store, writer: Writer) -> Writer | None:
    """The recorded writer that is most like another one; None if none is recorded."""
    writers = [agreed.writer for agreed in recorded(store)]
    return min(writers, key=writer.distance, default=None)


def changes(store: Store, writer: Writer) -> str:
    """What is new in a writer, against the recorded one that is most like it."""
    before = nearest(store, writer)
    if before is None:
        return "no record is left of what computed the stored numbers"
    different = writer.differences(before)
    if not different:
        return "nothing that is recorded changed: a part may not be deterministic"
    return f"changed since: {', '.join(different)}"
