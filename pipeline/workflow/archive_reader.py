"""An archive that is read: every file compared with its digest, and unpacked into a folder."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pipeline.storage.zip_files import PART
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.workflow import ro_crate
from pipeline.workflow.archive_contents import MANIFEST, Manifest, is_safe

MADE_BY = "must be a zip file that pipeline archive wrote"


@dataclass(frozen=True)
class Unpacked:
    """An archive in a folder. wrong: files that are not what its metadata say, in words."""

    folder: Path
    manifest: Manifest
    files: int
    wrong: tuple[str, ...]


def unpack(archive: str | None, folder: Path) -> Unpacked:
    """Check all files of an archive, and unpack them. Raises InvalidInput for what is no archive."""
    if archive is None:
        raise InvalidInput("archive", None, f"is needed: {MADE_BY}")
    path = path_of(archive, "archive")
    try:
        with zipfile.ZipFile(path) as source:
            return _unpacked(source, folder)
    except zipfile.BadZipFile as error:
        raise InvalidInput("archive", archive, f"{MADE_BY} ({error})") from None
    except (ValueError, KeyError, RecursionError) as error:
        raise InvalidInput("archive", archive, f"{MADE_BY}: {error}") from None
    except FileNotFoundError:
        raise InvalidInput("archive", archive, f"is not there; {MADE_BY}") from None


def manifest_of(path: Path) -> Manifest:
    """What an archive says of itself; ValueError, KeyError or BadZipFile for what is none."""
    with zipfile.ZipFile(path) as source:
        return Manifest.read(source.read(MANIFEST))


def _unpacked(source: zipfile.ZipFile, folder: Path) -> Unpacked:
    digests = ro_crate.digests_in(source.read(ro_crate.NAME))
    there = {info.filename: info for info in source.infolist()}
    wrong = [f"{name}: is missing" for name in digests if name not in there]
    for name, info in there.items():
        if not is_safe(name) or info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is no entry that this program writes")
        if name == ro_crate.NAME:
            continue
        if name not in digests:
            wrong.append(f"{name}: is not in the metadata")
            continue
        size, sha256 = digests[name]
        if _extracted(source, info, folder / name) != sha256 or info.file_size != size:
            wrong.append(f"{name}: is not what the metadata say")
    manifest = Manifest.read((folder / MANIFEST).read_bytes())
    return Unpacked(folder, manifest, len(there), tuple(wrong))


def _extracted(source: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> str:
    """Unpack an entry; returns the digest of its content, "" where its checksum is wrong."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with source.open(info) as entry, target.open("xb") as file:
            while True:
                part = entry.read(PART)
                if not part:
                    break
                digest.update(part)
                file.write(part)
    except zipfile.BadZipFile:
        return ""
    return digest.hexdigest()
