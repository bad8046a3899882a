"""An archive that is read: every file compared with its digest, and unpacked into a folder."""

import hashlib
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline.storage.zip_files import PART
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import ro_crate
from pipeline.workflow.archive_contents import MANIFEST, Manifest, is_of, is_safe

MADE_BY = "must be a zip file that pipeline archive wrote"
ENCRYPTED = 0x1 | 0x20 | 0x40  # flags of an entry that has a password, is a patch, or both
# What a zip file raises that is none, or of a kind that this program does not write.
NO_ARCHIVE = (zipfile.BadZipFile, ValueError, KeyError, RuntimeError, EOFError)
NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


@dataclass(frozen=True)
class Unpacked:
    """An archive in a folder. wrong: files that are not what its metadata say, in words."""

    folder: Path
    manifest: Manifest
    files: int
    wrong: tuple[str, ...]


def check_archive(archive: str | None) -> None:
    """Raise InvalidInput for what cannot be opened as an archive, before any folder is made."""
    with _opened_as_named(archive):
        pass


def unpack(archive: str | None, folder: Path) -> Unpacked:
    """Check all files of an archive and unpack them; InvalidInput if it is no archive."""
    with _opened_as_named(archive) as source:
        return _unpacked(source, folder)


@contextmanager
def _opened_as_named(archive: str | None) -> Iterator[zipfile.ZipFile]:
    """An archive as a person names it; InvalidInput where it is none, also while it is read."""
    if archive is None:
        raise InvalidInput("archive", None, f"is needed: {MADE_BY}")
    path = path_of(archive, "archive")
    try:
        with opened(path) as source:
            yield source
    except zipfile.BadZipFile as error:
        raise InvalidInput("archive", archive, f"{MADE_BY} ({error})") from None
    except NO_ARCHIVE as error:
        raise InvalidInput("archive", archive, f"{MADE_BY}: {error}") from None
    except NOT_THERE:
        raise InvalidInput("archive", archive, f"is not there; {MADE_BY}") from None


def manifest_of(path: Path) -> Manifest:
    """What an archive says of itself; an error of NO_ARCHIVE for what is none."""
    with opened(path) as source:
        return Manifest.read(source.read(MANIFEST))


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive to be read, of which nothing was read but its directory.

    Raises an error of NO_ARCHIVE for one with entries that this program does not write: so no entry
    is larger than the file, two have no name in common, and none is a link.
    """
    with zipfile.ZipFile(path) as source:
        _check_entries(source.infolist(), path.stat().st_size)
        yield source


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise ValueError where the directory of a zip file is not one that this program writes."""
    for info in entries:
        if not _is_plain(info):
            raise ValueError(f"{info.filename} is no entry that this program writes")
    names = Counter(info.filename for info in entries)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"has two entries of the name {twice[0]}")
    for name in names:
        files = [parent for parent in map(str, PurePosixPath(name).parents) if parent in names]
        if files:
            raise ValueError(f"{name} is below an entry that is a file, {files[0]}")
    if sum(info.file_size for info in entries) > size:
        raise ValueError("its entries are larger than the file")


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Whether an entry is a file, stored as it is, within the folder of the archive."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or info.flag_bits & ENCRYPTED:
        return False
    is_stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
    return is_stored and is_safe(info.filename)


def _unpacked(source: zipfile.ZipFile, folder: Path) -> Unpacked:
    digests = ro_crate.digests_in(source.read(ro_crate.NAME))
    there = {info.filename: info for info in source.infolist()}
    wrong = [f"{name}: is missing" for name in digests if name not in there]
    for name, info in there.items():
        if name == ro_crate.NAME:
            continue
        if name not in digests:
            wrong.append(f"{name}: is not in the metadata")
            continue
        size, sha256 = digests[name]
        if _extracted(source, info, folder / name) != sha256 or info.file_size != size:
            wrong.append(f"{name}: is not what the metadata say")
    if not (folder / MANIFEST).is_file():
        raise ValueError(f"has no {MANIFEST}")
    manifest = Manifest.read(read_regular(folder / MANIFEST))
    known = [name for name in there if name in digests]
    wrong += [f"{name}: nothing says what it is" for name in known if not is_of(manifest, name)]
    return Unpacked(folder, manifest, len(there), tuple(wrong))


def _extracted(source: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> str:
    """Unpack an entry; returns the digest of its content, "" where its checksum is wrong.

    Raises ValueError where another entry is in its place, as on a disk that ignores the case.
    """
    digest = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open(info) as entry, target.open("xb") as file:
            while True:
                part = entry.read(PART)
                if not part:
                    break
                digest.update(part)
                file.write(part)
    except (zipfile.BadZipFile, EOFError):
        return ""
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise ValueError(f"{info.filename} is where another entry is") from None
    return digest.hexdigest()
