"""Registries of plug-ins: a plug-in is one new file with one decorator.

A registry imports every module of its folder, then the entry points of its group (`ethogram.signals`,
`ethogram.adapters`, ...), by which other packages add to it. `load_file` runs a file that the user named.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import BadUsage, EthogramError, Fault, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path


T = TypeVar("T")
IN_CODE = "in_code_"
"""Start of the names of signals that patterns in code make, for those patterns alone."""
FEW = 40
"""Plug-ins that are all listed where an unknown one is named."""


class Registry(Generic[T]):
    """Plug-ins of one kind by name, imported at first use."""

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._items: dict[str, T] = {}
        self._discovered = False

    def add(self, name: str, item: T) -> T:
        """Register under a name; BadUsage where another plug-in has it."""
        known = self._items.get(name)
        if known is not None and _origin(known) != _origin(item):
            raise BadUsage(f"two {self.kind}s are named {name!r}: {_origin(known)} and {_origin(item)}")
        self._items[name] = item
        return item

    def discard(self, name: str) -> T | None:
        """Remove and return the plug-in of a name; for tests."""
        return self._items.pop(name, None)

    def loaded(self) -> list[str]:
        """The names of plug-ins that are imported already."""
        return sorted(self._items)

    def register(self, name: str) -> Callable[[T], T]:
        """The decorator: `@adapter("csv")`."""
        return lambda item: self.add(name, item)

    def find(self) -> None:
        """Import every module of the folder, then every entry point. Done once."""
        if self._discovered:
            return
        import pkgutil  # here, since it takes some ms

        try:
            package = importlib.import_module(self.package)
        except ModuleNotFoundError as error:
            if error.name != self.package:
                raise
        else:
            for module in pkgutil.walk_packages(package.__path__, f"{self.package}."):
                importlib.import_module(module.name)
        points: dict[str, str] = {}
        for point in _entry_points(tuple(sys.path)).select(group=f"ethogram.{self.kind}s"):
            if points.setdefault(point.name, point.value) != point.value:
                both = f"{points[point.name]} and {point.value}"
                raise BadUsage(f"two {self.kind}s are named {point.name!r}: {both}")
            loaded = _loaded(point)
            # A decorated plug-in has registered itself.
            if point.name not in self._items:
                self.add(point.name, loaded)
        self._discovered = True

    def names(self) -> list[str]:
        """Every registered name, sorted."""
        self.find()
        return sorted(self._items)

    def items(self) -> Iterator[tuple[str, T]]:
        """Every name and plug-in, sorted by name."""
        self.find()
        return iter(sorted(self._items.items()))

    def get(self, name: str) -> T:
        """The plug-in of a name; BadUsage suggests the nearest, or all where there are few."""
        self.find()
        if name not in self._items:
            few = f": expected {', '.join(self.names())}" if 0 < len(self._items) <= FEW else ""
            raise BadUsage(f"unknown {self.kind} {name!r:.80}{did_you_mean(name, self._items) or few}")
        return self._items[name]

    def known(self, name: str) -> T:
        """The plug-in of a name among those imported already."""
        return self._items[name]

    def __contains__(self, name: str) -> bool:
        self.find()
        return name in self._items


@lru_cache(maxsize=1)
def _entry_points(path: tuple[str, ...]) -> Any:
    """The entry points of all packages on a path, which take some ms to read."""
    from importlib.metadata import entry_points

    return entry_points()


def _loaded(point: EntryPoint) -> Any:
    """Load an entry point; BadUsage names its package where that fails."""
    try:
        return point.load()
    except EthogramError:
        raise
    except Exception as error:
        whose = f" of the package {point.dist.name!r}" if point.dist is not None else ""
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise BadUsage(
            f"the plug-in {point.name!r}{whose} ({point.group}: {point.value}) cannot be loaded; "
            f"repair the package or uninstall it: {reason:.200}"
        ) from error


def load_file(path: str) -> None:
    """Run a Python file that registers plug-ins, once per process; BadUsage says what is wrong with it.

    Call it only with a path from the user's own command line or code, never with one from a settings file.
    """
    from pathlib import Path

    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        what = "expected a Python file (.py)" if file.suffix != ".py" else "no such file"
        raise BadUsage([Fault(path, 0, 0, what)])
    if module_name(file) not in sys.modules:
        run_file(file)


def module_name(path: Path) -> str:
    """The name under which the code of a file is imported."""
    import hashlib

    return f"ethogram_code_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"


def run_file(path: Path) -> None:
    """Run a Python file that the user named, as a module of its own; BadUsage with the line that failed."""
    import importlib.util

    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadUsage([Fault(str(path), 0, 0, "is not a Python file")])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # no cache beside the user's file
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, EthogramError) or not isinstance(error, Exception):
            raise
        line = getattr(error, "lineno", 0) or _line_in(path, error)
        text = f"{type(error).__name__}: {error}"
        raise BadUsage([Fault(str(path), line, 0, f"cannot be run: {text:.200}")]) from error
    finally:
        sys.dont_write_bytecode = writes


def _line_in(path: Path, error: Exception) -> int:
    """The line of the file at which an error was raised; 0 where it is not known."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    lines = [item.lineno for item in frames if type(path)(item.filename).resolve() == path.resolve()]
    return (lines[-1] or 0) if lines else 0


def _origin(item: object) -> str:
    if isinstance(origin := getattr(item, "origin", None), str):
        return origin
    named = item if hasattr(item, "__qualname__") else type(item)
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"


patterns: Registry[Any] = Registry("pattern", "ethogram.library")
"""Patterns in code; those in files are found by patterns/library.py."""
signals: Registry[Any] = Registry("signal", "ethogram.signals")
adapters: Registry[Any] = Registry("adapter", "ethogram.ingest.formats")
stores: Registry[Any] = Registry("store", "ethogram.store")
evaluators: Registry[Any] = Registry("evaluator", "ethogram.evaluators")
exporters: Registry[Any] = Registry("exporter", "ethogram.integrations.exporters")
