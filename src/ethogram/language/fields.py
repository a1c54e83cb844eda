"""Read the fields of a pattern file, collecting every fault with its position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..errors import Fault, did_you_mean
from ..models.timestamps import parse_duration, parse_event_count
from .ast import Duration, Events, Expr, Limit, Limits
from .expressions import BROKEN, Reader, Scope, Typed
from .yaml_source import Fields, Items, Node, Scalar

MAX_MESSAGE = 1_000
"""Characters of a fault."""
RENAMED = {
    "history": ("group_by",),
    "level": ("threshold", "severity"),
    "levels": ("severity",),
    "soon": ("within",),
    "gaps": ("max_gap",),
}
"""Former keys with their new names; the first that is known at the place applies."""


def renamed(key: str, known: Iterable[str]) -> str:
    """The message for a former key, '' for any other.

    >>> renamed("history", ["shape", "group_by"]), renamed("shape", ["shape"])
    ("'history' is now 'group_by'", '')
    """
    names = set(known)
    return next((f"{key!r} is now {new!r}" for new in RENAMED.get(key, ()) if new in names), "")


class FieldReader:
    """Collects faults, kinds of signals by their use, and the tables used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[Fault] = []
        self.kinds: dict[str, str] = {}
        self.tables: dict[str, Mapping[str, float]] = {}

    def fault(self, node: Node, message: str) -> None:
        # Messages repeat text of the file, which may be of any length.
        self._add(node.line, node.column, message[:MAX_MESSAGE] + "..." * (len(message) > MAX_MESSAGE))

    def _add(self, line: int, column: int, message: str) -> None:
        fault = Fault(self.path, line, column, message)
        if fault not in self.faults:
            self.faults.append(fault)

    def known_keys(self, node: Fields, known: Iterable[str], where: str) -> None:
        """Note every key that is not known here, with the nearest that is."""
        names = list(known)
        for key, _ in node.entries:
            if key.text not in names:
                near = did_you_mean(key.text, names) or f"; known: {', '.join(names)}"
                unknown = f"unknown key {key.text!r:.80} in {where}{near}"
                self.fault(key, renamed(key.text, names) or unknown)

    def text(self, node: Node | None, what: str, limit: int = 4000) -> str:
        """A string; '' without a value, or after noting the fault."""
        if node is None:
            return ""
        if not isinstance(node, Scalar) or node.value is None:
            self.fault(node, f"{what} takes a text")
            return ""
        if len(node.text) > limit:
            self.fault(node, f"{what} is longer than {limit} characters")
        return node.text

    def texts(self, node: Node | None, what: str) -> tuple[str, ...]:
        """A list of strings; one string alone is a list of one."""
        if node is None:
            return ()
        items = node.items if isinstance(node, Items) else (node,)
        return tuple(self.text(item, what) for item in items)

    def number(self, node: Node | None, scope: Scope, what: str, default: float = 0.0) -> float:
        """A number or the name of a parameter."""
        if node is None:
            return default
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, str) and value in scope.parameters:
            return float(scope.parameters[value])
        near = did_you_mean(value, scope.parameters) if isinstance(value, str) else ""
        self.fault(node, f"{what} takes a number or the name of a parameter{near}")
        return default

    def count(
        self, node: Node | None, scope: Scope, what: str, default: int, lowest: int = 1, highest: int = 512
    ) -> int:
        """A whole number or the name of a parameter that is one."""
        if node is None:
            return default
        value = self.number(node, scope, what, float(default))
        if value != int(value) or not lowest <= value <= highest:
            self.fault(node, f"{what} takes a whole number from {lowest} to {highest}")
            return default
        return int(value)

    def duration(self, node: Node | None, what: str) -> int | None:
        """Microseconds of a duration such as 7d; None without a value."""
        if node is None:
            return None
        limit = self.limit(node, what, bare=False)
        if isinstance(limit, Duration):
            return limit.us
        if limit is not None:
            self.fault(node, f"{what} takes a duration such as 7d")
        return None

    def limits(self, node: Node | None, what: str, *, bare: bool = False) -> Limits:
        """A duration, 'n events', or a list of them. `bare`: a plain number means events."""
        if node is None:
            return ()
        items = node.items if isinstance(node, Items) else (node,)
        if not items:
            self.fault(node, f"{what} is empty; write 7d, 20 events, or a list of both")
        limits = (self.limit(item, what, bare=bare) for item in items)
        return tuple(limit for limit in limits if limit is not None)

    def limit(self, node: Node, what: str, *, bare: bool) -> Limit | None:
        """One duration or number of events; None after noting the fault."""
        value = node.value if isinstance(node, Scalar) else None
        if bare and isinstance(value, int) and not isinstance(value, bool):
            value = f"{value} events"
        if not isinstance(value, str):
            self.fault(node, f"{what} takes a duration such as 7d, or a number of events: 20 events")
            return None
        count = parse_event_count(value)
        if count is not None:
            if not 1 <= count <= 100_000:
                self.fault(node, f"{what} takes at least 1 and at most 100000 events")
                return None
            return Events(count)
        try:
            return Duration(parse_duration(value))
        except ValueError as error:
            self.fault(node, f"{error} (or a number of events: 20 events)")
            return None

    def expression(self, node: Node | None, scope: Scope, want: str, what: str) -> Typed:
        """An expression, its faults placed in the file."""
        if not isinstance(node, Scalar):
            if node is not None:
                self.fault(node, f"{what} takes an expression")
            return BROKEN
        if node.value is None or isinstance(node.value, bool):
            self.fault(node, f"{what} takes an expression such as compassion > 0.5")
            return BROKEN
        reader = Reader(node.text, scope)
        typed = reader.read(want)
        for offset, message in reader.faults:
            line, column = node.place(offset) if len(node.text) <= 20_000 else (node.line, node.column)
            self._add(line, column, message)
        for name, kind in reader.kinds.items():
            if self.kinds.setdefault(name, kind) != kind:
                self.fault(node, f"{name!r} is used as a number and as a category")
        self.tables.update(reader.tables)
        return typed

    def condition(self, node: Node | None, scope: Scope, what: str) -> Expr:
        """An expression that is true, false or unknown."""
        return self.expression(node, scope, "truth", what)[0]
