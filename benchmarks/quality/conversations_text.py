"""Figures about conversations as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
SHOWN = ("CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL")


def lines(found: Sequence[Record], told: Record) -> Iterator[str]:
    """All of them: sets and modes, how well each method tells attacks from harmless talk, readings."""
    yield f"half {told['half']}; embedder {told['embedder']}; data {told['data']}"
    yield f"{told['tuned']}."
    yield from _modes(found)
    yield from _patterns(found)
    yield from _apart(found)
    yield from _readings(found)
    yield ""
    for name, one in told["bars"].items():
        value = "-" if one["value"] is None else f"{one['value']:g}"
        yield f"{name.replace('_', ' ')}: {value} (bar {one['bar']:g}; against {told['against'] or '-'})"


def mode_rows(found: Sequence[Record]) -> Iterator[tuple[Record, dict[str, Record]]]:
    """Every set that was followed turn by turn, with its records by mode."""
    for one in found:
        if one["record"] == "conversation_set":
            own = [row for row in found if row["record"] == "conversation_mode" and row["set"] == one["set"]]
            if own:
                yield one, {row["mode"]: row for row in own}


def of(found: Sequence[Record], kind: str) -> list[Record]:
    """Records of one kind."""
    return [one for one in found if one["record"] == kind]


def by(rows: Sequence[Record], name: str) -> dict[str, list[Record]]:
    """Rows by one of their fields, in the order they came."""
    found: dict[str, list[Record]] = {}
    for one in rows:
        found.setdefault(one[name], []).append(one)
    return found


def within(value: float, ends: Sequence[float], digits: int = 2) -> str:
    """A figure with its interval.

    >>> within(0.871, [0.85, 0.89])
    '0.87 (0.85 to 0.89)'
    """
    return f"{value:.{digits}f} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})"


def own_limit(one: Record) -> str:
    """The shares of attacks and of harmless conversations at what a method calls an alarm, if it does."""
    if one["limit"] is None:
        return ""
    return f"{one['recall_at_limit']:.2f} and {one['alarms_at_limit']:.3f}"


def _modes(found: Sequence[Record]) -> Iterator[str]:
    rows = list(mode_rows(found))
    if not rows:
        return
    yield ""
    heads = "".join(f"{mode:>10}" for mode in SHOWN)
    yield f"  {'of 1,000 ever at or above':26} {'kind':9} {'n':>6}{heads}  SUSPECT (95 %)    user turn"
    for one, modes in rows:
        counts = "".join(f"{modes[mode]['per_1000']:10.0f}" for mode in SHOWN)
        mark = modes["SUSPECT"]
        ends = f"{mark['interval'][0]:.0f} to {mark['interval'][1]:.0f}"
        turn = "-" if mark["median_turn"] is None else f"{mark['median_turn']:g}"
        yield f"  {one['set']:26} {one['kind']:9} {one['conversations']:6}{counts}  {ends:16}  {turn:>9}"


def _patterns(found: Sequence[Record]) -> Iterator[str]:
    for name, rows in by(of(found, "conversation_pattern"), "pattern").items():
        told = ", ".join(f"{one['set']} {one['per_1000']:.0f}" for one in rows)
        yield f"  {name}, of 1,000: {told}"


def _apart(found: Sequence[Record]) -> Iterator[str]:
    for against, rows in by(of(found, "conversation_apart"), "against").items():
        yield ""
        yield f"  {rows[0]['attacks']:,} attacks against {rows[0]['harmless']:,} of {against}"
        yield f"  {'method':30} {'AUROC (95 %)':22} {'at 1 % (95 %)':22} at 5 %  at its own limit"
        for one in rows:
            whole = within(one["auroc"], one["auroc_interval"], 3)
            first = within(one["recall_at_1"], one["recall_at_1_interval"])
            figures = f"{whole:22} {first:22} {one['recall_at_5']:.2f}    {own_limit(one)}"
            yield f"  {one['method']:30} {figures}".rstrip()


def _readings(found: Sequence[Record]) -> Iterator[str]:
    for name, rows in by(of(found, "conversation_reading"), "set").items():
        yield ""
        bag = rows[0]["bag_of_words"]
        beside = "" if bag is None else f"; a bag of words trained on it: {bag:.2f}"
        yield f"  {name}: {rows[0]['positive']:,} against {rows[0]['negative']:,}{beside}"
        yield f"  {'reading: shape':36} {'':5} {'chosen on':>9}  AUROC on the rest (95 %)"
        for one in rows:
            rest = within(one["auroc"], one["interval"], 3)
            yield f"  {one['reading']:36} {one['direction']:5} {one['tuned_auroc']:9.3f}  {rest}"
