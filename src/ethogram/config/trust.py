"""Trust: which files of a project folder the user has reviewed, each with a digest of its content.

The record is in the user's configuration folder, never in the project. A file that changed since, or that
nobody reviewed, is not trusted. The digest of a settings file also covers the pattern files it names.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ..errors import BadConfig, BadInput, BadPattern, BadUsage, Fault
from ..files import make_private_folder, user_folder, write_whole
from ..language.yaml_source import MAX_BYTES, Fields, plain, read_yaml_file
from ..models import format_time
from ..models.slotted import dataclass
from .pattern_detection import lifted

CONFIG_FILE = "ethogram.yaml"
HIDDEN_FILE = ".ethogram.yaml"
"""For projects that hide it; the other one wins."""
MAX_RECORD_BYTES = 4 * 2**20
SUFFIXES = (".yaml", ".yml")
# Bounds of listing pattern files: `patterns: ["/"]` must not walk the whole disk.
MAX_DEPTH = 8
MAX_ENTRIES = 10_000
MAX_FILES = 2_000
MAX_SECONDS = 5.0

Status = Literal["trusted", "changed", "untrusted"]


def is_pattern_name(name: str) -> bool:
    """Whether a file of this name is read as a pattern: not hidden files, and not settings."""
    return name.endswith(SUFFIXES) and not name.startswith((".", "ethogram."))


def pattern_files(path: Path) -> list[Path]:
    """The pattern files of a folder and the folders below it, sorted; or the file itself.

    Links to folders are not followed. BadPattern where a folder may not be read or a bound is exceeded.
    """
    if not os.path.isdir(path):  # noqa: PTH112 (False where that is forbidden to know: the reader says so)
        return [path]
    deadline = time.monotonic() + MAX_SECONDS
    waiting, files, entries, denied = [(path, 0)], list[Path](), 0, list[Fault]()
    while waiting:
        folder, depth = waiting.pop()
        try:
            listed = os.scandir(folder)
        except PermissionError as error:
            denied.append(Fault(str(folder), 0, 0, f"cannot be read: {error.strerror}"))
            continue
        except OSError:
            continue  # gone since it was listed
        with listed:
            for entry in listed:
                entries += 1
                if entries > MAX_ENTRIES:
                    raise _over(path, f"more than {MAX_ENTRIES:,} files and folders")
                if time.monotonic() > deadline:
                    raise _over(path, f"more than can be listed in {MAX_SECONDS:g} seconds")
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.startswith("."):
                        continue
                    if depth == MAX_DEPTH:
                        raise _over(path, f"folders nested deeper than {MAX_DEPTH} levels")
                    waiting.append((Path(entry.path), depth + 1))
                elif is_pattern_name(entry.name):
                    files.append(Path(entry.path))
                    if len(files) > MAX_FILES:
                        raise _over(path, f"more than {MAX_FILES:,} pattern files")
    if denied:
        raise BadPattern(sorted(denied))
    return sorted(files)


def _over(folder: Path, bound: str) -> BadPattern:
    return BadPattern([Fault(str(folder), 0, 0, f"holds {bound}: name a folder with pattern files only")])


@dataclass(frozen=True, slots=True)
class Entry:
    """A reviewed file: the digest of its content, and when it was reviewed (ISO text)."""

    digest: str
    at: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether a file is trusted. `at` is when it was reviewed, '' for never."""

    status: Status = "untrusted"
    at: str = ""

    @property
    def why(self) -> str:
        """Why it is not trusted; '' if it is."""
        if self.status == "trusted":
            return ""
        return f"changed since you trusted it on {self.at[:10]}" if self.at else "not trusted"


def user_file() -> Path | None:
    """The user's own settings file, which need not exist."""
    return (folder := user_folder()) and folder / CONFIG_FILE


def record_file() -> Path | None:
    """The record of trusted files, which need not exist."""
    return (folder := user_folder()) and folder / "trusted.json"


def weakness(path: Path, writable: int = 0o022) -> str:
    """Why a file of the user's configuration is not safe to use; '' if it is.

    `writable` are the permission bits that must not be set.
    """
    if not hasattr(os, "getuid"):
        return ""
    try:
        state = path.stat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if state.st_uid not in (os.getuid(), 0):
        return "belongs to another user"
    return "is writable by others" if stat.S_IMODE(state.st_mode) & writable else ""


def read_record() -> tuple[dict[str, Entry], str]:
    """The trusted files by absolute path, and a warning where the record exists but cannot be used."""
    path = record_file()
    if path is None or not os.path.lexists(path):
        return {}, ""
    if weak := weakness(path):
        return {}, f"{path}: {weak}: ignored, nothing is trusted"
    try:
        with open(path, "rb") as file:
            content = json.loads(file.read(MAX_RECORD_BYTES))
        return {
            name: Entry(str(item["digest"]), str(item["at"])) for name, item in content["files"].items()
        }, ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}, f"{path}: is not a record of trusted files: ignored, nothing is trusted"


def write_record(entries: Mapping[str, Entry]) -> None:
    """Replace the record, all or nothing. BadUsage where it cannot be written."""
    path = record_file()
    if path is None:
        raise BadUsage("no home folder for the record of trusted files: set XDG_CONFIG_HOME")
    content = {"version": 1, "files": {name: asdict(item) for name, item in sorted(entries.items())}}
    try:
        make_private_folder(path.parent)
        write_whole(path, [json.dumps(content, indent=1)])
    except OSError as error:
        raise BadUsage(f"{path} cannot be written: {error.strerror}") from None


def trust_of(path: str | Path, recorded: Callable[[str], Entry | None] | None) -> Trust:
    """Whether a file of a folder is trusted in its present state.

    `recorded` looks a file up in the record of trusted ones; None takes every file for trusted.
    """
    if recorded is None:
        return Trust("trusted")
    entry = recorded(key_of(path))
    if entry is None:
        return Trust()
    try:
        same = digest_of(path) == entry.digest
    except BadInput:
        same = False
    return Trust("trusted" if same else "changed", entry.at)


def add_trust(digests: Mapping[str, str], now: datetime | None = None) -> None:
    """Record files as reviewed: absolute path to digest."""
    record, warning = read_record()
    if warning:
        raise BadUsage(f"{warning.partition(': ignored')[0]}; remove it, and trust again what you reviewed")
    at = format_time((now or datetime.now(UTC)).replace(microsecond=0))
    write_record({**record, **{path: Entry(digest, at) for path, digest in digests.items()}})


def revoke_trust(paths: Iterable[str]) -> None:
    """Remove files from the record."""
    gone = set(paths)
    write_record({path: entry for path, entry in read_record()[0].items() if path not in gone})


def write_for_user(path: Path, content: Iterable[str]) -> None:
    """Write a file for the user, all or nothing; it is trusted then where it was before, or is new.

    BadUsage where it cannot be written. Without a record it stays untrusted.
    """
    is_ours = not os.path.lexists(path) or trust_of(path, read_record()[0].get).status == "trusted"
    try:
        write_whole(path, content, mode=0o666)
    except OSError as error:
        raise BadUsage(f"{path} cannot be written: {error.strerror}") from None
    if is_ours:
        with suppress(BadInput):
            add_trust({key_of(path): digest_of(path)})


def key_of(path: str | Path) -> str:
    """The key of a file in the record: absolute, with links resolved in its folder but not at the file."""
    whole = Path(path)
    return str(Path(os.path.realpath(whole.parent), whole.name))


def digest_of(path: str | Path) -> str:
    """The digest of a file and, for settings, of the files they use; BadInput where one cannot be read."""
    whole = Path(key_of(path))
    total = hashlib.sha256(_file_digest(whole))
    if whole.name in (CONFIG_FILE, HIDDEN_FILE):
        for file in used_files(whole):
            total.update(os.fsencode(file.relative_to(whole.parent)) + b"\0" + _file_digest(file))
    return total.hexdigest()


def used_files(settings: str | Path) -> list[Path]:
    """The files in its folder that a settings file uses: patterns, those beside them, a cohort's table.

    A pattern may use those beside it as parts. Files outside the folder are refused when settings are loaded.
    """
    whole = Path(key_of(settings))
    paths: set[Path] = set()
    node = read_yaml_file(whole, BadConfig)
    node = lifted(node, str(whole), []) if isinstance(node, Fields) else node
    for place, value in path_values(plain(node), whole.parent):
        named = Path(os.path.realpath(whole.parent / value))
        if not named.is_relative_to(whole.parent):
            continue
        paths.update(pattern_files(named))
        if place[0] != "usage" and named.is_file():
            paths.update(path for path in named.parent.iterdir() if is_pattern_name(path.name))
    return sorted(item for item in paths if item.is_file())


def path_values(values: Any, folder: Path) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The settings that name pattern files or tables, each with its place.

    A selector names a file where it has a suffix of one, or where a file of that name exists.
    """
    if not isinstance(values, Mapping):
        return
    hook, usage = values.get("hook"), values.get("usage")
    lists = {
        ("patterns",): values.get("patterns"),
        ("enabled_patterns",): values.get("enabled_patterns"),
        ("hook", "patterns"): hook.get("patterns") if isinstance(hook, Mapping) else None,
    }
    for place, listed in lists.items():
        for number, item in enumerate(listed if isinstance(listed, (list, tuple)) else ()):
            if isinstance(item, str) and (
                place == ("patterns",) or item.endswith(SUFFIXES) or os.path.lexists(folder / item)
            ):
                yield (*place, number), item
    cohort = usage.get("cohort") if isinstance(usage, Mapping) else None
    if isinstance(cohort, str) and not cohort.isdecimal():
        yield ("usage", "cohort"), cohort


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder once links are resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _file_digest(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise BadConfig(f"{path}: is not a plain file")
        with open(path, "rb") as file:
            return hashlib.sha256(file.read(MAX_BYTES + 1)).digest()
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from None
