"""Compiles the kernels: `python -m tools.build_kernels`, and whenever the package is
installed or packed.

`python -m tools.build_kernels TARGET …` compiles them for other kinds of machines, such as
aarch64-macos, and keeps nothing: it shows that they can be. It needs the package ziglang.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from pipeline.kernels.loader import FLAGS, HEADERS, digest, library
from pipeline.study.errors import PipelineError

PACKAGE = Path(__file__).resolve().parent.parent / "pipeline"


def compilers() -> Iterator[list[str]]:
    """Commands of the C compilers on this machine, the preferred first: `cc`, and the one of the
    package ziglang.
    """
    if shutil.which("cc"):
        yield ["cc"]
    if find_spec("ziglang"):
        libc = "gnu" if platform.libc_ver()[0] else "musl"
        yield zig(f"{platform.machine()}-linux-{libc}")


def zig(target: str) -> list[str]:
    """The compiler of the package ziglang, for a kind of machine.

    Without a named processor it would compile for this very one.
    """
    return [sys.executable, "-m", "ziglang", "cc", "-target", target, "-mcpu=baseline"]


def build(source: Path, compiler: list[str], target: Path) -> None:
    """Compile a C file to a library, which takes its place as a whole.

    Raises PipelineError with the reason.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as folder:
        compiled = Path(folder).resolve() / target.name
        define = f'-DKERNEL_DIGEST="{digest(source)}"'
        command = [*compiler, *FLAGS, f"-I{HEADERS}", define, source.name, "-o", str(compiled)]
        done = subprocess.run(command, cwd=source.parent, capture_output=True, text=True)
        if done.returncode:
            raise PipelineError(
                f"{source}: {' '.join(compiler)} cannot compile it\n{done.stderr.strip()}"
            )
        compiled.replace(target)


def build_all(package: Path = PACKAGE) -> list[Path]:
    """Compile the C files of a package whose libraries are not of their present text.

    Paths of all libraries.
    """
    sources = sorted(package.rglob("*.c"))
    stale = [source for source in sources if not _is_built(source)]
    if stale:
        compiler = next(compilers(), None)
        if compiler is None:
            raise PipelineError(
                f"{stale[0]}: no C compiler; install `cc`, or the Python package ziglang"
            )
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # of threads that wait for compilers
            built = [pool.submit(build, source, compiler, library(source)) for source in stale]
        for each in built:
            each.result()
    return [library(source) for source in sources]


def _is_built(source: Path) -> bool:
    """Whether the library of a C file is there, and of the file's present text."""
    target = library(source)
    return target.is_file() and digest(source).encode() in target.read_bytes()


def try_for(target: str, package: Path = PACKAGE) -> int:
    """Compile all C files of a package for another kind of machine; how many there are.

    Raises PipelineError with the reason where one cannot be compiled.
    """
    sources = sorted(package.rglob("*.c"))
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            build(source, zig(target), Path(folder) / library(source).name)
    return len(sources)


if __name__ == "__main__":
    try:
        for target in sys.argv[1:]:
            print(f"{target}: {try_for(target)} files compiled")
        if not sys.argv[1:]:
            build_all()
    except PipelineError as error:
        sys.exit(f"error: {error}")
