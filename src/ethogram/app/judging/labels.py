"""Labels of conversations, runs, events or spans, read from JSON lines or CSV.

One label a line. `id` and `target` are required; `of` and further names say what it is about:

    conversation, run   a thread: `thread` (default: the id)
    event               one event: `event` (default: the id)
    span                from one event to another, ends included: `from`, `to`

An event is named by its id or, with a thread, by its position from 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ...errors import BadLabels, BadUsage, Fault, did_you_mean
from ...fields import InputStruct, one_of
from ...files import read_text
from ...ingest import BadLine
from ...ingest.batch import sequence_of
from ...ingest.streams import parse
from ...models import Event
from ...models.slotted import dataclass

OF = ("conversation", "run", "event", "span")
THREADS = ("conversation", "run")
MAX_BYTES = 512 * 2**20
MAX_LABELS = 1_000_000
MAX_TEXT = 2_000
BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
SUFFIXES = (".jsonl", ".csv", ".tsv", ".jsonl.gz", ".csv.gz", ".tsv.gz")


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
    """Left out: a thread, that is a conversation or run."""
    source: Words = None
    """Only this source."""
    subject: Words = None
    """Only what this subject does in the thread."""
    thread: Words = None
    """Of a conversation or run; left out: the id."""
    event: EventName = None
    start: EventName = msgspec.field(default=None, name="from")
    end: EventName = msgspec.field(default=None, name="to")
    at: EventName = None
    """The event of the target; left out: the end of the thread, the event, the start of the span."""
    begins: EventName = None
    """The event from which things build up, for the horizon: before it, all must be quiet."""
    over: EventName = None
    """The event at which it is over; left out: the end of a span."""
    pattern: Words = None
    """The label is about this pattern alone; skipped where that is not run."""
    group: Words = None
    """What is alike: runs of one task, conversations of one person."""
    split: Words = None
    """tune, test or another name."""


KEYS = LabelLine.__struct_encode_fields__
NAMES = KEYS[3:]


@dataclass(frozen=True, slots=True)
class Label:
    """One label as written; '' for fields that are not given, `line` is its line in the file.

    `at` names the event at the target, `begins` where it began to build up, `over` where it was over.
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
    """Whether a file has labels by its name: labels.csv, mine.labels.jsonl.gz.

    >>> is_labels(Path("a/labels.csv")), is_labels(Path("mine.labels.jsonl")), is_labels(Path("mine.jsonl"))
    (True, True, False)
    """
    return f".{path.name}".endswith(tuple(f".labels{suffix}" for suffix in SUFFIXES))


def read_labels(path: Path) -> list[Label]:
    """The labels of a file; BadLabels with every fault."""
    labels: dict[str, Label] = {}
    faults: list[Fault] = []
    text, name = read_text(path, MAX_BYTES, BadLabels), path.name.removesuffix(".gz")
    is_json = name.endswith(".jsonl")
    rows = _json_rows(text) if is_json else table_rows(text, "\t" if name.endswith(".tsv") else ",")
    for line, row in rows:
        if len(labels) >= MAX_LABELS:
            faults.append(Fault(str(path), line, 0, f"too many labels: at most {MAX_LABELS:,} in a file"))
            break
        if isinstance(row, BadLine):
            faults.append(Fault(str(path), line, row.column, row.message))
        elif messages := label_faults(row):
            faults += [Fault(str(path), line, 0, message) for message in messages]
        else:
            label = label_of(row, line)
            first = labels.setdefault(label.id, label)
            if first is not label:
                message = f"the id {label.id[:80]!r} is also on line {first.line}"
                faults.append(Fault(str(path), line, 0, message))
    if not labels and not faults:
        faults.append(Fault(str(path), 0, 0, "the file has no labels"))
    if faults:
        raise BadLabels(faults)
    return list(labels.values())


def table_rows(
    text: str, delimiter: str = ",", check_header: Callable[[Sequence[str]], Iterable[str]] | None = None
) -> Iterator[tuple[int, Mapping[str, str] | BadLine]]:
    """Rows by column name with the line each begins on, or what is wrong; blank rows and cells are left out.

    `check_header` yields what is wrong with the column names; then no row is read.
    """
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    while True:
        start = reader.line_num + 1
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            yield start, BadLine(f"not a table: {error}")
            return
        if not any(cells):
            continue
        if header is None:
            header = cells
            wrong = ["a column is named twice"] if len(set(header)) < len(header) else []
            wrong += check_header(header) if check_header else ()
            yield from ((start, BadLine(message)) for message in wrong)
            if wrong:
                return
        elif len(cells) != len(header):
            yield start, BadLine(f"expected {len(header)} cells as in the header, found {len(cells)}")
        else:
            yield start, {name: cell for name, cell in zip(header, cells, strict=True) if cell}


def label_faults(row: Mapping[str, Any]) -> list[str]:
    """All faults of a label.

    >>> label_faults({"id": "a", "target": 1}), label_faults({"id": "a", "traget": 1})
    ([], ["unknown field 'traget'; did you mean 'target'?", 'target is missing: expected true or false'])
    """
    faults = [f"unknown field {key[:60]!r}{did_you_mean(key, KEYS)}" for key in row if key not in KEYS]
    if _string(row.get("record")) not in ("", "label"):
        faults.append("record must be label, or left out")
    if not _string(row.get("id")):
        faults.append("id is missing")
    target, of = _string(row.get("target")), _string(row.get("of"))
    if not target:
        faults.append("target is missing: expected true or false")
    elif target.lower() not in BOOLEANS:
        faults.append(f"invalid target {target[:60]!r}: expected true or false")
    if of and of not in OF:
        faults.append(f"invalid of {of[:60]!r}: expected one of {', '.join(OF)}{did_you_mean(of, OF)}")
    for key in ("id", *NAMES):
        value = row.get(key)
        if (value is not None and not isinstance(value, (str, int))) or isinstance(value, bool):
            faults.append(f"{key} must be a text")
        elif len(_string(value)) > MAX_TEXT:
            faults.append(f"{key} has more than {MAX_TEXT:,} characters")
    if (of == "span" or row.get("from")) and not (row.get("from") and row.get("to")):
        faults.append("a span needs from and to")
    return faults


def label_of(row: Mapping[str, Any], line: int = 0) -> Label:
    """The label of a row without faults."""
    values = {key: _string(row.get(key)) for key in ("id", *NAMES)}
    of = values.pop("of") or ("span" if values["from"] else "event" if values["event"] else "conversation")
    start, end = values.pop("from"), values.pop("to")
    if of != "span":
        name = "event" if of == "event" else "thread"
        values[name] = values[name] or values["id"]
    target = BOOLEANS[_string(row["target"]).lower()]
    return Label(**values, of=of, target=target, start=start, end=end, line=line)


def _string(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any] | BadLine]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except BadLine as error:
            yield number, error
        else:
            is_object = isinstance(row, dict)
            yield number, row if is_object else BadLine('expected an object: {"id": ..., "target": ...}')


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A labelled data set: its name, its file of labels (None where events carry them) and its events."""

    name: str
    labels: Path | None
    events: tuple[Path, ...]

    @property
    def files(self) -> list[Path]:
        """All files of the set."""
        inside = [item for path in self.events for item in (path.rglob("*") if path.is_dir() else [path])]
        return [item for item in (self.labels, *inside) if item is not None and item.is_file()]


def locate_set(
    name: str, data: Sequence[str] = (), folder: str = "", *, in_events: bool = False
) -> LabelledSet:
    """The labelled set of a path or name.

    A folder holds labels.jsonl or labels.csv beside its events; mine.labels.csv lies beside mine.jsonl or any
    other events whose name begins so. `data` names events elsewhere, `folder` is where sets are found by
    name, and `in_events` says that the events carry the labels.
    """
    path, events = _find(name, folder), tuple(Path(item) for item in data)
    stem = path.name.partition(".")[0]
    title = path.resolve().parent.name if stem == "labels" else stem
    if in_events:
        return LabelledSet(title, None, events or (path,))
    if path.is_dir():
        files = [item for item in sorted(path.iterdir()) if item.is_file() and is_labels(item)]
        if len(files) != 1:
            count = f"{len(files)} files of labels" if files else "no file of labels"
            raise BadUsage(f"{name[:200]!r} has {count}: expected one labels.jsonl or labels.csv")
        return LabelledSet(path.name, files[0], events or _events_beside(files[0], ""))
    if is_labels(path):
        return LabelledSet(title, path, events or _events_beside(path, path.name.partition("labels.")[0]))
    for suffix in SUFFIXES:
        labels = path.with_name(f"{stem}.labels{suffix}")
        if labels.is_file():
            return LabelledSet(title, labels, events or (path,))
    raise BadUsage(
        f"{name[:200]!r} has no labels beside it: write them into {stem}.labels.jsonl (or .csv), "
        "or name the attribute of the events that has them with --label"
    )


def _find(name: str, folder: str) -> Path:
    candidates = [Path(name)]
    if folder and "/" not in name:
        candidates += [Path(folder) / name, *sorted(Path(folder).glob(f"*/{name}"))]
    for path in candidates:
        if path.exists():
            return path
    raise BadUsage(f"no such file, folder or set: {name[:200]!r}")


def _events_beside(labels: Path, stem: str) -> tuple[Path, ...]:
    paths = [
        path
        for path in sorted(labels.parent.iterdir())
        if path.name.startswith(stem) and not path.name.startswith(".") and not is_labels(path)
    ]
    if not paths:
        raise BadUsage(f"there are no events beside {str(labels)[:200]!r}: name them with --data")
    return tuple(paths)


def labels_in(events: Iterable[Event], attribute: str, targets: Collection[str]) -> list[Label]:
    """A label for each thread with the attribute, by its first event that has it.

    A thread is a target where the value is one of `targets`.
    """
    values: dict[tuple[str, str], str] = {}
    for source, thread, attributes in sequence_of(events).values("source", "thread", "attributes"):
        value = attributes.get(attribute)
        if thread is not None and isinstance(value, (str, int, float)):
            values.setdefault((source, thread), str(value))
    if not values:
        raise BadUsage(f"no event in a thread has the attribute {attribute[:80]!r}")
    if not set(targets) & set(values.values()):
        known = ", ".join(sorted(set(values.values()))[:8])
        wanted = " or ".join(sorted(targets))[:80]
        raise BadUsage(f"no {attribute[:80]} is {wanted!r}; there are {known[:200]}")
    return [
        Label(f"{source}/{thread}", value in targets, "run", source=source, thread=thread)
        for (source, thread), value in values.items()
    ]
