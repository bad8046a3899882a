"""Types of arrays, for annotations. Docstrings name the axes, such as (reps, items)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Array = NDArray[Any]  # where several kinds of numbers will do
Numbers = float | Array  # a number or an array of them: the function broadcasts
