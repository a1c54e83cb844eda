"""A stand-in for `dataclasses` inside the image: the same records, made in a hundredth of the time.

The real one writes source for every class and needs `inspect`, which takes longer than all the hook does.
Records are made with the same arguments, compare, hash and match the same; they can be changed, which
nobody does, and take no part in `asdict` or ordering.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Field:
    """What `field(...)` leaves behind: how to make the default."""

    def __init__(self, default: Any = _MISSING, default_factory: Any = None, name: str = "") -> None:
        self.default, self.default_factory, self.name = default, default_factory, name


def field(*, default: Any = _MISSING, default_factory: Any = None, **_: Any) -> Any:
    """A default, or what makes one."""
    return Field(default, default_factory)


def dataclass(cls: Any = None, /, **_: Any) -> Any:
    """The class with a constructor, equality, a hash and positions to match."""
    return _made if cls is None else _made(cls)


def replace(one: Any, /, **changes: Any) -> Any:
    """The same record with other values."""
    return type(one)(**{**{name: getattr(one, name) for name in one.__match_args__}, **changes})


def fields(one: Any) -> tuple[Field, ...]:
    """The fields of a record or of its class."""
    return tuple(Field(name=name) for name in one.__match_args__)


def is_dataclass(one: Any) -> bool:
    """Whether it is a record or the class of one."""
    return hasattr(one, "__light_fields__")


def _made(cls: Any) -> Any:
    inherited: dict[str, Any] = getattr(cls, "__light_fields__", {})
    own = {name: vars(cls).get(name, _MISSING) for name in vars(cls).get("__annotations__", {})}
    known = {**inherited, **own}
    names = tuple(known)
    made = {name: one.default_factory for name, one in known.items() if isinstance(one, Field)}
    made = {name: factory for name, factory in made.items() if factory is not None}
    plain = {name: one.default if isinstance(one, Field) else one for name, one in known.items()}
    plain = {name: one for name, one in plain.items() if one is not _MISSING}
    cls.__light_fields__ = known
    setattr(cls, "__match_args__", names)  # noqa: B010 (type checkers want it written in the class)
    cls.__init__ = _constructor(cls.__name__, names, plain, made, getattr(cls, "__post_init__", None))
    if "__eq__" not in vars(cls):
        cls.__eq__ = _equality(names)
        if "__hash__" not in vars(cls) or vars(cls)["__hash__"] is None:
            cls.__hash__ = _hash(names)
    return cls


def _constructor(
    owner: str,
    names: tuple[str, ...],
    plain: dict[str, Any],
    made: dict[str, Callable[[], Any]],
    after: Callable[[Any], None] | None,
) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
        values = self.__dict__
        values.update(plain)
        for name, factory in made.items():
            values[name] = factory()
        values.update(zip(names, args, strict=False))
        values.update(given)
        if len(values) != len(names) or len(args) > len(names):
            raise TypeError(f"{owner} takes {', '.join(names)}, and got {', '.join(values)}")
        if after is not None:
            after(self)

    return __init__


def _equality(names: tuple[str, ...]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in names)

    return __eq__


def _hash(names: tuple[str, ...]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(tuple([getattr(self, name) for name in names]))

    return __hash__
