"""A stored unit: one file with all its metrics, its status and, if it failed, why.

Whole, or found to be damaged.

    description   one line of JSON: study, cell, block, size of the block, names of the variables
    writer        16 hexadecimal digits: which code and arithmetic computed it, see `agreement`;
                  and a line break
    values        float64, little-endian: the replications of one metric after another
    status        int8, one per replication
    error         UTF-8: the traceback of a unit that failed, else nothing
    checksum      4 bytes, little-endian: CRC-32C of all before

The description is compared byte for byte with what this program would write, so a
changed one never passes.
"""

from collections.abc import Mapping
from typing import NamedTuple

import google_crc32c
import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.grid import Level
from pipeline.study.status import FAILED, NOT_CONVERGED, OK
from pipeline.study.streams import canonical
from pipeline.study.study import Study

ERROR_BYTES = 8192  # of a traceback, its end
WRITER_BYTES = 16
CHECKSUM_BYTES = 4
MEANINGFUL = bytes((OK, NOT_CONVERGED, FAILED))


class Damaged(ValueError):
    """The file of a unit is damaged; the text is a short reason."""


class Record(NamedTuple):
    """Content of the file of a unit.

    metrics: (metrics, block) in the order of the study's.
    status: (block,) int8.
    writer: who computed it.
    error: text, empty unless the unit failed.
    failed: whether it raised and holds no numbers.
    """

    metrics: Floats
    status: Array
    writer: str
    error: str
    failed: bool


def describe(cell: bytes, block: int) -> bytes:
    """First line of a unit's file: the number of its block, then what `describe_cell` says."""
    return b'{"block":%d,' % block + cell


def describe_cell(study: Study, labels: Mapping[str, Level]) -> bytes:
    """What the first lines of all units of a cell have in common."""
    description = {
        "study": study.key,
        "cell": labels,
        "size": study.block,
        "variables": [*study.metrics, "status"],
    }
    after_brace = canonical(description).removeprefix("{")
    return f"{after_brace}\n".encode()


def encode(description: bytes, values: Mapping[str, Array], writer: str, error: str = "") -> bytes:
    """The file of a unit. values: (block,) per metric, in the order of the study's, then `status`.

    >>> record = {"error": np.array([0.5]), "status": np.array([1], np.int8)}
    >>> decode(encode(b"first line\\n", record, "0" * 16), b"first line\\n", 1, 1).metrics
    array([[0.5]])
    """
    *metrics, status = values.values()
    parts = [
        description,
        writer.encode(),
        b"\n",
        *(np.asarray(metric, "<f8").tobytes() for metric in metrics),
        np.asarray(status, np.int8).tobytes(),
        error.encode(errors="replace")[-ERROR_BYTES:],
    ]
    content = b"".join(parts)
    return content + checksum(content)


def decode(content: bytes, description: bytes, metrics: int, block: int) -> Record:
    """What a file says; Damaged unless it is a whole file of the unit with that description."""
    start = len(description) + WRITER_BYTES + 1
    end = start + metrics * block * 8
    if len(content) < end + block + CHECKSUM_BYTES:
        raise Damaged(f"has {len(content)} bytes, too few")
    if checksum(content[:-CHECKSUM_BYTES]) != content[-CHECKSUM_BYTES:]:
        raise Damaged("its checksum is wrong")
    if not content.startswith(description):
        raise Damaged("is the file of another unit")
    values = np.frombuffer(content, "<f8", metrics * block, start).reshape(metrics, block)
    status = content[end : end + block]
    if status.strip(MEANINGFUL):
        raise Damaged("has a status without meaning")
    error = content[end + block : -CHECKSUM_BYTES].decode(errors="replace")
    writer = content[len(description) : start - 1].decode(errors="replace")
    return Record(values, np.frombuffer(status, np.int8), writer, error, FAILED in status)


def checksum(content: bytes) -> bytes:
    """CRC-32C, little-endian."""
    return int(google_crc32c.value(content)).to_bytes(CHECKSUM_BYTES, "little")
