"""The file of mutes, changed in such a way that what people wrote in it stays."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from ..errors import BadUsage, did_you_mean
from ..files import write_whole
from ..records import format_time
from ..records.mute import Mute
from .mutes import read_mutes
from .trust import keep_trust, may_stay_trusted


def add_mute(path: Path, entry: Mute) -> bool:
    """Whether the entry is new; one that asks for the same is replaced."""
    before = read_mutes(path)
    content, listed = _content(path)
    position = next((index for index, one in enumerate(before) if one.id == entry.id), None)
    if position is None:
        listed.append(_as_yaml(entry))
    else:
        listed[position] = _as_yaml(entry)
    _write(path, content)
    return position is None


def remove_mute(path: Path, name: str) -> Mute:
    """The entry that was taken out; BadUsage where there is none of that id."""
    before = read_mutes(path)
    position = next((index for index, one in enumerate(before) if one.id == name), None)
    if position is None:
        near = did_you_mean(name, [one.id for one in before])
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
