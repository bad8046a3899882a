"""The data of a report inside its page: one zip file as a link that needs no other file."""

import base64
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The earliest date of a zip file: the same content gives the same bytes.
LONG_AGO = (1980, 1, 1, 0, 0, 0)
MOST_BYTES = 1_500_000  # of the zip file in a page


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip file of files by their names, the same bytes for the same content."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED, 9)
    return whole.getvalue()


@dataclass(frozen=True)
class Link:
    """Files inside a link. size: bytes of the zip file. names: of the files that are inside.

    left_out: names of the largest files, where all were too many.
    """

    href: str
    size: int
    names: Sequence[str]
    left_out: Sequence[str]


def link(files: Mapping[str, bytes]) -> Link:
    """A link with the files inside; the largest are left out while the zip file is too large.

    >>> table = link({"a.csv": b"x,y\\n"})
    >>> table.href[:28], table.names, table.left_out
    ('data:application/zip;base64,', ['a.csv'], [])
    """
    inside = dict(files)
    left_out = []
    content = packed(inside)
    while len(content) > MOST_BYTES:
        largest = max(inside, key=lambda name: len(inside[name]))
        left_out.append(largest)
        del inside[largest]
        content = packed(inside)
    href = f"data:application/zip;base64,{base64.b64encode(content).decode()}"
    return Link(href, len(content), sorted(inside), left_out)
