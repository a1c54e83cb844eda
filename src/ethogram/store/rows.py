"""Events and detections to rows and back. Texts are left out unless `keep_text`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from hashlib import blake2b
from typing import Any

from ..models import Detection, Event, Evidence, Reading, Value, micros, moment, parse_time
from ..models.detection import TIMES, TUPLES

MARK = "text_not_kept"
"""The attribute of a call or result whose texts were left out."""
STEPS = frozenset(("action", "result"))
NOT_KEPT = ", its text not kept"
"""Ends the kind of a call or result without its texts, which no signal reads."""
MESSAGE_TEXTS = frozenset(("thought", "task", "goal", "labels"))
"""Attributes that also hold texts on a message of a run."""
TEXTS = MESSAGE_TEXTS | frozenset(
    ("arguments", "command", "result", "error", "input", "output", "content", "query", "stdout", "stderr")
)
MAX_NAME = 200
"""Characters of a text that may be a name: of a tool, a file, a model."""
Row = tuple[Any, ...]
COLUMNS = (
    "key", "subject", "id", "at_us", "seq", "target", "thread", "session", "reply_to", "kind", "text",
    "attributes", "readings",
)  # fmt: skip
"""What is read of events as columns."""
ABSENT = "\0-"
"""Stands for a missing field, which differs from an empty one."""


def _encoder() -> Callable[[Mapping[str, Any]], str]:
    """A function that writes JSON sorted and without blanks, so that equal content is equal text."""
    encoder: Any = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        encode: Callable[[Mapping[str, Any]], str] = encoder.encode
        return encode
    # The module builds one for every text, which takes as long as the writing.
    ascii_text: Any = json.encoder.encode_basestring_ascii
    pieces = make(None, encoder.default, ascii_text, None, ":", ",", True, False, True)
    return lambda content: "".join(pieces(content, 0))


encode = _encoder()
# Without the checks of json.loads: what is read here was written above.
_SCAN: Any = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in the stubs


def event_values(event: Event, *, keep_text: bool, received_us: int | None = None) -> Row:
    """The values of schema.EVENT_FIELDS, in that order; `received_us` is for events without their own."""
    at = micros(event.at)
    attributes = encode(dict(event.attributes)) if event.attributes else None
    readings = encode(event.readings_to_json()) if event.readings else None
    content = (
        event.subject, event.target, event.reply_to, event.thread, event.session, event.kind, event.text,
        attributes, readings,
    )  # fmt: skip
    stored = event.attributes if keep_text else bare_attributes(event.kind, event.attributes)
    if stored is not event.attributes:
        attributes = encode(dict(stored))
    return (
        event.id, _digest(at if event.timed else None, content), at, event.seq, int(event.timed),
        received_us if event.received_at is None else micros(event.received_at),
        event.target, event.thread, event.session, event.reply_to, event.kind,
        event.text if keep_text else None, attributes, readings,
    )  # fmt: skip


def _digest(at: int | None, texts: tuple[str | None, ...]) -> bytes:
    """A hash of the content. Input cannot contain NUL characters, so they separate the fields."""
    parts = "\0".join([ABSENT if item is None else item for item in texts])
    return blake2b(f"{at}\0{parts}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_preferred(reading: Reading, scorers: Mapping[str, str]) -> bool:
    """Whether a reading is by the scorer that is wanted for its signal."""
    return bool(scorers) and scorers.get(reading.signal, scorers.get("*")) == reading.scorer


def event_of(
    source: str,
    subject: str,
    row: Row,
    measured: Iterable[Reading] = (),
    wanted: Mapping[str, str] | None = None,
) -> Event:
    """The event of a row's EVENT_FIELDS; readings it came with win over those measured later.

    Readings by a `wanted` scorer win over both.
    """
    name, _, at, seq, timed, received, target, thread, session, reply_to, kind, text, attributes, json_ = row
    readings, scorers, widths = _read(json_)
    for item in measured:
        if item.signal not in readings or is_preferred(item, wanted or {}):
            readings[item.signal] = item.value
            scorers[item.signal] = item.scorer
            widths.pop(item.signal, None)
            if item.width is not None:
                widths[item.signal] = item.width
    return Event(
        name, moment(at), subject, seq, source, bool(timed), None if received is None else moment(received),
        target, reply_to, thread, session, kind, text, json.loads(attributes) if attributes else {},
        readings, scorers, widths,
    )  # fmt: skip


def _read(text: str | None) -> tuple[dict[str, Value], dict[str, str], dict[str, int]]:
    try:
        readings: dict[str, Any] = _SCAN(text, 0)[0] if text else {}
    except StopIteration:
        raise ValueError("the readings of an event are not JSON") from None
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
    """The columns of a reading: signal, number, text, scorer, width."""
    is_text = isinstance(reading.value, str)
    number, text = (None, reading.value) if is_text else (float(reading.value), None)
    return (reading.signal, number, text, reading.scorer, reading.width)


def reading_of(
    signal: str, number: float | None, text: str | None, scorer: str, width: int | None
) -> Reading:
    value: Value = text if text is not None else float(number or 0.0)
    return Reading(signal, value, scorer, width)


def bare_attributes(kind: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes without free text: numbers, names and paths stay, and that there was an error does.

    >>> sorted(bare_attributes("result", {"tool": "bash", "result": "secret", "exit_code": 1}).items())
    [('exit_code', 1), ('result_length', 6), ('text_not_kept', True), ('tool', 'bash')]
    """
    if kind in STEPS:
        bare = {key: value for key, value in attributes.items() if not _is_text(key, value)}
        if len(bare) == len(attributes):
            return attributes
        if attributes.get("error"):
            bare.setdefault("error", True)
        if isinstance(result := attributes.get("result"), str):
            bare.setdefault("result_length", len(result))
        return {**bare, MARK: True}
    if kind in ("message", "condensation") and not MESSAGE_TEXTS.isdisjoint(attributes):
        return {
            key: value
            for key, value in attributes.items()
            if key not in MESSAGE_TEXTS or not _is_text(key, value)
        }
    return attributes


def _is_text(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return key in TEXTS or len(value) > MAX_NAME or "\n" in value
    return isinstance(value, Mapping | list | tuple)


def stored_detection(record: str, **changed: Any) -> Detection:
    """The detection of a record, with some fields changed. Fields of a newer version are left out."""
    data: dict[str, Any] = {**json.loads(record), **changed}
    values = {name: value for name, value in data.items() if name in _DETECTION_FIELDS}
    for name in TIMES:
        if isinstance(values.get(name), str):
            values[name] = parse_time(values[name])
    values["evidence"] = tuple(
        Evidence(item["step"], item["event"], parse_time(item["at"]), item["readings"], item.get("excerpt"))
        for item in values["evidence"]
    )
    return Detection(**{**values, **{name: tuple(values[name]) for name in TUPLES}})


_DETECTION_FIELDS = frozenset(field.name for field in fields(Detection))


def detection_values(detection: Detection, *, part: bool) -> dict[str, Any]:
    """The row of a detection, by column; its record has the hidden fields that combinations read too."""
    hidden = {name: getattr(detection, name) for name in detection.HIDDEN}
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
        "record": encode({**detection.to_dict(), **hidden}),
    }
