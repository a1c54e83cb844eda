"""Answers about a store as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .wording import aligned, clean, duration_text, listed, pairs_text, plural, stamp, value_text

if TYPE_CHECKING:
    from ..app.questions import ActingGroup, Alike, EarlySign, HistorySummary, Tie

MOST = 5
"""Names that a line lists."""


def history_lines(summary: HistorySummary) -> Iterator[str]:
    """A subject's history."""
    threads = f" in {plural(summary.threads, 'thread')}" if summary.threads else ""
    yield f"{clean(summary.subject)}: {plural(summary.messages, 'event')}{threads}"
    for item in summary.signals:
        if item.mean is not None:
            trend = f", {item.trend}" if item.trend else ""
            yield f"  {clean(item.signal)}: mean {value_text(item.mean)}{trend}"
    if summary.dimensions:
        yield f"  {pairs_text(summary.dimensions)}"
    if summary.detections:
        found = ", ".join(f"{clean(name)} ({count})" for name, count in summary.detections.items())
        yield f"  detected: {found}"


def tie_lines(ties: Sequence[Tie]) -> Iterator[str]:
    """Who did what to whom."""
    for tie in ties:
        did = ", ".join(f"{count} {clean(kind)}" for kind, count in sorted(tie.kinds.items()))
        found = ", ".join(clean(name) for name in sorted(tie.patterns))
        seen = f"; detected: {found}" if found else ""
        yield f"{clean(tie.subject)} → {clean(tie.target)}: {did or 'no events'}{seen}"
    if not ties:
        yield "No event has a target."


def alike_lines(subject: str, others: Sequence[Alike]) -> Iterator[str]:
    """Subjects that are like one."""
    rows = [
        [f"{other.similarity:.0%}", clean(other.subject), clean(other.source), listed(other.shared, MOST)]
        for other in others
    ]
    if rows:
        yield from aligned([["alike", "subject", "source", "shared indicators"], *rows])
    else:
        yield f"Nobody shares an indicator with {clean(subject)}."


def early_lines(pattern: str, signs: Sequence[EarlySign]) -> Iterator[str]:
    """What came before a pattern."""
    rows = [
        [
            sign.indicator,
            f"{sign.histories} ({sign.share:.0%})",
            f"{sign.elsewhere:.0%}",
            duration_text(sign.lead_s),
        ]
        for sign in signs
    ]
    if rows:
        yield from aligned([["indicator", "histories", "elsewhere", "before detection"], *rows])
    else:
        yield f"No indicator came before {clean(pattern)}."


def group_lines(groups: Sequence[ActingGroup]) -> Iterator[str]:
    """Who acted together."""
    for group in groups:
        names = listed([clean(name) for name in group.subjects], MOST)
        acts = plural(group.events, "detection" if group.by == "pattern" else "event")
        when = f"{stamp(group.first_at)} to {stamp(group.last_at)}"
        same = f"same {group.by} {clean(group.value, 60)!r}"
        yield f"{plural(len(group.subjects), 'subject')}, {same}, {acts}, {when}: {names}"
    if not groups:
        yield "No group acted together."
