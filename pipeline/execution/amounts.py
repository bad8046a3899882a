"""Seconds and bytes as texts for people, as Dask's utilities write them, without loading these.

Loading them takes 0.1 s and 100 modules.
"""

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
PREFIXES = (("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("ki", 2**10))
NEARLY = 0.9  # of a unit from which on it is used


def format_time(seconds: float) -> str:
    """Seconds as text.

    >>> format_time(0.00123), format_time(34.5), format_time(1234.5)
    ('1.23 ms', '34.50 s', '20m 34s')
    """
    if seconds > 2 * DAY:
        return _two_units(seconds, (DAY, "d"), (HOUR, "hr"))
    if seconds > 2 * HOUR:
        return _two_units(seconds, (HOUR, "hr"), (MINUTE, "m"))
    if seconds > 10 * MINUTE:
        return _two_units(seconds, (MINUTE, "m"), (1, "s"))
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.2f} us"


def _two_units(seconds: float, large: tuple[int, str], small: tuple[int, str]) -> str:
    """A duration in two units, such as 2hr 5m."""
    count = int(seconds / large[0])
    rest = int((seconds - count * large[0]) / small[0])
    return f"{count}{large[1]} {rest}{small[1]}"


def format_bytes(count: int) -> str:
    """Bytes as text, in powers of 1,024.

    >>> format_bytes(12), format_bytes(12345678)
    ('12 B', '11.77 MiB')
    """
    for prefix, size in PREFIXES:
        if count >= NEARLY * size:
            return f"{count / size:.2f} {prefix}B"
    return f"{count} B"
