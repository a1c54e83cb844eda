"""Labels of conversations, runs, events or stretches, joined with their events."""

from __future__ import annotations

import csv
import gzip
import io
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..errors import BadLabels, BadUsage, Fault, did_you_mean
from ..fields import InputStruct, one_of
from ..ingest import BadLine
from ..ingest.streams import decode, parse
from ..models import Detection, Event
from ..models.detection import base_pattern
from ..models.slotted import dataclass, field
from ..risk.backtest import events_of
from ..risk.discrimination import Course

# Labels: what somebody said of conversations, runs, events or stretches, read from JSON lines or CSV.
#
# One label a line. `id` and `target` are required; what it is about is found by `of` and the names beside it:
#
#     conversation, run   a thread: `thread` (default: the id)
#     event               one event: `event` (default: the id)
#     span                from one event to another, ends included: `from`, `to`
#
# An event is named by its id or, in the thread named beside it, by its position, counted from 1.

OF = ("conversation", "run", "event", "span")
THREADS = ("conversation", "run")
TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
MOST_BYTES = 512 * 2**20
MOST_LABELS = 1_000_000
MOST_TEXT = 2_000
SUFFIXES = (".jsonl", ".csv", ".tsv", ".jsonl.gz", ".csv.gz", ".tsv.gz")

Row = tuple[int, Mapping[str, Any] | BadLine]
"""The line a label stands on, and its fields or what is wrong with it."""


EventName = Annotated[
    str | int | None, Meta(description="An event's id, or its position in the thread, from 1.")
]
Words = str | int | None


class LabelLine(InputStruct, forbid_unknown_fields=True, kw_only=True):
    """A label of a conversation, run, event or span: what goes in beside events."""

    record: Literal["label"] = "label"
    id: str | int
    """Each once."""
    target: Any
    """Whether it is what is looked for: true or false, 1 or 0, yes or no."""
    of: Annotated[str | None, one_of(*OF, None)] = None
    source: Words = None
    subject: Words = None
    """Only what this subject does in the thread."""
    thread: Words = None
    """Of a conversation or run; left out: the id."""
    event: EventName = None
    start: EventName = msgspec.field(default=None, name="from")
    end: EventName = msgspec.field(default=None, name="to")
    at: EventName = None
    """Where the target is; left out: the end of the thread."""
    begins: EventName = None
    """Where things begin to build up: before it, all must be quiet."""
    over: EventName = None
    """Where the target is over."""
    pattern: Words = None
    """The label counts for this pattern alone."""
    group: Words = None
    """What is alike has one group."""
    split: Words = None
    """tune, test, ..."""


KEYS = LabelLine.__struct_encode_fields__
NAMES = KEYS[3:]


@dataclass(frozen=True, slots=True)
class Label:
    """One label as it was written; '' where a field was not given. `line` is where it stands.

    `at` is where the target is, `begins` where things began to build up and `over` where it was over: events.
    """

    id: str
    target: bool
    of: str
    source: str = ""
    subject: str = ""
    thread: str = ""
    event: str = ""
    start: str = ""
    end: str = ""
    at: str = ""
    begins: str = ""
    over: str = ""
    pattern: str = ""
    group: str = ""
    split: str = ""
    line: int = 0


def is_labels(path: Path) -> bool:
    """Whether a file is one of labels by its name: labels.csv, mine.labels.jsonl.gz.

    >>> is_labels(Path("a/labels.csv")), is_labels(Path("mine.labels.jsonl")), is_labels(Path("mine.jsonl"))
    (True, True, False)
    """
    return any(path.name == f"labels{end}" or path.name.endswith(f".labels{end}") for end in SUFFIXES)


def read_labels(path: Path) -> list[Label]:
    """The labels of a file; BadLabels with every line that is none, and every id that is there twice."""
    record: dict[str, Label] = {}
    faults: list[Fault] = []
    for line, row in _rows(path):
        if len(record) >= MOST_LABELS:
            faults.append(Fault(str(path), line, 0, f"a file of labels has at most {MOST_LABELS:,}"))
            break
        if isinstance(row, BadLine):
            faults.append(Fault(str(path), line, row.column, row.message))
        elif texts := faults_of(row):
            faults += [Fault(str(path), line, 0, item) for item in texts]
        else:
            label = label_of(row, line)
            first = record.setdefault(label.id, label)
            if first is not label:
                twice = f"the id {label.id[:80]!r} is also on line {first.line}"
                faults.append(Fault(str(path), line, 0, twice))
    if not record and not faults:
        faults.append(Fault(str(path), 0, 0, "has no labels"))
    if faults:
        raise BadLabels(faults)
    return list(record.values())


def faults_of(row: Mapping[str, Any]) -> list[str]:
    """What is wrong with a label, all of it.

    >>> faults_of({"id": "a", "target": 1}), faults_of({"id": "a", "traget": 1})
    ([], ["unknown field 'traget'; did you mean 'target'?", 'target is missing: true or false'])
    """
    said = [f"unknown field {key[:60]!r}{did_you_mean(key, KEYS)}" for key in row if key not in KEYS]
    if _text(row.get("record")) not in ("", "label"):
        said.append("record is label, or left out")
    if not _text(row.get("id")):
        said.append("id is missing")
    if _text(row.get("target")) == "":
        said.append("target is missing: true or false")
    elif _text(row["target"]).lower() not in TRUTH:
        said.append(f"target is true or false, not {_text(row['target'])[:60]!r}")
    of = _text(row.get("of"))
    if of and of not in OF:
        said.append(f"of is one of {', '.join(OF)}, not {of[:60]!r}{did_you_mean(of, OF)}")
    for key in ("id", *NAMES):
        value = row.get(key)
        if (value is not None and not isinstance(value, (str, int))) or isinstance(value, bool):
            said.append(f"{key} is a text")
        elif len(_text(value)) > MOST_TEXT:
            said.append(f"{key} has more than {MOST_TEXT:,} characters")
    if (of == "span" or row.get("from")) and not (row.get("from") and row.get("to")):
        said.append("a span needs from and to")
    return said


def label_of(row: Mapping[str, Any], line: int = 0) -> Label:
    """The label of a row in which nothing is wrong."""
    given = {key: _text(row.get(key)) for key in ("id", *NAMES)}
    of = given.pop("of") or ("span" if given["from"] else "event" if given["event"] else "conversation")
    start, end = given.pop("from"), given.pop("to")
    if of in THREADS:
        given["thread"] = given["thread"] or given["id"]
    elif of == "event":
        given["event"] = given["event"] or given["id"]
    return Label(**given, of=of, target=TRUTH[_text(row["target"]).lower()], start=start, end=end, line=line)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _rows(path: Path) -> Iterator[Row]:
    text = _content(path)
    name = path.name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        yield from _json_rows(text)
    else:
        yield from _table_rows(text, "\t" if name.endswith(".tsv") else ",")


def _content(path: Path) -> str:
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadLabels([Fault(str(path), 0, 0, f"cannot be read: {why}")]) from None
    if len(raw) > MOST_BYTES:
        raise BadLabels([Fault(str(path), 0, 0, f"is larger than {MOST_BYTES // 2**20} MB")])
    try:
        return decode(raw.removeprefix(b"\xef\xbb\xbf"))
    except BadLine as bad:
        raise BadLabels([Fault(str(path), 0, 0, bad.message)]) from None


def _json_rows(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except BadLine as bad:
            yield number, bad
            continue
        is_one = isinstance(row, dict)
        yield number, row if is_one else BadLine('a label is an object: {"id": ..., "target": ...}')


def _table_rows(text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield start, BadLine(f"not a table: {error}")
            return
        if cells is None:
            return
        if not any(cells):
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            if len(set(header)) < len(header):
                yield start, BadLine("a column is named twice")
                return
        elif len(cells) != len(header):
            yield start, BadLine(f"{len(cells)} cells where the header names {len(header)} columns")
        else:
            yield start, {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}


# Labelled sets: where the labels of a set are, and where its events.


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set: its name, the file of its labels (None where events carry them) and its files of events."""

    name: str
    labels: Path | None
    events: tuple[Path, ...]

    @property
    def files(self) -> list[Path]:
        """All files of the set, for a digest."""
        inside = [item for path in self.events for item in (path.rglob("*") if path.is_dir() else [path])]
        return [item for item in (*([self.labels] if self.labels else []), *inside) if item.is_file()]


def located(text: str, data: Sequence[str] = (), folder: str = "", *, in_events: bool = False) -> LabelledSet:
    """The set that a path or name means.

    A folder holds labels.jsonl or labels.csv beside its events; mine.labels.csv lies beside mine.jsonl, or
    any other file of events whose name begins so. `data` names the events where they are elsewhere, `folder`
    is where sets are found by name, and `in_events` says that the events carry the labels.
    """
    path = _path(text, folder)
    elsewhere = tuple(Path(datum) for datum in data)
    if in_events:
        return LabelledSet(_name(path), None, elsewhere or (path,))
    if path.is_dir():
        paths = [item for item in sorted(path.iterdir()) if item.is_file() and is_labels(item)]
        if len(paths) != 1:
            several = f"{len(paths)} files of labels" if paths else "no file of labels"
            raise BadUsage(f"{text[:200]!r} has {several}; one is needed: labels.jsonl or labels.csv")
        return LabelledSet(path.name, paths[0], elsewhere or _beside(paths[0], ""))
    if is_labels(path):
        stem = path.name.partition("labels.")[0]
        return LabelledSet(_name(path), path, elsewhere or _beside(path, stem))
    labels = [
        item
        for end in SUFFIXES
        if (item := path.with_name(f"{path.name.partition('.')[0]}.labels{end}")).is_file()
    ]
    if not labels:
        name = path.name.partition(".")[0]
        raise BadUsage(
            f"{text[:200]!r} has no labels beside it: write them into {name}.labels.jsonl (or .csv), "
            "or say with --label which attribute of the events tells them"
        )
    return LabelledSet(_name(path), labels[0], elsewhere or (path,))


def _path(text: str, folder: str) -> Path:
    path = Path(text)
    if path.exists():
        return path
    if folder and "/" not in text:
        for item in (Path(folder) / text, *sorted(Path(folder).glob(f"*/{text}"))):
            if item.exists():
                return item
    raise BadUsage(f"no such file, folder or set: {text[:200]!r}")


def _name(path: Path) -> str:
    name = path.name.partition(".")[0]
    return path.resolve().parent.name if name == "labels" else name


def _beside(labels: Path, stem: str) -> tuple[Path, ...]:
    paths = [
        path
        for path in sorted(labels.parent.iterdir())
        if path.name.startswith(stem) and not path.name.startswith(".") and not is_labels(path)
    ]
    if not paths:
        raise BadUsage(f"there are no events beside {str(labels)[:200]!r}; name them with --data")
    return tuple(paths)


def labels_in(events: Iterable[Event], attribute: str, targets: Collection[str]) -> list[Label]:
    """A label for each thread whose events carry the attribute; a target where its value is one of these.

    The first event that carries it tells.
    """
    record: dict[tuple[str, str], str] = {}
    for event in events:
        value = event.attributes.get(attribute)
        if event.thread is not None and isinstance(value, (str, int, float)):
            record.setdefault((event.source, event.thread), str(value))
    if not record:
        raise BadUsage(f"no event in a thread has the attribute {attribute[:80]!r}")
    if not set(targets) & set(record.values()):
        there = ", ".join(sorted(set(record.values()))[:8])
        raise BadUsage(
            f"no {attribute[:80]} is {' or '.join(sorted(targets))[:80]!r}; there are {there[:200]}"
        )
    return [
        Label(f"{source}/{thread}", value in targets, "run", source=source, thread=thread)
        for (source, thread), value in record.items()
    ]


# Things: labels brought together with the events they are about.

Key = tuple[str, str]
"""Source and id of an event."""
FIRST = 5
"""So many of the labels that name nothing are told."""


@dataclass(frozen=True, slots=True)
class Line:
    """The events of a thread, or of a subject where there is none, in order; `places` count from 1."""

    name: str
    events: tuple[Event, ...]
    places: Mapping[Key, int]

    @classmethod
    def of(cls, name: str, events: Iterable[Event]) -> Line:
        """The line of these events."""
        every = tuple(sorted(events, key=lambda event: event.order))
        return cls(name, every, {(item.source, item.id): n for n, item in enumerate(every, start=1)})


@dataclass(frozen=True, slots=True)
class Thing:
    """A label with its line: the stretch of it that it is about, and the places that it names."""

    label: Label
    line: Line
    start: int
    end: int
    at: int
    begins: int | None
    over: int | None

    @property
    def group(self) -> str:
        """What it is drawn together with: what one thread holds, or one subject outside threads, is alike."""
        first = self.line.events[0]
        whose = (first.source, first.thread or "", "" if first.thread else first.subject)
        return self.label.group or "\0".join(whose)

    @property
    def trivial(self) -> dict[str, float]:
        """What anybody could have had: how many events, how much text, and how far into the line it is."""
        own = self.line.events[self.start - 1 : self.end]
        told = {"events": float(len(own)), "text": float(sum(len(item.text or "") for item in own))}
        return told if self.label.of in THREADS else {**told, "place": float(self.start)}

    def is_about(self, pattern: str) -> bool:
        """Whether its label counts for a pattern: one that names another does not."""
        whole = base_pattern(pattern)
        return self.label.pattern in ("", pattern, whole)

    def is_marked(self, places: Sequence[int], first: int, last: int) -> bool:
        """Whether a detection marks it that has events at these places, and lies from `first` to `last`.

        A stretch is marked by whatever overlaps it, an event only by what names it.
        """
        if self.label.of == "span":
            return first <= self.end and last >= self.start
        return any(self.start <= place <= self.end for place in places)


@dataclass(frozen=True, slots=True)
class Things:
    """What labels are about, and the ids of those that no event was found for."""

    things: tuple[Thing, ...]
    not_found: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """Events by what labels may name."""

    threads: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    ids: dict[str, list[Event]] = field(default_factory=lambda: defaultdict(list))
    of_thread: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    of_subject: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    lines: dict[tuple[str, ...], Line] = field(default_factory=dict)

    def line(self, event: Event, subject: str) -> Line:
        """The line an event lies in; of one subject alone where a label names it."""
        key = (event.source, event.thread or "", subject or ("" if event.thread else event.subject))
        if key not in self.lines:
            own = self.of_thread[event.source, event.thread] if event.thread else ()
            every = own or self.of_subject[event.source, event.subject]
            self.lines[key] = Line.of(
                "\0".join(key), (item for item in every if not subject or item.subject == subject)
            )
        return self.lines[key]


class _Wrong(Exception):
    """A label that names something that is not there, although its thread is."""


def things_of(labels: Sequence[Label], events: Iterable[Event], path: Path) -> Things:
    """The labels with their events; BadLabels for all that contradict the events, or where none is found."""
    found = _Found()
    for event in events:
        found.ids[event.id].append(event)
        found.of_subject[event.source, event.subject].append(event)
        if event.thread is not None:
            found.threads[event.thread].add(event.source)
            found.of_thread[event.source, event.thread].append(event)
    things: list[Thing] = []
    missing: list[str] = []
    faults: list[Fault] = []
    for label in labels:
        try:
            thing = _thing(label, found)
        except _Wrong as error:
            faults.append(Fault(str(path), label.line, 0, str(error)))
            continue
        if thing is None:
            missing.append(label.id)
        else:
            things.append(thing)
    if not things and not faults:
        some = ", ".join(repr(item[:60]) for item in missing[:FIRST])
        faults.append(Fault(str(path), 0, 0, f"no label is about anything in these events; first: {some}"))
    if faults:
        raise BadLabels(faults)
    return Things(tuple(things), tuple(missing))


def _thing(label: Label, _found: _Found) -> Thing | None:
    if label.of in THREADS:
        any_one = _in_thread(label, _found)
        if any_one is None:
            return None
        line = _found.line(any_one, label.subject)
        if not line.events:
            raise _Wrong(f"thread {label.thread[:80]!r} has no events of subject {label.subject[:80]!r}")
        start, end = 1, len(line.events)
    else:
        names = (label.start, label.end) if label.of == "span" else (label.event, label.event)
        first, last = (_event(label, name, _found) for name in names)
        if first is None or last is None:
            return None
        line = _found.line(first, label.subject)
        start, end = _place(line, first, names[0]), _place(line, last, names[1])
        if end < start:
            raise _Wrong("to is before from")
    at = _named(label, label.at, line, _found)
    over = _named(label, label.over, line, _found) or (end if label.of == "span" else None)
    begins = _named(label, label.begins, line, _found)
    where = at or (end if label.of in THREADS else start)
    return Thing(label, line, start, end, where, begins, over)


def _in_thread(label: Label, _found: _Found) -> Event | None:
    sources = {label.source} if label.source else _found.threads.get(label.thread, set())
    if len(sources) > 1:
        raise _Wrong(f"thread {label.thread[:80]!r} is in several sources; name its source")
    every = [event for source in sources for event in _found.of_thread.get((source, label.thread), ())]
    return every[0] if every else None


def _event(label: Label, name: str, _found: _Found) -> Event | None:
    """The event of an id or, in the label's thread, of a position."""
    every = [
        item
        for item in _found.ids.get(name, ())
        if label.source in ("", item.source) and label.thread in ("", item.thread)
    ]
    if len(every) > 1:
        raise _Wrong(f"event {name[:80]!r} is in several sources; name its source")
    if every:
        return every[0]
    if label.thread and name.isdecimal() and (first := _in_thread(label, _found)) is not None:
        line = _found.line(first, label.subject)
        if not 1 <= int(name) <= len(line.events):
            many = f"which has {len(line.events)} events"
            raise _Wrong(f"position {name[:20]} of thread {label.thread[:80]!r}, {many}")
        return line.events[int(name) - 1]
    return None


def _named(label: Label, name: str, line: Line, _found: _Found) -> int | None:
    if not name:
        return None
    event = _event(label, name, _found)
    if event is None and name.isdecimal() and 1 <= int(name) <= len(line.events):
        return int(name)
    if event is None:
        where = f" in thread {label.thread[:80]!r}" if label.thread else ""
        raise _Wrong(f"there is no event {name[:80]!r}{where}")
    return _place(line, event, name)


def _place(line: Line, event: Event, name: str) -> int:
    place = line.places.get((event.source, event.id))
    if place is None:
        raise _Wrong(f"event {name[:80]!r} is in another history")
    return place


def marks(things: Sequence[Thing], detections: Iterable[Detection]) -> dict[str, list[Detection]]:
    """The detections that mark each thing, by its id; things without any are left out."""
    out: dict[str, list[Detection]] = defaultdict(list)
    for thing, item, places in _meeting(things, detections):
        if thing.is_marked(places, min(places), max(places)):
            out[thing.label.id].append(item)
    return out


def beside(things: Sequence[Thing], detections: Iterable[Detection]) -> dict[str, list[Detection]]:
    """The detections anywhere in the line of each thing, by its id: what an alarm before or after it is."""
    out: dict[str, list[Detection]] = defaultdict(list)
    for thing, item, _ in _meeting(things, detections):
        out[thing.label.id].append(item)
    return out


def _meeting(
    things: Sequence[Thing], detections: Iterable[Detection]
) -> Iterator[tuple[Thing, Detection, list[int]]]:
    """Each thing with each detection that has events in its line, and their places."""
    by_line: dict[int, list[Thing]] = defaultdict(list)
    lines_of: dict[Key, set[int]] = defaultdict(set)
    for thing in things:
        by_line[id(thing.line)].append(thing)
    for own in by_line.values():
        for key in own[0].line.places:
            lines_of[key].add(id(own[0].line))
    for detection in detections:
        keys = events_of([detection])
        for number in {line for key in keys for line in lines_of.get(key, ())}:
            places = [place for key in keys if (place := by_line[number][0].line.places.get(key))]
            for thing in by_line[number]:
                yield thing, detection, places


def course(thing: Thing, detections: Iterable[Detection]) -> Course | None:
    """How a thing that is a target went, in events; None where nothing tells when it began to build up.

    Of a whole thread the beginning is its first event; of an event or stretch only the label can say it.
    """
    begins = thing.begins if thing.begins is not None else 1 if thing.label.of in THREADS else None
    if begins is None:
        return None
    found = []
    for detection in detections:
        opened = thing.line.places.get((detection.source, detection.fired_event))
        if opened is not None:
            found.append((float(opened), _closed(thing.line, detection, opened)))
    over = None if thing.over is None else float(thing.over)
    return Course(float(thing.at), tuple(found), float(begins), over)


def _closed(line: Line, detection: Detection, opened: int) -> float | None:
    if detection.closed_at is None:
        return None
    times = [event.at for event in line.events]
    return float(max(opened, min(len(times), bisect_left(times, detection.closed_at) + 1)))
