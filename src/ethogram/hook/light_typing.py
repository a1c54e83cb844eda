"""A stand-in for `typing` inside the image: names that annotations and aliases mention, and no more."""

from __future__ import annotations

TYPE_CHECKING = False


class _Anything:
    """Stands for a type; may be given parameters and joined with others."""

    def __class_getitem__(cls, _: object) -> type:
        return cls


class Any(_Anything):
    pass


class Generic(_Anything):
    pass


class Protocol(_Anything):
    pass


class Union(_Anything):
    pass


def TypeVar(name: str, *_: object, **__: object) -> type:  # noqa: N802
    """A type of that name."""
    return type(name, (_Anything,), {})


def get_args(union: object) -> tuple[type, ...]:
    """The members of a union of classes."""
    return getattr(union, "__args__", ())


def cast(_: object, value: object) -> object:
    """The value itself."""
    return value


def final(one: object) -> object:
    """The thing itself."""
    return one
