"""Path lane: which folders an agent touched over its steps, in as few marks as fit a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce

from .run_record import Lane
from .run_steps import READS, WRITES, Step, short

CELLS = 120
"""Marks in one row at most."""
ROWS = 8
"""Folders with a row of their own."""
NAME = 60
MARKS = {"x": "failed", "w": "changed", "r": "read", ".": "other"}
"""What a mark says, the most telling first: where a cell has several steps, that one is shown."""
NOTHING = "-"
NO_PATH, OTHER = "(no path)", "(other paths)"


def lane_of(subject: str, steps: Sequence[Step]) -> Lane:
    """The lane of one agent's steps; rows stand in the order in which their folders were first touched."""
    per_cell = -(-len(steps) // CELLS) or 1
    under = shared_folder([step.path for step in steps if step.path])
    names = [row_name(step.path, under) for step in steps]
    common = {name for name, _ in Counter(name for name in names if name != NO_PATH).most_common(ROWS)}
    rows: dict[str, list[str]] = {}
    cells = -(-len(steps) // per_cell)
    for index, (name, step) in enumerate(zip(names, steps, strict=True)):
        shown = name if name == NO_PATH or name in common else OTHER
        row = rows.setdefault(shown, [NOTHING] * cells)
        row[index // per_cell] = gravest(row[index // per_cell], mark_of(step))
    told = tuple((short(name, NAME), "".join(row)) for name, row in rows.items())
    return Lane(subject, short("/".join(under), NAME), per_cell, told)


def narrowed(lane: Lane, most: int) -> Lane:
    """The same lane with at most so many marks in a row.

    >>> narrowed(Lane("a", "", 1, (("x/", "rrw-"),)), 2)
    Lane(subject='a', under='', per_cell=2, rows=(('x/', 'rw'),))
    """
    cells = max((len(marks) for _, marks in lane.rows), default=0)
    by = -(-cells // most) or 1
    rows = tuple(
        (name, "".join(reduce(gravest, marks[i : i + by]) for i in range(0, len(marks), by)))
        for name, marks in lane.rows
    )
    return Lane(lane.subject, lane.under, lane.per_cell * by, rows)


def mark_of(step: Step) -> str:
    """The mark of one step."""
    if step.error is not None:
        return "x"
    return "r" if step.operation in READS else "w" if step.operation in WRITES else "."


def gravest(one: str, other: str) -> str:
    """The more telling of two marks."""
    order = [*MARKS, NOTHING]
    return min(one, other, key=order.index)


def shared_folder(paths: Sequence[str]) -> list[str]:
    """The parts of the folder that all paths lie in.

    >>> shared_folder(["/app/src/a.py", "/app/src/x/b.py", "/app/src"])
    ['', 'app']
    """
    folders = [parts(path)[:-1] for path in paths]
    if not folders:
        return []
    first, last = min(folders), max(folders)
    same = next((n for n, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
    return first[: min(len(first), len(last)) if same is None else same]


def row_name(path: str, under: Sequence[str]) -> str:
    """The folder, or the file that is in none, below the shared one.

    >>> row_name("src/x/b.py", ["src"]), row_name("src/b.py", ["src"]), row_name("", [])
    ('x/', 'b.py', '(no path)')
    """
    if not path:
        return NO_PATH
    rest = parts(path)[len(under) :]
    head = rest[:2] if rest[0] == "" else rest[:1]
    return "/".join(head) + ("/" if len(rest) > len(head) else "")


def parts(path: str) -> list[str]:
    """A path as folders and a name; a leading '' is the root."""
    named = path.replace("\\", "/").rstrip("/") or "/"
    first, *rest = named.split("/")
    return [first, *(one for one in rest if one not in ("", "."))]
