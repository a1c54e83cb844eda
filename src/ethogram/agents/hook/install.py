"""Install the hook in a coding agent's settings file, and remove it."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ...errors import BadInput, BadUsage, Fault, did_you_mean
from .location import EVENTS, TOOL_EVENTS, state_dir

# JSON text: changes of a JSON file that leave every other character of it as it was.
#
# A file that people write by hand is theirs: reading it and writing it anew would lay it out differently. So
# its parts are found with their places, and a change is a small edit of the text, which can be undone.

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^ \t\n\r,\]}]+")
KINDS = {"{": "an object", "[": "a list", '"': "a text"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its place: text[start:end]. `members` are those of an object or a list, in order."""

    kind: str
    start: int
    end: int
    members: tuple[Member, ...] = ()
    text: str = ""

    def get(self, name: str) -> Node | None:
        """The member of an object; of several with one name the last, as every reader has it."""
        return next((member.node for member in reversed(self.members) if member.name == name), None)

    def place_of(self, name: str) -> int:
        """Which of the members `get` gives."""
        return max(n for n, member in enumerate(self.members) if member.name == name)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The values inside."""
        return tuple(member.node for member in self.members)


@dataclass(frozen=True, slots=True)
class Member:
    """A part of an object or a list; it starts at its name, if it has one."""

    name: str
    start: int
    node: Node


@dataclass(frozen=True, slots=True)
class Edit:
    """At a place of a text some of it goes, and something else comes."""

    start: int
    removed: str
    added: str

    def done(self, text: str) -> str:
        """The text with this edit."""
        return text[: self.start] + self.added + text[self.start + len(self.removed) :]

    def undone(self, text: str) -> str:
        """The text as it was before this edit."""
        return text[: self.start] + self.removed + text[self.start + len(self.added) :]


def undo(text: str, edits: Sequence[Edit]) -> str:
    """The text as it was before all of these."""
    for edit in reversed(edits):
        text = edit.undone(text)
    return text


def parse(text: str, path: str) -> Node:
    """The value that a text holds. BadInput says where and why it is no JSON.

    >>> [one.name for one in parse('{"a": 1, "b": []}', "x.json").members]
    ['a', 'b']
    """
    try:
        json.loads(text)
        return _node(text, _past_space(text, 0))
    except json.JSONDecodeError as error:
        said = f"this is not JSON: {error.msg}; mend it, then try again"
        raise BadInput([Fault(path, error.lineno, error.colno, said)]) from None
    except RecursionError:
        raise BadInput([Fault(path, 1, 1, "too many lists and objects inside each other")]) from None


def fault(text: str, path: str, node: Node, message: str) -> Fault:
    """A fault at the place of a value."""
    line = text.count("\n", 0, node.start) + 1
    return Fault(path, line, node.start - (text.rfind("\n", 0, node.start) + 1) + 1, message)


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _node(text: str, at: int) -> Node:
    """The value that begins here, in a text that is known to be JSON."""
    kind = KINDS.get(text[at], "a value")
    if kind == "a text":
        end = _end(_STRING, text, at)
        return Node(kind, at, end, text=json.loads(text[at:end]))
    if kind == "a value":
        return Node(kind, at, _end(_WORD, text, at))
    members, here = [], _past_space(text, at + 1)
    while text[here] not in "]}":
        start, name = here, ""
        if kind == "an object":
            end = _end(_STRING, text, here)
            name = json.loads(text[here:end])
            here = _past_space(text, _past_space(text, end) + 1)
        inner = _node(text, here)
        members.append(Member(name, start, inner))
        here = _past_space(text, inner.end)
        if text[here] == ",":
            here = _past_space(text, here + 1)
    return Node(kind, at, here + 1, tuple(members))


def _end(what: re.Pattern[str], text: str, at: int) -> int:
    match = what.match(text, at)
    return match.end() if match else at


# Edits.


def replaced(text: str, node: Node, value: Any) -> Edit:
    """Another value in the place of one."""
    return Edit(node.start, text[node.start : node.end], json.dumps(value, ensure_ascii=False))


def removed(text: str, container: Node, place: int) -> Edit:
    """A member gone, with its comma."""
    members = container.members
    start, end = container.start + 1, container.end - 1
    if place + 1 < len(members):
        start, end = members[place].start, members[place + 1].start
    elif place:
        start, end = members[place - 1].node.end, members[place].node.end
    return Edit(start, text[start:end], "")


def appended(text: str, root: Node, container: Node, value: Any, name: str = "") -> Edit:
    """A member more at the end of an object or a list, laid out as its neighbours are."""
    unit, newline = _unit(text, root), "\r\n" if "\r\n" in text else "\n"
    key = f"{json.dumps(name, ensure_ascii=False)}:" if name else ""
    if container.members:
        gap = text[container.start + 1 : container.members[0].start]
        at = container.members[-1].node.end
        if "\n" not in gap:
            comma, item = _on_one_line(text, key, value)
            return Edit(at, "", comma + item)
        base = gap[gap.rindex("\n") + 1 :]
        return Edit(at, "", f",{newline}{base}{_laid_out(key, value, unit or '  ', newline, base)}")
    inside = text[container.start + 1 : container.end - 1]
    if unit is None:
        return Edit(container.start + 1, inside, _on_one_line(text, key, value)[1])
    line = text[text.rfind("\n", 0, container.start) + 1 :]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    item = _laid_out(key, value, unit, newline, outer + unit)
    return Edit(container.start + 1, inside, f"{newline}{outer}{unit}{item}{newline}{outer}")


def _unit(text: str, root: Node) -> str | None:
    """One step of indentation; None where all stands on one line."""
    if not root.members:
        return "  "
    gap = text[root.start + 1 : root.members[0].start]
    return gap[gap.rindex("\n") + 1 :] or "  " if "\n" in gap else None


def _on_one_line(text: str, key: str, value: Any) -> tuple[str, str]:
    if any(name in text for name in ('": ', '", ', "}, ")):
        item = json.dumps(value, ensure_ascii=False)
        return ", ", f"{key} {item}" if key else item
    return ",", key + json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _laid_out(key: str, value: Any, unit: str, newline: str, base: str) -> str:
    item = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + base)
    return f"{key} {item}" if key else item


def told(faults: Iterable[Fault]) -> None:
    """Nothing, or BadInput with all of the faults."""
    if result := list(faults):
        raise BadInput(sorted(result))


# Entries: what a coding agent's settings say of our hook, put in and taken out of the text of the file.
#
#     {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "...", "timeout": 10}]}]}}
#
# Other people's hooks stand in the same lists and are left as they are. So is a command of ours that somebody
# wrapped into one of their own: it counts as installed, and is theirs to change.

TIMEOUT = 10
NAMES = ("ethogram", "ethogram.exe")


def entry(event: str, command: str) -> dict[str, Any]:
    """What is put into the list of an event."""
    own = {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT}]}
    return {"matcher": "*", **own} if event in TOOL_EVENTS else own


def kind_of(command: str) -> str:
    """'ours', 'wrapped' (ours inside something else) or '' for a command of somebody else.

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
class Found:
    """A command of ours in the settings, with the lists it stands in."""

    event: str
    events: Node
    groups: Node
    group: int
    handlers: Node
    handler: int
    command: Node
    kind: str


def found(root: Node) -> Iterator[Found]:
    """Every command of ours, in order; what has another form than expected holds none."""
    events = root.get("hooks")
    for event in dict.fromkeys(item.name for item in _inside(events, "an object")):
        groups = events.get(event) if events else None
        for group, outer in enumerate(_inside(groups, "a list")):
            handlers = outer.node.get("hooks")
            for handler, inner in enumerate(_inside(handlers, "a list")):
                command = inner.node.get("command")
                if events and groups and handlers and command and (kind := kind_of(command.text)):
                    yield Found(event, events, groups, group, handlers, handler, command, kind)


def _inside(node: Node | None, kind: str) -> tuple[Any, ...]:
    return node.members if node is not None and node.kind == kind else ()


# The form of a file that something is to be added to.


def check(text: str, path: str) -> Node:
    """The settings that a text holds; BadInput where their form leaves no place for a hook."""
    root = parse(text, path)
    told(_faults(text, path, root))
    return root


def _faults(text: str, path: str, root: Node) -> Iterator[Fault]:
    def wrong(node: Node, what: str, right: str) -> Fault:
        return fault(text, path, node, f"{what} is {right}; here is {node.kind}")

    if root.kind != "an object":
        yield wrong(root, "a settings file", 'an object, like {"hooks": {}}')
        return
    events = root.get("hooks")
    if events is not None and events.kind != "an object":
        yield wrong(events, "'hooks'", 'an object, like {"Stop": []}')
        return
    for event in EVENTS:
        groups = events.get(event) if events is not None else None
        if groups is None:
            continue
        if groups.kind != "a list":
            yield wrong(groups, f"'hooks.{event}'", "a list")
            continue
        for group in groups.nodes:
            handlers = group.get("hooks")
            if group.kind != "an object":
                yield wrong(group, f"an entry of 'hooks.{event}'", 'an object, like {"hooks": []}')
            elif handlers is None:
                yield fault(
                    text, path, group, f"an entry of 'hooks.{event}' has a list 'hooks'; here is none"
                )
            elif handlers.kind != "a list":
                yield wrong(handlers, f"'hooks' in an entry of 'hooks.{event}'", "a list")


# In and out again.


def with_hook(text: str, path: str, command: str) -> tuple[str, list[Edit]]:
    """The text with our entries, and the edits that led there; none where all stood there already."""
    edits: list[Edit] = []
    while edit := _addition(text, check(text, path), command):
        edits.append(edit)
        text = edit.done(text)
    return text, edits


def _addition(text: str, root: Node, command: str) -> Edit | None:
    events = root.get("hooks")
    if events is None:
        return appended(text, root, root, {event: [entry(event, command)] for event in EVENTS}, "hooks")
    ours = list(found(root))
    for event in EVENTS:
        here = [our for our in ours if our.event == event]
        plain = [item for item in here if item.kind == "ours"]
        groups = events.get(event)
        if plain and plain[0].command.text != command:
            return replaced(text, plain[0].command, command)
        if len(plain) > 1:
            return _removal(text, root, plain[1], frozenset(EVENTS) | {""})
        if not here and groups is None:
            return appended(text, root, events, [entry(event, command)], event)
        if not here and groups is not None:
            return appended(text, root, groups, entry(event, command))
    return None


def without_hook(text: str, path: str, keep: frozenset[str] = frozenset()) -> str:
    """The text without our entries. Lists that this leaves empty go, too, but for those of events in `keep`;
    '' there keeps the object that holds them all."""
    while True:
        root = parse(text, path)
        ours = next((item for item in found(root) if item.kind == "ours"), None)
        if ours is None:
            return text
        text = _removal(text, root, ours, keep).done(text)


def _removal(text: str, root: Node, item: Found, keep: frozenset[str]) -> Edit:
    if len(item.handlers.members) > 1:
        return removed(text, item.handlers, item.handler)
    if len(item.groups.members) > 1 or item.event in keep:
        return removed(text, item.groups, item.group)
    if len(item.events.members) > 1 or "" in keep:
        return removed(text, item.events, item.events.place_of(item.event))
    return removed(text, root, root.place_of("hooks"))


def kept_apart(text: str, path: str) -> frozenset[str]:
    """What stands in a file besides our entries: its events, and '' for the object that holds them."""
    events = parse(without_hook(text, path), path).get("hooks")
    return frozenset() if events is None else frozenset({"", *(member.name for member in events.members)})


# Installing: our entries in a coding agent's settings file, and out of it again without a trace.
#
# What was changed is noted in the state folder as edits (places and lengths, nothing of the file), so that an
# uninstall gives back the very bytes where nobody changed the file in between.

AGENTS = ("claude-code",)
SCOPES = ("project", "user")
EMPTY = "{}\n"
MARK = "\ufeff"
"""What some editors put before a text."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of a settings file. None stands for no file; `note` is for the uninstall."""

    path: Path
    before: str | None
    after: str | None
    note: dict[str, Any] | None

    @property
    def is_none(self) -> bool:
        """Whether the file is as it should be."""
        return self.before == self.after


def check_agent(name: str) -> None:
    """BadUsage for an agent that nothing is known of."""
    if name not in AGENTS:
        hint = did_you_mean(name, AGENTS) or f"; there is {', '.join(AGENTS)}"
        raise BadUsage(f"unknown agent {name!r:.60}{hint}")


def settings_path(scope: str, folder: str) -> Path:
    """The settings file of the agent: that of a project folder, or the person's own."""
    if scope == "project":
        return Path(folder, ".claude", "settings.json").absolute()
    node = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(node) if node else Path.home() / ".claude").absolute() / "settings.json"


def check_place(path: Path, folder: str) -> None:
    """BadUsage where a project's settings file leads out of the project, as a repository may have planted."""
    target, inside = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, inside]) != inside:
        raise BadUsage(
            f"{path} links to {target}, outside this folder; remove the link, or install with --user"
        )


def own_command() -> str:
    """The command that starts our hook, for a shell: this executable, or this Python where there is none."""
    for item in (Path(sys.argv[0]), Path(sys.executable).with_name(NAMES[0])):
        if item.name in NAMES and item.is_file():
            return f"{shlex.quote(str(item.absolute()))} hook"
    return f"{shlex.quote(sys.executable)} -P -m ethogram hook"


def installing(path: Path, command: str) -> Change:
    """What an install would change."""
    target = Path(os.path.realpath(path))
    before = read(target, path)
    mark, text = _parted(before or "")
    after, edits = with_hook(text if before is not None else EMPTY, str(path), command)
    known = notes().get(str(target))
    if before is None:
        note = {"created": True, "keep": [], "made": _missing(target.parent)}
    elif known and not _is_clean(text, path):
        note = {name: known[name] for name in ("created", "keep", "made")}
    else:
        note = {"created": False, "keep": sorted(kept_apart(text, str(path))), "made": []}
    # Edits lead back to the file without our entries only if that is where they began.
    earlier: list[Any] | None = []
    if before is not None and not _is_clean(text, path):
        earlier = known["edits"] if known and known["digest"] == digest(before) else None
    note["edits"] = None if earlier is None else earlier + [[e.start, e.removed, len(e.added)] for e in edits]
    note["digest"] = digest(mark + after)
    return Change(target, before, mark + after if edits else before, note)


def uninstalling(path: Path) -> Change:
    """What an uninstall would change."""
    target = Path(os.path.realpath(path))
    before = read(target, path)
    if before is None:
        return Change(target, None, None, None)
    mark, text = _parted(before)
    note = notes().get(str(target))
    if note is None:
        return Change(target, before, mark + without_hook(text, str(path)), None)
    if note["digest"] == digest(before) and note["edits"] is not None:
        edits = [Edit(start, gone, " " * length) for start, gone, length in note["edits"]]
        return Change(target, before, None if note["created"] else mark + undo(text, edits), note)
    after = without_hook(text, str(path), frozenset(note["keep"]))
    is_empty = after != text and not parse(after, str(path)).members
    return Change(target, before, None if note["created"] and is_empty else mark + after, note)


def _is_clean(text: str, path: Path) -> bool:
    return without_hook(text, str(path)) == text


def _parted(text: str) -> tuple[str, str]:
    return (MARK, text[1:]) if text.startswith(MARK) else ("", text)


def digest(text: str) -> str:
    """What a text is known by."""
    return hashlib.sha256(text.encode()).hexdigest()


def _missing(folder: Path) -> list[str]:
    """The folders that must be made for this one, the innermost first."""
    above = [folder, *folder.parents]
    return [str(item) for item in above if not item.exists()]


def difference(change: Change, shown: str) -> Iterator[str]:
    """The change as a unified diff, line by line."""
    before, after = (("" if item is None else item).splitlines() for item in (change.before, change.after))
    first = shown if change.before is not None else os.devnull
    second = shown if change.after is not None else os.devnull
    yield from difflib.unified_diff(before, after, first, second, lineterm="")


# Files.


def read(target: Path, shown: Path) -> str | None:
    """The text of a settings file, line ends as they are; None where there is no file."""
    try:
        return target.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadInput([Fault(str(shown), line, 0, "this is not UTF-8; write the file in it")]) from None


def apply(change: Change) -> None:
    """Write what is to be written, whole or not at all. BadUsage where somebody else was quicker."""
    if read(change.path, change.path) != change.before:
        raise BadUsage(f"{change.path}: somebody changed it just now, and nothing was written; try again")
    if change.after is not None:
        change.path.parent.mkdir(parents=True, exist_ok=True)
        write(change.path, change.after)
        return
    change.path.unlink(missing_ok=True)
    for folder in (change.note or {}).get("made", []):
        # Only what is empty, so that nothing of anybody else goes.
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def write(path: Path, text: str, mode: int = 0o666) -> None:
    """A file with this text in place of the one before, whose mode it keeps."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


# Notes.


def notes_path() -> Path:
    """Where it is noted what was changed."""
    return Path(state_dir(), "installed.json")


def notes() -> dict[str, dict[str, Any]]:
    """What is noted, by settings file; nothing where it cannot be read."""
    try:
        data = json.loads(notes_path().read_bytes())
    except (OSError, ValueError):
        return {}
    return {path: item for path, item in data.items() if _is_note(item)} if isinstance(data, dict) else {}


def _is_note(value: Any) -> bool:
    return isinstance(value, dict) and {"created", "keep", "made", "edits", "digest"} <= value.keys()


def remember(change: Change) -> None:
    """Note a change, for the uninstall."""
    _save({**notes(), str(change.path): change.note or {}})


def forget(change: Change) -> None:
    """It is undone."""
    left = notes()
    if left.pop(str(change.path), None) is not None:
        _save(left)


def _save(record: dict[str, dict[str, Any]]) -> None:
    path = notes_path()
    if not record:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        path.parent.chmod(0o700)
    write(path, json.dumps(record, indent=1) + "\n", 0o600)
