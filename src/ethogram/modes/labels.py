"""Labels: what somebody said of conversations, runs, events or stretches, read from JSON lines or CSV.

One label a line. `id` and `target` are required; what it is about is found by `of` and the names beside it:

    conversation, run   a thread: `thread` (default: the id)
    event               one event: `event` (default: the id)
    span                from one event to another, ends included: `from`, `to`

An event is named by its id or, in the thread named beside it, by its position, counted from 1.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import BadLabels, Fault, did_you_mean
from ..ingest import BadLine
from ..ingest.strict_json import decode, parse

OF = ("conversation", "run", "event", "span")
THREADS = ("conversation", "run")
NAMES = (
    "of", "source", "subject", "thread", "event", "from", "to", "at", "begins", "over", "pattern", "group",
    "split",
)  # fmt: skip
KEYS = ("record", "id", "target", *NAMES)
TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
MOST_BYTES = 512 * 2**20
MOST_LABELS = 1_000_000
MOST_TEXT = 2_000
SUFFIXES = (".jsonl", ".csv", ".tsv", ".jsonl.gz", ".csv.gz", ".tsv.gz")

Row = tuple[int, Mapping[str, Any] | BadLine]
"""The line a label stands on, and its fields or what is wrong with it."""


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
    found: dict[str, Label] = {}
    faults: list[Fault] = []
    for line, row in _rows(path):
        if len(found) >= MOST_LABELS:
            faults.append(Fault(str(path), line, 0, f"a file of labels has at most {MOST_LABELS:,}"))
            break
        if isinstance(row, BadLine):
            faults.append(Fault(str(path), line, row.column, row.message))
        elif said := faults_of(row):
            faults += [Fault(str(path), line, 0, one) for one in said]
        else:
            label = label_of(row, line)
            first = found.setdefault(label.id, label)
            if first is not label:
                twice = f"the id {label.id[:80]!r} is also on line {first.line}"
                faults.append(Fault(str(path), line, 0, twice))
    if not found and not faults:
        faults.append(Fault(str(path), 0, 0, "has no labels"))
    if faults:
        raise BadLabels(faults)
    return list(found.values())


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
