"""Base of classes that leave something to those that derive from them."""

from abc import ABCMeta
from typing import Self

from pipeline.study.returned import WrongPart


class Abstract(metaclass=ABCMeta):  # noqa: B024  (its children have what is abstract)
    """Who makes an object of a class that lacks something learns what, in one line.

    What is left to others is marked by `abc.abstractmethod`. Raises WrongPart, an InvalidInput.

    >>> from abc import abstractmethod
    >>> class Shape(Abstract):
    ...     @abstractmethod
    ...     def area(self): ...
    >>> class Circle(Shape):
    ...     pass
    >>> Circle()
    Traceback (most recent call last):
    pipeline.study.returned.WrongPart: class=Circle: lacks area, which Shape leaves to it
    """

    def __new__(cls, *values: object, **named: object) -> Self:
        """An object without values, unless something is missing."""
        missing = sorted(cls.__abstractmethods__)
        if missing:
            owner = next(base for base in cls.__mro__ if missing[0] in vars(base))
            lacks = f"lacks {', '.join(missing)}, which {owner.__name__} leaves to it"
            raise WrongPart("class", cls.__name__, lacks)
        return super().__new__(cls)
