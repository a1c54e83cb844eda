"""The file of mutes: read with the position of every fault, edited without losing comments."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from ..errors import BadConfig, BadUsage, did_you_mean
from ..language.yaml_source import plain, read_yaml_file
from ..models import format_time
from ..models.mute import CRITERIA, Mute, mute_id
from .checks import MISSING, Check, Place, Report, check_file, items, mapping, time, wrong
from .trust import write_for_user

MAX_TEXT = 500
"""Characters of a glob or a reason."""


def read_mutes(path: Path) -> tuple[Mute, ...]:
    """The entries of the file, none without a file; BadConfig carries every fault."""
    # lexists, so that a broken link is an error and not silently no file.
    if not os.path.lexists(path):
        return ()
    node = read_yaml_file(path, BadConfig)
    if plain(node) in (None, {}, {"mutes": None}):
        return ()
    entries: tuple[Mute, ...] = check_file(plain(node, as_text=True), _check_mutes, str(path), node)["mutes"]
    return entries


def _check_mutes(value: Any, place: Place, report: Report) -> Any:
    seen: set[str] = set()

    def check_entry(value: Any, place: Place, report: Report) -> Any:
        if not isinstance(value, dict):
            return wrong(value, "a mapping, like {pattern: loop, reason: ..., until: ...}", place, report)
        before = len(report.faults) + report.more
        fields = mapping(_ENTRY, required=["reason"])(value, place, report)
        criteria = {name: fields[name] for name in CRITERIA if name in fields}
        if not any(name in value for name in CRITERIA):
            report.add(place, f"matches nothing: give at least one of {', '.join(CRITERIA)}")
        if ("until" in value) == ("forever" in value):
            report.add(place, "must have either until: 2026-12-31T00:00:00Z or forever: true")
        if len(report.faults) + report.more > before:
            return MISSING
        entry = Mute(
            mute_id(criteria),
            fields["reason"],
            **criteria,
            until=fields.get("until"),
            added=fields.get("added"),
        )
        if entry.id in seen:
            return report.add(place, "mutes the same as an entry above it: remove one")
        seen.add(entry.id)
        return entry

    return mapping({"mutes": items(check_entry)}, required=["mutes"])(value, place, report)


def _check_text(value: Any, place: Place, report: Report) -> Any:
    if isinstance(value, str) and value.strip() and len(value) <= MAX_TEXT:
        return value
    return wrong(value, f"a text of 1 to {MAX_TEXT} characters", place, report)


_ENTRY: dict[str, Check] = {
    **dict.fromkeys((*CRITERIA, "reason"), _check_text),
    **dict.fromkeys(("until", "added"), time),
    "forever": lambda value, place, report: (
        True if value in ("true", "True") else wrong(value, "true or left out", place, report)
    ),
}


def add_mute(path: Path, entry: Mute) -> bool:
    """Add an entry, or replace the one with the same criteria; return whether it is new."""
    before = read_mutes(path)
    content, listed = _content(path)
    position = next((index for index, item in enumerate(before) if item.id == entry.id), None)
    if position is None:
        listed.append(_as_yaml(entry))
    else:
        listed[position] = _as_yaml(entry)
    _write(path, content)
    return position is None


def remove_mute(path: Path, name: str) -> Mute:
    """Remove and return the entry with an id; BadUsage where there is none."""
    before = read_mutes(path)
    position = next((index for index, item in enumerate(before) if item.id == name), None)
    if position is None:
        near = did_you_mean(name, [item.id for item in before])
        raise BadUsage(f"there is no mute {name!r:.60} in {path}{near}; see `ethogram mute list`")
    content, listed = _content(path)
    del listed[position]
    _write(path, content)
    return before[position]


def _as_yaml(entry: Mute) -> dict[str, Any]:
    ending = {"forever": True} if entry.until is None else {"until": format_time(entry.until)}
    added = {} if entry.added is None else {"added": format_time(entry.added)}
    return {**entry.criteria, "reason": entry.reason, **ending, **added}


def _content(path: Path) -> tuple[Any, Any]:
    """The content of a file that is known to be valid, and the list in it."""
    from ruamel.yaml import YAML

    content = YAML().load(path.read_text(encoding="utf-8")) if path.exists() else None
    if not content or content.get("mutes") is None:
        content = {"mutes": []}
    return content, content["mutes"]


def _write(path: Path, content: Any) -> None:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 1_000
    text = io.StringIO()
    yaml.dump(content, text)
    write_for_user(path, [text.getvalue()])
