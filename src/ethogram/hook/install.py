"""Installing: our entries in a coding agent's settings file, and out of it again without a trace.

What was changed is noted in the state folder as edits (places and lengths, nothing of the file), so that an
uninstall gives back the very bytes where nobody changed the file in between.
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
from pathlib import Path
from typing import Any

from ..errors import BadInput, BadUsage, Fault, did_you_mean
from .entries import NAMES, kept_apart, with_hook, without_hook
from .json_text import Edit, parse, undo
from .place import state_dir

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
    told = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(told) if told else Path.home() / ".claude").absolute() / "settings.json"


def check_place(path: Path, folder: str) -> None:
    """BadUsage where a project's settings file leads out of the project, as a repository may have planted."""
    target, inside = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([target, inside]) != inside:
        raise BadUsage(
            f"{path} links to {target}, outside this folder; remove the link, or install with --user"
        )


def own_command() -> str:
    """The command that starts our hook, for a shell: this executable, or this Python where there is none."""
    for one in (Path(sys.argv[0]), Path(sys.executable).with_name(NAMES[0])):
        if one.name in NAMES and one.is_file():
            return f"{shlex.quote(str(one.absolute()))} hook"
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
    return [str(one) for one in above if not one.exists()]


def difference(change: Change, shown: str) -> Iterator[str]:
    """The change as a unified diff, line by line."""
    before, after = (("" if one is None else one).splitlines() for one in (change.before, change.after))
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
        told = json.loads(notes_path().read_bytes())
    except (OSError, ValueError):
        return {}
    return {path: one for path, one in told.items() if _is_note(one)} if isinstance(told, dict) else {}


def _is_note(one: Any) -> bool:
    return isinstance(one, dict) and {"created", "keep", "made", "edits", "digest"} <= one.keys()


def remember(change: Change) -> None:
    """Note a change, for the uninstall."""
    _save({**notes(), str(change.path): change.note or {}})


def forget(change: Change) -> None:
    """It is undone."""
    left = notes()
    if left.pop(str(change.path), None) is not None:
        _save(left)


def _save(told: dict[str, dict[str, Any]]) -> None:
    path = notes_path()
    if not told:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        path.parent.chmod(0o700)
    write(path, json.dumps(told, indent=1) + "\n", 0o600)
