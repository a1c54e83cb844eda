"""Events and detections as rows and back. Texts are left out unless they are to be kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from hashlib import blake2b
from typing import Any

from ..models import Detection, Event, Evidence, Reading, Value, micros, moment, parse_time

MARK = "text_not_kept"
"""The attribute of a call or result that stands without its texts."""
STEPS = frozenset(("action", "result"))
SAID = frozenset(("thought", "task", "goal", "labels"))
"""Attributes that hold texts on a message of a run as well."""
TEXTS = SAID | frozenset(
    ("arguments", "command", "result", "error", "input", "output", "content", "query", "stdout", "stderr")
)
LONGEST = 200
"""Characters of a text that may be a name: of a tool, a file, a model."""
MORE = ("fired_event", "fired_confidence")
"""What a combination reads of its parts, and the JSON record of a detection does not have."""
TIMES = ("opened_at", "detected_at", "closed_at", "last_at")
Row = tuple[Any, ...]
ABSENT = "\0-"
"""Stands for a field that is not there, which is not the same as an empty one."""


def _encoder() -> Callable[[Mapping[str, Any]], str]:
    """What writes JSON sorted and without blanks, so that equal content is equal text."""
    made: Any = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        whole: Callable[[Mapping[str, Any]], str] = made.encode
        return whole
    # The module makes one anew for every text, which takes as long as the writing.
    ascii_text: Any = json.encoder.encode_basestring_ascii
    pieces = make(None, made.default, ascii_text, None, ":", ",", True, False, True)
    return lambda content: "".join(pieces(content, 0))


encode = _encoder()
# Without the layers in between: what is read here was written above.
_SCAN: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in the stubs


def event_values(event: Event, *, keep_text: bool, received_us: int | None = None) -> Row:
    """The values of tables.EVENT_FIELDS, in that order; `received_us` where the event does not say."""
    at = micros(event.at)
    attributes = encode(dict(event.attributes)) if event.attributes else None
    readings = encode(_told(event)) if event.readings else None
    said = (
        event.subject,
        event.target,
        event.reply_to,
        event.thread,
        event.session,
        event.kind,
        event.text,
        attributes,
        readings,
    )
    kept = event.attributes if keep_text else bare_attributes(event.kind, event.attributes)
    if kept is not event.attributes:
        attributes = encode(dict(kept))
    return (
        event.id,
        _digest(at if event.timed else None, said),
        at,
        event.seq,
        int(event.timed),
        received_us if event.received_at is None else micros(event.received_at),
        event.target,
        event.thread,
        event.session,
        event.reply_to,
        event.kind,
        event.text if keep_text else None,
        attributes,
        readings,
    )


def _digest(at: int | None, texts: tuple[str | None, ...]) -> bytes:
    """What tells two contents apart. Nulls cannot occur in what was read, so they part the fields."""
    parts = "\0".join([ABSENT if item is None else item for item in texts])
    return blake2b(f"{at}\0{parts}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _told(event: Event) -> Mapping[str, Any]:
    """Readings as an event line has them: plain, or with scorer and width where those are known."""
    if not event.scorers and not event.widths:
        return dict(event.readings)
    out: dict[str, Any] = {}
    for name, value in event.readings.items():
        more: dict[str, Any] = {}
        if name in event.scorers:
            more["scorer"] = event.scorers[name]
        if name in event.widths:
            more["width"] = event.widths[name]
        out[name] = {"value": value, **more} if more else value
    return out


def event_of(source: str, subject: str, row: Row, measured: Iterable[Reading] = ()) -> Event:
    """The event of a row's EVENT_FIELDS; readings it came with win over those measured later."""
    name, _, at, seq, timed, received, target, thread, session, reply_to, kind, text, attributes, told = row
    readings, scorers, widths = _read(told)
    for item in measured:
        if item.signal not in readings:
            readings[item.signal] = item.value
            scorers[item.signal] = item.scorer
            if item.width is not None:
                widths[item.signal] = item.width
    return Event(
        name,
        moment(at),
        subject,
        seq,
        source,
        bool(timed),
        None if received is None else moment(received),
        target,
        reply_to,
        thread,
        session,
        kind,
        text,
        json.loads(attributes) if attributes else {},
        readings,
        scorers,
        widths,
    )


def _read(text: str | None) -> tuple[dict[str, Value], dict[str, str], dict[str, int]]:
    try:
        readings: dict[str, Any] = _SCAN(text, 0)[0] if text else {}
    except StopIteration:
        raise ValueError("the readings of an event are no JSON") from None
    scorers: dict[str, str] = {}
    widths: dict[str, int] = {}
    for name, reading in readings.items():
        if type(reading) is dict:
            readings[name] = reading["value"]
            if "scorer" in reading:
                scorers[name] = reading["scorer"]
            if "width" in reading:
                widths[name] = reading["width"]
    return readings, scorers, widths


def reading_values(reading: Reading) -> Row:
    """The values of tables.READING_FIELDS, in that order."""
    is_text = isinstance(reading.value, str)
    number, text = (None, reading.value) if is_text else (float(reading.value), None)
    return (reading.signal, number, text, reading.scorer, reading.width)


def reading_of(
    signal: str, number: float | None, text: str | None, scorer: str, width: int | None
) -> Reading:
    """The reading of a row's READING_FIELDS."""
    value: Value = text if text is not None else float(number or 0.0)
    return Reading(signal, value, scorer, width)


def bare_attributes(kind: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes without free text: numbers, names and paths stay, and that there was an error does.

    >>> sorted(bare_attributes("result", {"tool": "bash", "result": "secret", "exit_code": 1}).items())
    [('exit_code', 1), ('result_length', 6), ('text_not_kept', True), ('tool', 'bash')]
    """
    if kind in STEPS:
        kept = {key: value for key, value in attributes.items() if not _is_text(key, value)}
        if len(kept) == len(attributes):
            return attributes
        if attributes.get("error"):
            kept.setdefault("error", True)
        if isinstance(result := attributes.get("result"), str):
            kept.setdefault("result_length", len(result))
        return {**kept, MARK: True}
    if kind in ("message", "condensation") and not SAID.isdisjoint(attributes):
        return {
            key: value for key, value in attributes.items() if key not in SAID or not _is_text(key, value)
        }
    return attributes


def _is_text(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return key in TEXTS or len(value) > LONGEST or "\n" in value
    return isinstance(value, Mapping | list | tuple)


# --- detections -----------------------------------------------------------------------------------


def record_of(detection: Detection) -> str:
    """The whole detection as JSON."""
    return encode({**detection.to_dict(), **{name: getattr(detection, name) for name in MORE}})


def detection_of(record: str, **changed: Any) -> Detection:
    """The detection that gave a record, with some fields changed.

    What a newer version added to the record is left out.
    """
    data: dict[str, Any] = {**json.loads(record), **changed}
    known = {field.name for field in fields(Detection)}
    given = {name: value for name, value in data.items() if name in known}
    for name in TIMES:
        if isinstance(given.get(name), str):
            given[name] = parse_time(given[name])
    given["evidence"] = tuple(_evidence(item) for item in given["evidence"])
    given["confirms"] = tuple(given["confirms"])
    given["parts"] = tuple(given["parts"])
    return Detection(**given)


def _evidence(record: Mapping[str, Any]) -> Evidence:
    return Evidence(
        record["step"], record["event"], parse_time(record["at"]), record["readings"], record.get("excerpt")
    )


def detection_values(detection: Detection, *, part: bool) -> dict[str, Any]:
    """The row of a detection, by column."""
    return {
        "id": detection.id,
        "pattern": detection.pattern,
        "version": detection.version,
        "state": detection.state,
        "status": detection.status,
        "part": int(part),
        "source": detection.source,
        "subject": detection.subject,
        "target": detection.target,
        "thread": detection.thread,
        "severity": detection.severity,
        "confidence": detection.confidence,
        "opened_us": micros(detection.opened_at),
        "detected_us": micros(detection.detected_at),
        "closed_us": None if detection.closed_at is None else micros(detection.closed_at),
        "record": record_of(detection),
    }
