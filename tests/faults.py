"""Seeded faults: a package imported anew with one line changed, to see that the tests would notice."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class Fault(NamedTuple):
    """In `module`, `text` (found there once) is replaced."""

    module: str
    text: str
    replacement: str


class _Patching(importlib.abc.MetaPathFinder):
    """Finds one module with its source changed; all others as ever."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.fault.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(name, spec.origin, self.fault)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, fault: Fault) -> None:
        super().__init__(name, path)
        self.fault = fault

    def get_code(self, fullname: str) -> object:  # never from the cache
        changed = self.get_data(self.path).decode().replace(self.fault.text, self.fault.replacement)
        return compile(changed, self.path, "exec", dont_inherit=True)


@contextmanager
def seeded(fault: Fault, anew: Sequence[str]) -> Iterator[None]:
    """While this lasts, modules whose names start with one of `anew` are imported anew, with the fault."""
    spec = importlib.util.find_spec(fault.module)
    assert spec is not None
    assert spec.origin is not None
    times = Path(spec.origin).read_text(encoding="utf-8").count(fault.text)
    # Not while it is imported: there, a test could take any exception for the fault.
    assert times == 1, f"{fault} is found {times} times"
    taken = {name: module for name, module in sys.modules.items() if name.startswith(tuple(anew))}
    for name in taken:
        del sys.modules[name]
    finder = _Patching(fault)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(tuple(anew))]:
            del sys.modules[name]
        sys.modules.update(taken)
        for name, module in taken.items():  # the attribute of the parent is set by an import, too
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)
