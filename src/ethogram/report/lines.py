"""Lines: the readings of one signal over time, and all events of the subject as ticks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from ..app.traces import Trace
from ..models import Detection
from .html import Html, join, number, tag
from .scales import Axis
from .words import clean, plural, value_text

HEIGHT = 46
PAD = 6
DOTS = 80
"""Readings drawn as dots too, where there are no more than so many."""
PROOFS = 200

Marks = Sequence[tuple[float, str]]


def line(signal: str, traces: Sequence[Trace], detections: Sequence[Detection], axis: Axis) -> Html:
    """One row of the chart: a signal, one line for each history it counted in."""
    values = [value for one in traces for _, value in one.points]
    low, high = domain(values)
    drawn = [_path(one, axis, low, high) for one in traces]
    dots = [dot for one in traces if len(one.points) <= DOTS for dot in _dots(one, axis, low, high)]
    proofs = _proofs(signal, detections, axis, low, high)
    said = " – ".join(dict.fromkeys(value_text(value) for value in (min(values), max(values))))
    plot = tag(
        "svg",
        *drawn,
        *dots,
        *proofs,
        class_="plot",
        width="100%",
        height=HEIGHT,
        role="img",
        aria_label=f"{clean(signal, 60)}: {plural(len(values), 'reading')}, {said}",
    )
    label = tag("div", tag("span", clean(signal, 60)), tag("small", said), class_="label")
    return tag("div", label, plot, class_="row line")


def domain(values: Sequence[float]) -> tuple[float, float]:
    """The lowest and highest value of the drawing: 0 to 1 where all are shares, else as they are.

    >>> domain([0.2, 0.9]), domain([3.0, 40.0]), domain([7.0])
    ((0.0, 1.0), (3.0, 40.0), (6.0, 8.0))
    """
    low, high = min(values), max(values)
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 1, high + 1)


def height_of(value: float, low: float, high: float) -> float:
    """The distance from the top at which a value is drawn."""
    # Halves, since the difference of two very large numbers may be more than there is.
    share = (value / 2 - low / 2) / (high / 2 - low / 2)
    return PAD + (HEIGHT - 2 * PAD) * (1 - min(max(share, 0.0), 1.0))


def _path(one: Trace, axis: Axis, low: float, high: float) -> Html:
    corners = steps(one.points) if all(value in (0, 1) for _, value in one.points) else one.points
    places = " ".join(
        f"{number(10 * axis.place(at))},{number(height_of(value, low, high))}" for at, value in corners
    )
    # Drawn in thousandths of the width and stretched: a line has no percentages.
    return tag(
        "svg",
        tag("polyline", points=places, vector_effect="non-scaling-stroke"),
        class_="path",
        width="100%",
        height=HEIGHT,
        viewBox=f"0 0 1000 {HEIGHT}",
        preserveAspectRatio="none",
    )


def steps(points: Sequence[tuple[datetime, float]]) -> list[tuple[datetime, float]]:
    """The corners of a line that stays where it is until the next reading: there is no half of a yes."""
    corners = list(points[:1])
    for (_, before), (at, value) in pairwise(points):
        corners += [(at, before), (at, value)] if value != before else [(at, value)]
    return corners


def _dots(one: Trace, axis: Axis, low: float, high: float) -> list[Html]:
    return [
        tag("circle", class_="dot", cx=f"{number(axis.place(at))}%", cy=height_of(value, low, high), r=1.8)
        for at, value in one.points
    ]


def _proofs(signal: str, detections: Sequence[Detection], axis: Axis, low: float, high: float) -> list[Html]:
    """Where the evidence lies on the line."""
    found: dict[tuple[datetime, float], str] = {}
    for one in detections:
        for evidence in one.evidence:
            value = evidence.readings.get(signal)
            if isinstance(value, (int, float)):
                found[evidence.at, float(value)] = one.severity
    return [
        tag(
            "circle",
            class_=f"proof l-{severity}",
            cx=f"{number(axis.place(at))}%",
            cy=height_of(value, low, high),
            r=3.6,
        )
        for (at, value), severity in list(found.items())[:PROOFS]
    ]


def rug(moments: Sequence[datetime], axis: Axis) -> Html:
    """One row of the chart: every event of the subject as a tick, so that silence is seen."""
    places = sorted({number(10 * axis.place(at)) for at in moments}, key=float)
    path = "".join(f"M{at} 4V16" for at in places)
    drawn = tag("path", d=path, vector_effect="non-scaling-stroke")
    inner = tag(
        "svg",
        drawn,
        class_="rug",
        width="100%",
        height=20,
        viewBox="0 0 1000 20",
        preserveAspectRatio="none",
    )
    said = plural(len(moments), "event")
    plot = tag("svg", inner, class_="plot", width="100%", height=20, role="img", aria_label=said)
    label = tag("div", tag("span", "all events"), class_="label")
    return tag("div", label, plot, class_="row all")


def grid(marks: Marks) -> Html:
    """The upright lines of the time axis, behind all rows."""
    places = [f"{number(at)}%" for at, _ in marks]
    drawn = (tag("line", x1=at, x2=at, y1=0, y2="100%") for at in places)
    return tag("svg", *drawn, class_="grid", aria_hidden="true")


def axis_row(marks: Marks) -> Html:
    """The words under the chart."""
    words = join(tag("text", said, x=f"{number(at)}%", y=13, text_anchor=_anchor(at)) for at, said in marks)
    plot = tag("svg", words, class_="plot", width="100%", height=18, aria_hidden="true")
    return tag("div", tag("div", class_="label"), plot, class_="row axis")


def _anchor(at: float) -> str:
    return "start" if at < 5 else "end" if at > 95 else "middle"
