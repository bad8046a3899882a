"""A problem: one statistical question with all of its parts, named in its own package."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from pipeline.study.contracts import fault
from pipeline.study.errors import PipelineError
from pipeline.study.parameters import InvalidInput, nearest, shorten
from pipeline.study.parts import complete
from pipeline.study.protocols import Metric
from pipeline.study.untyped import Imported

# Packages that are broken: a part that is not there may be one of theirs.
LEFT_OUT: list[str] = []
KINDS = ("model", "mechanism", "estimator", "metric", "derivation")
# Folders of experiments that several problems share: what they claim is from no paper.
OF_NO_PAPER = ("person", "central", "inference", "breakdown", "own")


def check_table(kind: str, table: object) -> None:
    """Raise InvalidInput unless a table maps names to parts of a kind, or to their code."""
    if not isinstance(table, Mapping):
        raise InvalidInput(
            f"{kind}s", shorten(table), f"must be a mapping of a name to each {kind}"
        )
    for name, part in table.items():
        key = f"{kind}s.{name}"
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidInput(f"{kind}s", name, "must be a name of letters, digits and _")
        if isinstance(part, str) and ":" not in part:
            raise InvalidInput(
                key, part, "must be 'module:name', or '.module:name' in the problem's own package"
            )
        if not isinstance(part, str) and not callable(part):
            raise InvalidInput(key, part, f"must be the {kind} itself, a class or function")


def is_of_a_paper(experiment: str) -> bool:
    """Whether an experiment judges claims of the paper of its problem, by its folder.

    >>> is_of_a_paper("xu/lemmas"), is_of_a_paper("person/ranking_trust")
    (True, False)
    """
    folder, _, _ = experiment.rpartition("/")
    return folder not in OF_NO_PAPER


@dataclass(frozen=True)
class Problem:
    """Everything that a config may name of one problem.

    Tables map a name to its code, "module:attribute", imported on first use, so that a command that
    simulates nothing starts without SciPy. A module that begins with a dot lies in the problem's
    own `package`. Instead of a text a table may contain the part itself. claims: the code of a
    tuple of `pipeline.analysis.claims.Claim`, or several such, see `all_claims`. release: the code
    of a function that releases real people's data once, from the command's arguments, and returns a
    text on what it released; it is also given what makes a page of a
    `pipeline.study.disclosure.Disclosure`, to lie beside the data. advice: the code of a
    `pipeline.study.advice.Advice`, for a problem that task=advise knows. audits: that of a
    `pipeline.study.audits.Audits`, for task=audit. experiments: folders of `conf/experiment` that
    ask about this problem; `conf` is the program's, and a folder of that name in the problem's
    package if there is one. paper: whose claims are judged, as a report names it, in folders that
    are not shared by problems.

    Raises InvalidInput for a name, title, package or table that is none.

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
    audits: Any = None
    experiments: tuple[str, ...] = ()
    paper: str = ""

    def __post_init__(self) -> None:
        for key in ("name", "title", "package", "paper"):
            text = getattr(self, key)
            if not isinstance(text, str) or not (text or key == "paper"):
                raise InvalidInput(f"Problem.{key}", shorten(text), "must be a text")
        if not self.name.isidentifier():
            raise InvalidInput("Problem.name", self.name, "must be a name of letters, digits and _")
        if not isinstance(self.experiments, tuple) or not all(
            isinstance(folder, str) for folder in self.experiments
        ):
            raise InvalidInput(
                "Problem.experiments",
                shorten(self.experiments),
                "must be a tuple of names of folders",
            )
        for kind in KINDS:
            check_table(kind, self.names(kind))

    def names(self, kind: str) -> Mapping[str, Any]:
        """Name -> code of the parts of one kind of KINDS."""
        return {
            "model": self.models,
            "mechanism": self.mechanisms,
            "estimator": self.estimators,
            "metric": self.metrics,
            "derivation": self.derivations,
        }[kind]

    def part(self, kind: str, name: object, key: str | None = None) -> type:
        """The class of a model, mechanism, estimator or metric. Raises what `code` raises."""
        return cast(type, self.code(kind, name, key))

    def metric(self, name: object, key: str | None = None) -> type[Metric]:
        """The class of a metric. Raises what `code` raises."""
        return cast(type[Metric], self.code("metric", name, key))

    def derivation(self, name: object, key: str | None = None) -> Callable[..., object]:
        """The function of a derivation. Raises what `code` raises."""
        return cast(Callable[..., object], self.code("derivation", name, key))

    def code(self, kind: str, name: object, key: str | None = None) -> object:
        """The class or function behind a name.

        Raises InvalidInput if there is none (with the nearest name), if it
        cannot be loaded, and if it is not what `pipeline.study.protocols` asks
        of its kind.
        """
        table = self.names(kind)
        if not isinstance(name, str) or name not in table:
            allowed = f"no such {kind} in problem={self.name}; {nearest(name, table)}"
            if LEFT_OUT:
                allowed = f"{allowed}; left out: package {', '.join(LEFT_OUT)}"
            raise InvalidInput(key or kind, name, allowed)
        code = self._loaded(table[name], key or kind, name)
        wrong = fault(kind, code)
        if wrong:
            raise InvalidInput(key or kind, name, f"is no {kind}: {wrong}")
        if isinstance(code, type):
            complete(kind, code)
        return code

    def load(self, target: object) -> Imported:
        """What a target "module:attribute" stands for; anything but a text stands for itself.

        Raises InvalidInput if it cannot be loaded.
        """
        return self._loaded(target, "problem", self.name)

    def all_claims(self) -> tuple[Any, ...]:
        """All claims; of two with the same id the later one.

        Raises InvalidInput if they cannot be loaded.
        """
        claims: dict[str, Any] = {}
        waiting = [self.claims]
        while waiting:
            claim = self.load(waiting.pop(0))
            if isinstance(claim, list | tuple):  # of claims, or of where they are
                waiting = [*claim, *waiting]
                continue
            if not hasattr(claim, "id"):
                raise InvalidInput(
                    "claims", shorten(claim), f"is no claim, but among those of problem={self.name}"
                )
            claims.pop(claim.id, None)
            claims[claim.id] = claim
        return tuple(claims.values())

    def _loaded(self, target: object, key: str, name: str) -> object:
        if not isinstance(target, str):
            return target
        module, _, attribute = target.partition(":")
        try:
            loaded: object = getattr(import_module(module, self.package), attribute)
            return loaded
        except MemoryError:
            raise
        except InvalidInput as error:
            raise InvalidInput(
                key, name, f"cannot be loaded from {target!r} in {self.package}: {error}"
            ) from error
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, PipelineError):
                reason = str(error)
            where = f"{target!r} in {self.package}"
            allowed = f"cannot be loaded from {where}: {shorten(reason, 200)}"
            raise InvalidInput(key, name, allowed) from error
