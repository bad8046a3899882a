"""YAML as a person writes it: numbers such as 1e3, no dates, and no key twice."""

import re
from pathlib import Path
from typing import Any

import yaml

from pipeline.study.files import read_regular

MOST_VALUES = 200_000  # of a text, each anchor counted as often as it is used
FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)[eE][-+]?[0-9]+")
TEXT = "tag:yaml.org,2002:str"
DATE = "tag:yaml.org,2002:timestamp"
BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where PyYAML has it


class TooManyValues(ValueError):
    """Anchors within anchors stand for more values than any experiment has."""


class _Loader(BASE):  # type: ignore[misc]
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> object:
        """The mapping of a node.

        Raises an error for a key that stands there twice: the last one would win in silence.
        """
        names: set[str] = set()
        for key, _ in node.value:
            if key.tag != TEXT:
                continue
            if key.value in names:
                raise yaml.constructor.ConstructorError(
                    None, None, f"found duplicate key {key.value}", key.start_mark
                )
            names.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != DATE]
    for first, resolvers in BASE.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


def load(text: str) -> object:
    """The value that a text of one document stands for.

    Raises YAMLError, ValueError, `TooManyValues`, RecursionError, and whatever PyYAML does for odd
    texts.

    >>> load("{m: [1e3, 0x10], day: 2001-01-01}")
    {'m': [1000.0, 16], 'day': '2001-01-01'}
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > MOST_VALUES:
            raise TooManyValues
        return loader.construct_document(node)
    finally:
        loader.dispose()


def read(path: Path) -> object:
    """The value of a file, see `load`. Also raises OSError and UnicodeDecodeError."""
    return load(read_regular(path).decode())


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """How many values a node stands for. sizes: of nodes that were counted, by their address."""
    if id(node) in sizes:
        return sizes[id(node)]
    size = 1
    if isinstance(node.value, list):
        for part in node.value:
            nodes = part if isinstance(part, tuple) else (part,)
            size += sum(_size(inner, sizes) for inner in nodes)
    sizes[id(node)] = size
    return size
