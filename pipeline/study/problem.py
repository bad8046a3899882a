"""A problem: one statistical question with all of its parts, named in its own package."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from pipeline.study.parameters import InvalidInput, nearest

KINDS = ("model", "mechanism", "estimator", "metric", "derivation")


@dataclass(frozen=True)
class Problem:
    """Everything that a config may name of one problem.

    Tables map a name to its code, "module:attribute", imported on first use, so that a command that simulates
    nothing starts without SciPy. A module that begins with a dot lies in the problem's own `package`. Instead of a
    text a table may contain the part itself. claims: the code of a tuple of `pipeline.analysis.claims.Claim`. release:
    the code of a function that releases real people's data once, from the command's arguments, and returns a text on
    what it released. advice: the code of a `pipeline.study.advice.Advice`, for a problem that task=advise knows.
    experiments: folders of `conf/experiment` that ask about this problem; `conf` is the program's, and a folder of that
    name in the problem's package if there is one. paper: whose claims are judged, as a report names it.

    >>> PROBLEM = Problem("toy", "The private mean", "toy_package", models={"answers": ".model:Answers"})
    """

    name: str
    title: str
    package: str
    models: Mapping[str, Any] = field(default_factory=dict)
    mechanisms: Mapping[str, Any] = field(default_factory=dict)
    estimators: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    derivations: Mapping[str, Any] = field(default_factory=dict)
    claims: Any = ()
    release: Any = None
    advice: Any = None
    experiments: tuple[str, ...] = ()
    paper: str = ""

    def names(self, kind: str) -> Mapping[str, Any]:
        """Name -> code of the parts of one kind: model, mechanism, estimator, metric or derivation."""
        return {"model": self.models, "mechanism": self.mechanisms, "estimator": self.estimators,
                "metric": self.metrics, "derivation": self.derivations}[kind]

    def part(self, kind: str, name: Any, key: str | None = None) -> Any:
        """The class or function behind a name; InvalidInput (key, and the nearest name) if there is none."""
        table = self.names(kind)
        if not isinstance(name, str) or name not in table:
            raise InvalidInput(key or kind, name, f"no such {kind} in problem={self.name}; {nearest(name, table)}")
        return self.load(table[name])

    def load(self, target: Any) -> Any:
        """What a target "module:attribute" stands for; anything but a text stands for itself."""
        if not isinstance(target, str):
            return target
        module, attribute = target.split(":")
        return getattr(import_module(module, self.package), attribute)
