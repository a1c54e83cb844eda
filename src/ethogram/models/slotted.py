"""`dataclass` that costs nothing at import: a constructor is compiled when the first record is made.

`dataclasses` compiles six methods for every class, about a millisecond each time, and loads `inspect`: a
hook has no time for either, and commands start a tenth of a second sooner without. Type checkers see the real
`dataclass`, and `dataclasses.fields`, `replace` and `asdict` take these records.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, field, replace
    from typing import Any


__all__ = ["dataclass", "field", "replace"]

_MISSING = object()


class _Field:
    """The arguments of `field(...)`."""

    __slots__ = ("compare", "default", "default_factory", "repr")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = None,
        repr: bool = True,  # noqa: A002 (the name dataclasses gives it)
        compare: bool = True,
    ) -> None:
        self.default, self.default_factory, self.repr, self.compare = default, default_factory, repr, compare


class _Fields:
    """`__dataclass_fields__`, built at first use."""

    def __init__(self, annotations: dict[str, Any], known: dict[str, _Field]) -> None:
        self.annotations, self.known = annotations, known
        self.built: dict[str, Any] | None = None

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        if self.built is None:
            import dataclasses

            body: dict[str, Any] = {"__annotations__": self.annotations, "__module__": owner.__module__}
            for name, item in self.known.items():
                record: dict[str, Any] = {"repr": item.repr, "compare": item.compare}
                if item.default is not _MISSING:
                    record["default"] = item.default
                if item.default_factory is not None:
                    record["default_factory"] = item.default_factory
                body[name] = dataclasses.field(**record)
            twin: Any = dataclasses.dataclass(kw_only=True)(type(owner.__name__, (), body))
            self.built = twin.__dataclass_fields__
        return self.built


if not TYPE_CHECKING:
    field = _Field

    def replace(record, /, **changes):
        """The record with other values for some of its fields."""
        return type(record)(**({name: getattr(record, name) for name in record.__match_args__} | changes))

    def dataclass(cls=None, /, *, frozen=False, slots=False, order=False, kw_only=False):
        """The class with a constructor, equality, a repr, and a hash where it is frozen."""
        if cls is None:
            return lambda decorated: _record(decorated, frozen, slots, order, kw_only)
        return _record(cls, frozen, slots, order, kw_only)


def _record(cls: Any, frozen: bool, slots: bool, order: bool, kw_only: bool) -> Any:
    annotations = dict(vars(cls).get("__annotations__", {}))
    body = dict(vars(cls))
    known: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited = vars(base).get("__dataclass_fields__")
        if isinstance(inherited, _Fields):
            known |= inherited.known
            annotations = {**inherited.annotations, **annotations}
    for name in vars(cls).get("__annotations__", {}):
        default = body.pop(name, _MISSING) if slots else vars(cls).get(name, _MISSING)
        known[name] = default if isinstance(default, _Field) else _Field(default=default)
    if slots:
        taken = {name for base in cls.__mro__[1:] for name in vars(base).get("__slots__", ())}
        body["__slots__"] = tuple(name for name in known if name not in taken)
        for name in ("__dict__", "__weakref__"):
            body.pop(name, None)
        cls = type(cls)(cls.__name__, cls.__bases__, body)
    cls.__dataclass_fields__ = _Fields(annotations, known)
    setattr(cls, "__match_args__", tuple(known))  # noqa: B010 (type checkers want it written in the class)
    cls.__init__ = _first_init(cls, known, slots, kw_only)
    compared = _values([name for name, item in known.items() if item.compare])
    _add_methods(cls, body, tuple(known), compared, [name for name, item in known.items() if item.repr])
    if frozen:
        cls.__setattr__ = cls.__delattr__ = _refuse
        if "__hash__" not in body or body["__hash__"] is None:
            cls.__hash__ = lambda self: hash(compared(self))
    if order:
        _add_order(cls, compared)
    return cls


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the values of these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple([getattr(self, name) for name in names])


def _first_init(cls: Any, known: dict[str, _Field], slots: bool, kw_only: bool) -> Callable[..., None]:
    """A constructor that replaces itself by the compiled one at the first call."""

    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
        cls.__init__ = _init(cls, known, slots, kw_only)
        cls.__init__(self, *args, **options)

    return __init__


def _init(cls: Any, known: dict[str, _Field], slots: bool, kw_only: bool) -> Callable[..., None]:
    space: dict[str, Any] = {"_MISSING": _MISSING}
    parameters, lines = ["*"] if kw_only else [], []
    for name, item in known.items():
        value = name
        if item.default_factory is not None:
            space[f"_make_{name}"] = item.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
            parameters.append(f"{name}=_MISSING")
        elif item.default is not _MISSING:
            space[f"_default_{name}"] = item.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        if slots:
            space[f"_set_{name}"] = getattr(cls, name).__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"self.__dict__[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), space)
    made: Callable[..., None] = space["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _add_methods(
    cls: Any, body: dict[str, Any], names: tuple[str, ...], compared: Any, shown: list[str]
) -> None:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({values})"

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    for method in (__eq__, __repr__, __getstate__, __setstate__):
        if method.__name__ not in body:
            setattr(cls, method.__name__, method)
    if "__eq__" not in body and "__hash__" not in body:
        cls.__hash__ = None


def _add_order(cls: Any, compared: Any) -> None:
    import operator

    for name in ("lt", "le", "gt", "ge"):
        compare = getattr(operator, name)

        def method(self: Any, other: Any, compare: Any = compare) -> Any:
            same = other.__class__ is self.__class__
            return compare(compared(self), compared(other)) if same else NotImplemented

        setattr(cls, f"__{name}__", method)


def _refuse(self: Any, name: str, value: Any = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")
