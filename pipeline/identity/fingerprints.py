"""Fingerprints of code: equal where the same numbers must come out.

Comments, docstrings, local names do not count.

The fingerprint of a part is a digest of the compiled code of its module and of every module that
this one imports, directly or not, from the program, from the part's own package, or from the folder
in which that package is. A name of the library, such as `pl.ranking.Debiased`, counts as an import
of the class that it stands for. Code is read from files, whatever their folder; a file that was
edited after this process imported it is refused. The code of a notebook or script is taken from
memory, see `live_code`; that of a file given with --with as it was executed. Other packages count
by their versions, see `third_parties` and `pipeline.execution.environment`. A module's compiled
kernel counts by its source, as numbers do not depend on the compiler.
"""

import ast
import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, reduce
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from pipeline.identity import own_files, patches
from pipeline.identity.live_code import code_texts, live_code
from pipeline.identity.patches import foreign_members
from pipeline.identity.places import is_own
from pipeline.identity.registry import SCRIPT, has_others
from pipeline.identity.surroundings import Surroundings
from pipeline.kernels import loader
from pipeline.study.files import read_regular
from pipeline.study.parameters import InvalidInput
from pipeline.study.parsing import PARSING, parse

PROGRAM = __name__.partition(".")[0]
STARTED = time.time()


class Module(NamedTuple):
    """digest: of its code; imports: names of the modules, and perhaps of their members, that it
    imports anywhere.
    """

    digest: str
    imports: tuple[str, ...]


def fingerprint(part: type | Callable[..., object]) -> str:
    """Digest, 16 hexadecimal digits, of the code that a class or function computes with, whatever
    its package.
    """
    texts = [part.__qualname__, *sorted(_module(name).digest for name in _needed(part))]
    if _in_memory(part):
        texts += live_code(part).texts
    if others_ran():
        texts += [f"{name} {digest}" for name, digest in _patches_of(part).items()]
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()


def modules(parts: Iterable[Any]) -> dict[str, str]:
    """Digest of every module that the fingerprints of some parts cover, by name."""
    parts = tuple(parts)
    digests = {name: _module(name).digest for name in sorted(_needed_by(parts))}
    if others_ran():
        for part in parts:
            digests |= _patches_of(part)
    return digests


def own_digests() -> dict[str, str]:
    """Digest of every file given with --with, and of what it depends on, by what it is: `parts.py
    reads scale.json`.
    """
    digests: dict[str, str] = {}
    for file in own_files.loaded():
        met = own_files.surroundings(file)
        digests[file.name] = _source_digest(file.content)
        for name, content in met.sources.items():
            digests[f"{file.name} {name}"] = _source_digest(content)
        for name, digest in met.digests.items():
            digests[f"{file.name} {name}"] = digest
    return digests


def replacements(parts: Iterable[Any]) -> dict[str, str]:
    """What a person's code replaced in packages that some parts import: `numpy.linalg.norm
    replaced` -> digest.
    """
    if not others_ran():
        return {}
    members = {}
    for file in own_files.loaded():
        for name, value in own_files.replaced(file).items():
            module = name.rpartition(".")[0]
            members[name] = patches.digest_of(value, module)
    members |= patches.replacements(third_parties(parts) | {"numpy", "scipy"})
    return {f"{name} replaced": digest for name, digest in members.items()}


def uncovered(met: Surroundings, parts: Iterable[Any]) -> list[str]:
    """What was met while parts ran that counts in no fingerprint: "reads scale.json", "runs a
    program".
    """
    if not met.sources and not met.digests:  # as of the program's own parts
        return [*met.unseen]
    known = {f"imports {Path(_file(name)).name}" for name in modules(parts) if _file(name)}
    for file in own_files.loaded():
        met_at_load = own_files.surroundings(file)
        known |= met_at_load.sources.keys() | met_at_load.digests.keys()
    return [*({**met.sources, **met.digests}.keys() - known), *met.unseen]


def _source_digest(content: bytes) -> str:
    try:
        return code_digest(content)[:16]
    except (SyntaxError, ValueError):
        return hashlib.blake2b(content, digest_size=8).hexdigest()


def kernel_libraries(parts: Iterable[Any]) -> dict[str, str]:
    """Digest of the bytes of every compiled library that some parts call, by its name."""
    files = {Path(_file(name)) for name in _needed_by(parts) if _file(name)}
    digests: dict[str, list[str]] = {}
    for file in sorted(files):  # libraries of one name, in an order that is always the same
        digest = loader.library_digest(file)
        if digest:  # most files have no library
            digests.setdefault(loader.library(file).name, []).append(digest)
    return {name: " ".join(digests[name]) for name in sorted(digests)}


def _patches_of(part: object) -> dict[str, str]:
    """What stands in this process in place of what the program's files say, of all modules that a
    part needs.
    """
    replaced = {}
    for module in sorted(_needed(part)):
        if module.partition(".")[0] == PROGRAM:
            for name, digest in patches.patches(module).items():
                replaced[f"{module}.{name}"] = digest
    return replaced | foreign_members(part)


def others_ran() -> bool:
    """Whether other code than the program's own ran in this process: it may have changed the
    program's.
    """
    script = getattr(sys.modules.get(SCRIPT), "__file__", None)
    scripted = script is None or (
        is_own(script) and Path(script).parent != Path(sys.prefix) / "bin"
    )
    return scripted or bool(own_files.loaded()) or has_others()


def source_digest(parts: Iterable[Any]) -> str:
    """Digest, 16 hexadecimal digits, of the code of some parts that is the same with every release
    of Python.

    It is made from syntax trees, not from bytecode, so that names of local variables count as well.
    """
    digests = sorted(map(_syntax, _needed_by(parts)))
    return hashlib.blake2b("".join(digests).encode(), digest_size=8).hexdigest()


def third_parties(parts: Iterable[Any]) -> set[str]:
    """Names of the packages that the code of some parts imports and that their fingerprints do not
    cover.
    """
    imported: set[tuple[str, str]] = set()  # a module, and where the import was begun
    for part in parts:
        for start in _starts(part):
            for name in _closure(start):
                imported.update((other, start) for other in _module(name).imports)
        if _in_memory(part):
            imported.update((name, part.__module__) for name in live_code(part).modules)
    for file in own_files.loaded():
        imported.update((name, PROGRAM) for name in own_files.surroundings(file).packages)
    tops = {name.partition(".")[0] for name, start in imported if not _belongs(name, start)}
    return {top for top in tops if top and top not in (SCRIPT, *sys.stdlib_module_names)}


def code_digest(source: str | bytes) -> str:
    """Digest of the code that a source compiles to, without comments, docstrings, line numbers and
    local names.

    A variable that an inner function shares does not count as local: renaming it may change the
    digest.

    >>> plain = code_digest("def f(x):\\n y = x\\n return y")
    >>> plain == code_digest("def f(x):\\n 'doc'\\n z = x  # z\\n return z")
    True
    """
    with PARSING:
        tree = parse(source)
        return _tree_digest(tree, ast.walk(tree))


def _tree_digest(tree: ast.Module, nodes: Iterable[ast.AST]) -> str:
    for node in nodes:
        for position in node._attributes:  # from Python 3.13 on, a class holds its first line
            setattr(node, position, 1)
    code = compile(tree, "", "exec", dont_inherit=True, optimize=2)  # 2: without docstrings
    return hashlib.blake2b("\n".join(code_texts(code)).encode(), digest_size=16).hexdigest()


@cache
def _module(name: str) -> Module:
    path = _file(name)
    content = own_files.source(name)
    if content is None:
        content = _content(path)
        if not path.endswith(".py"):  # compiled, or none
            return Module(hashlib.blake2b(content, digest_size=16).hexdigest(), ())
    package = name.rpartition(".")[0]
    if Path(path).name == "__init__.py":
        package = name
    with PARSING:
        if path:
            _check_imported(name, path, content)
        tree = parse(content)
        nodes = tuple(ast.walk(tree))
        digest = _tree_digest(tree, nodes)
        if path:
            digest += loader.digest_of(Path(path))
        return Module(digest, tuple(dict.fromkeys(_imported(nodes, package))))


def _content(path: str) -> bytes:
    """Content of a file; empty where there is none."""
    if not path:
        return b""
    return read_regular(path)


def syntax_digest(source: str | bytes) -> str:
    """Digest of a source's syntax tree without docstrings, positions and whatever is empty.

    >>> plain = syntax_digest("def f(x): return x")
    >>> plain == syntax_digest("def f(x):\\n 'doc'\\n return (x)  # x")
    True
    """
    with PARSING:
        return hashlib.blake2b(_shape(parse(source)).encode(), digest_size=16).hexdigest()


@cache
def _syntax(name: str) -> str:
    content = own_files.source(name)
    if content is not None:
        return syntax_digest(content)
    path = Path(_file(name))
    return syntax_digest(read_regular(path)) + loader.digest_of(path)


def _shape(node: object) -> str:
    if isinstance(node, list):
        return f"[{','.join(map(_shape, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {
        name: value
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name != "kind"
    }
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        documented = ast.get_docstring(node) is not None
        fields["body"] = node.body[1:] if documented else node.body
    shapes = [f"{name}={_shape(value)}" for name, value in fields.items()]
    return f"{type(node).__name__}({','.join(shapes)})"


def _check_imported(name: str, path: str, content: bytes) -> None:
    """Raise InvalidInput for a file that was edited after this process imported it, so that its
    functions differ.
    """
    module = sys.modules.get(name)
    if module is None or os.stat(path).st_mtime < STARTED:
        return
    texts: dict[str, set[tuple[str, ...]]] = {}
    waiting = [compile(content, path, "exec", dont_inherit=True)]
    while waiting:
        code = waiting.pop()
        texts.setdefault(code.co_qualname, set()).add(_of_function(code))
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    values = [*vars(module).values()]
    classes = [value for value in values if isinstance(value, type) and value.__module__ == name]
    for defined in classes:
        values += vars(defined).values()
    for value in values:
        if not isinstance(value, FunctionType) or value.__module__ != name:
            continue
        code = value.__code__
        if code.co_filename != path or _of_function(code) in texts.get(code.co_qualname, ()):
            continue
        allowed = (
            f"{value.__qualname__} was edited in {Path(path).name} after this process "
            "had imported it; start the program, or the notebook, again"
        )
        raise InvalidInput("code", name, allowed)


def _of_function(code: CodeType) -> tuple[str, ...]:
    return tuple(
        code_texts(code, documented=bool(code.co_consts) and isinstance(code.co_consts[0], str))
    )


def _in_memory(part: object) -> bool:
    """Whether no source file contains the part: it was defined in a notebook or script, or created
    by a program.
    """
    module: str = part.__module__
    return module == SCRIPT or not (_file(module) or own_files.source(module) is not None)


def _starts(part: object) -> frozenset[str]:
    """Modules that contain a part's own code."""
    module: str = part.__module__
    if not _in_memory(part):
        return frozenset({module})
    return frozenset(name for name in live_code(part).modules if _belongs(name, module))


def _needed(part: object) -> frozenset[str]:
    """Names of all modules that the fingerprint of a part covers."""
    return frozenset().union(*map(_closure, _starts(part)))


def _needed_by(parts: Iterable[Any]) -> frozenset[str]:
    """Names of all modules that the fingerprints of some parts cover."""
    return frozenset().union(*map(_needed, parts))


@cache
def _closure(start: str) -> frozenset[str]:
    """Names of a module and of those that it needs, of the program's and the person's own."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if not _file(name) and own_files.source(name) is None:
            name = _defining_module(name)
        if name in seen or not (_file(name) or own_files.source(name) is not None):
            continue
        seen.add(name)
        waiting += [other for other in _module(name).imports if _belongs(other, start)]
    return frozenset(seen)


def _defining_module(name: str) -> str:
    """The module that defines what a name of the library stands for, such as
    `pipeline.ranking.Debiased`.
    """
    first, *rest = name.split(".")
    if first != PROGRAM or len(rest) < 1 or _file(f"{first}.{rest[0]}"):
        return name
    try:
        return str(reduce(getattr, rest, sys.modules[PROGRAM]).__module__)
    except (AttributeError, ImportError, InvalidInput):
        return name


def _imported(nodes: tuple[ast.AST, ...], package: str) -> Iterator[str]:
    """Names of what a module imports, and of what it takes from modules as attributes.

    Nothing for type checkers.
    """
    skipped = _for_type_checkers(nodes)
    statements = [node for node in nodes if id(node) not in skipped]
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
    aliases: set[str] = set()
    for node in statements:
        if isinstance(node, ast.Import):
            aliases.update(_program_aliases(node))
    if aliases:
        yield from _library_names(nodes, aliases)


def _for_type_checkers(nodes: Iterable[ast.AST]) -> set[int]:
    """Ids of the nodes under `if TYPE_CHECKING`, which never run."""
    skipped: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for line in node.body:
                skipped.update(map(id, ast.walk(line)))
    return skipped


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that a statement `from … import` names, without leading dots."""
    module = node.module or ""
    if not node.level:
        return module
    with_dots = module.rjust(len(module) + node.level, ".")
    return importlib.util.resolve_name(with_dots, package)


def _program_aliases(node: ast.Import) -> Iterator[str]:
    """Names that an import gives to the program itself, such as pl."""
    for alias in node.names:
        if alias.asname is None and alias.name.partition(".")[0] == PROGRAM:
            yield PROGRAM
        elif alias.name == PROGRAM:
            yield alias.asname or PROGRAM


def _library_names(nodes: Iterable[ast.AST], aliases: set[str]) -> Iterator[str]:
    """Names of the library that are used as attributes, such as `pipeline.ranking.Debiased`."""
    for node in nodes:
        if not isinstance(node, ast.Attribute):
            continue
        first, _, rest = ast.unparse(node).partition(".")
        if first in aliases and all(name.isidentifier() for name in rest.split(".")):
            yield f"{PROGRAM}.{rest}"


def _belongs(name: str, start: str) -> bool:
    """Whether a module belongs to the program, to the package of `start` or, where that is a
    person's own, to no installed package, wherever it lies.
    """
    top = name.partition(".")[0]
    first = start.partition(".")[0]
    if top in (PROGRAM, first):
        return True
    return first != PROGRAM and top not in sys.stdlib_module_names and _is_persons(name)


@cache
def _is_persons(name: str) -> bool:
    """Whether a module is a person's own code."""
    top = name.partition(".")[0]
    if own_files.source(top) is not None or (top == SCRIPT and not _file(top)):  # a notebook
        return True
    path = _file(top) or _file(name)  # a folder without __init__.py is a package without a file
    return bool(path) and is_own(path)


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
        if spec is not None:
            path = spec.origin
    if path and Path(path).is_file():
        return path
    return ""
