"""Figures about people as text: both levels of a figure on one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
WHOLE = ("all", "by cause")
"""Rows that are about every pattern."""


def lines(found: Sequence[Record], told: Record) -> Iterator[str]:
    """All of them, set by set."""
    yield f"seed {told['seed']}; at most {told['draws']} cases of each change; half {told['half']}"
    for one in found:
        if one["record"] == "usage_set":
            own = [row for row in found if row["set"] == one["set"]]
            yield ""
            yield about(one)
            yield from _rates(own)
            yield from _recall(own)
            yield from silences(own)


def both(found: Iterable[Record], kind: str, names: Sequence[str]) -> Iterator[tuple[Record, Record]]:
    """Records of a kind, that at level low and that at level medium together; in the order they came."""
    rows: dict[tuple[Any, ...], dict[str, Record]] = {}
    for one in found:
        if one["record"] == kind:
            rows.setdefault(tuple(one[name] for name in names), {})[one["level"]] = one
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
    return both(own, "usage_recall", ("change", "background", "measure"))


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
    head = f"  {'openings a person-week':24} {'of':20} {'level medium (95 %)':24}"
    yield f"{head} {'people':7} {'level low or above':24} people"
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern in WHOLE or method == "patterns":
            name = {"all": method, "by cause": f"{method}, by cause"}.get(pattern, f"  {pattern}")
            told = f"{rate(medium):24} {medium['with_any']:<7.2f} {rate(low):24} {low['with_any']:.2f}"
            yield f"  {name:24} {people:20} {told}"


def _recall(own: Sequence[Record]) -> Iterator[str]:
    rows = list(recall_rows(own))
    if rows:
        head = f"  {'planted change':16} {'people':7} {'ten by':9} {'cases':>5}"
        yield f"{head}  {'found, low or above':20} {'delay':>6} {'luck':>5}  {'found, medium':20} {'luck':>5}"
    for low, medium in rows:
        place = f"{low['change']:16} {low['background']:7} {low['measure']:9} {low['cases']:5}"
        first = f"{share(low['recall'], low['interval']):20} {days(low):>6} {_luck(low)}"
        yield f"  {place}  {first}  {share(medium['recall'], medium['interval']):20} {_luck(medium)}"


def _luck(one: Record) -> str:
    return f"{'-':>5}" if one["control"] is None else f"{one['control']:5.2f}"


def silences(own: Sequence[Record]) -> Iterator[str]:
    """The final silence, and falls that come by themselves."""
    for level in ("medium", "low"):
        rows = [one for one in own if one["record"] == "usage_silence" and one["level"] == level]
        told = ", ".join(f"{one['quiet']} after {one['days']} days" for one in rows)
        if rows:
            least = "medium" if level == "medium" else "low or above"
            yield f"  gone quiet after their last event, level {least}: {told}; of {rows[0]['people']} people"
    for one in own:
        if one["record"] == "usage_fall" and one["share"] is not None:
            yield (
                f"  {one['days']} days in which ten events were to be expected: {one['share']:.2f} of "
                f"{one['periods']:,} fell to a fifth by themselves, {one['rate']:.3f} falls a person-week"
            )
