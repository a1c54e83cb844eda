"""Saving and loading a watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..engine.combination import Combining
from ..engine.live.state import load_engine, save_engine, version_of
from ..engine.live_detections import Live, Source
from ..errors import BadUsage
from ..models import Detection, Evidence, micros, moment
from ..models.detection import TIMES
from .intake import Arrivals

if TYPE_CHECKING:
    from .watch import Watch


FORMAT = 3


def save(watch: Watch) -> dict[str, Any]:
    """Everything a watch remembers, as plain JSON data."""
    intake, table = watch._intake, Table()
    live = intake.live
    return {
        "format": FORMAT,
        "engine": save_engine(live.engine),
        "joins": {
            join.program.name: {"version": version_of(join.program), "state": join.save(table.pack)}
            for join in live.joins
        },
        "sources": {name: _save_source(source, table) for name, source in live.sources.items()},
        "arrivals": {name: arrival.save() for name, arrival in intake.arrivals.items()},
        "signals": None if intake.measurer is None else intake.measurer.save(),
        "newest": None if intake.newest is None else micros(intake.newest),
        "late": intake.late,
        "repeated": intake.repeated,
        "refused": intake.refused,
        "evicted": intake.evicted,
        "order": [list(whose) for whose in intake.order],
        "muted": watch.muted,
        "detections": table.rows,
    }


def load(watch: Watch, saved: Mapping[str, Any]) -> None:
    """Make a new watch remember what was saved."""
    if saved.get("format") != FORMAT:
        raise BadUsage(f"a saved watch has format {FORMAT}, not {saved.get('format')!r:.40}")
    intake, table = watch._intake, Table(list(saved["detections"]))
    live = intake.live
    lost = load_engine(live.engine, saved["engine"])
    for join in live.joins:
        data = saved["joins"].get(join.program.name)
        if data is None:
            continue
        if data["version"] != version_of(join.program):
            lost.append(join.program.name)
        elif isinstance(join, Combining):
            join.load(data["state"], table.unpack, moment)
        else:
            join.load(data["state"], table.unpack)
    for name, source in saved["sources"].items():
        _load_source(live, name, source, table)
    intake.arrivals.update({name: Arrivals.load(item) for name, item in saved["arrivals"].items()})
    intake.newest = None if saved["newest"] is None else moment(saved["newest"])
    intake.late, intake.repeated = saved["late"], saved["repeated"]
    intake.refused, intake.evicted = saved["refused"], saved["evicted"]
    intake.order = dict.fromkeys((source, subject) for source, subject in saved["order"])
    watch._teller.muter.muted.update(saved["muted"])
    watch.notes += [f"{name}: saved under another version of the pattern; it starts empty" for name in lost]
    if intake.measurer is not None and saved["signals"] is not None:
        unused = intake.measurer.load(saved["signals"])
        watch.notes += [f"signal {name}: saved by another version; it starts empty" for name in unused]


def _save_source(source: Source, table: Table) -> list[Any]:
    queue = [table.pack(item[-1]) for item in sorted(source.queue, key=lambda item: item[:3])]
    return [source.timed, source.concluded, source.recent, queue]


def _load_source(live: Live, name: str, data: list[Any], table: Table) -> None:
    source = live.source(name)
    source.timed, source.concluded, recent, queue = data
    source.recent = [(us, a, b) for us, a, b in recent]
    for number in queue:
        live._push(source, table.unpack(number))


class Table:
    """Detections as rows, each written once."""

    def __init__(self, rows: list[Any] | None = None) -> None:
        self.rows: list[Any] = [] if rows is None else rows
        self._numbers: dict[int, int] = {}
        self._held: list[Detection] = []
        self._read: dict[int, Detection] = {}

    def pack(self, detection: Detection) -> int:
        """The number of a detection's row."""
        if id(detection) not in self._numbers:
            self._numbers[id(detection)] = len(self.rows)
            self._held.append(detection)
            self.rows.append(detection_to_json(detection))
        return self._numbers[id(detection)]

    def unpack(self, number: int) -> Detection:
        """The detection of a row."""
        if number not in self._read:
            self._read[number] = detection_from_json(self.rows[number])
        return self._read[number]


def detection_to_json(detection: Detection) -> dict[str, Any]:
    """The whole detection as plain data, with what its stable JSON form leaves out."""
    out = {field.name: getattr(detection, field.name) for field in fields(detection)}
    for name in TIMES:
        out[name] = None if out[name] is None else micros(out[name])
    out["evidence"] = [[e.step, e.event, micros(e.at), dict(e.readings)] for e in detection.evidence]
    return out | {"details": dict(detection.details), "history": dict(detection.history)}


def detection_from_json(data: Mapping[str, Any]) -> Detection:
    """The reverse of `detection_to_json`."""
    told = {name: data.get(name) for name in TIMES}
    times = {name: None if us is None else moment(us) for name, us in told.items()}
    evidence = tuple(Evidence(step, event, moment(us), dict(r)) for step, event, us, r in data["evidence"])
    tuples = {name: tuple(data[name]) for name in ("confirms", "parts")}
    return Detection(**{**data, **times, **tuples, "evidence": evidence})
