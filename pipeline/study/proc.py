"""Files of Linux that tell about processes and the machine: here, and nowhere else.

No other system has them. Reading one raises OSError then, and each caller has another way.
"""

from pathlib import Path

ROOT = Path("/proc")
_SELF = ROOT / "self"
STATUS = _SELF / "status"  # of this process: its peak of memory
CLEAR = _SELF / "clear_refs"  # sets the peak back
PAGES = _SELF / "statm"  # first the number of pages that this process has
THREADS = _SELF / "task"  # one entry for each thread
FILES = _SELF / "fd"  # one entry for each open file
MOUNTS = _SELF / "mountinfo"  # file systems, and where they are
PROCESSORS = ROOT / "cpuinfo"  # features of each processor
