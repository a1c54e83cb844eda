"""Gone quiet, and fewer messages: what the closed days of a person say, as of the last close."""

from __future__ import annotations

from collections.abc import Iterable

from .cohort import Cohort
from .finding import Finding, insufficient
from .habit import Daily
from .outlook import Ahead, ahead, outlook, with_closes
from .quiet import SPANS, WEEK, Past, Span, is_fewer, is_quiet, look, silent_days
from .settings import Settings

FIRST, LAST = 0.6, 1.0
"""The strength of a silence when it is first told, and from four weeks later on."""
FULL = 28


def withdrawal(
    days: Daily, cohort: Cohort, settings: Settings, *, is_here: bool = False
) -> tuple[Finding, Finding]:
    """withdrawal and drop: gone quiet, of level medium, and fewer messages, of level low.

    Gone quiet is far below the quietest stretch of the month, or far below weeks that were alike; fewer is
    less than half of the quietest stretch. Once told, it lasts for as long as nothing comes, and who is here
    today (`is_here`) is not gone.
    """
    past = Past(days.events)
    spans = look(past, cohort, settings)
    quiet, fewer = _since(days, silent_days(past), cohort, settings)
    if not spans and quiet is None and fewer is None:
        need = f"{settings.quiet_known} days of history, and regular use before the newest days"
        return insufficient("withdrawal", need), insufficient("drop", need)
    silent = silent_days(past)
    gone, few = is_quiet(spans) or quiet is not None, is_fewer(spans) or fewer is not None
    said, details = _told(spans, (quiet if gone else None) or fewer, silent)
    away = gone and not is_here
    here = "Here today. Before that: " if gone and is_here else ""
    return (
        Finding(
            "withdrawal", "ok", float(away), "medium" if away else "none", _strength(quiet, silent) * away,
            f"{here}{'Gone quiet' if gone else 'Nothing unusual'}: {said}.", details,
        ),
        Finding(
            "drop", "ok", -float(few), "low" if few else "none", _strength(fewer, silent) * few,
            f"{'Far fewer' if few else 'Nothing unusual'}: {said}.", details,
        ),
    )  # fmt: skip


def _since(days: Daily, silent: int, cohort: Cohort, settings: Settings) -> tuple[Ahead | None, Ahead | None]:
    """When the person began to count as quiet, and as one with few messages, if that was in the silence that
    lasts; looking anew at every close could take back what was told though nothing came."""
    last = len(days) - silent - 1
    if not silent or last < 0:
        return None, None
    before = Past(days.events[:last])
    known = with_closes(outlook(before, settings), before, SPANS[-1], cohort, settings)
    if not known.stretches:
        return None, None
    quiet, fewer = ahead(known, days.events[last], cohort, settings)
    return _reached(quiet, silent), _reached(fewer, silent)


def _reached(found: Ahead | None, silent: int) -> Ahead | None:
    return found if found is not None and found.after <= silent else None


def _strength(found: Ahead | None, silent: int) -> float:
    """Full after four weeks, so that a longer silence never says less."""
    lasted = 0 if found is None else silent - found.after
    return min(LAST, FIRST + (LAST - FIRST) * lasted / FULL)


def _told(spans: Iterable[Span], found: Ahead | None, silent: int) -> tuple[str, dict[str, float]]:
    """What was seen and what was to be expected, in words and as numbers."""
    clear = max(
        spans,
        key=lambda one: (one.seen <= one.measure.quiet, one.seen <= one.measure.few, one.surprise, one.days),
        default=None,
    )
    if clear is not None and (found is None or clear.seen <= clear.measure.quiet):
        by = _by(clear.days, clear.measure.amount, is_mean=clear.measure.is_mean)
        details = {"days": float(clear.days), "seen": float(clear.seen), "measure": clear.measure.amount}
        return f"{_messages(clear.seen)} in the last {clear.days} days; {by}", details
    if found is None:
        return "nothing was looked at", {}
    days = found.days + silent - found.after
    details = {"days": float(days), "seen": float(found.seen), "measure": found.amount}
    by = f"by their habit {found.amount:.0f} were to be expected in {found.days}"
    return f"{_messages(found.seen)} in the last {days} days; {by}", details


def _by(days: int, amount: float, *, is_mean: bool) -> str:
    if is_mean:
        return f"by their usual weeks {amount:.0f} were to be expected"
    if days < WEEK:
        return f"the quietest {days} days of the month before had {amount:.0f}"
    return f"at the pace of the quietest of the four weeks before it would have been {amount:.0f}"


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
