"""The file of what was learned: numbers laid over ethogram.yaml's, and every change that led to them.

`parameters:` is what is in force and what settings are read from; `changes:` is how it came about. The file
is written by `ethogram learn` alone, all or nothing, and can be kept under version control with the settings.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import BadConfig, BadUsage, Fault, did_you_mean
from ..files import write_whole
from ..language.yaml_source import Fields, Items, Node, plain, read_yaml_file
from ..models import format_time, parse_time
from ..risk.changes import Change, Changes, in_force
from .trust import keep_trust, may_stay_trusted

LEARNED_FILE = "ethogram.learned.yaml"
KEYS = ("parameters", "changes")
FIELDS = ("at", "by", "pattern", "parameter", "old", "new", "undoes", "why")
TEXTS = ("by", "pattern", "parameter")
HEAD = """# Learned from verdicts, laid over ethogram.yaml. `ethogram learn` writes it, and with --undo takes
# back what it wrote: an edit by hand is refused where it does not fit the changes.
"""


def read_changes(path: Path) -> Changes:
    """The changes in the file, none where there is no file; BadConfig carries every fault."""
    # lexists, so that a broken link is an error and not silently no file.
    if not os.path.lexists(path):
        return ()
    node = read_yaml_file(path, BadConfig)
    faults: list[Fault] = []
    changes = tuple(_changes(node, str(path), faults))
    if not faults and isinstance(node, Fields):
        said = plain(node).get("parameters") or {}
        if said != in_force(changes):
            place = node.get("parameters") or node
            faults.append(
                Fault(
                    str(path),
                    place.line,
                    place.column,
                    f"parameters must be what the changes come to: {json.dumps(in_force(changes))}; set your "
                    "own numbers in ethogram.yaml or with --set, and take these back with learn --undo",
                )
            )
    if faults:
        raise BadConfig(faults)
    return changes


def write_changes(path: Path, changes: Changes) -> None:
    """Put the changes in place of what the file held: whoever reads meanwhile has the old or the new one."""
    is_ours = may_stay_trusted(path)
    try:
        write_whole(path, _lines(changes), mode=0o666)
    except OSError as error:
        raise BadUsage(f"{path} cannot be written: {error.strerror}") from None
    if is_ours:
        keep_trust(path)


def _lines(changes: Changes) -> Iterator[str]:
    yield HEAD
    force = in_force(changes)
    yield "parameters:\n" if force else "parameters: {}\n"
    for pattern, numbers in sorted(force.items()):
        yield f"  {_quoted(pattern)}:\n"
        yield from (f"    {_quoted(name)}: {value!r}\n" for name, value in sorted(numbers.items()))
    yield "changes:\n" if changes else "changes: []\n"
    for change in changes:
        record: dict[str, Any] = {name: getattr(change, name) for name in FIELDS}
        record["at"] = format_time(change.at)
        given = {name: value for name, value in record.items() if value not in (None, "")}
        for number, (name, value) in enumerate(given.items()):
            shown = _quoted(value) if isinstance(value, str) else repr(value)
            yield f"  {' ' if number else '-'} {name}: {shown}\n"


def _quoted(text: str) -> str:
    """A text as YAML has it in double quotes; what cannot plainly be seen is spelled out by its number."""
    shown = (item if item.isprintable() and item not in '"\\' else f"\\U{ord(item):08x}" for item in text)
    return f'"{"".join(shown)}"'


def _changes(node: Node, path: str, faults: list[Fault]) -> Iterator[Change]:
    if plain(node) is None:
        return
    if not isinstance(node, Fields):
        faults.append(Fault(path, node.line, node.column, "must be a mapping with parameters and changes"))
        return
    faults += unknown_keys(node, path)
    listed = node.get("changes")
    if listed is None or plain(listed) is None:
        return
    if not isinstance(listed, Items):
        faults.append(Fault(path, listed.line, listed.column, "changes must be a list"))
        return
    for number, item in enumerate(listed.items, start=1):
        wrong = _wrong(plain(item), number)
        if wrong:
            faults.append(Fault(path, item.line, item.column, f"change {number}: {wrong}"))
            continue
        told = plain(item)
        yield Change(**{**told, "at": parse_time(told["at"])})


def _wrong(value: Any, number: int) -> str:
    """What is wrong with one change; empty where it is right."""
    if not isinstance(value, dict) or set(value) - set(FIELDS) or set(FIELDS[:6]) - set(value):
        return f"must be a mapping with {', '.join(FIELDS[:6])}, and undoes or why"
    if any(not isinstance(value[name], str) or not value[name] for name in TEXTS):
        return f"{', '.join(TEXTS)} are texts"
    if not isinstance(value.get("why", ""), str):
        return "why is a text"
    if any(
        isinstance(value[name], bool)
        or not isinstance(value[name], int | float)
        or not math.isfinite(value[name])
        for name in ("old", "new")
    ):
        return "old and new are numbers"
    undoes = value.get("undoes")
    if undoes is not None and (type(undoes) is not int or not 0 < undoes < number):
        return "undoes is the number of an earlier change, counted from 1"
    try:
        parse_time(str(value["at"]))
    except ValueError as error:
        return f"at: {error}"
    return ""


def unknown_keys(node: Fields, path: str) -> list[Fault]:
    """A fault for each key at the top that is not one of the two."""
    found = []
    for name in node.names():
        if name not in KEYS:
            key = node.key(name) or node
            message = f"unknown key {name!r:.60}{did_you_mean(name, KEYS)}"
            found.append(Fault(path, key.line, key.column, message))
    return found
