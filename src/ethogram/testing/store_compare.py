"""Compare what a store does with what it promises; AssertionError with the call and the first difference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from ..store import Store
from ..store.kinds import KINDS, Row
from ..store.moving import VERSION
from ..store.row_store import Condition, Reader, Where

COMPARE: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
THREAD_SECONDS = 60.0
"""Seconds in which another thread must be able to write, once it may."""


def own_rows(kind: str) -> Where:
    """Conditions for what is not the store's own: its version may be a row of `meta`."""
    return [("name", "!=", VERSION)] if kind == "meta" else ()


class OtherThread(threading.Thread):
    """Work that another thread does, from now on."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error

    def finish(self, promise: str) -> None:
        """Wait for the end; AssertionError where there is none, or an error."""
        self.join(THREAD_SECONDS)
        if self.is_alive():
            raise AssertionError(f"{promise}: it still waits after {THREAD_SECONDS:.0f} seconds")
        if self._error is not None:
            raise AssertionError(f"{promise}: it raised {self._error!r:.500}") from self._error


class Stop(Exception):
    """Ends a transaction."""


@contextmanager
def expect(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError("transact raises what its work raises")


def check_rows(store: Store, expected: Sequence[Row], promise: str, kind: str, where: Where = ()) -> None:
    """Compare the rows of a kind, in the order of their keys."""
    check_equal(sorted_rows(store, kind, where), expected, f"{promise}: rows({kind!r}, {where!r:.200})")


def sorted_rows(store: Store, kind: str, where: Where = ()) -> list[Row]:
    """The rows of a kind in the order of their keys."""
    rows: list[Row] = []
    for row in store.rows(kind, [*own_rows(kind), *where]):
        if not isinstance(row, tuple):
            raise AssertionError(
                f"a row is a tuple, not a {type(row).__name__}: rows({kind!r}) gave {row!r:.300}"
            )
        rows.append(
            tuple(bytes(value) if isinstance(value, bytearray | memoryview) else value for value in row)
        )
    key = [KINDS[kind].names.index(name) for name in KINDS[kind].key]
    return sorted(rows, key=lambda row: tuple(row[place] for place in key))


def meets_all(kind: str, row: Row, where: Where) -> bool:
    """Whether a row meets all conditions."""
    values = dict(zip(KINDS[kind].names, row, strict=True))
    return all(_meets(values, condition) for condition in where)


def _meets(values: dict[str, Any], condition: Condition) -> bool:
    column, operator, wanted = condition
    if operator == "contains":
        columns: Sequence[str] = (column,) if isinstance(column, str) else column
        return any(values[name] is not None and wanted in values[name] for name in columns)
    assert isinstance(column, str)
    value = values[column]
    if operator == "in":
        return value is not None and value in wanted
    if operator in ("=", "!="):
        return bool((eq if operator == "=" else ne)(value, wanted))
    return value is not None and COMPARE[operator](value, wanted)


def check_equal(found: object, expected: object, promise: str) -> None:
    if found != expected:
        raise AssertionError(f"{promise}: {_difference(found, expected)}")


def _difference(found: object, expected: object) -> str:
    """The first difference of two values, or of the items of two lists."""
    if not (isinstance(found, list) and isinstance(expected, list)):
        return f"found {found!r:.300}, expected {expected!r:.300}"
    for place, (one, other) in enumerate(zip(found, expected, strict=False)):
        if isinstance(other, tuple) and not isinstance(one, tuple):
            return f"a row is a tuple, not a {type(one).__name__}: {one!r:.300}"
        if one != other:
            return f"item {place} is {one!r:.300}, expected {other!r:.300}"
    what = f"found {len(found)} items, expected {len(expected)}"
    if len(found) > len(expected):
        return f"{what}; the first that should not be there is {found[len(expected)]!r:.300}"
    return f"{what}; the first that is missing is {expected[len(found)]!r:.300}"


def check_call(reader: Reader, expected: object, promise: str, method: str, *args: Any, **how: Any) -> None:
    """Compare what a call returns; AssertionError names the call."""
    result = getattr(reader, method)(*args, **how)
    values = [f"{value!r:.200}" for value in args] + [f"{name}={value!r:.200}" for name, value in how.items()]
    found = list(result) if isinstance(expected, list) else result
    check_equal(found, expected, f"{promise}: {method}({', '.join(values)})")
