"""The gate: one function for a whole set of programs, written for events with given readings.

It moves every program's rows on by one event and says for which programs the event may change something.
Only those then take a step of their own. For all others the event is over in a few comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..tree import Expr
from .cells import Group, Kind, Start
from .code import functions
from .here import Shared, float_of, value_of
from .part import Part
from .reduce import Carried
from .rows import Kept, trim
from .track import Track

Gate = Callable[..., int]
"""(cell, readings, event, microseconds, mark) to the numbers of programs to step, as bits."""


class Form(NamedTuple):
    """How a gate is called, and what it gives back."""

    head: tuple[str, ...]
    tail: str
    names: dict[str, Any]


CELLS = Form(("def gate(cell, V, E, us, mark):",), " return H", {})


def gate_of(
    kind: Kind,
    here: Mapping[int, Track],
    carried: Carried,
    places: Mapping[str, int],
    *,
    timed: bool,
    form: Form = CELLS,
) -> Gate:
    """The gate of the programs of one kind of history that such events are for.

    `places` says where in the tuple of readings each name is.
    """
    shared = Shared()
    parts = {number: Part(number, track, carried, places, shared) for number, track in here.items()}
    body = [f"A = cell[{kind.asleep}]"]
    for group in kind.groups:
        if group.numbers[0] in here:
            body += _counted(kind, group)
    body += _contiguous(kind, parts, timed=timed)
    for number, part in parts.items():
        if number not in kind.group_of:
            body += part.lines(timed=timed)
    body += _sleepers(kind, parts, timed=timed)
    return _made(body, places, shared, kind.start, form)


def whole_gate_of(
    here: Mapping[int, Track], carried: Carried, places: Mapping[str, int], start: Start
) -> Gate:
    """A gate that only moves the subjects' whole histories on; its cells hold rows."""
    shared = Shared()
    body = [line for n, track in here.items() for line in Part(n, track, carried, places, shared).whole()]
    return _made(body, places, shared, start, CELLS)


def _made(body: list[str], places: Mapping[str, int], shared: Shared, start: Start, form: Form) -> Gate:
    shared.names |= {
        "Kept": Kept,
        "new": tuple.__new__,
        "trim": trim,
        "start": start,
        "sqrt": math.sqrt,
        "float_of": float_of,
        "value_of": value_of,
    }
    unpacked = "".join(f"v{place}, " for place in range(len(places)))
    head = [*form.head, " H = 0", *([f" {unpacked}= V"] if places else [])]
    shared.names |= form.names
    used = {"n": shared.numbers, "f": shared.floats, "a": shared.attributes}
    made = {"n": "num", "f": "float_of", "a": "value_of"}
    for k in sorted(shared.numbers | shared.floats | shared.attributes):
        names = [f"{letter}{k}" for letter in used if k in used[letter]]
        head.append(f" if type(v{k}) is float: {' = '.join(names)} = v{k}")
        head.append(f" else: {'; '.join(f'{name} = {made[name[0]]}(v{k})' for name in names)}")
    source = "\n".join([*head, *(f" {line}" for line in body), form.tail])
    return functions(source, shared.names)["gate"]


def _counted(kind: Kind, group: Group) -> list[str]:
    """Count an event once for all programs of a group."""
    counted = f"cell[{group.count}] += 1" + (f"; cell[{group.us}] = us" if group.timed else "")
    if not all(number in kind.shift for number in group.numbers) or group.timed:
        return [counted]
    # Where a contiguous sequence stands its bits say; how many events there were matters only until it
    # is known that it can be judged.
    asleep = sum(1 << number for number in group.numbers)
    return [f"if A & {asleep} != {asleep}: {counted}"]


def _contiguous(kind: Kind, parts: Mapping[int, Part], *, timed: bool) -> list[str]:
    """Move the bits of all contiguous programs on at once; those whose last bit is set may fire."""
    here = [n for n in kind.shift if n in parts and (timed or not parts[n].track.timed_only)]
    if not here:
        return []
    starts = sum(1 << kind.shift[n] for n in here)
    lasts = {n: 1 << kind.shift[n] + kind.length(n) - 1 for n in here}
    members = sum(kind.mask(n) for n in here)
    lines = [f"r = cell[{kind.register}]", *_met(kind, {n: parts[n] for n in here})]
    kept = "" if len(here) == len(kind.shift) else f" | r & {~members}"
    lines.append(f"cell[{kind.register}] = r = (r << 1 | {starts}) & m{kept}")
    lines.append("if r:")
    for group in kind.groups:
        standing = sum(kind.mask(n) for n in here if n in group.numbers)
        if standing:
            # Marks are needed only of chains that stand, and those are of one event after the other.
            most = 2 * group.longest + 16
            lines += [f" if r & {standing}:", f"  M = cell[{group.marks}]; M.append(mark)"]
            lines += [f"  if len(M) > {most}: del M[:-{group.longest}]"]
    lines.append(f" if r & {sum(lasts.values())}:")
    return lines + [f"  if r & {last}: H |= {1 << n}" for n, last in lasts.items()]


def _met(kind: Kind, parts: Mapping[int, Part]) -> list[str]:
    """Which places' conditions the event meets, as bits m; each condition is asked once for all places."""
    meets: dict[Expr, int] = {}
    for number, part in parts.items():
        for i, place in enumerate(part.track.machine.body.places):
            condition = part.carried.reduce(place.condition)
            meets[condition] = meets.get(condition, 0) | 1 << kind.shift[number] + i
    quick = next(iter(parts.values())).quick
    texts = [(quick.may(condition), mask) for condition, mask in meets.items()]
    always = sum(mask for text, mask in texts if text == "True")
    asked = [f"if {text}: m |= {mask}" for text, mask in texts if text not in ("True", "False")]
    return [f"m = {always}", *asked]


def _sleepers(kind: Kind, parts: Mapping[int, Part], *, timed: bool) -> list[str]:
    """Ask the programs that remember no rows: those that sleep only whether something begins."""
    lines: list[str] = []
    awake: list[str] = []
    quiet = 0
    for number, part in parts.items():
        if number not in kind.group_of:
            continue
        if part.track.timed_only and not timed:
            lines.append(f"if cell[{number}] is None: start(cell, {number}, E)")
            continue
        bit, group = 1 << number, kind.group_of[number]
        if number in kind.shift:
            quiet |= bit
            awake.append(f" if not A & {bit}: H |= {bit}")
            continue
        begins, question = part.pure()
        stand = f"S = W.rows; S.n = cell[{group.count}] - W.base"
        if part.track.plan.running.whole:
            stand += "; w = S.whole.running"
        asked = [
            f"W = cell[{number}] or start(cell, {number}, E); {stand}; S.us = us; s = W.state",
            f"if {question}: H |= {bit}",
        ]
        if begins == "False":
            quiet |= bit
            awake += [f" if not A & {bit}:", *(f"  {line}" for line in asked)]
        else:
            asked[1] = f"if {begins} or {question}: H |= {bit}"
            lines += [f"if A & {bit}:", f" W = cell[{number}]; {stand}", f" if {begins}: H |= {bit}"]
            lines += ["else:", *(f" {line}" for line in asked)]
    return lines + ([f"if A & {quiet} != {quiet}:", *awake] if awake else [])
