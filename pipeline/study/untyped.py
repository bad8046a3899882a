"""Names for values of which only a config, a file, a problem or a person's own code knows the type.

>>> labels: CellLabels = {"m": 10, "epsilon": 0.5}
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any  # whatever JSON, YAML or Hydra gives: texts, numbers, lists, mappings
JsonObject: TypeAlias = dict[str, Any]  # key -> value of JSON
Config: TypeAlias = Mapping[str, Any]  # key -> value, as a config or a command line has them
ParameterValues: TypeAlias = Mapping[str, Any]  # name of a parameter -> its value
CellLabels: TypeAlias = Mapping[str, Any]  # name of an axis -> its level, of one cell
OfProblem: TypeAlias = Any  # a model, release or estimate; each problem has classes of its own
AnyField: TypeAlias = Any  # of the type that the field is annotated with, as of dataclasses.field
Imported: TypeAlias = Any  # whatever a module has under a name
LoadedTable: TypeAlias = (
    Any  # of pandas, xarray or scipy, which are imported only where they are used
)
