"""What `ethogram patterns backtest` and `patterns shadow` say to a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .report import detection_parts
from .text import clean, plural, stamp

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..app.backtest import BacktestResult


def backtest_parts(told: BacktestResult) -> Iterator[RenderableType]:
    """Every pattern: how much it found, whether chance finds as much, what else finds it, and examples."""
    when = "" if told.since is None else f", detected since {stamp(told.since)} UTC"
    yield f"{plural(told.events, 'event')}{when}."
    if not told.backtests:
        yield "No shadow pattern: set `status: shadow` in its file, or under status: in the settings."
    for one in told.backtests:
        yield ""
        severities = ", ".join(f"{count} {severity}" for severity, count in one.by_severity.items() if count)
        found = plural(one.detections, "detection") + (f" ({severities})" if severities else "")
        yield f"{clean(one.pattern)}: {found} in {one.histories:,} of {plural(one.looked_at, 'history')}"
        if (fields := told.lacking.get(one.pattern)) is not None:
            names = " or ".join(fields)
            yield f"  looked at nothing: its histories are told apart by {names}, which no event here has"
            continue
        yield f"  {chance_text(one.detections, one.shuffled, one.lift)}"
        if one.by_week:
            yield "  by week: " + ", ".join(f"{week} {count}" for week, count in one.by_week.items())
        for other in one.overlaps[:5]:
            often = f", {other.together:.1f} times as often beside it" if other.together else ""
            yield (
                f"  overlaps with {clean(other.other)}: {other.covered:.0%} of its events{often} "
                f"(Jaccard {other.jaccard:.2f})"
            )
        for example in one.examples:
            yield ""
            yield from detection_parts(example, timed=example.source not in told.untimed)
    for pair in told.against:
        yield ""
        yield (
            f"{clean(pair.pattern)} against {clean(pair.other)} ({plural(pair.detections, 'detection')}): "
            f"{pair.both} found by both, {pair.only} only by it, {pair.only_other} only by the other"
        )


def chance_text(detections: int, shuffled: Sequence[int], lift: float | None) -> str:
    """What shuffled histories say.

    >>> chance_text(8, [1, 3], 4.0)
    'in shuffled histories 2.0 on average: 4.0 times as many in the real ones'
    """
    if not shuffled:
        return "not compared with shuffled histories"
    mean = sum(shuffled) / len(shuffled)
    if lift is None:
        return f"none in {len(shuffled)} shuffles of the same histories"
    return f"in shuffled histories {mean:.1f} on average: {lift:.1f} times as many in the real ones"
