"""Figures as text: labelled runs, planted episodes, lift and made-up conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ethogram.app.chat.scores import rises
from ethogram.report.wording import plural, printable

if TYPE_CHECKING:
    from benchmarks.quality.lift import Lift, Lifts
    from benchmarks.quality.planting import Planted, Planting

NOTHING = "-"
RUNS_HEAD = (
    f"  {'pattern':32} severity  marked  failed  good  {'precision (95 %)':18}  lift  equal length  horizon"
)


def run_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures as text."""
    alarms = found["false_alarms"]
    yield (
        f"patterns that are on, in {alarms['good_runs']:,} runs that succeeded or are everyday work: "
        f"{alarms['any']} marked, {alarms['medium']} at severity medium or above, "
        f"{alarms['high']} at severity high or above"
    )
    for name, one in found["sets"].items():
        yield ""
        yield f"{name}: {one['runs']:,} runs, {one['failed']:,} failed, {one['succeeded']:,} did not"
        if "repetition" in one:
            told = one["repetition"]
            equal = f"{told['equal_found']} of {told['equal_pairs']} equal ones"
            yield (
                f"  steps labelled a repetition: {equal} are in a detection, "
                f"{told['found']} of all {told['pairs']}"
            )
        if one["patterns"]:
            yield RUNS_HEAD
        for pattern, figures in one["patterns"].items():
            for severity, marked in figures.items():
                if marked["marked"]:
                    yield f"  {pattern:32} {severity:8}  {_row(marked)}"
        for pattern, located in one["located"].items():
            yield f"  {pattern:32} {located_text(located)}"


def located_text(one: Mapping[str, Any]) -> str:
    """Alarms in labelled steps, and those at random steps with their 95 % interval."""
    low, high = one["random_interval"]
    return (
        f"{one['right']} of {one['alarms']} alarms in labelled steps; at random {one['random']:.1f} "
        f"({low} to {high})"
    )


def _row(one: Mapping[str, Any]) -> str:
    low, high = one["precision_interval"] or (None, None)
    precision = "-" if low is None else f"{_number(one['precision'])} ({_number(low)}-{_number(high)})"
    return (
        f"{one['marked']:6}  {one['failed_marked']:6}  {one['good_marked']:4}  {precision:18}"
        f"{_number(one['lift']):>6}  {_number(one['lift_equal_length']):>12}  {_number(one['horizon'], 0):>7}"
    )


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def lift_lines(lifts: Lifts) -> Iterator[str]:
    """A table with one row for each pattern, and what was done to get it."""
    rows: list[tuple[str, ...]] = [("pattern", "found", "shuffled", "ratio", "95 %", "p", "")]
    rows += [_lift_row(one) for one in lifts]
    yield from _table(rows)
    yield ""
    yield (
        f"{plural(lifts.events, 'event')} of {plural(lifts.subjects, 'subject')}, "
        f"{plural(lifts.shuffles, 'shuffle')}, seed {lifts.seed}"
    )
    yield "ratio: found over the mean of the shuffles, about 1 where order does not matter"


def _lift_row(one: Lift) -> tuple[str, ...]:
    ratio = NOTHING if one.ratio is None else f"{one.ratio:.2f}"
    low = NOTHING if one.low is None else f"{one.low:.2f}"
    high = "more" if one.high is None else f"{one.high:.2f}"
    between = NOTHING if one.ratio is None else f"{low} to {high}"
    shuffled = f"{one.mean:.1f} +- {one.sd:.1f}"
    return (one.pattern, str(one.detections), shuffled, ratio, between, f"{one.p:.3f}", _why_none(one))


def _why_none(one: Lift) -> str:
    """What keeps a pattern from being seen here at all, if anything does."""
    if one.detections or any(one.shuffled):
        return ""
    if not one.histories:
        return "no such history here"
    if one.lacking:
        return f"never read: {', '.join(one.lacking)}"
    return "insufficient data in every history" if one.insufficient == one.histories else ""


def plant_lines(planting: Planting) -> Iterator[str]:
    """A table with one row for each pattern, and what was done to get it."""
    rows: list[tuple[str, ...]] = [
        ("pattern", "status", "found", "recall", "95 %", "weak", "strong", "scrambled", "alarms", "in")
    ]
    rows += [_plant_row(one) for one in planting]
    yield from _table(rows)
    yield ""
    low, high = planting.setting.strength
    yield (
        f"strength {low:g} to {high:g}, noise {planting.setting.noise:g}, gaps {planting.setting.gaps:g}, "
        f"seed {planting.seed}"
    )
    yield "scrambled: recall of the same episodes with what happens in another order"
    yield "alarms: detections in the background as it was, in so many histories"
    few = [one.pattern for one in planting if not one.to_dict()["enough"]]
    if few:
        yield printable(f"found less than half, so experimental: {', '.join(few)}")


def _plant_row(one: Planted) -> tuple[str, ...]:
    said = one.to_dict()
    shares = (said["recall_weak"], said["recall_strong"], said["recall_scrambled"])
    return (
        one.pattern,
        one.status,
        f"{one.found} of {one.episodes}",
        f"{one.recall:.2f}",
        "{:.2f} to {:.2f}".format(*one.interval),
        *(NOTHING if share is None else f"{share:.2f}" for share in shares),
        str(one.alarms),
        plural(one.histories, "history"),
    )


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield printable(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def simulated_line(one: Mapping[str, Any]) -> str:
    """A conversation or a kind, as a line."""
    if one["record"] == "simulate_summary":
        reached = ", ".join(f"{mode} {count}" for mode, count in one["reached"].items() if count)
        waits = ", ".join(f"{mode} {wait:g}" for mode, wait in one["waits"].items())
        told = f"{one['kind']}: of {one['conversations']} reached {reached or 'nothing above SAFE'}"
        return f"{told}; median wait in user turns: {waits}" if waits else told
    begins = "" if one["begins"] is None else f", means harm from turn {one['begins']}"
    when = ", ".join(f"{mode} at turn {turn}" for mode, turn in rises(one["first"]))
    why = f" ({one['reason']})" if one["reason"] else ""
    whole = f"  {one['kind']} {one['seed']}: {one['turns']} turns{begins}"
    highest = f"highest {one['highest_mode']} {one['highest_risk']:.2f}{why}"
    return "; ".join(part for part in (whole, highest, when) if part)
