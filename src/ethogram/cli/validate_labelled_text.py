"""What `ethogram validate FILE` says to a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .text import plural

Record = Mapping[str, Any]
HEAD = f"{'precision (95 %)':18}  {'recall':18}  {'false alarms':18}  AUROC"
FIGURES = {"precision": "precision", "recall": "recall", "false_alarms": "false alarms", "auroc": "AUROC"}


def lines(records: Sequence[Record]) -> Iterator[str]:
    """The figures as text, split by split."""
    whole = records[-1]
    yield (
        f"{whole['set']}: {plural(whole['things'], 'labelled thing')}, {plural(whole['targets'], 'target')}"
        + (f" (at severity {whole['severity']} or above)" if whole["severity"] != "any" else "")
    )
    if whole["not_found"]:
        some = ", ".join(whole["not_found_first"])
        yield f"{plural(whole['not_found'], 'label')} about nothing in these events, left out; first: {some}"
    of = [one for one in records if one["record"] == "labelled"]
    for split in dict.fromkeys(one["split"] for one in of):
        yield from _split(split, [one for one in of if one["split"] == split])
    for one in records:
        if one["record"] == "labelled_compared":
            yield from _compared(one)


def too_little(records: Sequence[Record]) -> str:
    """What cannot be told with these labels; '' where there are both kinds.

    >>> too_little([{"record": "labelled"}, {"things": 3, "targets": 0}])
    'no label is a target, so nothing is said of recall, and every mark is a false alarm'
    """
    whole = records[-1]
    if not any(one["record"] == "labelled" for one in records[:-1]):
        return "no label is about a pattern that was looked for"
    if not whole["targets"]:
        return "no label is a target, so nothing is said of recall, and every mark is a false alarm"
    if whole["targets"] == whole["things"]:
        return "every label is a target, so nothing is said of false alarms, and no mark can be wrong"
    return ""


def _split(split: str, rows: Sequence[Record]) -> Iterator[str]:
    yield ""
    # All together says nothing more where there is one pattern.
    rows = rows if len(rows) > 2 else rows[-1:]
    first = rows[0]
    name = "all" if split == "any" else f"split {split}"
    yield f"{name}: {first['things']:,} things in {first['groups']:,} groups, {first['targets']:,} targets"
    shown = [one for one in rows if one["marked"]]
    alone = {_alone(one["name"]): one for one in first["trivial"]}
    width = max(len(text) for text in ("pattern", *alone, *(one["pattern"] for one in shown)))
    yield f"  {'pattern':{width}}  marked  {HEAD}"
    for one in shown:
        figures = "  ".join(f"{_within(one[key]):18}" for key in ("precision", "recall", "false_alarms"))
        yield f"  {one['pattern']:{width}}  {one['marked']:6}  {figures}  {_within(one['auroc'])}"
    for text, one in alone.items():
        yield f"  {text:{width}}       -  {_number(one['precision']):18}  {'':38}  {one['auroc']:.2f}"
    if quiet := _quiet(rows):
        yield f"  nothing marked: {', '.join(quiet)}"
    for one in shown:
        yield from _when(one)


def _alone(name: str) -> str:
    return "(marking all)" if name == "all" else f"({name} alone)"


def _quiet(rows: Sequence[Record]) -> list[str]:
    """The patterns that mark nothing in any of their forms, by the names of their files."""
    marked = {_whole(one["pattern"]) for one in rows if one["marked"]}
    names = dict.fromkeys(_whole(one["pattern"]) for one in rows)
    return [name for name in names if name not in marked and name != "any"]


def _whole(pattern: str) -> str:
    return pattern.partition("@")[0]


def _chance(p: float) -> str:
    return f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"


def _when(one: Record) -> Iterator[str]:
    ahead, after = one["horizon"], one["recovery"]
    if ahead["count"]:
        out = f"; {ahead['left_out']} were not quiet before and are left out" if ahead["left_out"] else ""
        yield (
            f"  {one['pattern']}: known {_number(ahead['median'], 0)} events before the target (median), "
            f"in {ahead['count']} of {ahead['of']}{out}"
        )
    if after["of"]:
        yield (
            f"  {one['pattern']}: over {_number(after['median'], 0)} events after the target was (median), "
            f"in {after['count']} of {after['of']} that were open then"
        )


def _compared(one: Record) -> Iterator[str]:
    yield ""
    name = "all" if one["split"] == "any" else f"split {one['split']}"
    yield (
        f"against the other version, {name}: right on {one['better']} things on which the other is wrong, "
        f"wrong on {one['worse']} on which it is right ({_chance(one['p'])})"
    )
    for key, words in FIGURES.items():
        if (told := one[key]) is not None:
            ends = f"{told['low']:+.2f} to {told['high']:+.2f}"
            yield f"  {words:14} {told['value']:+.2f} ({ends}), {_chance(told['p'])}"


def _within(one: Record | None) -> str:
    if one is None or one["value"] is None:
        return "-"
    return f"{one['value']:.2f} ({one['low']:.2f}-{one['high']:.2f})"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
