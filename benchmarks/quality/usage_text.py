"""Figures about people as text: both severities of a figure on one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
WHOLE = ("all", "by cause")
"""Rows that are about every pattern."""


def lines(found: Sequence[Record], told: Record) -> Iterator[str]:
    """All of them, set by set."""
    yield f"seed {told['seed']}; at most {told['draws']} cases in each row; half {told['half']}"
    for one in found:
        if one["record"] == "usage_set":
            own = [row for row in found if row["set"] == one["set"]]
            yield ""
            yield about(one)
            yield from _rates(own)
            yield f"  {beside_fixed(own)}"
            yield from _recall(own)
            yield from (f"  {line}" for line in left_out(own))
            yield from silences(own)


def both(found: Iterable[Record], kind: str, names: Sequence[str]) -> Iterator[tuple[Record, Record]]:
    """Records of a kind, those of severity low and medium together; in the order they came."""
    rows: dict[tuple[Any, ...], dict[str, Record]] = {}
    for one in found:
        if one["record"] == kind:
            rows.setdefault(tuple(one[name] for name in names), {})[one["severity"]] = one
    yield from ((one["low"], one["medium"]) for one in rows.values())


def rate_rows(own: Iterable[Record]) -> Iterator[tuple[str, str, str, Record, Record]]:
    """Method, people, pattern, and the two records of every rate.

    Of steady people only what is said of all: their groups are those of the people they were made from.
    """
    names = ("background", "method", "group", "pattern")
    for low, medium in both(own, "usage_rate", names):
        background, method, group, pattern = (low[name] for name in names)
        if background == "real":
            yield method, group, pattern, low, medium
        elif group == "all":
            yield method, f"{background} people", pattern, low, medium


def recall_rows(own: Iterable[Record]) -> Iterator[tuple[Record, Record]]:
    """The two records of every planted change."""
    return both(own, "usage_recall", ("change", "background", "measure", "rise"))


def planted_change(one: Record) -> str:
    """A change by name, with the least that it came to where that is asked for."""
    return str(one["change"]) if one["rise"] is None else f"{one['change']}, +{one['rise']:g}"


def came_to(one: Record) -> str:
    """What a change came to, as the median of the cases."""
    value, change = one["reached"], one["change"]
    if value is None:
        return "-"
    if "night" in change:
        return f"{value:+.2f}"
    from benchmarks.quality.usage_changes import LONGER

    return f"x {value:.1f}" if change in LONGER else f"{value:.2f} left"


def left_out(own: Iterable[Record]) -> Iterator[str]:
    """What was drawn and left out of a row, and why."""
    for low, _ in recall_rows(own):
        if low["too_small"]:
            least = "nothing" if low["rise"] is None else f"less than {low['rise']:g} more at night"
            yield (
                f"{planted_change(low)}, {low['background']}, {low['measure']}: {low['too_small']:,} of "
                f"{low['drawn']:,} draws left out, since the change came to {least}"
            )


def beside_fixed(own: Sequence[Record]) -> str:
    """How often the patterns and fixed limits speak; fixed limits have no severities, so at both of ours."""
    found = {
        method: (low, medium)
        for method, people, pattern, low, medium in rate_rows(own)
        if people == pattern == "all"
    }
    if not {"patterns", "fixed limits"} <= found.keys():
        return ""
    (low, medium), (fixed, _) = found["patterns"], found["fixed limits"]
    return (
        f"a person-week: patterns {low['rate']:.3f} at severity low or above, {medium['rate']:.3f} at "
        f"severity medium; fixed limits, which have no severities, {fixed['rate']:.3f}. An active week: "
        f"{low['active_rate']:.3f}, {medium['active_rate']:.3f} and {fixed['active_rate']:.3f}"
    )


def about(one: Record) -> str:
    """Whom a set is about."""
    return (
        f"{one['set']}: {one['people']:,} people, {one['person_weeks']:,.0f} person-weeks "
        f"({one['observed_days']:,} days on which one of them was there), zone {one['zone'] or 'not known'}"
    )


def rate(one: Record) -> str:
    """A rate with its interval."""
    return f"{one['rate']:.3f} ({one['interval'][0]:.3f} to {one['interval'][1]:.3f})"


def share(found: float | None, ends: Sequence[float] | None) -> str:
    """A share with its interval; - where there was nothing to find."""
    return "-" if found is None or ends is None else f"{found:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"


def days(one: Record) -> str:
    """The median delay."""
    return "-" if one["delay_days"] is None else f"{one['delay_days']:.1f} d"


def _rates(own: Sequence[Record]) -> Iterator[str]:
    head = f"  {'openings a person-week':24} {'of':20} {'severity medium (95 %)':24}"
    yield f"{head} {'people':7} {'severity low or above':24} people"
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern in WHOLE or method == "patterns":
            name = {"all": method, "by cause": f"{method}, by cause"}.get(pattern, f"  {pattern}")
            told = f"{rate(medium):24} {medium['with_any']:<7.2f} {rate(low):24} {low['with_any']:.2f}"
            yield f"  {name:24} {people:20} {told}"


def _recall(own: Sequence[Record]) -> Iterator[str]:
    rows = list(recall_rows(own))
    if rows:
        head = f"  {'planted change':17} {'people':7} {'ten by':9} {'came to':>9} {'cases':>5}"
        severities = (
            f"{name:20} {'delay':>6} {'luck':>5}" for name in ("found, low or above", "found, medium")
        )
        yield f"{head}  {'  '.join(severities)}"
    for low, medium in rows:
        place = f"{planted_change(low):17} {low['background']:7} {low['measure']:9}"
        place += f" {came_to(low):>9} {low['cases']:5}"
        told = (
            f"{share(one['recall'], one['interval']):20} {days(one):>6} {_luck(one)}" for one in (low, medium)
        )
        yield f"  {place}  {'  '.join(told)}"


def _luck(one: Record) -> str:
    return f"{'-':>5}" if one["control"] is None else f"{one['control']:5.2f}"


def silences(own: Sequence[Record]) -> Iterator[str]:
    """The final silence, and falls that come by themselves."""
    for severity in ("medium", "low"):
        rows = [one for one in own if one["record"] == "usage_silence" and one["severity"] == severity]
        told = ", ".join(f"{one['quiet']} after {one['days']} days" for one in rows)
        if rows:
            least = "medium" if severity == "medium" else "low or above"
            people = rows[0]["people"]
            yield f"  gone quiet after their last event, severity {least}: {told}; of {people} people"
    for one in own:
        if one["record"] == "usage_fall" and one["share"] is not None:
            yield (
                f"  {one['days']} days in which ten events were to be expected: {one['share']:.2f} of "
                f"{one['periods']:,} fell to a fifth by themselves, {one['rate']:.3f} falls a person-week"
            )
