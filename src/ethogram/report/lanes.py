"""Lanes: the episodes of one pattern over time as bars, with their evidence as points on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ..models import SEVERITIES, Detection, Evidence
from .anchors import evidence_anchor, shown_evidence
from .html import Html, number, tag
from .scales import Axis
from .words import clean, pairs_text, plural, span, stamp

ROW = 30
BAR = 12
DEPTH = 5
"""Rows in a lane for episodes that overlap."""
EPISODES = 40
POINTS = 120
"""Drawn in one lane at most."""


def lane(detections: Sequence[Detection], axis: Axis, as_of: datetime, rows: int) -> Html:
    """One row of the chart: all episodes of one pattern."""
    first, drawn = detections[0], list(detections[:EPISODES])
    room = POINTS
    placed, episodes = list(zip(drawn, rows_of(drawn, axis, as_of), strict=True)), []
    for one, row in placed:
        points = list(points_of(one, axis, ROW * row + ROW / 2, rows))[:room]
        room -= len(points)
        episodes.append(episode(one, axis, ROW * row + ROW / 2, as_of, points))
    height = ROW * (1 + max(row for _, row in placed))
    title = clean(first.title or first.pattern, 80)
    left = len(detections) - len(drawn)
    small = clean(first.pattern, 60) + (f", {left} more in the list" if left else "")
    plot = tag(
        "svg",
        *episodes,
        class_="plot",
        width="100%",
        height=height,
        role="group",
        aria_label=f"{title}: {plural(len(detections), 'episode')}",
    )
    severities = " ".join(
        severity for severity in SEVERITIES if any(one.severity == severity for one in detections)
    )
    label = tag("div", tag("b", title), tag("small", small), class_="label")
    return tag(
        "div", label, plot, class_="row lane", data_pattern=clean(first.pattern), data_severities=severities
    )


def rows_of(detections: Sequence[Detection], axis: Axis, as_of: datetime) -> list[int]:
    """The row of each episode, so that those at the same time stand under each other."""
    free: list[float] = []
    rows = []
    for one in detections:
        start, end = _extent(one, axis, as_of)
        row = next((index for index, at in enumerate(free) if at + 2 < start), len(free))
        if row < DEPTH:
            free[row : row + 1] = [end]
        rows.append(row % DEPTH)
    return rows


def _extent(one: Detection, axis: Axis, as_of: datetime) -> tuple[float, float]:
    times = [one.opened_at, one.closed_at or as_of, *(evidence.at for evidence in one.evidence)]
    return axis.place(min(times)), axis.place(max(times))


def episode(one: Detection, axis: Axis, y: float, as_of: datetime, points: Sequence[Html]) -> Html:
    """One bar, from when it opened to when it closed or to the moment of the question."""
    start, end = axis.place(one.opened_at), axis.place(one.closed_at or as_of)
    first = min([start, *(axis.place(evidence.at) for evidence in one.evidence)])
    parts = []
    if first < start:
        parts.append(tag("line", class_="lead", x1=f"{number(first)}%", x2=f"{number(start)}%", y1=y, y2=y))
    said = f"{one.severity}: {span(one.opened_at, one.closed_at, timed=axis.timed)}"
    parts.append(
        tag(
            "rect",
            tag("title", said),
            class_="bar",
            fill=f"url(#hatch-{one.severity})",
            x=f"{number(start)}%",
            width=f"{number(end - start)}%",
            y=y - BAR / 2,
            height=BAR,
        )
    )
    if one.closed_at is None:
        arrow = tag("path", d="M0-9 8 0 0 9", class_="open")
        parts.append(tag("svg", arrow, x=f"{number(end)}%", y=y, overflow="visible"))
    return tag("g", *parts, *points, class_=f"episode l-{one.severity}", data_severity=one.severity)


def points_of(one: Detection, axis: Axis, y: float, rows: int) -> Iterator[Html]:
    """The evidence of one detection, as points that lead to its row in the list."""
    for index, evidence in shown_evidence(one, rows):
        x = f"{number(axis.place(evidence.at))}%"
        yield tag(
            "a",
            tag("circle", class_="reach", cx=x, cy=y, r=11),
            tag("use", href=f"#mark-{one.severity}", x=x, y=y),
            class_="point",
            href=f"#{evidence_anchor(one, index)}",
            tabindex=0,
            role="link",
            aria_label=point_label(evidence, timed=axis.timed),
        )


def point_label(evidence: Evidence, *, timed: bool) -> str:
    """What is read out about a point."""
    said = f"{clean(evidence.step, 40)}, {stamp(evidence.at, timed=timed)}, event {clean(evidence.event, 60)}"
    return clean(f"{said}: {pairs_text(evidence.readings)}" if evidence.readings else said, 160)
