"""A pattern as `patterns list` and `patterns show` tell it: as a record, and as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..models.constants import ACTIVE_STATUSES
from .output import printable

if TYPE_CHECKING:
    from ..patterns.listing import Parameter, PatternRow
    from ..patterns.pattern_file import PatternFile


IN_FILE = "pattern file"
_WORDS = ("id", "author", "date", "modified", "description", "triage")
_MEANING = ("define", "for_each", "shape", "confidence", "details", "tell_at")


def brief_record(file: PatternFile) -> dict[str, Any]:
    """The few fields of a list."""
    return _row(file).to_dict()


def _row(file: PatternFile) -> PatternRow:
    from ..patterns.listing import PatternRow

    return PatternRow(
        name=file.name,
        status=file.status,
        on=file.status in ACTIVE_STATUSES,
        shape=shape_of(file),
        severities=severities_of(file),
        title=file.title,
        path=file.path,
    )


def full_record(file: PatternFile, origins: Mapping[str, str]) -> dict[str, Any]:
    """Everything about a pattern, with its compiled programs. `origins`: what set each of the settings."""
    from ..language.compiler import compile_patterns
    from ..patterns.listing import PatternDetail, Stories
    from ..patterns.pattern_file import LISTS

    first = file.patterns[0]
    words: dict[str, Any] = {key: file.words[key] or None for key in _WORDS}
    words |= {key: file.words[key] for key in LISTS}
    return PatternDetail(
        row=_row(file),
        shape_hash=file.shape_hash,
        file_hash=file.file_hash,
        versions={pattern.name: pattern.version for pattern in file.patterns},
        **words,
        cause=first.cause,
        confirms=first.confirms,
        group_by=first.group_by,
        parameters=parameters_of(file, origins),
        meaning={key: file.data[key] for key in _MEANING if key in file.data},
        explanation=file.data.get("explanation"),
        recommendation=first.recommendation or None,
        examples=Stories(
            fires=[one.story for one in file.examples if one.fires],
            quiet=[one.story for one in file.examples if not one.fires],
        ),
        programs=[program.to_json() for program in compile_patterns(file.patterns)],
    ).to_dict()


def shape_of(file: PatternFile) -> str:
    """The kind of shape: sequence, threshold, ..."""
    from ..language.shape_parser import KINDS

    if file.in_code:
        return "code"
    return next(kind for kind in KINDS if kind in file.data["shape"])


def severities_of(file: PatternFile) -> list[str]:
    """The severities it may have, lowest first."""
    return [severity for severity, _ in file.patterns[0].severities]


def parameters_of(file: PatternFile, origins: Mapping[str, str]) -> list[Parameter]:
    """Every parameter with the value that counts, the one in the file, and what set it."""
    from ..patterns.listing import Parameter

    return [
        Parameter(
            name=name,
            value=value,
            in_file=file.data["parameters"][name],
            origin=origins.get(f"parameters.{file.name}.{name}", IN_FILE),
        )
        for name, value in file.parameters.items()
    ]


def table_lines(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line per record of a list, in columns; those that are off say so."""
    rows = [
        (
            str(one["name"]),
            str(one["status"]) + ("" if one["on"] else " (off)"),
            str(one["shape"]),
            ", ".join(one["severities"]),
            str(one["title"]),
        )
        for one in records
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    return [
        printable("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[4]]))
        for row in rows
    ]


def pattern_lines(record: Mapping[str, Any], origins: Mapping[str, str]) -> list[str]:
    """Everything of a full record that a person wants to read."""
    lines = [
        f"{record['name']}: {record['title']}",
        record["description"] or "",
        "",
        f"status: {_status(record, origins)}",
        f"severity: {', '.join(record['severities'])}",
        f"version: {', '.join(record['versions'].values())}",
        f"cause: {record['cause']}",
        f"group_by: {', '.join(record['group_by'])}",
        f"file: {record['path']}",
        *_listed("parameters", [_parameter(one) for one in record["parameters"]]),
        "",
        *_yaml(record["meaning"]),
        *_text("explanation", record["explanation"]),
        *_listed("false positives", record["false_positives"]),
        *_listed("misses", record["misses"]),
        *_text("triage", record["triage"]),
        *_text("recommendation", record["recommendation"]),
        *_listed("fires in", record["examples"]["fires"]),
        *_listed("quiet in", record["examples"]["quiet"]),
        *_listed("references", record["references"]),
    ]
    return [printable(line) for line in lines]


def _status(record: Mapping[str, Any], origins: Mapping[str, str]) -> str:
    said = record["status"] + ("" if record["on"] else " (off)")
    origin = origins.get(f"status.{record['name']}")
    return said if origin is None else f"{said}, from {origin}"


def _parameter(one: Mapping[str, Any]) -> str:
    said = f"{one['name']}: {one['value']:g}, from the {IN_FILE}"
    if one["from"] == IN_FILE:
        return said
    return f"{one['name']}: {one['value']:g}, from {one['from']} ({one['in_file']:g} in the {IN_FILE})"


def _listed(title: str, items: Iterable[str]) -> list[str]:
    found = [f"  - {item}" for item in items]
    return ["", f"{title}:", *found] if found else []


def _text(title: str, text: str | None) -> list[str]:
    return ["", f"{title}: {text}"] if text else []


def _yaml(data: Mapping[str, Any]) -> list[str]:
    """Plain data as lines of YAML, long expressions on one line."""
    from io import StringIO

    from ruamel.yaml import YAML

    writer = YAML()
    writer.width = 100_000
    writer.indent(mapping=2, sequence=4, offset=2)
    out = StringIO()
    writer.dump(dict(data), out)
    return out.getvalue().splitlines()
