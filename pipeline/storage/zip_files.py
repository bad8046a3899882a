"""A zip file that is written entry by entry, killed at any point, and gone on with.

Entries are stored as they are, in the order in which they come, and all have one date: the same
entries give the same bytes, on any machine. Compression would not, since libraries differ.

Until the last entry is there, the file has another name, which ends with `PARTIAL` and has a key:
a digest of all that is to be written. So what is found under that name is the beginning of the same
file, or a part of it that was interrupted, which is known by its checksum.
"""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from types import TracebackType

from pipeline.storage.file_locks import lock_at_once
from pipeline.study.files import PARTIAL, open_to_lock

PART = 2**23  # bytes that are read at once
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can have
UNIX = 3
ROOM = 1.05  # times its size, which Python takes an entry to have at most
MODE = 0o100644  # a file that its owner may write, and all may read

Parts = Callable[[], Iterator[bytes]]


class Busy(OSError):
    """Another process is writing the same file."""


@dataclass(frozen=True)
class Entry:
    """A file that is to be written: its name in the zip file, its bytes, and what reads them."""

    name: str
    size: int
    parts: Parts


@dataclass(frozen=True)
class Written:
    """A file that was written. sha256: of its content, 64 hexadecimal digits."""

    name: str
    size: int
    sha256: str


class ZipWriter:
    """Writes a zip file at a path; to be entered, then `add`, then `finish`.

    key: digest of all that is to be written. Raises Busy where another process writes it, and
    OSError. What was written stays for the next process, unless it was finished.
    """

    def __init__(self, path: Path, key: str):
        self.path = path
        self.partial = path.with_name(f"{path.name}.{key}{PARTIAL}")
        self.resumed = 0  # bytes of entries that were there
        self._zip: zipfile.ZipFile | None = None

    def __enter__(self) -> "ZipWriter":
        self._file = BufferedRandom(open_to_lock(self.partial))
        try:
            lock_at_once(self._file)
            status = os.fstat(self._file.fileno())
            # Another process may have finished it since it was opened here.
            is_mine = os.path.samestat(status, os.stat(self.partial))
        except OSError:
            is_mine = False
        if not is_mine:
            self._file.close()
            raise Busy(f"{self.path} is being written by another process")
        self._there = status.st_size
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Without `ZipFile.close`, which would write a directory of what is there so far.
        if self._zip is not None:
            self._zip.fp = None
        with suppress(OSError):  # of a full disk, which was told before
            self._file.close()

    def add(self, entry: Entry) -> Written:
        """Write an entry, or find it whole where it must be. Raises ValueError for another size."""
        info = _info(entry)
        digest = self._digest_if_whole(info)
        if digest is None:
            digest = self._written(info, entry.parts())
        if info.file_size != entry.size:
            raise ValueError(f"{entry.name} has {info.file_size} bytes, not {entry.size}")
        return Written(entry.name, entry.size, digest)

    def finish(self) -> None:
        """Write the directory, and give the file its name."""
        writer = self._writer
        self._file.truncate(writer.start_dir)
        writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        os.replace(self.partial, self.path)
        for former in self._formers():
            former.unlink(missing_ok=True)

    @property
    def _writer(self) -> zipfile.ZipFile:
        if self._zip is None:
            raise ValueError("is not entered")
        return self._zip

    def _formers(self) -> Iterator[Path]:
        """What is left of other archives under this name, that nobody is writing."""
        for path in self.path.parent.glob(f"{self.path.name}.*{PARTIAL}"):
            try:
                with open_to_lock(path) as file:
                    lock_at_once(file)
                    yield path
            except OSError:
                continue

    def _digest_if_whole(self, info: zipfile.ZipInfo) -> str | None:
        """The digest of an entry that is there already, as it would be written; None if it is not.

        What follows it is not looked at.
        """
        writer = self._writer
        start = writer.start_dir
        header_size = len(_header(info))
        end = start + header_size + info.file_size
        if end > self._there:
            return None
        self._file.seek(start)
        header = self._file.read(header_size)
        digest = hashlib.sha256()
        checksum = 0
        for part in _parts_of(self._file, info.file_size):
            digest.update(part)
            checksum = zlib.crc32(part, checksum)
        info.header_offset = start
        info.CRC = checksum
        info.compress_size = info.file_size
        if header != _header(info):
            return None
        writer.filelist.append(info)
        writer.NameToInfo[info.filename] = info
        writer.start_dir = end
        self.resumed += info.file_size
        return digest.hexdigest()

    def _written(self, info: zipfile.ZipInfo, parts: Iterator[bytes]) -> str:
        """Write an entry; returns its digest."""
        writer = self._writer
        # What was there from here on is of an interrupted entry.
        self._there = 0
        self._file.truncate(writer.start_dir)
        start = writer.start_dir
        digest = hashlib.sha256()
        try:
            with writer.open(info, "w") as target:
                for part in parts:
                    target.write(part)
                    digest.update(part)
        except BaseException:
            # Half of an entry must not be taken for the whole.
            writer.start_dir = start
            with suppress(OSError):
                self._file.truncate(start)
            raise
        return digest.hexdigest()


def _info(entry: Entry) -> zipfile.ZipInfo:
    """How the zip file describes an entry, the same everywhere."""
    info = zipfile.ZipInfo(entry.name, DATE)
    info.create_system = UNIX
    info.external_attr = MODE << 16
    info.file_size = entry.size
    info.compress_size = entry.size
    info.CRC = 0
    info.compress_type = zipfile.ZIP_STORED
    return info


def _header(info: zipfile.ZipInfo) -> bytes:
    """What stands before an entry: as `ZipFile.open` writes it, which leaves some room."""
    return info.FileHeader(info.file_size * ROOM > zipfile.ZIP64_LIMIT)


def _parts_of(file: BufferedRandom, size: int) -> Iterator[bytes]:
    """The next bytes of a file."""
    left = size
    while left:
        part = file.read(min(left, PART))
        if not part:
            return
        left -= len(part)
        yield part


def key_of(names: Sequence[str]) -> str:
    """A key, 16 hexadecimal digits, of texts that say what is to be written."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
