"""When to stop a sweep whose units all fail in the same way: nobody needs a million copies of
one mistake.
"""

from collections import Counter

SHARE = 0.1  # of the units done: what fails less often than that may be a rare case


class FailuresAlike:
    """Counts failed units by the kind of their error.

    most: failures of one kind that are too many, if they are also `SHARE` of the units done; 0 for
    never.

    >>> failures = FailuresAlike(most=2)
    >>> failures.add(30, ["LinAlgError: singular", "ValueError: negative", "LinAlgError: none"])
    >>> failures.too_many  # 2 of 30 are not
    ''
    >>> failures.add(2, ["LinAlgError: singular", "LinAlgError: singular"])
    >>> failures.too_many
    '4 of 32 units failed alike, the first with LinAlgError: singular'
    """

    def __init__(self, most: int):
        self.most = most
        self.units = 0
        self.kinds: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, units: int, errors: list[str]) -> None:
        """Count finished units and, for those that failed, the last lines of their errors."""
        self.units += units
        for error in errors:
            kind = error.partition(":")[0]
            self.kinds[kind] += 1
            self.first.setdefault(kind, error)

    @property
    def too_many(self) -> str:
        """What to say of an error that too many units have; empty while there is none."""
        for kind, count in self.kinds.items():
            if self.most and count >= max(self.most, SHARE * self.units):
                return (
                    f"{count:,} of {self.units:,} units failed alike, the first with "
                    f"{self.first[kind]}"
                )
        return ""
