"""Variables of a sealed dataset, read without Zarr and xarray, whose imports take half a second.

For what a command asks of a finished study in a line. What is damaged, or not as this program
writes it, is None; `results.load` then says what is wrong.
"""

import itertools
import json
from collections.abc import Mapping

import numpy as np

from pipeline.storage.backend import ROOT, Files
from pipeline.storage.datasets import file_digest
from pipeline.storage.results import problems_of, sealed_attributes
from pipeline.storage.units import CHECKSUM_BYTES
from pipeline.study.arrays import Array

KINDS = {"float64": np.dtype("<f8"), "int64": np.dtype("<i8")}
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


class PlainDataset:
    """A sealed dataset, `name` below a backend, variable by variable."""

    def __init__(self, files: Files, name: str):
        self.files = files
        self.name = name
        self.is_sound = not problems_of(files, name, thorough=False)
        self._digests: Mapping[str, str] = {}
        if self.is_sound:
            self._digests = sealed_attributes(files, name).get("files", {})

    def read(self, variable: str) -> Array | None:
        """All values of a variable; None where they cannot be trusted, or read so."""
        described = self._content(f"{variable}/{ROOT}")
        if described is None:
            return None
        metadata = json.loads(described)
        kind = KINDS.get(metadata["data_type"])
        if kind is None or metadata["codecs"] != CODECS:
            return None
        shape = metadata["shape"]
        chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
        values = np.empty(shape, kind)
        counts = [-(-size // step) for size, step in zip(shape, chunk, strict=True)]
        for place in itertools.product(*map(range, counts)):
            key = "/".join(map(str, (variable, "c", *place)))
            content = self._content(key)
            if content is None:
                return None
            part = np.frombuffer(content[:-CHECKSUM_BYTES], kind).reshape(chunk)
            corner = np.multiply(place, chunk)
            inside = values[tuple(map(slice, corner, corner + chunk))]
            # The last chunk may go beyond the array.
            inside[...] = part[tuple(map(slice, inside.shape))]
        return values

    def _content(self, key: str) -> bytes | None:
        """Content of a file that is what was written; None if it is not."""
        if key not in self._digests:
            return None
        content = self.files.read(f"{self.name}/{key}")
        if content is None or file_digest(content) != self._digests[key]:
            return None
        return content
