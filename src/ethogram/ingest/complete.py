"""What a line does not say: the id, the position, the time; then the event."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ..records import EPOCH, Event, Value, default_id, format_time
from ..records.quick import quick_event
from .errors import BadLine
from .event_line import Fields

LAST_SECOND = 253_402_300_799
"""The last whole second of the year 9999, which is as far as an untimed source can count."""


def completed(fields: Fields, source: str, number: int, latest: datetime | None = None) -> Fields:
    """Checked fields with what the line did not give. Without a time, `seq` counts seconds up to `latest`."""
    fields["source"] = source
    seq = fields.setdefault("seq", number)
    if "id" not in fields:
        fields["id"] = default_id(source, seq, content_of(fields))
    if "at" not in fields:
        fields["at"], fields["timed"] = _counted(seq, latest), False
    return fields


def event_of(fields: Fields) -> Event:
    """The event of complete fields."""
    get = fields.get
    return quick_event(
        fields["id"],
        fields["at"],
        fields["subject"],
        fields["seq"],
        fields["source"],
        get("timed", True),
        None,
        get("target"),
        get("reply_to"),
        get("thread"),
        get("session"),
        get("kind", "event"),
        get("text"),
        get("attributes") or {},
        get("readings") or {},
        get("scorers") or {},
        get("widths") or {},
    )


def _counted(seq: int, latest: datetime | None) -> datetime:
    last = LAST_SECOND if latest is None else int(latest.timestamp())
    if seq > last:
        raise BadLine(f"seq {seq} is too large for a source without times; the largest is {last}")
    return EPOCH + timedelta(seconds=seq)


def content_of(fields: Fields) -> dict[str, Any]:
    """What `Event.to_dict` would say of these fields, apart from id and seq, before there is an event."""
    told = ("subject", "target", "reply_to", "thread", "session", "text", "attributes")
    content = {name: fields[name] for name in told if name in fields}
    content["kind"] = fields.get("kind", "event")
    if "at" in fields:
        content["at"] = format_time(fields["at"])
    if readings := fields.get("readings"):
        scorers, widths = fields.get("scorers", {}), fields.get("widths", {})
        content["readings"] = {
            name: _told(value, scorers.get(name), widths.get(name)) for name, value in readings.items()
        }
    return content


def _told(value: Value, scorer: str | None, width: int | None) -> Any:
    if scorer is None and width is None:
        return value
    parts = {"value": value, "scorer": scorer, "width": width}
    return {name: part for name, part in parts.items() if part is not None}
