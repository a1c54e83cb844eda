"""The section "People" of docs/quality.md, from the records of `ethogram validate usage`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ethogram.cli.validate_usage_text import WHOLE, days, rate, rate_rows, recall_rows, share

Record = Mapping[str, Any]


def usage(found: Sequence[Record], whole: Sequence[Record], told: Record, at: str) -> Iterator[str]:
    """The section, line by line. `found` is of the half that nothing was tuned on, `whole` of everybody."""
    given = f"--data FOLDER --half {told['half']} --seed {told['seed']} --draws {told['draws']}"
    yield f"\nCommand: `ethogram validate usage {given}`; commit `{at}`; data `{told['data']}`."
    yield "The rates of everybody and of both halves are those of `--half all --draws 0`."
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
        f"({one['observed_days']:,} days on which one of them was there); zone {zone}; cohort's table "
        f"version {one['cohort']}."
    )


def _rates(own: Iterable[Record], every: Iterable[Record]) -> Iterator[str]:
    yield "\n**False alarms**: openings a person-week, and the share of people with any.\n"
    yield "| method | people | level medium | people with any | level low or above | people with any |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern in WHOLE:
            name = method if pattern == "all" else f"{method}, by cause"
            yield _rate_row(name, f"{people} ({low['people']})", low, medium)
    for method, people, pattern, low, medium in rate_rows(every):
        if method == "patterns" and pattern == "all" and people in ("all", "tuned half", "other half"):
            name = "everybody" if people == "all" else people
            yield _rate_row(method, f"{name} ({low['people']})", low, medium)


def _patterns(own: Iterable[Record]) -> Iterator[str]:
    yield "\n**By pattern**, beside what fixed limits say under the same name.\n"
    yield "| method | pattern | level medium | people with any | level low or above | people with any |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for method, people, pattern, low, medium in rate_rows(own):
        if pattern not in WHOLE and method != "asked daily" and people == "all":
            yield _rate_row(method, f"`{pattern}`", low, medium)


def _rate_row(first: str, second: str, low: Record, medium: Record) -> str:
    # Fixed limits have no levels.
    none = first.startswith("fixed limits")
    cells = [first, second, rate(medium), f"{medium['with_any']:.2f}"]
    cells += ["-", "-"] if none else [rate(low), f"{low['with_any']:.2f}"]
    return "| " + " | ".join(cells) + " |"


def _recall(own: Iterable[Record]) -> Iterator[str]:
    rows = list(recall_rows(own))
    if not rows:
        return
    yield "\n**Planted changes** where ten or more events were to be expected."
    yield "*Luck* is the share found in the same periods without the change.\n"
    columns = "change people ten_by cases found,_low_or_above luck delay found,_medium luck delay"
    yield "| " + " | ".join(name.replace("_", " ") for name in columns.split()) + " |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for low, medium in rows:
        cells = [f"`{low['change']}`", low["background"], low["measure"], str(low["cases"])]
        for one in (low, medium):
            cells += [share(one["recall"], one["interval"]), _luck(one), days(one)]
        yield "| " + " | ".join(cells) + " |"


def _luck(one: Record) -> str:
    return "-" if one["control"] is None else f"{one['control']:.2f}"


def _silences(own: Sequence[Record]) -> Iterator[str]:
    yield "\n**The final silence**: people who count as gone quiet so many days after their last event.\n"
    for level in ("medium", "low"):
        rows = [one for one in own if one["record"] == "usage_silence" and one["level"] == level]
        told = ", ".join(f"{one['quiet']} after {one['days']} days" for one in rows)
        least = "medium" if level == "medium" else "low or above"
        yield f"- level {least}: {told}; of {rows[0]['people']}"
    yield "\n**Falls that come by themselves**: periods in which ten events or more were to be expected by"
    yield "the mean of four weeks, and at most a fifth came.\n"
    for one in own:
        if one["record"] == "usage_fall" and one["share"] is not None:
            yield (
                f"- {one['days']} days: {one['share']:.2f} of {one['periods']:,} periods, "
                f"{one['rate']:.3f} falls a person-week"
            )
