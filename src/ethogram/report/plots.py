"""Smaller drawings: path lanes of runs, the risk of a conversation, and reliability plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from .runs import episode_cells, steps_text
from .svg import number, percent, tag
from .wording import clean, plural

if TYPE_CHECKING:
    from ..app.run_record import Lane, Run, RunEpisode
    from ..risk.calibration import Reliability


# --- path lanes -----------------------------------------------------------------------------

LANE = 16
CLASSES = {"x": "failed", "w": "changed", "r": "looked", ".": "did"}
TALL = {"x": 1.0, "w": 0.8, "r": 0.5, ".": 0.25}
"""Height tells the marks apart as well as colour does."""


def lane_part(lane: Lane, run: Run) -> Markup:
    """Which folders were touched over the steps, and above them the detected stretches."""
    from ..app.run_record import MARKS, NOTHING

    cells = max((len(marks) for _, marks in lane.rows), default=1)
    under = f" under {clean(lane.under)}" if lane.under else ""
    each = "one cell per step" if lane.steps_per_mark == 1 else f"one cell per {lane.steps_per_mark} steps"
    legend = [tag("span", _key(mark), f" {words}", class_="legend") for mark, words in MARKS.items()]
    head = tag("p", f"Paths of {clean(lane.subject, 60)}{under}, {each}: ", *legend, class_="note")
    bars = [
        _bar(first, last, episode, cells)
        for first, last, episode in episode_cells(run, lane.subject, lane.steps_per_mark)
    ]
    rows = [_lane_row("detected", "detected", bars)]
    for name, marks in lane.rows:
        drawn = []
        for index, mark in enumerate(marks):
            if mark != NOTHING:
                first, last = index * lane.steps_per_mark + 1, (index + 1) * lane.steps_per_mark
                steps = f"step {first}" if first == last else f"steps {first} to {last}"
                title = f"{clean(name, 60)}, {steps}: {MARKS[mark]}"
                drawn.append(_rect(mark, 100 * index / cells, 100 / cells, title))
        counts = ", ".join(f"{marks.count(mark)} {words}" for mark, words in MARKS.items() if mark in marks)
        rows.append(_lane_row(clean(name, 60), f"{clean(name, 60)}: {counts}", drawn))
    return tag("div", head, *rows, class_="paths")


def _key(mark: str) -> Markup:
    return tag("svg", _rect(mark, 0, 100), class_="key", width=12, height=12, aria_hidden="true")


def _lane_row(name: str, words: str, drawn: Sequence[Markup]) -> Markup:
    size = {"width": "100%", "height": LANE}
    plot = tag("svg", *drawn, class_="plot", **size, role="img", aria_label=clean(words, 160))
    return tag("div", tag("div", tag("span", name), class_="label"), plot, class_="row")


def _bar(first: int, last: int, episode: RunEpisode, cells: int) -> Markup:
    title = tag("title", f"{clean(episode.title or episode.pattern, 80)}: {steps_text(episode)}")
    box = {"x": percent(100 * first / cells), "width": percent(100 * (last + 1 - first) / cells)}
    bar = tag(
        "rect", title, class_="bar", fill=f"url(#hatch-{episode.severity})", **box, y=3, height=LANE - 6
    )
    return tag("g", bar, class_=f"l-{episode.severity}")


def _rect(mark: str, x: float, width: float, title: str = "") -> Markup:
    tall = 100 * TALL[mark]
    box = {"x": percent(x), "width": percent(width), "y": percent(100 - tall), "height": percent(tall)}
    return tag("rect", *([tag("title", title)] if title else []), class_=CLASSES[mark], **box)


# --- conversations --------------------------------------------------------------------------

BANDS = (
    ("SAFE", 0.0, "safe"), ("CAUTIOUS", 0.15, "low"), ("ELEVATED", 0.30, "medium"), ("SUSPECT", 0.50, "high"),
    ("CRITICAL", 0.70, "critical"), ("UNSAFE", 0.85, "critical"),
)  # fmt: skip
"""The risk at which each mode begins, and the severity whose colour it has."""
SEVERITY_OF = {mode: severity for mode, _, severity in BANDS}
CURVE, LABELS = 150, 74
"""Height of the drawing, and the room at its right for the names of modes, in its own units."""
POINTS = 400
"""Turns that get a point of their own."""


def curve(risks: Sequence[float], modes: Sequence[str], links: Sequence[str] = ()) -> Markup:
    """The risk over the turns, on bands of the modes; `links` are where the points of the turns lead to."""
    width, last = 1000 - LABELS, max(1, len(risks) - 1)
    places = [(width * k / last, CURVE * (1 - risk)) for k, risk in enumerate(risks)]
    line = tag("polyline", points=" ".join(f"{number(x)},{number(y)}" for x, y in places))
    dots: list[Markup] = []
    if len(risks) <= POINTS:
        for turn, (x, y) in enumerate(places, start=1):
            mode = modes[turn - 1]
            label = f"turn {turn}: {mode} {risks[turn - 1]:.2f}"
            title = tag("title", label)
            dot = tag("circle", title, cx=x, cy=y, r=3, class_=f"l-{SEVERITY_OF[mode]}")
            dots.append(tag("a", dot, href=links[turn - 1], aria_label=label) if links else dot)
    words = f"Risk over {plural(len(risks), 'turn')}, from {risks[0]:.2f} to {risks[-1]:.2f}"
    box = f"0 0 1000 {CURVE}"
    bands: list[Markup] = []
    ends = [*(floor for _, floor, _ in BANDS[1:]), 1.0]
    for (mode, floor, severity), end in zip(BANDS, ends, strict=True):
        top, height, bottom = CURVE * (1 - end), CURVE * (end - floor), CURVE * (1 - floor)
        bands.append(tag("rect", x=0, y=top, width=width, height=height, class_=f"band l-{severity}"))
        if floor:
            bands.append(tag("line", x1=0, x2=width, y1=bottom, y2=bottom, class_="edge"))
        bands.append(tag("text", mode, x=width + 8, y=top + height / 2 + 4))
    role = "group" if links else "img"
    return tag("svg", *bands, line, *dots, class_="curve", viewBox=box, role=role, aria_label=words)


# --- calibration ----------------------------------------------------------------------------

SIZE, LEFT, BELOW = 300, 34, 34
"""Of the plot, and of the room for words at its left and below it, in its own units."""


def reliability_plot(calibrated: Reliability) -> Markup:
    """Confidence against the share that was right."""
    pairs = calibrated.curve
    line = tag("polyline", points=" ".join(f"{number(_x(x))},{number(_y(y))}" for x, y in pairs))
    groups = plural(len(calibrated.rows), "group")
    words = f"Reliability of {clean(calibrated.pattern, 120)}: {groups}"
    box = f"0 0 {SIZE + LEFT + 10} {SIZE + BELOW + 10}"
    points: list[Markup] = []
    for row in calibrated.rows:
        x, low, high = _x(row.said), _y(row.share_low), _y(row.share_high)
        points.append(tag("line", x1=x, x2=x, y1=low, y2=high, class_="range"))
        title = tag("title", f"confidence {row.said:.2f}: {row.right} of {row.count} right")
        points.append(tag("circle", title, cx=x, cy=_y(row.share), r=4))
    drawn = (*_frame(), line, *points)
    return tag("svg", *drawn, class_="plot", viewBox=box, role="img", aria_label=words)


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return 5 + SIZE * (1 - share)


def _frame() -> Iterator[Markup]:
    for step in (0.25, 0.5, 0.75):
        yield tag("line", x1=_x(step), x2=_x(step), y1=_y(0), y2=_y(1), class_="grid")
        yield tag("line", x1=_x(0), x2=_x(1), y1=_y(step), y2=_y(step), class_="grid")
    yield tag("rect", x=_x(0), y=_y(1), width=SIZE, height=SIZE, class_="frame")
    yield tag("line", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1), class_="even")
    for step in (0.0, 0.5, 1.0):
        yield tag("text", f"{step:g}", x=_x(step), y=_y(0) + 14, text_anchor="middle")
        yield tag("text", f"{step:g}", x=_x(0) - 6, y=_y(step) + 4, text_anchor="end")
    yield tag("text", "confidence", x=_x(0.5), y=_y(0) + 29, text_anchor="middle")
    yield tag("text", "right", x=_x(0) + 5, y=_y(1) + 14)
