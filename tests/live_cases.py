"""Running random cases through a watch, whole or cut in pieces, and comparing the outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ethogram.app.live.watch import Watch
from ethogram.config import Settings
from ethogram.engine.detect import find
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import Program
from ethogram.models import EPOCH, Detection, Event
from strategies import Case

Row = dict[str, Any]


def events_of(case: Case) -> tuple[list[Event], datetime]:
    """The case's events in order, those after its question left out, and the moment of the question."""
    events = sorted(case.events, key=lambda event: event.order)
    as_of = case.as_of or max((event.at for event in events), default=EPOCH)
    return [event for event in events if event.at <= as_of], as_of


def whole_rows(case: Case) -> list[Row]:
    """What one run of the engine over all events finds; `test_agreement` holds that against `naive`."""
    events, as_of = events_of(case)
    found = find(compile_patterns(case.patterns), events, as_of=as_of, cap=case.cap)
    return [row(detection) for detection in found.detections]


def live_rows(
    case: Case,
    *,
    cuts: Sequence[int] = (),
    arrival: Sequence[Event] | None = None,
    lateness: int = 0,
    ticks: bool = False,
) -> list[Row]:
    """What `live_detections` gives, as rows."""
    found = live_detections(case, cuts=cuts, arrival=arrival, lateness=lateness, ticks=ticks)
    return [row(detection) for detection in found]


def live_detections(
    case: Case,
    *,
    cuts: Sequence[int] = (),
    arrival: Sequence[Event] | None = None,
    lateness: int = 0,
    ticks: bool = False,
) -> list[Detection]:
    """What a watch has told when all is over; at each cut it is saved as text and loaded anew."""
    events, as_of = events_of(case)
    programs, settings = compile_patterns(case.patterns), Settings(lateness=lateness)
    watch = Watch.of_programs(programs, settings, case.cap)
    detections: list[Detection] = []
    for k, event in enumerate(events if arrival is None else arrival):
        if k in cuts:
            watch = reloaded(watch, programs, case.cap)
        if ticks:
            detections += watch.tick(event.at)
        detections += watch.observe(event)
    if len(events) in cuts:
        watch = reloaded(watch, programs, case.cap)
    detections += watch.flush(as_of)
    assert watch.late == 0
    return newest([*detections, *watch.open()])


def reloaded(watch: Watch, programs: Sequence[Program], cap: int) -> Watch:
    """Another watch that goes on where this one is, through JSON text."""
    text = json.dumps(watch.save())
    other = Watch.of_programs(programs, watch.settings, cap)
    other.restore(json.loads(text))
    assert not other.notes
    assert json.dumps(other.save()) == text
    return other


def last_rows(detections: Iterable[Detection]) -> list[Row]:
    """What was told last of each detection, as rows in output order."""
    return [row(detection) for detection in newest(detections)]


def newest(detections: Iterable[Detection]) -> list[Detection]:
    """What was told last of each detection, in output order."""
    last = {item.id: item for item in detections}
    return sorted(last.values(), key=lambda detection: detection.order)


def row(detection: Detection) -> Row:
    """A detection without what a combination takes over from the later course of its parts."""
    if detection.parts:
        detection = replace(detection, explanation="", scorer="")
    return detection.to_dict() | {
        "fired_event": detection.fired_event,
        "fired_confidence": detection.fired_confidence,
    }
