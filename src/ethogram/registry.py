"""Where plug-ins are found: one new file with one decorator, no list to edit.

A registry walks its folder, importing every module in it, then asks the entry points of its group
(`ethogram.signals`, `ethogram.adapters`, ...), so another package can add to it by being installed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import BadUsage, EthogramError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


T = TypeVar("T")
IN_CODE = "in_code_"
"""What names of signals begin with that patterns in code make: for them alone."""


class Registry(Generic[T]):
    """Named things of one kind. Finding them is put off until somebody asks."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._items: dict[str, T] = {}
        self._found = False

    def add(self, name: str, item: T) -> T:
        """Register under a name; the same name twice is a mistake, unless it is the same thing."""
        known = self._items.get(name)
        if known is not None and _origin(known) != _origin(item):
            raise BadUsage(f"two {self.kind}s are named {name!r}: {_origin(known)} and {_origin(item)}")
        self._items[name] = item
        return item

    def discard(self, name: str) -> T | None:
        """Forget a name, and give what it stood for; for tests, which make plug-ins of their own."""
        return self._items.pop(name, None)

    def loaded(self) -> list[str]:
        """The names of all that is loaded already; nothing is looked for."""
        return sorted(self._items)

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator: `@adapter("csv")`."""
        return lambda item: self.add(name, item)

    def find(self) -> None:
        """Import every module of the folder, then every entry point. Done once."""
        if self._found:
            return
        # Here and not above: importing them at every start would cost 30 ms.
        import pkgutil
        from importlib.metadata import entry_points

        try:
            package = importlib.import_module(self.package)
        except ModuleNotFoundError as error:
            if error.name != self.package:
                raise
        else:
            for module in pkgutil.walk_packages(package.__path__, f"{self.package}."):
                importlib.import_module(module.name)
        points: dict[str, str] = {}
        for point in entry_points(group=f"ethogram.{self.kind}s"):
            if points.setdefault(point.name, point.value) != point.value:
                both = f"{points[point.name]} and {point.value}"
                raise BadUsage(f"two {self.kind}s are named {point.name!r}: {both}")
            loaded = _loaded(point)
            # A decorated plug-in has registered itself by being loaded.
            if point.name not in self._items:
                self.add(point.name, loaded)
        self._found = True

    def names(self) -> list[str]:
        """Every registered name, sorted."""
        self.find()
        return sorted(self._items)

    def items(self) -> Iterator[tuple[str, T]]:
        """Every name and thing, sorted by name."""
        self.find()
        return iter(sorted(self._items.items()))

    def get(self, name: str) -> T:
        """The thing of that name, or an error that names the nearest."""
        self.find()
        if name not in self._items:
            raise BadUsage(f"unknown {self.kind} {name!r}{did_you_mean(name, self._items)}")
        return self._items[name]

    def known(self, name: str) -> T:
        """The thing of that name among those that are loaded already; nothing is looked for."""
        return self._items[name]

    def __contains__(self, name: str) -> bool:
        self.find()
        return name in self._items


def _loaded(point: EntryPoint) -> Any:
    """What an entry point names; BadUsage that tells whose it is where that cannot be had."""
    try:
        return point.load()
    except EthogramError:
        raise
    except Exception as error:
        whose = f" of the package {point.dist.name!r}" if point.dist is not None else ""
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise BadUsage(
            f"the plug-in {point.name!r}{whose} ({point.group}: {point.value}) cannot be loaded; "
            f"repair the package or uninstall it: {said:.200}"
        ) from error


def _origin(item: object) -> str:
    if isinstance(said := getattr(item, "origin", None), str):
        return said
    named = item if hasattr(item, "__qualname__") else type(item)
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"


patterns: Registry[Any] = Registry("pattern", "ethogram.library")
"""Patterns in code; those in files are found by patterns/library.py."""
signals: Registry[Any] = Registry("signal", "ethogram.signals")
adapters: Registry[Any] = Registry("adapter", "ethogram.ingest.formats")
stores: Registry[Any] = Registry("store", "ethogram.store")
evaluators: Registry[Any] = Registry("evaluator", "ethogram.evaluators")
