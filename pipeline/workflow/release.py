"""`task=release`: real people's data, once, privately, by the problem whose data they are."""

from pipeline.identity.registry import problems
from pipeline.study.disclosure import Disclosure
from pipeline.study.parameters import InvalidInput, nearest
from pipeline.study.problem import Problem
from pipeline.study.untyped import Config

PROGRAM = __name__.partition(".")[0]


def release(arguments: Config) -> str:
    """Release data as the arguments ask; says what was released.

    arguments: key -> value, among them `problem`, whose data are released. Raises InvalidInput for
    any mistake in them, OSError where the release cannot be written: then nothing is released. The
    problem's own function takes them, and what makes the page on the promise of what it says of
    its release, a `Disclosure`.
    """
    able = {name: problem for name, problem in problems().items() if problem.release}
    name = arguments.get("problem")
    if name is None:
        raise InvalidInput(
            "problem", None, f"is needed: what kind of data are released, one of {', '.join(able)}"
        )
    if name not in able:
        raise InvalidInput("problem", name, f"cannot release data; {nearest(name, able)}")
    rest = {key: value for key, value in arguments.items() if key != "problem"}
    problem = able[name]
    _refuse_own_mechanism(problem, rest)
    summary: str = problem.load(problem.release)(rest, _page)
    return summary


def _page(disclosure: Disclosure) -> str:
    """The page beside a release on what is promised to people."""
    from pipeline.workflow.promise_page import page_of_release  # SciPy, Jinja

    return page_of_release(disclosure)


def _refuse_own_mechanism(problem: Problem, arguments: Config) -> None:
    """Raise InvalidInput for a mechanism of one's own, by which a problem that ships cannot
    release.

    A problem of another package releases by its own mechanisms, for which that package vouches.
    """
    if problem.package.partition(".")[0] != PROGRAM:
        return
    for key in ("parameters.mechanism", "mechanism"):
        name = arguments.get(key)
        if not isinstance(name, str) or name not in problem.names("mechanism"):
            continue
        if problem.part("mechanism", name).__module__.partition(".")[0] != PROGRAM:
            allowed = "is your own; an audit can refute its promise and cannot show that it holds"
            raise InvalidInput(key, name, f"{allowed}: real data are released by those that ship")
