"""`task=release`: real people's data, once, privately, by the problem whose data they are."""

from collections.abc import Mapping
from typing import Any

from pipeline.identity.registry import problems
from pipeline.study.disclosure import Disclosure
from pipeline.study.parameters import InvalidInput, nearest


def release(arguments: Mapping[str, Any]) -> str:
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
    summary: str = problem.load(problem.release)(rest, _page)
    return summary


def _page(disclosure: Disclosure) -> str:
    """The page beside a release on what is promised to people."""
    from pipeline.workflow.promise_page import page_of_release  # SciPy, Jinja

    return page_of_release(disclosure)
