"""The data of a report inside its page: one zip file as a link that needs no other file."""

import base64
import io
import zipfile
from collections.abc import Mapping

LONG_AGO = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the earliest date of a zip file: the same content gives the same bytes
MOST_BYTES = 1_500_000  # of the zip file in a page


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip file of files by their names, the same bytes for the same content."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content, zipfile.ZIP_DEFLATED, 9)
    return whole.getvalue()


def link(files: Mapping[str, bytes]) -> tuple[str, int, list[str]]:
    """A link with the files inside, its bytes when saved, and names of the largest, left out if all
    are too many.

    >>> link({"a.csv": b"x,y\\n"})[0][:28], link({"a.csv": b"x,y\\n"})[2]
    ('data:application/zip;base64,', [])
    """
    kept = dict(files)
    left = []
    while len(content := packed(kept)) > MOST_BYTES:
        left.append(max(kept, key=lambda name: len(kept[name])))
        del kept[left[-1]]
    return f"data:application/zip;base64,{base64.b64encode(content).decode()}", len(content), left
