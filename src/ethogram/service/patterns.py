"""Patterns as the service shows them: row, meaning, file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..app.judging.risk import pattern_files
from ..errors import did_you_mean
from ..patterns.pattern_file import PatternFile, read_pattern_file
from ..report.wording import pairs_text
from .request_checks import Refused
from .state import Service


def pattern_rows(service: Service) -> list[dict[str, Any]]:
    """Every pattern, by name."""
    return [_row(service, file) for _, file in sorted(pattern_files(service.settings).items())]


def _row(service: Service, file: PatternFile) -> dict[str, Any]:
    return {
        "name": file.name,
        "title": file.title,
        "status": file.status,
        "on": file.name in service.library.chosen,
        "description": file.words.get("description"),
    }


def pattern_record(service: Service, name: str) -> dict[str, Any]:
    """One pattern with its file; Refused where there is none."""
    files = pattern_files(service.settings)
    if name not in files:
        raise Refused(404, "not_found", f"no pattern is named {name!r:.80}{did_you_mean(name, files)}")
    file = files[name]
    return {**_row(service, file), "yaml": Path(file.path).read_text(encoding="utf-8")}


class Story(NamedTuple):
    """An example of a pattern file: what happens, and the readings of its events."""

    story: str
    readings: str


def stories(service: Service, name: str) -> dict[str, list[Story]]:
    """The examples of a pattern in which it fires, and those in which it stays quiet."""
    file = pattern_files(service.settings)[name]
    data = read_pattern_file(file.path, file.vocabulary).data.get("examples") or {}
    return {
        kind: [
            Story(
                str(example.get("story", "")),
                pairs_text({key: value for key, value in example.items() if isinstance(value, list)}),
            )
            for example in data.get(kind) or ()
            if isinstance(example, Mapping)
        ]
        for kind in ("fires", "quiet")
    }
