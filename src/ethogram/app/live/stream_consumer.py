"""Consume a stream: events into a store, acknowledged when they are there, and sweeps of what is new.

A message that is delivered again changes nothing: the store has its event. A consumer that is killed between
the two commits, of the store and of the broker, gets it again.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ...config import Settings
from ...errors import BadUsage
from ...files import make_private_file
from ...ingest.errors import BadLine, type_name
from ...ingest.streams import decode, parse
from ...models.limits import Limits, over
from ...models.mute import Mute
from ...models.slotted import replace
from ...patterns.library import Library
from ...store.records import Locked, Store
from ...streams import Message, Stream
from ..swarms import once_per_swarm
from ..sweep import Sweep, mute_changes, sweep
from .receiver import Receiver, add_first

ENOUGH, MOST = 256, 4_096
"""Messages for which a batch waits while more come, and the most that it has."""
SKEW = timedelta(minutes=1)
NO_TIME = "at is missing, and nothing says when it came"
NO_ID = "id is missing: it may come again, and is known by its id alone"


class Line(NamedTuple):
    """A line of an event, or a str that says what is wrong with it; where it came from, and as what."""

    position: str
    line: Mapping[str, Any] | str
    body: bytes | None


class Refused(NamedTuple):
    """Something that is no event, or not one that the store can take."""

    position: str
    why: str
    body: bytes | None


class Taken(NamedTuple):
    """What became of a batch."""

    added: int = 0
    repeated: int = 0
    refused: Sequence[Refused] = ()


class EventWriter:
    """Adds the events of lines to a store, and appends the others to the file `rejected`."""

    def __init__(self, store: Store, settings: Settings, *, keep_text: bool, rejected: str) -> None:
        self._store, self._settings = store, settings
        self._receiver = Receiver(settings, keep_text=keep_text)
        self._keep_text, self._rejected = keep_text, rejected
        self.limits = Limits(**settings.limits)

    def write(self, lines: Sequence[Line], now: datetime) -> Taken:
        """Return when every event is in the store, and every other line in the file."""
        if not lines:
            return Taken()
        sources = self._store.sources()
        kinds = {name: source.kinds for name, source in sources.items()}
        received, faults = self._receiver.accept(
            [item[:2] for item in lines], kinds, source=self._settings.source, now=now
        )
        untimed = {name for name, source in sources.items() if not source.timed}
        for item in received.staged:
            if item.event.source in untimed:
                faults[item.line] = f"the source {item.event.source!r:.60} has no times in the store"
        staged = [item for item in received.staged if item.line not in faults]
        added, clashes = add_first(
            lambda staged: self._store.add(
                staged, keep_text=self._keep_text, received_at=now, kinds=received.kinds
            ),
            staged,
        )
        for clash in clashes:
            faults[clash.line] = f"the id {clash.id!r:.60} has other content {clash.other}"
        refused = [
            Refused(lines[number].position, why, lines[number].body) for number, why in sorted(faults.items())
        ]
        self._set_aside(refused, now)
        return Taken(added.added, added.repeated + received.repeated, refused)

    def _set_aside(self, refused: Sequence[Refused], now: datetime) -> None:
        """Append what was refused to the file, safely on the disk."""
        if not refused:
            return
        try:
            make_private_file(self._rejected)
            with open(self._rejected, "ab") as file:
                file.writelines(_rejected_line(item, now) for item in refused)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            why = error.strerror or str(error)
            raise BadUsage(f"{self._rejected}: refused messages cannot be written: {why}") from None


class Consumer:
    """Moves messages of a stream into a store, batch by batch."""

    def __init__(self, stream: Stream, writer: EventWriter) -> None:
        self._stream, self._writer = stream, writer

    def gather(self, wait: float) -> list[Message]:
        """The next messages: what comes within `wait` seconds, or enough before."""
        until, messages = time.monotonic() + wait, list[Message]()
        while len(messages) < ENOUGH and (left := until - time.monotonic()) > 0:
            messages += self._stream.read(MOST - len(messages), left)
        return messages

    def take(self, messages: Sequence[Message], now: datetime) -> Taken:
        """Add the events of messages to the store, set the others aside, then acknowledge them all."""
        limits = self._writer.limits
        taken = self._writer.write([line_of(message, limits) for message in messages], now)
        if messages:
            self._stream.acknowledge(messages)
        return taken


def line_of(message: Message, limits: Limits) -> Line:
    """The event line of a message, with number and time of the broker where it has none; or what is wrong."""
    return Line(message.position, _parsed(message, limits), message.body)


def _parsed(message: Message, limits: Limits) -> dict[str, Any] | str:
    if message.body is None:
        return "the message is empty, or was removed before it was read"
    if len(message.body) > limits.line:
        return over("line", limits.line, f"a message longer than {limits.line} bytes")
    try:
        line = parse(decode(message.body))
    except BadLine as bad:
        return f"{bad.message} (column {bad.column})" if bad.column else bad.message
    if not isinstance(line, dict):
        return f"an event is an object {{...}}, not {type_name(line)}"
    if not line.get("at"):
        if message.at is None:
            return NO_TIME
        line["at"] = message.at
    if line.get("seq") is None and message.seq is not None:
        line["seq"] = message.seq
    if message.seq is None and line.get("id") in (None, ""):
        return NO_ID
    return line


def _rejected_line(item: Refused, now: datetime) -> bytes:
    body = item.body or b""
    try:
        content = {"body": body.decode()}
    except UnicodeDecodeError:
        content = {"body_base64": base64.b64encode(body).decode()}
    record = {"position": item.position, "error": item.why, "at": now.isoformat(), **content}
    return json.dumps(record, ensure_ascii=True).encode() + b"\n"


class Sweeps:
    """Sweeps of a store that several consumers fill: one at a time, and each change is reported by one."""

    def __init__(
        self, store: Store, library: Library, settings: Settings, *, mutes: Sequence[Mute] = ()
    ) -> None:
        self._store, self._library, self._settings, self._mutes = store, library, settings, mutes

    def run(self, clock: Callable[[], datetime], report: Callable[[Sweep], None]) -> bool:
        """Sweep and report what changed, then mark it as reported; False where another one is at work."""
        store, lock = self._store, None
        try:
            lock = store.lock("watch", clock())
            now, last = clock(), store.last_sweep()
            # The clock of another machine may be a little ahead.
            as_of = last if last is not None and now < last < now + SKEW else now
            done = sweep(store, self._library, as_of=as_of, clock=clock, settings=self._settings)
            reported, folded = once_per_swarm(done.changes, store)
            done = replace(done, changes=tuple(reported))
            done = mute_changes(done, self._mutes, store, clock())
            report(done)
            store.mark_reported(change.key for change in (*done.changes, *done.muted, *folded))
        except Locked:
            return False
        finally:
            if lock is not None:
                store.unlock(lock)
        return True
