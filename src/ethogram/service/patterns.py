"""Patterns as the service shows them: row, meaning, file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..app.judging.risk import pattern_files
from ..errors import did_you_mean
from ..patterns.pattern_file import PatternFile
from .guard import Refused
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
