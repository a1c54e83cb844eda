"""Install the hook in a coding agent's settings file, and remove it again without a trace.

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "...", "timeout": 10}]}]}}

Other hooks in the same lists stay as they are, and so does our command inside somebody's wrapper: it counts
as installed. An install saves its edits (places and lengths, no content of the file) in the state folder, so
that an uninstall restores the exact bytes if nobody changed the file in between.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ...errors import BadInput, BadUsage, Fault, did_you_mean
from ...files import write_whole
from .json_edits import Edit, Node, appended, parse, removed, replaced, undo
from .location import EVENTS, TOOL_EVENTS, state_dir

AGENTS = ("claude-code",)
SCOPES = ("project", "user")
NAMES = ("ethogram", "ethogram.exe")
TIMEOUT = 10
EMPTY = "{}\n"
BOM = "\ufeff"
UNDO_FIELDS = {"created", "keep", "made", "edits", "digest"}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a settings file. None stands for no file; `note` is the undo information."""

    path: Path
    before: str | None
    after: str | None
    note: dict[str, Any] | None

    @property
    def is_none(self) -> bool:
        """Whether the file stays as it is."""
        return self.before == self.after


def check_agent(name: str) -> None:
    """Raise BadUsage for an unknown agent."""
    if name not in AGENTS:
        hint = did_you_mean(name, AGENTS) or f": expected {', '.join(AGENTS)}"
        raise BadUsage(f"unknown agent {name!r:.60}{hint}")


def settings_path(scope: str, folder: str) -> Path:
    """Return the agent's settings file of a project folder or of the user."""
    if scope == "project":
        return Path(folder, ".claude", "settings.json").absolute()
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(config) if config else Path.home() / ".claude").absolute() / "settings.json"


def check_place(path: Path, folder: str) -> None:
    """Raise BadUsage if a project's settings file links out of the project, as a repository may plant."""
    target, inside = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, inside]) != inside:
        raise BadUsage(
            f"{path} links to {target}, outside this folder; remove the link, or install with --user"
        )


def own_command() -> str:
    """Return the shell command that starts the hook: this executable, or this Python without one."""
    for item in (Path(sys.argv[0]), Path(sys.executable).with_name(NAMES[0])):
        if item.name in NAMES and item.is_file():
            return f"{shlex.quote(str(item.absolute()))} hook"
    return f"{shlex.quote(sys.executable)} -P -m ethogram hook"


def kind_of(command: str) -> str:
    """Return 'ours', 'wrapped' (ours inside something else) or '' for any other command.

    >>> kind_of("'/a b/ethogram' hook"), kind_of("timeout 5 ethogram hook"), kind_of("ethogram hooks")
    ('ours', 'wrapped', '')
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    if words[-1:] != ["hook"]:
        return ""
    if words[-3:-1] == ["-m", "ethogram"]:
        return "ours" if words[1:-3] in ([], ["-P"]) else "wrapped"
    if len(words) > 1 and PurePath(words[-2].replace("\\", "/")).name in NAMES:
        return "ours" if len(words) == 2 else "wrapped"
    return ""


@dataclass(frozen=True, slots=True)
class HookCommand:
    """A command of ours in the settings, with the lists and objects around it."""

    kind: str
    command: Node
    handler: Node
    handlers: Node
    group: Node
    groups: Node
    events: Node

    @property
    def event(self) -> str:
        """The event it handles."""
        return self.groups.name


def hook_commands(root: Node) -> Iterator[HookCommand]:
    """Yield every command of ours, in order; parts of an unexpected form hold none."""
    events = root.get("hooks")
    if events is None or events.kind != "an object":
        return
    for event in dict.fromkeys(member.name for member in events.members):
        groups = events.get(event)
        for group in groups.members if groups and groups.kind == "a list" else ():
            handlers = group.get("hooks")
            for handler in handlers.members if handlers and handlers.kind == "a list" else ():
                command = handler.get("command")
                if groups and handlers and command and (kind := kind_of(command.text)):
                    yield HookCommand(kind, command, handler, handlers, group, groups, events)


def check(text: str, path: str) -> Node:
    """Return the settings in a text; BadInput if their form leaves no place for a hook."""
    root = parse(text, path)
    if faults := sorted(_faults(text, path, root)):
        raise BadInput(faults)
    return root


def _faults(text: str, path: str, root: Node) -> Iterator[Fault]:
    def wrong(node: Node, what: str, expected: str) -> Fault:
        return node.fault(text, path, f"{what} is {node.kind}: expected {expected}")

    events = root.get("hooks")
    if root.kind != "an object":
        yield wrong(root, "the settings file", 'an object, like {"hooks": {}}')
    elif events is not None and events.kind != "an object":
        yield wrong(events, "'hooks'", 'an object, like {"Stop": []}')
    for event in EVENTS if events is not None else ():
        groups = events.get(event) if events is not None else None
        if groups is not None and groups.kind != "a list":
            yield wrong(groups, f"'hooks.{event}'", "a list")
            continue
        for group in groups.members if groups is not None else ():
            handlers = group.get("hooks")
            if group.kind != "an object":
                yield wrong(group, f"an entry of 'hooks.{event}'", 'an object, like {"hooks": []}')
            elif handlers is None:
                yield group.fault(text, path, f"an entry of 'hooks.{event}' has no 'hooks': expected a list")
            elif handlers.kind != "a list":
                yield wrong(handlers, f"'hooks' in an entry of 'hooks.{event}'", "a list")


def with_hook(text: str, path: str, command: str) -> tuple[str, list[Edit]]:
    """Return the text with our entries, and the edits that led there; none if all were there already."""
    edits: list[Edit] = []
    while edit := _addition(text, check(text, path), command):
        edits.append(edit)
        text = edit.apply(text)
    return text, edits


def _entry(event: str, command: str) -> dict[str, Any]:
    entry = {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}
    return {"matcher": "*", **entry} if event in TOOL_EVENTS else entry


def _addition(text: str, root: Node, command: str) -> Edit | None:
    events = root.get("hooks")
    if events is None:
        return appended(text, root, root, {event: [_entry(event, command)] for event in EVENTS}, "hooks")
    commands = list(hook_commands(root))
    for event in EVENTS:
        here = [item for item in commands if item.event == event]
        plain = [item for item in here if item.kind == "ours"]
        groups = events.get(event)
        if plain and plain[0].command.text != command:
            return replaced(text, plain[0].command, command)
        if len(plain) > 1:
            return _removal(text, root, plain[1], frozenset(EVENTS) | {""})
        if not here and groups is None:
            return appended(text, root, events, [_entry(event, command)], event)
        if not here and groups is not None:
            return appended(text, root, groups, _entry(event, command))
    return None


def without_hook(text: str, path: str, keep: frozenset[str] = frozenset()) -> str:
    """Return the text without our entries and the lists this leaves empty.

    Lists of events in `keep` stay; '' in it keeps the object that holds them all.
    """
    while True:
        root = parse(text, path)
        ours = next((item for item in hook_commands(root) if item.kind == "ours"), None)
        if ours is None:
            return text
        text = _removal(text, root, ours, keep).apply(text)


def _removal(text: str, root: Node, item: HookCommand, keep: frozenset[str]) -> Edit:
    if len(item.handlers.members) > 1:
        return removed(text, item.handlers, item.handler)
    if len(item.groups.members) > 1 or item.event in keep:
        return removed(text, item.groups, item.group)
    if len(item.events.members) > 1 or "" in keep:
        return removed(text, item.events, item.groups)
    return removed(text, root, item.events)


def plan_install(path: Path, command: str) -> Change:
    """Return what an install would change."""
    target = Path(os.path.realpath(path))
    before = read(target, path)
    bom, text = _split_bom(before or "")
    after, edits = with_hook(text if before is not None else EMPTY, str(path), command)
    known = load_notes().get(str(target))
    is_clean = before is None or without_hook(text, str(path)) == text
    if before is None:
        parents = [target.parent, *target.parent.parents]
        missing = [str(folder) for folder in parents if not folder.exists()]
        note = {"created": True, "keep": [], "made": missing}
    elif known and not is_clean:
        note = {name: known[name] for name in ("created", "keep", "made")}
    else:
        events = parse(without_hook(text, str(path)), str(path)).get("hooks")
        keep = [] if events is None else sorted({"", *(member.name for member in events.members)})
        note = {"created": False, "keep": keep, "made": []}
    # Edits lead back to the file without our entries only if they began there.
    earlier: list[Any] | None = []
    if not is_clean:
        earlier = known["edits"] if known and known["digest"] == _digest(before or "") else None
    note["edits"] = None if earlier is None else earlier + [[e.start, e.removed, len(e.added)] for e in edits]
    note["digest"] = _digest(bom + after)
    return Change(target, before, bom + after if edits else before, note)


def plan_uninstall(path: Path) -> Change:
    """Return what an uninstall would change."""
    target = Path(os.path.realpath(path))
    before = read(target, path)
    if before is None:
        return Change(target, None, None, None)
    bom, text = _split_bom(before)
    note = load_notes().get(str(target))
    if note is None:
        return Change(target, before, bom + without_hook(text, str(path)), None)
    if note["digest"] == _digest(before) and note["edits"] is not None:
        edits = [Edit(start, gone, " " * length) for start, gone, length in note["edits"]]
        return Change(target, before, None if note["created"] else bom + undo(text, edits), note)
    after = without_hook(text, str(path), frozenset(note["keep"]))
    is_empty = after != text and not parse(after, str(path)).members
    return Change(target, before, None if note["created"] and is_empty else bom + after, note)


def _split_bom(text: str) -> tuple[str, str]:
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def difference(change: Change, shown: str) -> Iterator[str]:
    """Yield the lines of the change as a unified diff."""
    sides = [(text or "", os.devnull if text is None else shown) for text in (change.before, change.after)]
    (before, first), (after, second) = sides
    yield from difflib.unified_diff(before.splitlines(), after.splitlines(), first, second, lineterm="")


def read(target: Path, shown: Path) -> str | None:
    """Return the text of a settings file with its line ends; None without a file."""
    try:
        return target.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInput([Fault(str(shown), line, 0, "invalid encoding: expected UTF-8")]) from None


def apply(change: Change) -> None:
    """Write a change atomically. BadUsage if somebody changed the file in the meantime."""
    if read(change.path, change.path) != change.before:
        raise BadUsage(f"{change.path} has just been changed, so nothing was written; try again")
    if change.after is not None:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(change.path, [change.after], mode=0o666)
        return
    change.path.unlink(missing_ok=True)
    for folder in (change.note or {}).get("made", []):
        # Only empty ones.
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def notes_path() -> Path:
    """Return the path of the undo information."""
    return Path(state_dir(), "installed.json")


def load_notes() -> dict[str, dict[str, Any]]:
    """Return the undo information by settings file; {} if it cannot be read."""
    try:
        data = json.loads(notes_path().read_bytes())
    except (OSError, ValueError):
        return {}
    notes = data.items() if isinstance(data, dict) else ()
    return {path: note for path, note in notes if isinstance(note, dict) and note.keys() >= UNDO_FIELDS}


def save_note(change: Change) -> None:
    """Save the undo information of a change."""
    _save({**load_notes(), str(change.path): change.note or {}})


def remove_note(change: Change) -> None:
    """Remove the undo information of a change that was undone."""
    notes = load_notes()
    if notes.pop(str(change.path), None) is not None:
        _save(notes)


def _save(notes: dict[str, dict[str, Any]]) -> None:
    path = notes_path()
    if not notes:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        path.parent.chmod(0o700)
    write_whole(path, [json.dumps(notes, indent=1), "\n"])
