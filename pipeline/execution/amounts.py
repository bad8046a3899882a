"""Seconds and bytes as texts for people, by `dask.utils`: imported when first needed, as that takes 0.1 s."""


def format_time(seconds: float) -> str:
    """Seconds as text.

    >>> format_time(0.00123), format_time(34.5), format_time(1234.5)
    ('1.23 ms', '34.50 s', '20m 34s')
    """
    from dask.utils import format_time

    return str(format_time(seconds))


def format_bytes(count: int) -> str:
    """Bytes as text, in powers of 1,024.

    >>> format_bytes(12), format_bytes(12345678)
    ('12 B', '11.77 MiB')
    """
    from dask.utils import format_bytes

    return str(format_bytes(count))
