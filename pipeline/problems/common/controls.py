"""What control variates of all problems share."""

from typing import ClassVar


class Control:
    """A metric whose mean is known, 0 in every cell; see `analysis.control_variates`."""

    units: ClassVar[str] = "1"
    expected: ClassVar[float] = 0.0
