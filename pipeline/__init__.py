"""What does privacy cost, and where does learning break down? Distributed Monte Carlo studies.

As a library, `import pipeline as pl`; all names below are loaded when they are first used, and so
are the problems, by their names, such as `pl.ranking`:

- a study of two plain functions: `study`; `Program`, one in R or any other language
- studies: `run`, `simulate`, `report`, `open_results`, `summarise`, `judge`, `boundary`; `Study`,
  `Grid`
- stored studies: `protocol`, `plan`, `status`, `verify`, `compare`, `list_studies`
- handed over: `archive`, `reproduce`, `merge`, `compare_against`, `shelf`
- for other programs: `table`, tidy, and `export`, as CSV, Parquet or netCDF
- decisions: `advise`, how small ε may be or how many people are needed; `audit`, whether a
  mechanism is as private as it says, on `Neighbours`
- one data set: parts of a problem such as `pl.ranking.Debiased(m=10).fit(release)`;
  `simulate_data`, `simulate_release`
- parts of your own: `register`, `Problem`, `parameter`, `metric`; `Guarantee` and `unprotected`,
  what a mechanism guarantees; and bases of parts:
  `BaseModel`, `BaseMechanism`, `BaseEstimator`, `BaseMetric`; `Checked` is that of all of them
- errors, one line each: `PipelineError` and its kinds `InvalidInput`, `SweepError`, `Stopped`,
  `FailedUnits`
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.auditing.neighbours import Neighbours as Neighbours
    from pipeline.execution.errors import SweepError as SweepError
    from pipeline.execution.programs import Program as Program
    from pipeline.identity.registry import register as register
    from pipeline.library.advise import advise as advise
    from pipeline.library.answers import compare as compare
    from pipeline.library.answers import list_studies as list_studies
    from pipeline.library.answers import plan as plan
    from pipeline.library.answers import status as status
    from pipeline.library.answers import verify as verify
    from pipeline.library.audit import audit as audit
    from pipeline.library.handing_over import archive as archive
    from pipeline.library.handing_over import compare_against as compare_against
    from pipeline.library.handing_over import merge as merge
    from pipeline.library.handing_over import reproduce as reproduce
    from pipeline.library.handing_over import shelf as shelf
    from pipeline.library.protocol import protocol as protocol
    from pipeline.library.results import boundary as boundary
    from pipeline.library.results import export as export
    from pipeline.library.results import judge as judge
    from pipeline.library.results import open_results as open_results
    from pipeline.library.results import summarise as summarise
    from pipeline.library.results import table as table
    from pipeline.library.runs import report as report
    from pipeline.library.runs import run as run
    from pipeline.library.runs import simulate as simulate
    from pipeline.library.single import simulate_data as simulate_data
    from pipeline.library.single import simulate_release as simulate_release
    from pipeline.study.errors import FailedUnits as FailedUnits
    from pipeline.study.errors import PipelineError as PipelineError
    from pipeline.study.errors import Stopped as Stopped
    from pipeline.study.grid import Grid as Grid
    from pipeline.study.guarantee import Guarantee as Guarantee
    from pipeline.study.guarantee import unprotected as unprotected
    from pipeline.study.metric import metric as metric
    from pipeline.study.parameters import Checked as Checked
    from pipeline.study.parameters import InvalidInput as InvalidInput
    from pipeline.study.parameters import parameter as parameter
    from pipeline.study.parts import BaseEstimator as BaseEstimator
    from pipeline.study.parts import BaseMechanism as BaseMechanism
    from pipeline.study.parts import BaseMetric as BaseMetric
    from pipeline.study.parts import BaseModel as BaseModel
    from pipeline.study.problem import Problem as Problem
    from pipeline.study.study import Study as Study

__version__ = "0.1.0"

# Before NumPy is loaded, by whatever of this package comes first. It is imported by its name
# because it is no code of a part: what it chose stands in the environment of the writer.
import_module("pipeline.execution.arithmetic").pin()


def _problem(name: str) -> "Problem":
    """The problem of a name: of installed packages, or registered in this process."""
    from pipeline.identity.registry import problem

    return problem(name)


# By its name, too, as the list of problems is no code of a part.
import_module("pipeline.study.known").look_up_by(_problem)


class _Folder(ModuleType):
    """The folder `pipeline.study`, which can be called: `pl.study(generate, analyse, …)`."""

    def __call__(self, *arguments: Any, **keywords: Any) -> "Study":  # noqa: ANN401
        """A study of two plain functions, see `pipeline.library.plain.study`."""
        # By its name, as it is no code of a part.
        plain: Study = import_module("pipeline.library.plain").study(*arguments, **keywords)
        return plain


sys.modules["pipeline.study"].__class__ = _Folder  # its name is that of what it holds

_NAMES = {  # name -> module that holds it
    "BaseEstimator": "study.parts",
    "BaseMechanism": "study.parts",
    "BaseMetric": "study.parts",
    "BaseModel": "study.parts",
    "Checked": "study.parameters",
    "FailedUnits": "study.errors",
    "Grid": "study.grid",
    "Guarantee": "study.guarantee",
    "InvalidInput": "study.parameters",
    "PipelineError": "study.errors",
    "Problem": "study.problem",
    "Program": "execution.programs",
    "Stopped": "study.errors",
    "Study": "study.study",
    "SweepError": "execution.errors",
    "Neighbours": "auditing.neighbours",
    "advise": "library.advise",
    "archive": "library.handing_over",
    "audit": "library.audit",
    "export": "library.results",
    "boundary": "library.results",
    "compare": "library.answers",
    "compare_against": "library.handing_over",
    "judge": "library.results",
    "list_studies": "library.answers",
    "plan": "library.answers",
    "merge": "library.handing_over",
    "metric": "study.metric",
    "open_results": "library.results",
    "parameter": "study.parameters",
    "protocol": "library.protocol",
    "register": "identity.registry",
    "report": "library.runs",
    "reproduce": "library.handing_over",
    "run": "library.runs",
    "shelf": "library.handing_over",
    "simulate": "library.runs",
    "simulate_data": "library.single",
    "simulate_release": "library.single",
    "status": "library.answers",
    "summarise": "library.results",
    "table": "library.results",
    "unprotected": "study.guarantee",
    "verify": "library.answers",
}
__all__ = [
    *_NAMES
]  # the public names, besides the problems; `study` makes a study of two functions


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has a type of its own
    """A name of the library, or the parts of a problem; AttributeError if there is none."""
    if name in _NAMES:
        value = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        from pipeline.library.parts import parts_of

        if (parts := parts_of(name)) is not None:
            return parts
    from pipeline.study.parameters import closest

    close = closest(name, dir(sys.modules[__name__]))
    meant = f"did you mean {close!r}? " if close else ""
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; {meant}dir({__name__}) lists all"
    )


def __dir__() -> list[str]:
    from pipeline.identity.registry import problems

    return sorted({"__version__", *_NAMES, *problems()})
