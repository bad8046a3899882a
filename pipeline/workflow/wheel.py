"""The program as a wheel, of the files installed here: same files, same bytes."""

import base64
import hashlib
import io
import re
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from pipeline.study.files import read_regular
from pipeline.workflow.provenance import PACKAGE

DATE = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644
COMPILED = (".so", ".dylib", ".pyd")
# Kinds of files that the program is made of, and names of those of no kind.
KINDS = (
    *(".py", ".c", ".h", ".css", ".def", ".dockerignore", ".j2", ".js", ".json", ".md"),
    *(".sh", ".yaml", ".txt", ".cff", *COMPILED),
)
NAMES = ("Containerfile", "py.typed")
LEFT_OUT = ("__pycache__", ".pyc", ".partial")
# Of a checkout: what a wheel has inside the package.
BESIDE = {
    "conf": "conf",
    "jobs": "jobs",
    "docs/papers.md": "papers.md",
    "constraints.txt": "constraints.txt",
    "CITATION.cff": "CITATION.cff",
}
OF_METADATA = ("METADATA", "entry_points.txt")
KIND = "Wheel-Version: 1.0\nGenerator: pipeline task=archive\nRoot-Is-Purelib: false\nTag: {tag}\n"


def package() -> Path:
    """The folder of the program's code."""
    return Path(__file__).resolve().parent.parent


def file_of_program(name: str) -> bytes | None:
    """A file that stands inside the installed package, or beside it in a checkout; None without."""
    for folder in (package(), package().parent):
        if (folder / name).is_file():
            return read_regular(folder / name)
    return None


def wheel() -> tuple[str, bytes]:
    """Name and content of the wheel."""
    stem = f"{re.sub('[-_.]+', '_', PACKAGE)}-{metadata.version(PACKAGE)}"
    platform = re.sub("[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    files = dict(sorted(_files()))
    about = f"{stem}.dist-info"
    distribution = metadata.distribution(PACKAGE)
    for name in OF_METADATA:
        text = distribution.read_text(name)
        if text:
            files[f"{about}/{name}"] = text.encode()
    files[f"{about}/WHEEL"] = KIND.format(tag=tag).encode()
    files[f"{about}/RECORD"] = _record(files, f"{about}/RECORD")
    return f"{stem}-{tag}.whl", _zipped(files)


def has_code_of_here(path: Path) -> bool:
    """Whether a wheel has the same code, configs and texts as the program that runs here.

    What was compiled may differ, as another machine compiles otherwise.
    """
    try:
        with zipfile.ZipFile(path) as source:
            files = source.infolist()
            if len({file.filename for file in files}) < len(files):
                return False
            there = {}
            for file in files:
                if file.compress_type != zipfile.ZIP_STORED:
                    return False
                there[file.filename] = source.read(file)
    except (zipfile.BadZipFile, ValueError, RuntimeError, EOFError):
        return False
    here = dict(_files())
    compared = [name for name in {**here, **there} if _is_compared(name)]
    return all(here.get(name) == there.get(name) for name in compared)


def _is_compared(name: str) -> bool:
    """Whether a file of a wheel is the same wherever the program was installed."""
    return not name.endswith(COMPILED) and ".dist-info/" not in name


def _files() -> Iterator[tuple[str, bytes]]:
    """All files of the package, by their names in the wheel."""
    root = package()
    for path in _below(root):
        yield f"{root.name}/{path.relative_to(root).as_posix()}", read_regular(path)
    for source, name in BESIDE.items():
        if (root / name).exists():
            continue
        for path in _below(root.parent / source):
            within = path.relative_to(root.parent / source).as_posix()
            target = name if within == "." else f"{name}/{within}"
            yield f"{root.name}/{target}", read_regular(path)


def _below(place: Path) -> Iterator[Path]:
    """The files below a folder, or the file itself; none where nothing is there.

    Only of kinds that the program has: a table of answers that a person keeps there stays there.
    """
    if place.is_file():
        yield place
    for path in sorted(place.rglob("*")):
        within = path.relative_to(place).as_posix()
        is_ours = path.suffix in KINDS or path.name in NAMES
        if path.is_file() and is_ours and not any(part in within for part in LEFT_OUT):
            yield path


def _record(files: dict[str, bytes], name: str) -> bytes:
    """The list of all files with their digests, as a wheel has it."""
    lines = []
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        lines.append(f"{file},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def _zipped(files: dict[str, bytes]) -> bytes:
    """A zip file of some files, with one date."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3  # Unix, on every system
            info.external_attr = MODE << 16
            archive.writestr(info, content)
    return target.getvalue()
