"""The law of sentences: how dense the code of every room is, per 1,000 statements, and how wide its lines.

A statement that holds several thoughts costs its reader several readings. What is counted: tuples that
assign several things at once; comprehensions, and those inside others; conditional expressions; `:=`;
tricks, which are a text or a list times a condition, a list cut at a condition, a choice out of a tuple by
an index, and a loop over what is empty under a condition; and names that say nothing.
"""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SAY_NOTHING = {
    "one",
    "ones",
    "found",
    "asked",
    "made",
    "given",
    "told",
    "said",
    "own",
    "held",
    "kept",
    "what",
}
GOAL = {
    "width": 46.0,
    "tuples": 4.0,
    "comprehensions": 60.0,
    "nested": 1.5,
    "choices": 20.0,
    "walruses": 1.0,
    "tricks": 0.0,
    "names": 3.0,
}
ROOMS = sorted(
    path.name for path in (ROOT / "pipeline").iterdir() if (path / "__init__.py").exists()
)


@dataclass
class Density:
    """What is counted in some modules."""

    statements: int = 0
    lines: int = 0
    characters: int = 0
    tuples: int = 0
    comprehensions: int = 0
    nested: int = 0
    choices: int = 0
    walruses: int = 0
    tricks: int = 0
    names: int = 0

    def add(self, source: str) -> None:
        """Count a module."""
        lines = [line.rstrip() for line in source.splitlines() if line.strip()]
        self.lines += len(lines)
        self.characters += sum(map(len, lines))
        for node in ast.walk(ast.parse(source)):
            self._add(node)

    def _add(self, node: ast.AST) -> None:
        self.statements += isinstance(node, ast.stmt)
        self.choices += isinstance(node, ast.IfExp)
        self.walruses += isinstance(node, ast.NamedExpr)
        self.tricks += is_trick(node)
        self.names += says_nothing(node)
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            self.tuples += isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        if isinstance(node, COMPREHENSIONS):
            self.comprehensions += 1
            inside = [part for part in ast.walk(node) if part is not node]
            within = any(isinstance(part, COMPREHENSIONS) for part in inside)
            self.nested += len(node.generators) > 1 or within

    def per_thousand(self) -> dict[str, float]:
        """Counts per 1,000 statements, and the mean width of a line."""
        thousands = max(self.statements, 1) / 1000
        counts = {name: getattr(self, name) / thousands for name in GOAL if name != "width"}
        return {"width": self.characters / max(self.lines, 1), **counts}


def says_nothing(node: ast.AST) -> bool:
    """Whether a variable or an argument has a name that tells nothing of what it holds."""
    if isinstance(node, ast.Name):
        return node.id in SAY_NOTHING
    return isinstance(node, ast.arg) and node.arg in SAY_NOTHING


def is_condition(node: ast.AST) -> bool:
    """Whether an expression is a truth value by its form."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, (ast.Compare, ast.BoolOp))


def is_text_or_list(node: ast.AST) -> bool:
    """Whether an expression is a text or a list by its form."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, (ast.JoinedStr, ast.List))


def is_number(node: ast.AST) -> bool:
    """Whether an expression is a whole number by its form."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def is_trick(node: ast.AST) -> bool:
    """Whether an expression hides a condition."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        return any(map(is_text_or_list, sides)) and not any(map(is_number, sides))
    if isinstance(node, ast.Subscript):
        index = node.slice
        if isinstance(index, ast.Slice):
            return index.upper is not None and is_condition(index.upper)
        is_display = isinstance(node.value, (ast.Tuple, ast.List))
        return is_display and not isinstance(index, ast.Constant)
    if isinstance(node, (ast.For, ast.comprehension)):
        return isinstance(node.iter, ast.IfExp)
    return False


def density(room: str) -> dict[str, float]:
    counted = Density()
    for path in (ROOT / "pipeline" / room).rglob("*.py"):
        counted.add(path.read_text("utf-8"))
    return counted.per_thousand()


def too_dense(measured: dict[str, float], limits: dict[str, float]) -> list[str]:
    return [
        f"{name}: {measured[name]:.1f}, at most {limit:g}"
        for name, limit in limits.items()
        if measured[name] > limit + 1e-9
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_is_denser_than_its_limits(room):
    measured = density(room)
    assert not too_dense(measured, GOAL), measured


@pytest.mark.parametrize(
    "name, line",
    [
        ("tuples", "a, b = x, y"),
        ("nested", "z = [c for row in rows for c in row]"),
        ("nested", "z = [[c for c in row] for row in rows]"),
        ("choices", "z = 1 if a else 2"),
        ("walruses", "print(z := 3)"),
        ("tricks", "z = 'text' * bool(a)"),
        ("tricks", "z = [1] * (a > b)"),
        ("tricks", "z = rows[: a > b]"),
        ("tricks", "z = (1, 2)[a]"),
        ("tricks", "z = [c for c in (rows if a else ())]"),
        ("names", "found = 1"),
        ("names", "def f(asked): ..."),
    ],
)
def test_what_is_dense_is_seen(name, line):
    """The negative control: one such statement among nine plain ones."""
    counted = Density()
    counted.add("\n".join([line, *(f"plain_{k} = {k}" for k in range(9))]))
    assert [text for text in too_dense(counted.per_thousand(), GOAL) if text.startswith(name)]


def test_long_lines_are_seen():
    counted = Density()
    counted.add("x = 1  # " + "w" * 60)
    assert too_dense(counted.per_thousand(), GOAL)[0].startswith("width")
