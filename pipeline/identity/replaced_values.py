"""Values of NumPy, SciPy and Python's mathematics that a person's file replaces: constants and
compiled functions, too.

What their modules hold is compared before and after the file is executed, by identity, in a few
milliseconds. Modules of NumPy and SciPy that the file names in its imports are imported before.
Names with _ do not count, nor do members of classes, nor what is replaced while parts run.
"""

import ast
import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from pipeline.study.parsing import parse

IMPORTED = ("numpy", "scipy")
LOOKED_AT = (*IMPORTED, "math", "cmath", "random", "statistics")
REMOVED = object()  # in place of a value that is not there any more


@contextlib.contextmanager
def replaced_values(content: bytes) -> Iterator[dict[str, Any]]:
    """What a file of this content replaces while the context lasts: qualified name -> what is there
    now.

    >>> import math
    >>> with replaced_values(b"import math") as replaced:
    ...     math.tau, before = 6.0, math.tau
    >>> math.tau = before
    >>> replaced
    {'math.tau': 6.0}
    """
    _import_what_is_named(content)
    before = {name: dict(vars(module)) for name, module in _modules()}
    replaced: dict[str, Any] = {}
    yield replaced
    for name, module in _modules():
        values = before.get(name, {})
        now = vars(module)
        for key, value in values.items():
            if now.get(key, REMOVED) is not value and not key.startswith("_"):
                replaced[f"{name}.{key}"] = now.get(key, REMOVED)


def _modules() -> list[tuple[str, ModuleType]]:
    """Modules that are looked at, of those that are loaded."""
    loaded = [*sys.modules.items()]
    return [
        (name, module)
        for name, module in loaded
        if name.partition(".")[0] in LOOKED_AT and isinstance(module, ModuleType)
    ]


def _import_what_is_named(content: bytes) -> None:
    """Import the modules of NumPy and SciPy that a source names in import statements, where there
    are such.
    """
    try:
        tree = parse(content)
    except (SyntaxError, ValueError):  # which is said when it is executed
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.partition(".")[0] in IMPORTED:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
