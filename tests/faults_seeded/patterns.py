"""Patterns of a syntax tree: finds one in a symbol of a module, and puts something else in its place.

A pattern is Python: an expression, one or more statements that follow each other, or the head of a
compound statement, written with `...` as its body, which stands for whatever is in it. What counts
is the tree: neither spaces, line breaks, comments, quotes nor parentheses that change nothing.

>>> source = "class Share:\\n    def of(self, n):\\n        return (self.x\\n                / n)\\n"
>>> replaced(source, "Share.of", "self.x / n", "self.x")
'class Share:\\n    def of(self, n):\\n        return ((self.x))\\n'
"""

import ast
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BODIES = ("body", "orelse", "finalbody")


class NoPattern(ValueError):
    """A pattern that is not Python, or does not stand where it should, as often as it should."""


class Place(NamedTuple):
    """Nodes of a module that match: one expression, or statements that follow each other."""

    nodes: list[ast.AST]
    is_head: bool = False


def replaced(source: str, symbol: str, pattern: str, by: str, number: int | None = None) -> str:
    """Source in which what matches the pattern within a symbol is replaced.

    symbol: qualified name of a class or function, "" for what is in none. Functions inside of a function belong to it,
    methods do not belong to their class. number: which of several matches, from 1; None: there must be exactly one.
    Raises NoPattern.
    """
    as_expression = _is_expression(pattern) and _is_expression(by)
    places = found(source, symbol, pattern, as_expression)
    return _with_text(
        source, places[_chosen(pattern, symbol or "the module", len(places), number)], by
    )


def replaced_text(source: str, pattern: str, by: str, number: int | None = None) -> str:
    """Source of another language than Python in which a text is replaced, whatever spaces it has there.

    Raises NoPattern unless the text stands there exactly once, or as the number says.

    >>> replaced_text("x = (a\\n     + b);", "(a+b)", "(a - b)")
    'x = (a - b);'
    """
    positions = [position for position, character in enumerate(source) if not character.isspace()]
    dense, wanted = "".join(source.split()), "".join(pattern.split())
    starts = [start for start in range(len(dense)) if dense.startswith(wanted, start)]
    start = starts[_chosen(pattern, "the file", len(starts), number)]
    first, last = positions[start], positions[start + len(wanted) - 1]
    return source[:first] + by + source[last + 1 :]


def _chosen(pattern: str, where: str, count: int, number: int | None) -> int:
    """Index of the match that is meant. Raises NoPattern where it is not there, or not the only one."""
    if number is None and count != 1:
        raise NoPattern(f"{pattern!r} stands in {where} {count} times, must once")
    if number is not None and not 1 <= number <= count:
        raise NoPattern(
            f"{pattern!r} stands in {where} {count} times, so there is no number {number}"
        )
    return (number or 1) - 1


def found(source: str, symbol: str, pattern: str, as_expression: bool) -> list[Place]:
    """All places of a symbol that match, in their order in the source."""
    roots = _roots(ast.parse(source), symbol)
    if not roots:
        raise NoPattern(f"there is no {symbol}")
    nodes = [node for root in roots for node in _inside(root)]
    if as_expression:
        wanted = _shape(ast.parse(pattern.strip(), mode="eval").body)
        places = [
            Place([node]) for node in nodes if isinstance(node, ast.expr) and _shape(node) == wanted
        ]
    else:
        places = _statements(nodes, _parsed(pattern))
    return sorted(places, key=lambda place: (place.nodes[0].lineno, place.nodes[0].col_offset))


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return False
    return True


def _parsed(text: str) -> list[ast.stmt]:
    """Statements of a text; `return` and the like may stand outside of a function."""
    try:
        return ast.parse(textwrap.dedent(text).strip()).body
    except SyntaxError as error:
        raise NoPattern(f"{text!r} is neither an expression nor statements: {error}") from error


def _roots(tree: ast.Module, symbol: str) -> list[ast.AST]:
    """Nodes that define a symbol: several for a property and its setter."""
    if not symbol:
        return [tree]
    roots: list[ast.AST] = [tree]
    for name in symbol.split("."):
        roots = [node for root in roots for node in _defined(root) if node.name == name]
    return roots


def _defined(root: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Classes and functions defined directly in a module or class, below conditions too."""
    if isinstance(root, FUNCTIONS):
        return
    for child in ast.iter_child_nodes(root):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
        else:
            yield from _defined(child)


def _inside(root: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that belong to no symbol of their own."""
    yield root
    is_function = isinstance(root, FUNCTIONS)
    for child in ast.iter_child_nodes(root):
        if is_function or not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield from _below(child, is_function)


def _below(node: ast.AST, in_function: bool) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr):
        yield node  # before Python 3.12, what is inside has no position in the source
        return
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not in_function:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _below(child, in_function)


def _shape(node: object) -> object:
    """What is equal for equal trees, whether a name is read or written."""
    if isinstance(node, ast.AST):
        fields = [
            (name, _shape(value))
            for name, value in ast.iter_fields(node)
            if name not in ("ctx", "kind")
        ]
        return type(node).__name__, tuple(fields)
    if isinstance(node, list):
        return tuple(map(_shape, node))
    return type(node).__name__, node


def _is_any(body: list[ast.stmt]) -> bool:
    """Whether the body of a pattern stands for any body."""
    return (
        len(body) == 1
        and isinstance(body[0], ast.Expr)
        and _shape(body[0].value) == _shape(ast.Constant(...))
    )


def _head(node: ast.stmt) -> object:
    """Shape of a compound statement without what is in it."""
    fields = [
        (name, _shape(value))
        for name, value in ast.iter_fields(node)
        if name not in (*BODIES, "decorator_list")
    ]
    return type(node).__name__, tuple(fields)


def _statements(nodes: list[ast.AST], pattern: list[ast.stmt]) -> list[Place]:
    is_head = len(pattern) == 1 and _is_any(getattr(pattern[0], "body", []))
    if is_head:
        head = _head(pattern[0])
        return [
            Place([node], True)
            for node in nodes
            if isinstance(node, ast.stmt) and _head(node) == head
        ]
    places, wanted = [], _shape(pattern)
    bodies = [getattr(node, name, None) for node in nodes for name in BODIES]
    for body in bodies:
        for first in range(len(body) - len(pattern) + 1 if isinstance(body, list) else 0):
            statements = body[first : first + len(pattern)]
            if _shape(statements) == wanted:
                places.append(Place(statements))
    return places


def _with_text(source: str, place: Place, by: str) -> str:
    """Source in which the place has another text."""
    first, last = place.nodes[0], place.nodes[-1]
    start, end = (
        _offset(source, first.lineno, first.col_offset),
        _offset(source, last.end_lineno, last.end_col_offset),
    )
    if isinstance(first, ast.expr):
        text = f"({by.strip()})"
    elif place.is_head:
        inner = first.body[0]
        end = _offset(source, inner.lineno, inner.col_offset)
        gap = " " if inner.lineno == first.lineno else "\n" + " " * inner.col_offset
        prefix = "el" if source.encode()[start:].startswith(b"elif") else ""
        text = prefix + _unparsed_head(by) + gap
    else:
        text = textwrap.indent(textwrap.dedent(by).strip(), " " * first.col_offset).lstrip()
    return (source.encode()[:start] + text.encode() + source.encode()[end:]).decode()


def _unparsed_head(by: str) -> str:
    """The head of a compound statement, with its colon, in one line."""
    (statement,) = _parsed(by)
    return ast.unparse(statement).rpartition("\n")[0]


def _offset(source: str, line: int, column: int) -> int:
    """Where a line and column of a syntax tree are, in bytes."""
    lines = source.encode().split(b"\n")
    return sum(len(text) + 1 for text in lines[: line - 1]) + column
