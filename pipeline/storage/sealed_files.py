"""The files of a sealed dataset as Zarr reads them, each compared with its digest.

Whoever loads a dataset reads through `SealedFiles`: reports, comparisons, the library,
tasks on a cluster. A file that is missing is an error, as Zarr would read it as values
that were never there; one that the root document does not name is not read at all.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer, BufferPrototype

from pipeline.storage.backend import ROOT, Files
from pipeline.storage.datasets import file_digest
from pipeline.study.parameters import InvalidInput

# Bytes of files of which only parts were read: the next part needs no second reading.
REMEMBERED = 2**26


@dataclass(frozen=True)
class Complaint:
    """How to say that a dataset is damaged.

    key, value: of the error.
    name: of the dataset.
    cure: what to do.
    """

    key: str
    value: str
    name: str
    cure: str

    def error(self, fault: str) -> InvalidInput:
        """The error to raise. fault: the file, and what is wrong with it."""
        reason = f"{self.name} is damaged ({fault}); {self.cure}"
        return InvalidInput(self.key, self.value, reason)


class SealedFiles(Store):
    """A Zarr store, to be read only, of one dataset: `name` below a backend.

    root: the content of its root document, which was checked.
    digests: of all other files, by their keys. A file is read as a whole, also where Zarr asks
        for a part of it. Raises what `complaint` says where a file is not what was written;
        OSError.
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(
        self,
        backend: Files,
        name: str,
        root: bytes,
        digests: Mapping[str, str],
        complaint: Complaint,
    ):
        super().__init__(read_only=True)
        self.backend = backend
        self.name = name
        self.root = root
        self.digests = digests
        self.complaint = complaint
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self.backend, self.name, self.root, self.digests, self.complaint)
        return SealedFiles, state

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SealedFiles)
            and str(self.backend) == str(other.backend)
            and (self.name, self.root) == (other.name, other.root)
        )

    def __str__(self) -> str:
        return f"{self.backend}/{self.name}"

    def with_read_only(self, read_only: bool = False) -> "SealedFiles":
        """The same store; ValueError where it is to be written."""
        if not read_only:
            raise ValueError("a sealed dataset is not written")
        return self

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Content of a file, or a part of it; None if the root document does not name it."""
        if key != ROOT and key not in self.digests:
            return None
        content = await asyncio.to_thread(self._content, key, byte_range is not None)
        return prototype.buffer.from_bytes(content[_slice_of(byte_range)])

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Parts of some files."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether the root document names a file."""
        return key == ROOT or key in self.digests

    async def list(self) -> AsyncIterator[str]:
        """Keys of all files."""
        for key in (ROOT, *self.digests):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Keys of all files that start alike."""
        for key in (ROOT, *self.digests):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Names directly below a prefix."""
        folder = prefix.rstrip("/")
        if folder:
            folder = f"{folder}/"
        names: dict[str, None] = {}
        for key in (ROOT, *self.digests):
            if key.startswith(folder):
                name, _, _ = key.removeprefix(folder).partition("/")
                names[name] = None
        for name in names:
            yield name

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse: ValueError."""
        raise ValueError("a sealed dataset is not written")

    async def delete(self, key: str) -> None:
        """Refuse: ValueError."""
        raise ValueError("a sealed dataset is not written")

    def _content(self, key: str, keep: bool) -> bytes:
        """Content of a file, which is what was written. keep: remember it, for other parts."""
        if key == ROOT:
            return self.root
        with self._lock:
            remembered = self._recent.get(key)
        if remembered is not None:
            return remembered
        content = self.backend.read(f"{self.name}/{key}")
        if content is None:
            raise self.complaint.error(f"{key}: is missing")
        if file_digest(content) != self.digests[key]:
            raise self.complaint.error(f"{key}: is not what was written")
        if keep:
            self._remember(key, content)
        return content

    def _remember(self, key: str, content: bytes) -> None:
        with self._lock:
            self._recent[key] = content
            while sum(map(len, self._recent.values())) > max(REMEMBERED, len(content)):
                self._recent.popitem(last=False)


def _slice_of(part: ByteRequest | None) -> slice:
    """The part of a file that Zarr asks for."""
    if isinstance(part, RangeByteRequest):
        return slice(part.start, part.end)
    if isinstance(part, OffsetByteRequest):
        return slice(part.offset, None)
    if isinstance(part, SuffixByteRequest):
        return slice(-part.suffix, None)
    return slice(None)
