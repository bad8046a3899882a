"""Answers of a long benchmark, kept in a file, so that the same command goes on."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

FOLDER = Path("outputs/audits")
T = TypeVar("T")


class Kept:
    """answers: name -> what was found, of all that was run so far."""

    def __init__(self, name: str):
        self.path = FOLDER / f"{name}.json"
        self.answers: dict[str, Any] = {}
        if self.path.exists():
            self.answers = json.loads(self.path.read_text())

    def missing(self, every: Iterable[tuple[str, T]], most: int | None) -> Iterator[tuple[str, T]]:
        """Those without an answer, so many at most."""
        left = [(name, case) for name, case in every if name not in self.answers]
        return islice(left, most)

    def add(self, name: str, answer: object) -> None:
        """Keep an answer."""
        self.answers[name] = answer
        FOLDER.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.answers, ensure_ascii=False, indent=1))
        new.replace(self.path)
