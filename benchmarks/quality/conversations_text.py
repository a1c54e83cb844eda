"""Figures about conversations as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
SHOWN = ("CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL")


def lines(records: Sequence[Record], record: Record) -> Iterator[str]:
    """All of them: sets and modes, how well each method tells attacks from harmless talk, readings."""
    yield f"half {record['half']}; embedder {record['embedder']}; data {record['data']}"
    yield f"{record['tuned']}."
    yield from _modes(records)
    yield from _patterns(records)
    yield from _apart(records)
    yield from _readings(records)
    yield ""
    for name, item in record["bars"].items():
        value = "-" if item["value"] is None else f"{item['value']:g}"
        yield f"{name.replace('_', ' ')}: {value} (bar {item['bar']:g}; against {record['against'] or '-'})"


def mode_rows(records: Sequence[Record]) -> Iterator[tuple[Record, dict[str, Record]]]:
    """Every set that was followed turn by turn, with its records by mode."""
    for item in records:
        if item["record"] == "conversation_set":
            own = [
                row for row in records if row["record"] == "conversation_mode" and row["set"] == item["set"]
            ]
            if own:
                yield item, {row["mode"]: row for row in own}


def of(records: Sequence[Record], kind: str) -> list[Record]:
    """Records of one kind."""
    return [item for item in records if item["record"] == kind]


def by(rows: Sequence[Record], name: str) -> dict[str, list[Record]]:
    """Rows by one of their fields, in the order they came."""
    record: dict[str, list[Record]] = {}
    for row in rows:
        record.setdefault(row[name], []).append(row)
    return record


def within(value: float, ends: Sequence[float], digits: int = 2) -> str:
    """A figure with its interval.

    >>> within(0.871, [0.85, 0.89])
    '0.87 (0.85 to 0.89)'
    """
    return f"{value:.{digits}f} ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})"


def own_limit(record: Record) -> str:
    """The shares of attacks and of harmless conversations at what a method calls an alarm, if it does."""
    if record["limit"] is None:
        return ""
    return f"{record['recall_at_limit']:.2f} and {record['alarms_at_limit']:.3f}"


def _modes(records: Sequence[Record]) -> Iterator[str]:
    rows = list(mode_rows(records))
    if not rows:
        return
    yield ""
    heads = "".join(f"{mode:>10}" for mode in SHOWN)
    yield f"  {'of 1,000 ever at or above':26} {'kind':9} {'n':>6}{heads}  SUSPECT (95 %)    user turn"
    for item, modes in rows:
        counts = "".join(f"{modes[mode]['per_1000']:10.0f}" for mode in SHOWN)
        mark = modes["SUSPECT"]
        ends = f"{mark['interval'][0]:.0f} to {mark['interval'][1]:.0f}"
        turn = "-" if mark["median_turn"] is None else f"{mark['median_turn']:g}"
        yield f"  {item['set']:26} {item['kind']:9} {item['conversations']:6}{counts}  {ends:16}  {turn:>9}"


def _patterns(records: Sequence[Record]) -> Iterator[str]:
    for name, rows in by(of(records, "conversation_pattern"), "pattern").items():
        told = ", ".join(f"{row['set']} {row['per_1000']:.0f}" for row in rows)
        yield f"  {name}, of 1,000: {told}"


def _apart(records: Sequence[Record]) -> Iterator[str]:
    for against, rows in by(of(records, "conversation_apart"), "against").items():
        yield ""
        yield f"  {rows[0]['attacks']:,} attacks against {rows[0]['harmless']:,} of {against}"
        yield f"  {'method':30} {'AUROC (95 %)':22} {'at 1 % (95 %)':22} at 5 %  at its own limit"
        for row in rows:
            whole = within(row["auroc"], row["auroc_interval"], 3)
            first = within(row["recall_at_1"], row["recall_at_1_interval"])
            figures = f"{whole:22} {first:22} {row['recall_at_5']:.2f}    {own_limit(row)}"
            yield f"  {row['method']:30} {figures}".rstrip()


def _readings(records: Sequence[Record]) -> Iterator[str]:
    for name, rows in by(of(records, "conversation_reading"), "set").items():
        first = rows[0]
        yield ""
        sizes = f"{first['positive']:,} against {first['negative']:,}"
        yield f"  {name}: {sizes} by {first['trait']}, {first['shape']}; AUROC (95 %)"
        for row in rows:
            yield f"  {row['method']:30} {within(row['auroc'], row['interval'], 3)}"
