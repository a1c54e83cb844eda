"""Asked: what a run was told about paths, by persons or by attributes, and whether a path is among them.

It is carried from event to event as plain text, one line for each path: `named .env`. What persons say is
never made into a rule: their paths are compared as they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from .paths import joined
from .scope import SYSTEM, is_critical
from .wishes import MOST, Wish
from .words import words

SHARED = frozenset(("home", "Users", "root", "mnt", "srv", "data"))
"""Top folders that hold the projects of several people."""
WORLD = SHARED | words(
    "etc usr lib lib64 opt proc sys bin sbin var boot dev tmp snap nix Library System private"
)
"""Top folders that are too wide to be what a task is about."""
OTHER = {"named": "barred", "barred": "named"}

Asked = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Paths that are named, shown, the only ones to change, and not to be changed."""
NOTHING: Asked = ((), (), (), ())
Told = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Working directory, allowed and denied globs."""
UNTOLD: Told = ("", (), ())
EXPLICIT = ("cwd ", "allow ", "deny ")
MOST_GLOBS = 50
MOST_LINES = 2 * MOST_GLOBS + 1 + MOST
MOST_BYTES = 32_000


def with_wishes(text: str, more: Iterable[Wish]) -> str:
    """What was told before and what is asked now; who names what was barred before allows it.

    >>> with_wishes("barred a.py", [("named", "a.py"), ("only", "src")])
    'named a.py\\nonly src'
    """
    lines = dict.fromkeys(text.split("\n") if text else ())
    for kind, path in more:
        lines.pop(f"{OTHER.get(kind, kind)} {path}", None)
        lines[f"{kind} {path}"] = None
    return _bounded(list(lines))


def told_by(attributes: Mapping[str, Any]) -> Told:
    """The working directory and the allowed and denied globs that attributes tell."""
    if "cwd" not in attributes and "allow" not in attributes and "deny" not in attributes:
        return UNTOLD
    cwd = attributes.get("cwd")
    whole = cwd.rstrip("/")[:300] if isinstance(cwd, str) and "\n" not in cwd else ""
    return whole, _globs(attributes.get("allow")), _globs(attributes.get("deny"))


def _globs(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    found = (one for one in value[:MOST_GLOBS] if isinstance(one, str) and one)
    return tuple(one[:200] for one in found if "\n" not in one)


def with_told(text: str, told: Told) -> str:
    """What was told before, and what attributes tell now; who said it first is right.

    >>> with_told("cwd /a", ("/b", ("src/**",), ()))
    'cwd /a\\nallow src/**'
    """
    if told == UNTOLD:
        return text
    known = read_told(text)
    lines = [f"cwd {told[0]}"] if told[0] and not known[0] else []
    for place, kind in ((1, "allow"), (2, "deny")):
        if not known[place]:
            lines += [f"{kind} {one}" for one in told[place]]
    # These stand first, so that no number of paths in a message can push them out.
    before = text.split("\n") if text else []
    explicit = [line for line in before if line.startswith(EXPLICIT)]
    return _bounded([*explicit, *lines, *(line for line in before if not line.startswith(EXPLICIT))])


def _bounded(lines: list[str]) -> str:
    """The lines that fit, so that a state stays small whatever letters they are written in."""
    room, kept = MOST_BYTES, []
    for line in lines[:MOST_LINES]:
        room -= 2 + len(line.encode("ascii", "backslashreplace"))
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


@lru_cache(maxsize=64)
def read_told(text: str) -> Told:
    """What a text says that was told by attributes."""
    cwd, allow, deny = _of_kinds(text, ("cwd", "allow", "deny"))
    return (cwd[0] if cwd else ""), allow, deny


@lru_cache(maxsize=64)
def read_asked(text: str) -> Asked:
    """What a text says that was asked by persons."""
    named, shown, only, barred = _of_kinds(text, ("named", "shown", "only", "barred"))
    return named, shown, only, barred


def _of_kinds(text: str, kinds: tuple[str, ...]) -> list[tuple[str, ...]]:
    pairs = [line.partition(" ") for line in text.split("\n")]
    return [tuple(path for kind, _, path in pairs if kind == wanted and path) for wanted in kinds]


def placed(cwd: str, path: str) -> str:
    """A path as seen from the working directory; one on a Windows drive is whole by itself.

    >>> placed("/w", "a/../b"), placed("C:/w", "C:/x/a.cs"), placed("", "./a")
    ('/w/b', 'C:/x/a.cs', 'a')
    """
    return joined("" if _on_drive(path) else cwd, path.replace("\\", "/"))


def _on_drive(path: str) -> bool:
    return path[1:3] in (":/", ":\\") and path[0].isalpha()


def is_far(path: str) -> bool:
    """Whether a path leads out of where it is seen from: it is absolute, or climbs.

    >>> [is_far(one) for one in ("/a", "~/b", "../c", "C:/d", "e/f", "..g")]
    [True, True, True, True, False, False]
    """
    return path.startswith(("/", "~", "../")) or path == ".." or _on_drive(path)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def fits(path: str, told: str, cwd: str, *, loose: bool) -> bool:
    """Whether a path is what a person named, or below it.

    A name without a slash is one at any depth of the project, and `*.md` an ending. `loose`: so is a path
    such as a/b.py, which persons often write from the middle of the tree.

    >>> [fits(one, "src/a.py", "/w", loose=False) for one in ("/w/src/a.py", "/w/x/src/a.py", "/x/src/a.py")]
    [True, False, False]
    >>> fits("/w/x/src/a.py", "src/a.py", "/w", loose=True), fits("/x/.env", ".env", "/w", loose=True)
    (True, False)
    """
    wanted = told.rstrip("/")
    if is_far(wanted):
        return is_below(path, placed(cwd, wanted))
    inside = _inside(path, cwd)
    if not inside:
        return False
    if "/" not in wanted:
        return inside.endswith(wanted[1:]) if wanted[:1] == "*" else wanted in inside.split("/")
    if is_below(inside, wanted):
        return True
    return (loose or inside.startswith("/")) and f"/{wanted}/" in f"/{inside}/"


def _inside(path: str, cwd: str) -> str:
    """The part of a path inside the project; '' where it is outside. Of a project nobody knows: the path."""
    if cwd and is_below(path, cwd):
        return path[len(cwd) :].lstrip("/") or "."
    if not is_far(path):
        return path
    return "" if cwd or not path.startswith("/") or path.startswith(SYSTEM) else path


def is_asked_for(path: str, changes: bool, asked: Asked, cwd: str) -> bool:
    """Whether a person named this path, which is critical, by its own name or that of its critical folder."""
    named, barred = asked[0], asked[3]
    if changes and any(fits(path, one, cwd, loose=False) for one in barred):
        return False
    return any(
        _is_meant(one, changes) and fits(path, one, cwd, loose=True) for one in named if _same(path, one)
    )


def _same(path: str, told: str) -> bool:
    """Whether the last part of what was told is in the path: a wide folder stands for no file in it."""
    last = told.rstrip("/").rpartition("/")[2]
    return path.endswith(f"/{last}") or path == last or f"/{last}/" in f"/{path}"


def _is_meant(told: str, changes: bool) -> bool:
    bare = told.rstrip("/")
    wide = bare.startswith("/") and bare.count("/") < 2
    return not wide and (is_critical(bare, changes) or is_critical(f"{bare}/x", changes))


def root_of(path: str) -> str:
    """The folder at the top that a path is in, or a person's project below it: about where the work is.

    >>> root_of("/workspace/a/b.py"), root_of("/home/ann/project/a.py"), root_of("../other/a.py")
    ('/workspace', '/home/ann/project', '../other')
    """
    parts = path.split("/")
    return "/".join(parts[: 4 if parts[1:2] and parts[1] in SHARED else 2])


def covers(told: str, path: str, cwd: str) -> bool:
    """Whether a path is where a person said that the work is: below what they named, or in the same project.

    >>> covers("/srv/app/web/a.ts", "/srv/app/web/b.ts", ""), covers("/etc/hosts", "/etc/fstab", "")
    (True, False)
    """
    whole = placed(cwd, told)
    if not is_far(whole):
        return False
    top = whole.split("/")[1:2]
    if is_below(path, whole):
        return whole.count("/") > 1 or top[0] not in WORLD
    narrow = whole.startswith("/") and top[0] in WORLD - SHARED
    return not narrow and whole.count("/") > 1 and root_of(path) == root_of(whole)
