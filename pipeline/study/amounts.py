"""Seconds and bytes as texts for people, as `dask.utils` writes them: importing that takes a tenth of a second."""


def format_time(seconds: float) -> str:
    """Seconds as text, in two units from ten minutes on.

    >>> format_time(0.00123), format_time(34.5), format_time(1234.5), format_time(12345), format_time(1e6)
    ('1.23 ms', '34.50 s', '20m 34s', '3hr 25m', '11d 13hr')
    """
    for least, (large, name), (small, other) in (
            (48 * 3600, (86400, "d"), (3600, "hr")), (2 * 3600, (3600, "hr"), (60, "m")), (600, (60, "m"), (1, "s"))):
        if seconds > least:
            return f"{int(seconds / large)}{name} {int(seconds % large / small)}{other}"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"


def format_bytes(count: float) -> str:
    """Bytes as text, in powers of 1,024.

    >>> format_bytes(12), format_bytes(1234), format_bytes(12345678)
    ('12 B', '1.21 kiB', '11.77 MiB')
    """
    for prefix, size in (("Pi", 2**50), ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("ki", 2**10)):
        if count >= 0.9 * size:
            return f"{count / size:.2f} {prefix}B"
    return f"{count} B"
