"""The section "People" of docs/quality.md, from the records of `quality usage`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.quality.usage_text import (
    WHOLE,
    beside_fixed,
    came_to,
    days,
    rate,
    rate_rows,
    recall_rows,
    share,
)

Record = Mapping[str, Any]
BAR = 0.9
"""The bar for recall."""
SEVERITIES = tuple(
    f"{severity} an_active_week people_with_any" for severity in ("severity_medium", "severity_low_or_above")
)


def usage(found: Sequence[Record], whole: Sequence[Record], told: Record, at: str) -> Iterator[str]:
    """The section, line by line. `found` is of the half that nothing was tuned on, `whole` of everybody.

    `told` has the cases a row of each set (`draws`), and how else the figures were got.
    """
    yield f"\nCommit `{at}`; data `{told['data']}`. Commands:\n"
    command = "python -m benchmarks quality usage --data FOLDER"
    for name, draws in told["draws"].items():
        given = f"--set {name} --half {told['half']} --seed {told['seed']} --draws {draws}"
        yield f"- `{command} {given}`"
    yield f"- rates of everybody and of both halves: `{command} --draws 0`"
    for one in found:
        if one["record"] == "usage_set":
            own = [row for row in found if row["set"] == one["set"]]
            every = [row for row in whole if row["set"] == one["set"]]
            yield f"\n### {one['set']}\n"
            yield _about(one)
            yield from _rates(own, every)
            yield from _patterns(own)
            yield from _recall(own)
            yield from _silences(own)
    yield ""


def _about(one: Record) -> str:
    zone = one["zone"] or "not known"
    return (
        f"{one['people']:,} people with {one['events']:,} events in {one['person_weeks']:,.0f} person-weeks "
        f"({one['observed_days']:,} days with activity); zone {zone}; cohort table "
        f"version {one['cohort']}."
    )


def _rates(own: Sequence[Record], every: Iterable[Record]) -> Iterator[str]:
    yield "\n**False alarms**: openings per person-week (silent weeks count) and per active week (a calendar"
    yield "week with activity), and the share of people with any."
    yield f"\n**Beside fixed limits**, {beside_fixed(own)}.\n"
    yield from _head("method people", *SEVERITIES)
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern in WHOLE:
            name = method if pattern == "all" else f"{method}, by cause"
            yield _rate_row(name, f"{people} ({low['people']})", low, medium)
    for method, people, pattern, low, medium in rate_rows(every):
        if method == "patterns" and pattern == "all" and people in ("all", "tuned half", "other half"):
            name = "everybody" if people == "all" else people
            yield _rate_row(method, f"{name} ({low['people']})", low, medium)


def _patterns(own: Iterable[Record]) -> Iterator[str]:
    yield "\n**By pattern**, beside the fixed limit of the same name.\n"
    yield from _head("method pattern", *SEVERITIES)
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern not in WHOLE and method != "asked daily" and people == "all":
            yield _rate_row(method, f"`{pattern}`", low, medium)


def _head(*columns: str) -> Iterator[str]:
    names = [name.replace("_", " ") for name in " ".join(columns).split()]
    yield "| " + " | ".join(names) + " |"
    yield "| " + " | ".join("---" for _ in names) + " |"


def _rate_row(first: str, second: str, low: Record, medium: Record) -> str:
    # Fixed limits have no severities.
    none = first.startswith("fixed limits")
    cells = [first, second]
    for one in (medium,) if none else (medium, low):
        cells += [rate(one), f"{one['active_rate']:.3f}", f"{one['with_any']:.2f}"]
    cells += ["-", "-", "-"] if none else []
    return "| " + " | ".join(cells) + " |"


def _recall(own: Sequence[Record]) -> Iterator[str]:
    rows = list(recall_rows(own))
    if not rows:
        return
    yield "\n**Planted changes** where ten or more events were expected and would have come without the"
    yield "change. *Cases*: cases of people, and in brackets those left out as open before.\n"
    at_severity = "{0}:_cases found luck delay"
    severities = [at_severity.format(severity) for severity in ("low", "medium")]
    yield from _head("change background ten_by came_to drawn too_small", *severities)
    for low, medium in rows:
        name = f"`{low['change']}`" + ("" if low["rise"] is None else f", {low['rise']:+g} at least")
        cells = [name, low["background"], low["measure"], came_to(low)]
        cells += [f"{low['drawn']:,}", f"{low['too_small']:,}"]
        for one in (low, medium):
            count = f"{one['cases']} of {one['people']} ({one['open_before']})"
            cells += [count, share(one["recall"], one["interval"]), _luck(one), days(one)]
        yield "| " + " | ".join(cells) + " |"
    yield from _bar([low for low, _ in rows if low["recall"] is not None and low["rise"] is None])


def _bar(rows: Sequence[Record]) -> Iterator[str]:
    """Rows that reach the bar for recall, and rows no better than luck; at severity low or above."""
    met = [one for one in rows if one["recall"] >= BAR]
    luck = [one for one in rows if one["interval"][0] <= (one["control"] or 0.0)]
    severity = "Severity low or above"
    yield f"\n- {severity}, found in {BAR:.2f} or more: {len(met)} of {len(rows)} rows{_names(met)}."
    yield f"- {severity}, the interval not above luck: {len(luck)} of {len(rows)} rows{_names(luck)}."
    yield "- Rows with a minimum rise are not counted in these two."


def _names(rows: Sequence[Record]) -> str:
    told = ", ".join(f"`{one['change']}` ({one['background']}, {one['measure']})" for one in rows)
    return f": {told}" if told else ""


def _luck(one: Record) -> str:
    return "-" if one["control"] is None else f"{one['control']:.2f}"


def _silences(own: Sequence[Record]) -> Iterator[str]:
    yield "\n**Final silence**: people reported as withdrawn this many days after their last event.\n"
    for severity in ("medium", "low"):
        rows = [one for one in own if one["record"] == "usage_silence" and one["severity"] == severity]
        told = ", ".join(f"{one['quiet']} after {one['days']} days" for one in rows)
        least = "medium" if severity == "medium" else "low or above"
        yield f"- severity {least}: {told}; of {rows[0]['people']}"
    yield "\n**Natural drops**: periods with ten or more expected events (mean of four weeks) of which at"
    yield "most a fifth came.\n"
    for one in own:
        if one["record"] == "usage_fall" and one["share"] is not None:
            yield (
                f"- {one['days']} days: {one['share']:.2f} of {one['periods']:,} periods, "
                f"{one['rate']:.3f} falls a person-week"
            )
