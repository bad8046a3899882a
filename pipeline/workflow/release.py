"""`task=release`: real people's data, once, privately, by the problem whose data they are."""

from collections.abc import Mapping
from typing import Any

from pipeline.identity.registry import problems
from pipeline.study.parameters import InvalidInput, nearest


def release(arguments: Mapping[str, Any]) -> str:
    """Release data as the arguments ask; says what was released.

    arguments: key -> value, among them `problem`, whose data are released. Raises InvalidInput for
    any mistake in them, OSError where the release cannot be written: then nothing is released.
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
    summary: str = problem.load(problem.release)(rest)
    return summary
