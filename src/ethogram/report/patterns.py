"""Patterns as text: lists, one pattern in full, backtests, and figures on labelled data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .rendering import rendered
from .text import detection_parts
from .wording import clean, plural, stamp

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.backtest import BacktestResult


Record = Mapping[str, Any]


def pattern_lines(record: Record, origins: Mapping[str, str]) -> Iterator[str]:
    """Everything of a full record that a person wants to read."""
    from io import StringIO

    from ruamel.yaml import YAML

    writer, meaning = YAML(), StringIO()
    writer.width = 100_000  # long expressions on one line
    writer.indent(mapping=2, sequence=4, offset=2)
    writer.dump(dict(record["meaning"]), meaning)
    lines = meaning.getvalue().splitlines()
    origin = origins.get(f"status.{record['name']}")
    return rendered("pattern", **{"pack": None, **record, "meaning": lines, "origin": origin})


# --- backtests ------------------------------------------------------------------------------


def backtest_parts(result: BacktestResult) -> Iterator[RenderableType]:
    """Every pattern: how often it matched, how often by chance, which others overlap, and examples."""
    when = "" if result.since is None else f", detected since {stamp(result.since)} UTC"
    yield f"{plural(result.events, 'event')}{when}."
    if not result.backtests:
        yield "No shadow pattern: set `status: shadow` in its file, or under status: in the settings."
    for backtest in result.backtests:
        yield ""
        severities = ", ".join(
            f"{count} {severity}" for severity, count in backtest.by_severity.items() if count
        )
        detections = plural(backtest.detections, "detection") + (f" ({severities})" if severities else "")
        histories = f"{backtest.histories:,} of {plural(backtest.looked_at, 'history')}"
        yield f"{clean(backtest.pattern)}: {detections} in {histories}"
        if (fields := result.lacking.get(backtest.pattern)) is not None:
            yield f"  not applicable: it groups events by {' or '.join(fields)}, which no event here has"
            continue
        yield f"  {chance_text(backtest.detections, backtest.shuffled, backtest.lift)}"
        if backtest.by_week:
            yield "  by week: " + ", ".join(f"{week} {count}" for week, count in backtest.by_week.items())
        for other in backtest.overlaps[:5]:
            often = f", {other.together:.1f} times as often beside it" if other.together else ""
            share = f"{other.covered:.0%} of its events{often} (Jaccard {other.jaccard:.2f})"
            yield f"  overlaps with {clean(other.other)}: {share}"
        for example in backtest.examples:
            yield ""
            yield from detection_parts(example, timed=example.source not in result.untimed)
    for pair in result.against:
        yield ""
        counts = f"{pair.both} by both, {pair.only} only by it, {pair.only_other} only by the other"
        pairs = f"{clean(pair.pattern)} against {clean(pair.other)}"
        yield f"{pairs}: {plural(pair.detections, 'detection')}, {counts}"


def chance_text(detections: int, shuffled: Sequence[int], lift: float | None) -> str:
    """How often a pattern matches in shuffled histories.

    >>> chance_text(8, [1, 3], 4.0)
    'in shuffled histories 2.0 on average: 4.0 times as many in the real ones'
    """
    if not shuffled:
        return "not compared with shuffled histories"
    mean = sum(shuffled) / len(shuffled)
    if lift is None:
        return f"none in {plural(len(shuffled), 'shuffle')} of the same histories"
    return f"in shuffled histories {mean:.1f} on average: {lift:.1f} times as many in the real ones"


# --- labelled data --------------------------------------------------------------------------


def labelled_lines(records: Sequence[Record]) -> Iterator[str]:
    """The figures, split by split."""
    splits: dict[str, Sequence[Record]] = {}
    for record in records:
        if record["record"] == "labelled":
            splits[record["split"]] = [*splits.get(record["split"], ()), record]
    # All together says nothing more where there is one pattern.
    splits = {split: rows if len(rows) > 2 else rows[-1:] for split, rows in splits.items()}
    compared = [record for record in records if record["record"] == "labelled_compared"]
    return rendered("labelled", whole=records[-1], splits=splits, compared=compared, unmarked=unmarked)


def too_little(records: Sequence[Record]) -> str:
    """What cannot be measured with these labels; '' where there are both kinds.

    >>> too_little([{"record": "labelled"}, {"things": 3, "targets": 0}])
    'no label is a target: recall is undefined, and every detection is a false alarm'
    """
    whole = records[-1]
    if not any(record["record"] == "labelled" for record in records[:-1]):
        return "no label is about a pattern that was checked"
    if not whole["targets"]:
        return "no label is a target: recall is undefined, and every detection is a false alarm"
    if whole["targets"] == whole["things"]:
        return "every label is a target: false alarms are undefined, and no detection can be wrong"
    return ""


def unmarked(rows: Sequence[Record]) -> list[str]:
    """The patterns that mark nothing in any of their forms, by the names of their files."""
    marked = {row["pattern"].partition("@")[0] for row in rows if row["marked"]}
    names = dict.fromkeys(row["pattern"].partition("@")[0] for row in rows)
    return [name for name in names if name not in marked and name != "any"]
