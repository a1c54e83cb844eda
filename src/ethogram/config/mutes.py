"""The file of mutes: read with the place of every fault, changed so that what people wrote in it stays."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import BadConfig, BadUsage, Fault, did_you_mean
from ..files import write_whole
from ..language.yaml_source import Fields, Items, Node, Scalar, plain, read_yaml_file
from ..models import format_time, parse_time
from ..models.mute import CRITERIA, Mute, mute_id
from .trust import keep_trust, may_stay_trusted

KEYS = (*CRITERIA, "reason", "until", "forever", "added")
LONGEST = 500
"""Characters of a glob or a reason."""
SHOWN = 50


def read_mutes(path: Path) -> tuple[Mute, ...]:
    """The entries of the file, none where there is no file; BadConfig carries every fault."""
    # lexists, so that a broken link is an error and not silently no file.
    if not os.path.lexists(path):
        return ()
    reader = _Reader(str(path))
    entries = tuple(reader.entries(read_yaml_file(path, BadConfig)))
    if reader.faults:
        raise BadConfig(reader.faults[:SHOWN], more=max(len(reader.faults) - SHOWN, 0))
    return entries


class _Reader:
    """Reads entries and gathers what is wrong with them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[Fault] = []

    def fault(self, node: Node, message: str) -> None:
        self.faults.append(Fault(self.path, node.line, node.column, message))

    def entries(self, node: Node) -> Iterator[Mute]:
        """The entries that are right."""
        if plain(node) in (None, {}, {"mutes": None}):
            return
        listed = node.get("mutes") if isinstance(node, Fields) else None
        if not isinstance(node, Fields) or not isinstance(listed, Items) or len(node.names()) != 1:
            self.fault(node, "must be `mutes:` and under it a list of entries, and nothing else")
            return
        seen: set[str] = set()
        for item in listed.items:
            entry = self.entry(item)
            if entry is not None and entry.id in seen:
                self.fault(item, "asks for the same as an entry above it")
            elif entry is not None:
                seen.add(entry.id)
                yield entry

    def entry(self, node: Node) -> Mute | None:
        """One entry, or None where something is wrong with it."""
        if not isinstance(node, Fields):
            self.fault(node, "an entry is a mapping, like {pattern: loop, reason: ..., until: ...}")
            return None
        before = len(self.faults)
        for name in node.names():
            if name not in KEYS:
                self.fault(node.key(name) or node, f"unknown key {name!r:.60}{did_you_mean(name, KEYS)}")
        said = {name: self.text(node, name) for name in (*CRITERIA, "reason")}
        until, added = self.time(node, "until"), self.time(node, "added")
        asks = {name: glob for name in CRITERIA if (glob := said[name]) is not None}
        if not any(node.get(name) for name in CRITERIA):
            self.fault(node, f"says not what to mute: give at least one of {', '.join(CRITERIA)}")
        if node.get("reason") is None:
            self.fault(node, "has no reason: say why this need not be told")
        self.ending(node)
        if len(self.faults) > before:
            return None
        return Mute(mute_id(asks), said["reason"] or "", **asks, until=until, added=added)

    def ending(self, node: Fields) -> None:
        """Faults of how long it is meant for."""
        forever, until = node.get("forever"), node.get("until")
        if forever is not None and plain(forever) is not True:
            self.fault(forever, "forever is true or left out")
        if (until is None) == (forever is None):
            self.fault(node, "has to say either until: 2026-12-31T00:00:00Z or forever: true")

    def text(self, node: Fields, name: str) -> str | None:
        """A text that is not empty; None where it is not given or wrong."""
        value = node.get(name)
        if value is None:
            return None
        result: Any = value.text if isinstance(value, Scalar) else None
        if not isinstance(result, str) or not result.strip() or len(result) > LONGEST:
            self.fault(value, f"{name} must be a text of 1 to {LONGEST} characters")
            return None
        return result

    def time(self, node: Fields, name: str) -> datetime | None:
        """A moment; None where it is not given or wrong."""
        value = node.get(name)
        if value is None:
            return None
        try:
            return parse_time(str(plain(value)))
        except ValueError as error:
            self.fault(value, f"{name}: {error}")
            return None


def add_mute(path: Path, entry: Mute) -> bool:
    """Whether the entry is new; one that asks for the same is replaced."""
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
    """The entry that was taken out; BadUsage where there is none of that id."""
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
    return {**entry.asks, "reason": entry.reason, **ending, **added}


def _content(path: Path) -> tuple[Any, Any]:
    """What the file holds, and the list in it. It was read and found right before."""
    from ruamel.yaml import YAML

    content = YAML().load(path.read_text(encoding="utf-8")) if path.exists() else None
    if not content or content.get("mutes") is None:
        content = {"mutes": []}
    return content, content["mutes"]


def _write(path: Path, content: Any) -> None:
    """All or nothing: whoever reads meanwhile has the old file or the new one."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 1_000
    text = io.StringIO()
    yaml.dump(content, text)
    is_ours = may_stay_trusted(path)
    try:
        write_whole(path, [text.getvalue()], mode=0o666)
    except OSError as error:
        raise BadUsage(f"{path} cannot be written: {error.strerror}") from None
    if is_ours:
        keep_trust(path)
