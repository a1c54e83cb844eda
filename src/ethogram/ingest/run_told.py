"""What has been told of a run: its records in order, each event with an id, a place in time and a thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar

from ..records import parse_time
from .adapter import Record, Skipped
from .errors import BadLine, shown
from .messages import time_of
from .run_values import cut, fit

LABEL = 2_000
TASK = 20_000
"""Characters kept of each text among the labels, and of what is said of a run as a whole."""

UNTIMED = "untimed"
"""The source of runs without times, so that they can be read together with others: times are a source's."""


class Told:
    """The records of a run. `line` is the line of the file that is being told."""

    is_whole: ClassVar[bool] = True
    """False where the calls of one batch may lie in other files."""

    def __init__(self, thread: str, prefix: str | None = None) -> None:
        self.thread = thread
        self.line = 1
        self.prefix = prefix or thread
        self.events: list[dict[str, Any]] = []
        self._records: list[Record] = []
        self._ids: dict[str, int] = {}
        self._facts: dict[str, Any] = {}

    def event(self, kind: str, subject: str, at: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """A new event line, which is told when it is added. Attributes that are None are left out."""
        told = {key: value for key, value in attributes.items() if value is not None}
        own = told.pop("id", None)
        moment = moment_of(at)
        line: dict[str, Any] = {
            "id": self._id(f"{self.prefix}/{own if own is not None else len(self.events)}"),
            "subject": subject,
            "thread": self.thread,
            "kind": kind,
            "attributes": told,
        }
        if isinstance(target := told.pop("target", None), str):
            line["target"] = target
        if moment is not None:
            line["at"] = moment
        return line

    def add_event(self, line: dict[str, Any]) -> None:
        """Tell an event."""
        self.events.append(line)
        self._records.append((self.line, line, 0))

    def facts(self, **facts: Any) -> None:
        """What is known of the run as a whole (label, labels, task, ...): told on its first event only."""
        for key, value in facts.items():
            if isinstance(value, str):
                self._facts[key] = cut(value, TASK)
            elif isinstance(value, dict | list):
                self._facts[key] = fit({key: value}, LABEL)[key]
            elif value is not None:
                self._facts[key] = value

    def skip(self, what: str) -> None:
        """Count a record that is left out."""
        self._records.append((self.line, Skipped(what), 0))

    def unknown(self, kind: Any) -> None:
        """Count a record of a type that is not known."""
        self.skip(f"records of the unknown type {shown(kind)}")

    def fault(self, message: str) -> None:
        """Tell what is wrong at this line."""
        self._records.append((self.line, message, 0))

    def tell(self, line: int, told: Callable[[Any], None], record: Any) -> None:
        """Let an adapter tell one record; what is wrong with it becomes a fault of its line."""
        self.line = line
        try:
            told(record)
        except BadLine as bad:
            self.fault(bad.message)

    def records(self) -> Iterator[Record]:
        """Everything, in order. Where some events have a time, the others have that of the one before."""
        last = next((line["at"] for line in self.events if "at" in line), None)
        for line in self.events:
            if last is None:
                line["source"] = UNTIMED
            else:
                last = line.setdefault("at", last)
        if self.is_whole:
            self._drop_single_batches()
        if self.events:
            own = self.events[0]["attributes"]
            own.update((key, value) for key, value in self._facts.items() if key not in own)
        yield from self._records

    def _drop_single_batches(self) -> None:
        acts = (line for line in self.events if line["kind"] == "action")
        sizes = Counter(line["attributes"].get("batch") for line in acts)
        for line in self.events:
            if sizes[line["attributes"].get("batch")] < 2:
                line["attributes"].pop("batch", None)

    def _id(self, name: str) -> str:
        """The name, with a number where the run has it already."""
        self._ids[name] = count = self._ids.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"


def moment_of(given: Any) -> datetime | None:
    """A time as a moment; None where there is none, BadLine where it is something else."""
    if isinstance(given, datetime):
        return given
    at, _ = time_of(given)
    if at is None:
        return None
    try:
        return parse_time(at)
    except ValueError as error:
        raise BadLine(f"time: {error}") from None
