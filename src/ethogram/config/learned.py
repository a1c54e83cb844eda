"""The file of learned parameters: numbers over those of ethogram.yaml, and the changes that led to them.

Settings read `parameters:`; `changes:` is its history. Only `ethogram patterns learn` writes the file, all or
nothing; it can be versioned with the settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadConfig, Fault
from ..language.yaml_source import plain, read_yaml_file
from ..models import format_time
from ..risk.changes import Change, Changes, in_force
from .checks import Check, Place, Report, check_file, items, mapping, number, position, time, wrong
from .trust import write_for_user

LEARNED_FILE = "ethogram.learned.yaml"
HEAD = """# Learned from verdicts, laid over ethogram.yaml. `ethogram patterns learn` writes it, and with
# --undo takes back what it wrote: an edit by hand is refused where it does not fit the changes.
"""


def read_changes(path: Path) -> Changes:
    """The changes in the file, none without a file; BadConfig carries every fault."""
    # lexists, so that a broken link is an error and not silently no file.
    if not os.path.lexists(path):
        return ()
    node = read_yaml_file(path, BadConfig)
    content = check_file(plain(node) or {}, _FILE, str(path), node)
    changes = tuple(Change(**item) for item in content.get("changes") or ())
    if (content.get("parameters") or {}) != in_force(changes):
        message = (
            f"parameters must be what the changes come to: {json.dumps(in_force(changes))}; set your "
            "own numbers in ethogram.yaml or with --set, and take these back with learn --undo"
        )
        raise BadConfig([Fault(str(path), *position(node, ("parameters",), key=False), message)])
    return changes


def write_changes(path: Path, changes: Changes) -> None:
    """Replace the content of the file, all or nothing."""
    write_for_user(path, _lines(changes))


def _lines(changes: Changes) -> Iterator[str]:
    yield HEAD
    force = in_force(changes)
    yield "parameters:\n" if force else "parameters: {}\n"
    for pattern, numbers in sorted(force.items()):
        yield f"  {_quoted(pattern)}:\n"
        yield from (f"    {_quoted(name)}: {value!r}\n" for name, value in sorted(numbers.items()))
    yield "changes:\n" if changes else "changes: []\n"
    for change in changes:
        record: dict[str, Any] = {name: getattr(change, name) for name in _CHANGE}
        record["at"] = format_time(change.at)
        values = {name: value for name, value in record.items() if value not in (None, "")}
        for index, (name, value) in enumerate(values.items()):
            shown = _quoted(value) if isinstance(value, str) else repr(value)
            yield f"  {' ' if index else '-'} {name}: {shown}\n"


def _quoted(text: str) -> str:
    """A text in YAML's double quotes; characters that are not printable are escaped."""
    shown = (item if item.isprintable() and item not in '"\\' else f"\\U{ord(item):08x}" for item in text)
    return f'"{"".join(shown)}"'


def _text(value: Any, place: Place, report: Report) -> Any:
    is_text = isinstance(value, str) and (value or place[-1] == "why")
    return value if is_text else wrong(value, "a text", place, report)


def _earlier(value: Any, place: Place, report: Report) -> Any:
    """The number of an earlier change, counted from 1."""
    if value is None or (type(value) is int and 0 < value <= int(place[1])):
        return value
    return wrong(value, "the number of an earlier change, counted from 1", place, report)


_CHANGE: dict[str, Check] = {
    "at": time, "by": _text, "pattern": _text, "parameter": _text,
    "old": number(), "new": number(), "undoes": _earlier, "why": _text,
}  # fmt: skip
_CHANGES = items(mapping(_CHANGE, required=list(_CHANGE)[:6]))
_FILE = mapping(
    {
        "parameters": lambda value, place, report: value,
        "changes": lambda value, place, report: () if value is None else _CHANGES(value, place, report),
    }
)
