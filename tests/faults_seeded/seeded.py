"""Faults seeded in the program, one at a time, and whether the tests that should see them do: `make mutants`.

A file of a kind, such as privacy.toml, has for each file of the program `tests`, those that should see its faults, and
`faults`. A fault of Python says `in` which class or function, "" for none, what to `replace` and `by` what: patterns of
the syntax tree, as patterns.py has them, so that formatting breaks none. In other languages both are texts, whose
spaces do not count. `number` says which is meant of several that match; `tests`, other tests than the file's.
"""

import argparse
import compileall
import importlib
import os
import py_compile
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults_seeded.patterns import NoPattern, replaced, replaced_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LEFT_OUT = shutil.ignore_patterns(
    ".*", "outputs", "dist", "build", "__pycache__", "dask-scratch-space"
)
SECONDS = 1800  # after which a fault counts as seen: it may make a loop endless
PASS, FAIL, ENDLESS = "SURVIVED", "killed", "endless"  # what the tests' end means for the fault
PRELOADED = ("numpy", "scipy.stats", "scipy.optimize", "xarray", "pytest", "hypothesis")
NEVER = "privacy"  # of this kind no fault may survive
SHARE = 0.97  # of all faults that must be killed


class Fault(NamedTuple):
    """What is replaced in a file, and the tests, as pytest takes them, of which one must fail."""

    kind: str
    file: str
    symbol: str
    pattern: str
    by: str
    tests: str
    number: int | None = None

    @property
    def name(self) -> str:
        """File, symbol and pattern, in a line."""
        return " ".join(f"{self.file}: {self.symbol} {self.pattern}".split())[:120]

    def applied(self, text: str) -> str:
        """The file's text with the fault. Raises ValueError unless the pattern stands there as stated."""
        try:
            if self.file.endswith(".py"):
                return replaced(text, self.symbol, self.pattern, self.by, self.number)
            return replaced_text(text, self.pattern, self.by, self.number)
        except NoPattern as error:
            where = f"tests/faults_seeded/{self.kind}.toml"
            raise ValueError(f"{self.name}: {error}; bring {where} up to date") from error


def faults() -> list[Fault]:
    """All faults, kind after kind."""
    every = []
    for path in sorted(HERE.glob("*.toml")):
        for file, table in tomllib.loads(path.read_text("utf-8")).items():
            every += [
                _fault(path.stem, file, table["tests"], dict(entry)) for entry in table["faults"]
            ]
    return every


def _fault(kind: str, file: str, tests: str, entry: dict[str, Any]) -> Fault:
    """A fault as it is declared. Raises ValueError for a key that means nothing."""
    fault = Fault(
        kind,
        file,
        entry.pop("in", ""),
        entry.pop("replace"),
        entry.pop("by"),
        entry.pop("tests", tests),
        entry.pop("number", None),
    )
    if entry:
        raise ValueError(
            f"tests/faults_seeded/{kind}.toml: {fault.name}: {', '.join(entry)} means nothing"
        )
    return fault


def copied(folder: Path) -> Path:
    """A copy of the tree, without what is hidden or generated, compiled so that a file counts by its content."""
    tree = Path(shutil.copytree(ROOT, folder / "tree", ignore=LEFT_OUT, symlinks=True))
    mode = (
        py_compile.PycInvalidationMode.CHECKED_HASH
    )  # by its time, a fault of a moment could be missed
    compileall.compile_dir(tree / "pipeline", quiet=2, invalidation_mode=mode)
    os.environ |= dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
    )  # threads do not survive a fork
    for name in PRELOADED:  # what tests import most, once for all
        importlib.import_module(name)
    return tree


def outcome(tree: Path, tests: str) -> tuple[str, str]:
    """What becomes of these tests on a tree, in a process of their own: PASS, FAIL, or ENDLESS after too long.

    Also the test that failed, if one did.
    """
    with tempfile.TemporaryFile() as output:
        if not (process := os.fork()):
            _child(tree, tests, output.fileno())
        end = time.monotonic() + SECONDS
        while not (ended := os.waitpid(process, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.killpg(process, signal.SIGKILL)
                os.waitpid(process, 0)
                return ENDLESS, ""
            time.sleep(0.02)
        code = os.waitstatus_to_exitcode(ended[1])
        output.seek(0)
        text = output.read().decode(errors="replace")
        if code not in (
            0,
            1,
            2,
        ):  # nothing collected, or pytest itself failed: not the fault's doing
            raise SystemExit(f"error: pytest {tests}: {text[-1000:]}")
        failed = [
            line.partition(" ")[2].partition(" - ")[0]
            for line in text.splitlines()
            if line.startswith(("FAILED ", "ERROR "))
        ]
        return PASS if code == 0 else FAIL, "".join(failed[:1])


def _child(tree: Path, tests: str, output: int) -> None:
    """Run the tests on the tree's own package, and end."""
    code = 3
    try:
        os.setsid()
        os.dup2(output, 1), os.dup2(output, 2)
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
            del sys.modules[name]  # this module is of the tests here, not of those there
        os.environ |= {
            "PYTHONPATH": str(tree),
            "REAL_DATA": os.environ.get("REAL_DATA", str(ROOT.parent / "shared" / "data")),
        }
        import pytest

        code = int(
            pytest.main(
                [
                    "-x",
                    "-q",
                    "-n",
                    "0",
                    "-p",
                    "no:cacheprovider",
                    "--hypothesis-profile=repeatable",
                    *tests.split(),
                ]
            )
        )
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def run(chosen: list[Fault]) -> list[Fault]:
    """Those that survive. Before the faults of some tests it is made sure that these pass without any."""
    survivors, sound = [], set[str]()
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(Path(folder))
        for number, fault in enumerate(chosen, 1):
            if fault.tests not in sound:
                found, test = outcome(tree, fault.tests)
                if found != PASS:
                    raise SystemExit(f"error: {test or fault.tests} fails without any fault")
                sound.add(fault.tests)
            path, start = tree / fault.file, time.monotonic()
            text = path.read_text("utf-8")
            path.write_text(fault.applied(text), "utf-8")
            found, test = outcome(tree, fault.tests)
            path.write_text(text, "utf-8")
            survivors += [fault] if found == PASS else []
            print(
                f"{number:4} of {len(chosen)}  {found:8} "
                f"{time.monotonic() - start:6.1f} s  {fault.kind:10} {fault.name}  {test}",
                flush=True,
            )
    return survivors


def main() -> int:
    """Print what became of each fault, and the counts by kind; 1 where too many survive, or one of privacy."""
    parser = argparse.ArgumentParser(
        prog="make mutants ARGS=…", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "chosen", nargs="*", help="kinds, files (or the ends of their paths), a share as 2/5"
    )
    words = parser.parse_args().chosen
    every = faults()
    names = [word for word in words if not word[:1].isdigit()]
    chosen = [
        fault
        for fault in every
        if not names or any(fault.kind == name or fault.file.endswith(name) for name in names)
    ]
    for number, count in (map(int, word.split("/")) for word in words if word[:1].isdigit()):
        chosen = chosen[number - 1 :: count]
    if not chosen:
        parser.error(
            f"no faults of {' '.join(words)}; kinds are {', '.join(dict.fromkeys(one.kind for one in every))}"
        )
    survivors = run(chosen)
    counts, left = Counter(one.kind for one in chosen), Counter(one.kind for one in survivors)
    print(f"\n{'kind':12}{'seeded':>8}{'killed':>8}{'survived':>10}")
    for kind, count in [*counts.items(), ("all", len(chosen))]:
        lost = len(survivors) if kind == "all" else left[kind]
        print(f"{kind:12}{count:8}{count - lost:8}{lost:10}")
    return int(left[NEVER] > 0 or len(survivors) > (1 - SHARE) * len(chosen))


if __name__ == "__main__":
    sys.exit(main())
