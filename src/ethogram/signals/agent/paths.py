"""Paths that a step reads or changes; the signals touched_path, directory, depth, distance and move."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...models import Event
from ...models.lazy_regex import Rule
from ..base import signal
from ..options import Options
from .operations import DELETERS, IN_PLACE, WRITERS, operation_of
from .shell_parser import SimpleCommand, looks_like_path, simple_commands
from .step import Call, Step, words

if TYPE_CHECKING:
    from ..base import EventFields

MAX_PATHS = 6
MAX_LENGTH = 160
MAX_FOLDERS = 40

TouchedPaths = tuple[tuple[str, int], ...]
"""Paths in order of mention, the target of a copy or move first, each with 1 where it is changed."""

PATTERN_FIRST = words("grep egrep fgrep rg ag ack sed awk gawk perl jq find_file search_dir search_file")
"""Programs whose first word is a pattern, not a path."""
NO_PATHS = words(
    "echo printf export set cd pushd kill sleep alias which type man seq date expr tr git docker kubectl"
)
FILE_PROGRAMS = words(
    "cat head tail less more nl ls cp mv rm mkdir touch chmod chown wc sort uniq diff cmp stat file "
    "tee ln rmdir od xxd source . open create vim nano code tree du shred truncate view"
)
"""Programs whose words are all paths, options apart."""
VALUE_OPTIONS = words("-n -c -e -m -A -B -C -d -k -f -o --include --exclude -name -type")
_FOLDER = Rule(r"[\w./~@+-]{1,200}")


def touched(step: Step) -> TouchedPaths:
    """Return the paths a call plainly names."""
    if step.path:
        return ((_cut(step.path), int(operation_of(step) in ("write", "delete"))),)
    return in_command(step.command) if step.command else ()


@lru_cache(maxsize=256)
def in_command(line: str) -> TouchedPaths:
    """Return the paths in a command line, relative to a `cd` before them.

    >>> in_command("cd app && sed -i 's/a/b/' x.py && cat /etc/hosts | grep -n 'lib/y'")
    (('app/x.py', 1), ('/etc/hosts', 0))
    """
    paths: dict[str, int] = {}
    folder = ""
    for command in simple_commands(line):
        if command.program == "cd":
            if command.words and looks_like_folder(command.words[0]):
                folder = joined(folder, command.words[0])
            continue
        for path, changes in _in_simple(command):
            full = _cut(joined(folder, path))
            paths[full] = max(changes, paths.get(full, 0))
            if len(paths) >= MAX_PATHS:
                return tuple(paths.items())
    return tuple(paths.items())


def looks_like_folder(word: str) -> bool:
    """Return whether a word can be a folder."""
    return _FOLDER.fullmatch(word) is not None and not word.startswith("-")


def joined(folder: str, path: str) -> str:
    """Return a path relative to a folder, normalized.

    >>> joined("/a/b", "../c/./d"), joined("", "x"), joined("/a", "/b"), joined("/a", "~/c")
    ('/a/c/d', 'x', '/b', '~/c')
    """
    whole = path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"
    return posixpath.normpath(whole) if whole else ""


def _in_simple(command: SimpleCommand) -> list[tuple[str, int]]:
    program, outputs = command.program, (out for out in command.outputs if not out.startswith("/dev/"))
    pairs = [(out, 1) for out in outputs if out.startswith("/") or looks_like_path(out)]
    if program in NO_PATHS:
        return pairs
    bare = _without_options(command.words)
    if program == "find":
        bare = bare[:1]
    elif program in PATTERN_FIRST and not any(word.startswith("-e") for word in command.words):
        bare = bare[1:]
    changes_all = (
        program in DELETERS
        or (program in WRITERS and program not in ("cp", "tar", "unzip"))
        or (program in ("sed", "perl") and any(IN_PLACE.match(word) for word in command.words))
    )
    takes_files = program in FILE_PROGRAMS
    paths = [word for word in bare if looks_like_path(word) or (takes_files and looks_like_folder(word))]
    if program in ("cp", "mv") and len(paths) > 1:
        paths = _target_first(command, paths)
    for place, word in enumerate(paths):
        is_copy = program == "cp" and len(paths) > 1 and place == 0
        pairs.append((word.partition("::")[0], int(changes_all or is_copy)))
    return pairs


def _target_first(command: SimpleCommand, paths: list[str]) -> list[str]:
    """The paths of a copy or move with the target before the sources."""
    into = command.words.index("-t") + 1 if "-t" in command.words else len(command.words)
    target = command.words[into] if into < len(command.words) and command.words[into] in paths else paths[-1]
    return [target, *(path for path in paths if path != target)]


def _without_options(args: tuple[str, ...]) -> list[str]:
    bare, skip = [], False
    for word in args:
        if not skip and not word.startswith("-"):
            bare.append(word)
        skip = not skip and word in VALUE_OPTIONS
    return bare


def _cut(path: str) -> str:
    """Shorten a path to MAX_LENGTH characters in the middle: its end may be what makes it critical.

    >>> _cut("./" * 200 + ".env"), len(_cut("a/" * 200 + ".env")), _cut("a/" * 200 + ".env")[-6:]
    ('.env', 160, 'a/.env')
    """
    path = path.replace("\\", "/")
    if len(path) > MAX_LENGTH:
        path = posixpath.normpath(path)
    return path if len(path) <= MAX_LENGTH else f"{path[:60]}/…/{path[63 - MAX_LENGTH :]}"


def attribute_paths(events: EventFields, names: Set[str], known: object) -> Mapping[str, Sequence[Any]]:
    """The path among the attributes of each event, none of which is a step."""
    return {"touched_path": list(map(_attribute_path, events.values("attributes")))}


@signal(
    "touched_path", range=None, version=2, reads=("attributes",), summarize=touched, at_once=attribute_paths
)
def touched_path(event: Event, call: Call | None) -> str | None:
    """The path a step works on, from its attributes or its command; absent without one.

    The target of a copy or move, else the first path named.
    """
    if call is None:
        return _attribute_path(event.attributes)
    step, paths, _ = call
    return paths[0][0] if step is not None and paths else None


def _attribute_path(attributes: Mapping[str, Any]) -> str | None:
    path = attributes.get("path")
    return path[:200] if isinstance(path, str) and path else None


@signal("directory", range=None, version=2, needs=("touched_path",), kinds=("action", "result"))
def directory(event: Event) -> str | None:
    """The folder the step works in; absent where no path is named."""
    path = event.readings.get("touched_path")
    return _folder(path) or "." if isinstance(path, str) else None


@signal("depth", range=(0, math.inf), version=2, needs=("touched_path",), kinds=("action", "result"))
def depth(event: Event, options: Options) -> float | None:
    """How many folders below the working directory the step works; absent where no path is named."""
    path = event.readings.get("touched_path")
    if not isinstance(path, str):
        return None
    inside = path.removeprefix(f"{options.cwd}/") if options.cwd else path
    return float(len([part for part in _folder(inside).split("/") if part not in ("", ".")]))


@signal("distance", range=(0, 1), version=2, needs=("touched_path",), kinds=("action", "result"))
class Distance:
    """How far a step is from the paths worked on so far: 0 the same folder, 1 nothing in common.

    Absent at the first path of a run, and where no path is named.
    """

    scope = "run"
    start: tuple[str, ...] = ()
    max_state_bytes = 16_000

    def measure(self, event: Event, state: tuple[str, ...]) -> tuple[float | None, tuple[str, ...]]:
        path = event.readings.get("touched_path")
        if not isinstance(path, str):
            return None, state
        folder = _folder(path)[:200]
        if folder in state:
            return 0.0, (*(known for known in state if known != folder), folder)
        nearest = min((_distance(folder, known) for known in state), default=None)
        return nearest, (*state, folder)[-MAX_FOLDERS:]


@signal("move", range=None, needs=("directory",), kinds=("action", "result"))
class Move:
    """From which folder to which a step goes, how many folders away and where: `src > src/ui (1 down)`.

    Directions are up, down and across. Absent at the first path of a run and where the folder stays.
    """

    scope = "run"
    start = ""
    max_state_bytes = 4_000

    def measure(self, event: Event, state: str) -> tuple[str | None, str]:
        folder = event.readings.get("directory")
        if not isinstance(folder, str):
            return None, state
        folder = folder[:200]
        return (describe_move(state, folder) if state and folder != state else None), folder


def describe_move(start: str, end: str) -> str:
    """Return a move between two folders in words.

    >>> describe_move("src", "src/ui"), describe_move("src/ui", "docs"), describe_move("/a/b", "/a")
    ('src > src/ui (1 down)', 'src/ui > docs (3 across)', '/a/b > /a (1 up)')
    """
    a, b = ([part for part in folder.split("/") if part != "."] for folder in (start, end))
    pairs = enumerate(zip(a, b, strict=False))
    shared = next((place for place, (left, right) in pairs if left != right), min(len(a), len(b)))
    up, down = len(a) - shared, len(b) - shared
    direction = "across" if up and down else "up" if up else "down"
    return f"{start} > {end} ({up + down} {direction})"


def _folder(path: str) -> str:
    name = path.rpartition("/")[2]
    return posixpath.dirname(path) if "." in name.strip(".") else path.rstrip("/")


def _distance(folder: str, other: str) -> float:
    a, b = folder.split("/"), other.split("/")
    pairs = list(zip(a, b, strict=False))
    shared = next((place for place, (left, right) in enumerate(pairs) if left != right), len(pairs))
    return 1 - shared / max(len(a), len(b))
