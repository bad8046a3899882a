"""Where Matplotlib and Fontconfig keep what they know of the fonts, for users without a home, as in
containers.
"""

import os
from collections.abc import MutableMapping

from pipeline.study.files import private_folder


def place(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let both use this user's folder among temporary files, where no home can be written.

    To be called before they are loaded: otherwise each process would search all fonts anew, and
    complain.

    >>> variables = {"MPLCONFIGDIR": "/mine"}
    >>> place(variables)
    >>> variables
    {'MPLCONFIGDIR': '/mine'}
    """
    home = os.path.expanduser("~")
    if "MPLCONFIGDIR" in environment or os.access(home, os.W_OK):
        return
    try:
        folder = private_folder()
    except OSError:
        return
    environment["MPLCONFIGDIR"] = str(folder / "matplotlib")
    environment.setdefault("XDG_CACHE_HOME", str(folder / "cache"))
