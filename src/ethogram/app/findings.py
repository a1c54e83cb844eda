"""Detections of a store as a list: who shows a pattern, since when, how severe."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from ..config import Settings
from ..errors import BadUsage, NotFound, did_you_mean
from ..models import SEVERITIES, Detection
from ..models.detection import base_pattern
from ..patterns.pattern_file import PatternFile
from ..store.records import Store
from .analyze import moment_of
from .judging.risk import opened, pattern_files


class Page(NamedTuple):
    """Some detections, newest first, and how many there are in all."""

    detections: list[Detection]
    total: int


def detections(
    store: Store | str | Path,
    *,
    pattern: str | None = None,
    subject: str | None = None,
    source: str | None = None,
    severity: str | None = None,
    since: datetime | str | None = None,
    limit: int | None = None,
    offset: int = 0,
    settings: Settings | None = None,
) -> list[Detection]:
    """The detections that a store keeps, newest first.

    `pattern` is a name or a glob, `severity` the lowest, `since` the earliest time of detection. `limit` and
    `offset` select a page. Withdrawn and superseded detections, parts of combinations and those of shadow
    patterns are left out.
    """
    with opened(store) as item:
        page = find_page(
            item,
            pattern=pattern,
            subject=subject,
            source=source,
            severity=severity,
            since=moment_of(since, "since"),
            limit=limit,
            offset=offset,
            settings=settings,
        )
    return page.detections


def find_page(
    store: Store,
    *,
    pattern: str | None = None,
    subject: str | None = None,
    source: str | None = None,
    severity: str | None = None,
    since: datetime | None = None,
    limit: int | None = None,
    offset: int = 0,
    settings: Settings | None = None,
) -> Page:
    """The same, with the number of all; BadUsage where a pattern, subject or severity is unknown."""
    if severity is not None and severity not in SEVERITIES:
        known = ", ".join(SEVERITIES)
        raise BadUsage(
            f"invalid severity {severity!r:.40}: expected {known}{did_you_mean(severity, SEVERITIES)}"
        )
    if (limit is not None and limit < 1) or offset < 0:
        raise BadUsage("invalid page: expected a limit of 1 or more and an offset of 0 or more")
    names = _patterns(store, pattern, pattern_files(settings or Settings())) if pattern else []
    if pattern and not names:
        return Page([], 0)
    if subject is not None:
        _check_subject(store, subject)
    found, total = store.find_detections(
        patterns=names,
        subject=subject,
        source=source,
        severity=severity,
        since=since,
        limit=limit,
        offset=offset,
    )
    return Page(found, total)


def _patterns(store: Store, wanted: str, files: Mapping[str, PatternFile]) -> list[str]:
    """The patterns of stored detections that are meant; [] where a known pattern has none."""
    stored = store.detected_patterns()
    chosen = [name for name in stored if fnmatchcase(name, wanted) or base_pattern(name) == wanted]
    known = {*files, *map(base_pattern, stored)}
    if not chosen and not any(fnmatchcase(name, wanted) for name in known):
        raise NotFound(f"no pattern is named {wanted!r:.80}{did_you_mean(wanted, sorted(known))}")
    return chosen


def _check_subject(store: Store, name: str) -> None:
    if not store.subjects(name) and not store.detected_subjects(name):
        known = [row.name for row in (*store.subjects(), *store.detected_subjects())]
        raise NotFound(f"no subject {name!r:.80} in the store{did_you_mean(name, known)}")
