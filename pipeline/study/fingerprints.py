"""Fingerprints of code: equal when the same numbers must come out, whatever its comments, docstrings and local names.

The fingerprint of a part is a digest of the compiled code of its module and of every module that this one imports,
directly or not, from the program, from the part's own package, or from beside it. It is read from the files, so it
depends neither on their folder nor on what is imported already. Other packages count by their versions, see
`third_parties` and `pipeline.execution.environment`.
"""

import ast
import hashlib
import importlib.util
import inspect
import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

PROGRAM = __name__.partition(".")[0]
# Some releases of Python, such as 3.11.7, fail with SystemError where two threads parse at once.
PARSING = threading.RLock()


class Module(NamedTuple):
    """digest: of its code; imports: names of the modules, and perhaps of their members, that it imports anywhere."""

    digest: str
    imports: tuple[str, ...]


def fingerprint(part: Any) -> str:
    """16 hexadecimal digits of the code that computes with a class or function, in whatever package it lies."""
    texts = [part.__qualname__, *sorted(_module(name).digest for name in _closure(part.__module__))]
    if not _file(part.__module__):
        texts.append(_alone(part))
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()


def modules(parts: Iterable[Any]) -> dict[str, str]:
    """Digest of every module whose code the fingerprints of some parts hold, by name."""
    names = {name for part in parts for name in _closure(part.__module__)}
    return {name: _module(name).digest for name in sorted(names)}


def third_parties(parts: Iterable[Any]) -> set[str]:
    """Names of the packages that the code of some parts imports and that their fingerprints do not hold."""
    starts = {part.__module__ for part in parts}
    imported = {(other, start) for start in starts for name in _closure(start) for other in _module(name).imports}
    tops = {other.partition(".")[0] for other, start in imported if not _own(other, start)}
    return {top for top in tops if top and top not in sys.stdlib_module_names}


def code_digest(source: str | bytes) -> str:
    """Digest of the code that a source compiles to, without comments, docstrings, line numbers and local names.

    A variable that an inner function shares is no local name: where it is renamed, the digest may change.

    >>> code_digest("def f(x):\\n y = x\\n return y") == code_digest("def f(x):\\n 'doc'\\n z = x  # z\\n return z")
    True
    """
    with PARSING:
        return _tree_digest(ast.parse(source))


def _tree_digest(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        for position in node._attributes:  # from Python 3.13 on a class holds the number of its first line
            setattr(node, position, 1)
    code = compile(tree, "", "exec", dont_inherit=True, optimize=2)  # 2: without docstrings
    return hashlib.blake2b("\n".join(_texts(code)).encode(), digest_size=16).hexdigest()


def _texts(code: CodeType) -> Iterator[str]:
    """What of a code object matters to what it computes."""
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    yield f"{code.co_code.hex()} {code.co_names} {arguments} {code.co_flags} {code.co_exceptiontable.hex()}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _texts(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


@cache
def _module(name: str) -> Module:
    path = _file(name)
    content = Path(path).read_bytes() if path else b""
    if not path.endswith(".py"):  # compiled, or none
        return Module(hashlib.blake2b(content, digest_size=16).hexdigest(), ())
    package = name if Path(path).name == "__init__.py" else name.rpartition(".")[0]
    with PARSING:
        tree = ast.parse(content)
        return Module(imports=tuple(dict.fromkeys(_imported(tree, package))), digest=_tree_digest(tree))


@cache
def _closure(start: str) -> frozenset[str]:
    """Modules, by name, that a module needs and that are the program's or the person's own."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen or not _file(name):
            continue
        seen.add(name)
        waiting += [other for other in _module(name).imports if _own(other, start)]
    return frozenset(seen)


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _own(name: str, start: str) -> bool:
    """Whether a module belongs to the program, to the package of the first one, or lies beside that package."""
    top, first = name.partition(".")[0], start.partition(".")[0]
    if top in (PROGRAM, first):
        return True
    folder = _folder(top)
    return bool(folder) and top not in sys.stdlib_module_names and folder == _folder(first)


@cache
def _folder(top: str) -> str:
    """Folder that holds a package or module of a person's own; empty where others install theirs, or if unknown."""
    path = Path(_file(top) or ".")
    folder = str(path.parent.parent if path.name == "__init__.py" else path.parent)
    return "" if not path.is_file() or Path(folder).name in ("site-packages", "dist-packages") else folder


@cache
def _file(name: str) -> str:
    """Path of a module's file; empty for what has none, as in a notebook."""
    module = sys.modules.get(name)
    path: str | None = None
    if module is not None:
        path = getattr(module, "__file__", None)
    else:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            return ""
        path = spec.origin if spec else None
    return path if path and Path(path).is_file() else ""


def _alone(part: Any) -> str:
    """Code of a part that no file holds, such as one of a notebook."""
    try:
        return code_digest(textwrap.dedent(inspect.getsource(part)))
    except (OSError, TypeError, SyntaxError):
        return ""
