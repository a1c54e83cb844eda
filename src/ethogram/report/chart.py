"""The ethogram chart: for each subject a lane per pattern and a line per signal, over one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..app.traces import Trace, Traces
from ..models import Detection, highest, rank
from .anchors import rows_for
from .html import Html, join, tag
from .lanes import lane
from .lines import axis_row, grid, line, rug
from .marks import mark
from .scales import Axis, axis_of, ticks
from .words import by_severity, clean, plural, span

SUBJECTS = 30
"""Subjects drawn, the gravest ones; the others are named."""
SIGNALS = 8
"""Signals drawn of one subject."""

Who = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The detections of one subject, with what is drawn behind them."""

    who: Who
    detections: tuple[Detection, ...]
    lines: tuple[Trace, ...]
    moments: tuple[datetime, ...]
    as_of: datetime
    axis: Axis
    rows: int


def chart(
    detections: Sequence[Detection], traces: Traces, as_of: datetime, numbers: Mapping[Who, int]
) -> Html:
    """The whole chart. `numbers` are those by which subjects are filtered."""
    groups = grouped(detections)
    rows = rows_for(len(detections))
    drawn = [card(drawn_of(who, ones, traces, as_of, rows), numbers[who]) for who, ones in groups[:SUBJECTS]]
    return join([*drawn, *_others(groups[SUBJECTS:])])


def grouped(detections: Sequence[Detection]) -> list[tuple[Who, tuple[Detection, ...]]]:
    """Detections by subject: the gravest first, then those with most, then by name."""
    found: dict[Who, list[Detection]] = {}
    for one in detections:
        found.setdefault((one.source, one.subject), []).append(one)

    def gravity(who: Who) -> tuple[int, int, Who]:
        return (-max(rank(one.severity) for one in found[who]), -len(found[who]), who)

    return [(who, tuple(found[who])) for who in sorted(found, key=gravity)]


def drawn_of(
    who: Who, detections: tuple[Detection, ...], traces: Traces, as_of: datetime, rows: int
) -> Drawn:
    """What is drawn of one subject."""
    source, _ = who
    asked = traces.as_of.get(source, as_of)
    moments = traces.moments.get(who, ())
    ends = [one.closed_at or asked for one in detections]
    proofs = [evidence.at for one in detections for evidence in one.evidence]
    axis = axis_of(
        [*moments, *ends, *proofs, *(one.opened_at for one in detections)],
        timed=source not in traces.untimed,
    )
    lines = tuple(one for one in traces.lines if (one.source, one.subject) == who)
    return Drawn(who, detections, lines, moments, asked, axis, rows)


def card(drawn: Drawn, number: int) -> Html:
    """One subject."""
    marks = ticks(drawn.axis)
    rows = [lane(ones, drawn.axis, drawn.as_of, drawn.rows) for ones in by_pattern(drawn.detections)]
    signals: dict[str, list[Trace]] = {}
    for one in drawn.lines:
        signals.setdefault(one.signal, []).append(one)
    shown = sorted(signals)[:SIGNALS]
    rows += [line(name, signals[name], drawn.detections, drawn.axis) for name in shown]
    if drawn.moments:
        rows.append(rug(drawn.moments, drawn.axis))
    rows += [grid(marks), axis_row(marks)]
    if len(signals) > SIGNALS:
        left = ", ".join(clean(name) for name in sorted(signals)[SIGNALS:])
        rows.append(tag("p", f"Not drawn: {clean(left)}", class_="note"))
    return tag(
        "section", _head(drawn), tag("div", *rows, class_="rows"), class_="subject", data_subject=number
    )


def by_pattern(detections: Sequence[Detection]) -> list[list[Detection]]:
    """Detections by pattern, the gravest pattern first."""
    found: dict[str, list[Detection]] = {}
    for one in detections:
        found.setdefault(one.pattern, []).append(one)
    return sorted(
        found.values(), key=lambda ones: (-max(rank(one.severity) for one in ones), ones[0].pattern)
    )


def _head(drawn: Drawn) -> Html:
    source, subject = drawn.who
    severity = highest(*(one.severity for one in drawn.detections))
    facts = [by_severity(drawn.detections)]
    if drawn.moments:
        facts.append(span(drawn.moments[0], drawn.moments[-1], timed=drawn.axis.timed))
    if source != "input":
        facts.append(clean(source, 60))
    name = tag("bdi", clean(subject, 80))
    return tag("h3", mark(severity), name, tag("small", " · ".join(facts)))


def _others(groups: Sequence[tuple[Who, tuple[Detection, ...]]]) -> list[Html]:
    if not groups:
        return []
    named = [tag("li", tag("bdi", clean(who[1], 80)), f": {by_severity(ones)}") for who, ones in groups[:500]]
    more = [] if len(groups) <= 500 else [tag("li", f"and {len(groups) - 500:,} more")]
    said = f"{plural(len(groups), 'further subject')} with detections, not drawn"
    return [tag("details", tag("summary", said), tag("ul", *named, *more), class_="others")]
