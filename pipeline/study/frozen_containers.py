"""Lists and dictionaries that cannot be changed: what `frozen` puts in their place."""

from typing import Any, NoReturn

from pipeline.study.errors import PipelineError


class ReadOnly(PipelineError):
    """An attribute of an object that was handed over is set, or an item of its lists and
    dictionaries.
    """


class FrozenList(list[Any]):
    """A list that cannot be changed; a copy of it is a list."""

    def _refuse(self, *values: object, **named: object) -> NoReturn:
        raise ReadOnly("a list is read-only")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class FrozenDict(dict[Any, Any]):
    """A dictionary that cannot be changed; a copy of it is a dictionary."""

    def _refuse(self, *values: object, **named: object) -> NoReturn:
        raise ReadOnly("a dictionary is read-only")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)
