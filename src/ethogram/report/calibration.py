"""What confidences have meant, as one page: a reliability plot and its table for each pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..app.accuracy import Calibrated
from .chat import head
from .html import Html, number, tag
from .words import clean, plural

SIZE, LEFT, BELOW = 300, 34, 34
"""Of the plot, and of the room for words at its left and below it, in its own units."""
PATTERNS = 200


def calibration_page(found: Sequence[Calibrated]) -> str:
    """The whole page. It loads nothing and runs nothing."""
    said = (
        f"{plural(len(found), 'pattern')}, {plural(sum(one.reliability.count for one in found), 'verdict')}"
    )
    brand = tag("p", "ethogram", class_="brand")
    title = tag("h1", "What confidences have meant")
    top = tag("header", brand, title, tag("p", said, class_="where"), tag("p", HOW))
    parts = [section(one) for one in found[:PATTERNS]]
    left = len(found) - len(parts)
    more = [tag("p", f"{plural(left, 'pattern')} more not shown", class_="note")] if left else []
    body = tag("body", top, tag("main", *parts, *more))
    page = tag("html", head("ethogram calibration", "calibration.css"), body, lang="en")
    return f"<!doctype html>\n{page}\n"


HOW = (
    "A point is a group of judged detections: how sure the pattern was, and how many were right (with the "
    "interval of 95 %). On the dashed line both are the same. The drawn line is the probability that a "
    "confidence stands for now."
)


def section(one: Calibrated) -> Html:
    """One pattern."""
    told = one.reliability
    facts = f"{plural(told.count, 'verdict')}; mean distance of said and seen {told.distance:.2f}"
    few = "" if one.is_sufficient else f"; fewer than {one.minimum}, so take the points with care"
    return tag(
        "section",
        tag("h2", tag("bdi", clean(one.pattern, 120))),
        tag("p", facts + few, class_="note"),
        plot(one),
        table(one),
        class_="pattern",
    )


def plot(one: Calibrated) -> Html:
    """Said against seen."""
    curve = zip(one.calibration.confidences, one.calibration.probabilities, strict=True)
    line = tag("polyline", points=" ".join(f"{number(_x(x))},{number(_y(y))}" for x, y in curve))
    said = f"Reliability of {clean(one.pattern, 120)}: {plural(len(one.reliability.rows), 'group')}"
    box = f"0 0 {SIZE + LEFT + 10} {SIZE + BELOW + 10}"
    return tag("svg", *_frame(), line, *_points(one), class_="plot", viewBox=box, role="img", aria_label=said)


def _x(share: float) -> float:
    return LEFT + SIZE * share


def _y(share: float) -> float:
    return 5 + SIZE * (1 - share)


def _frame() -> Iterator[Html]:
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


def _points(one: Calibrated) -> Iterator[Html]:
    for row in one.reliability.rows:
        low, high = row.interval
        share = row.right / row.count
        yield tag(
            "line", x1=_x(row.confidence), x2=_x(row.confidence), y1=_y(low), y2=_y(high), class_="range"
        )
        words = f"confidence {row.confidence:.2f}: {row.right} of {row.count} right"
        yield tag("circle", tag("title", words), cx=_x(row.confidence), cy=_y(share), r=4)


def table(one: Calibrated) -> Html:
    """The same in numbers."""
    names = ("confidence", "judged", "right", "share (95 %)", "stands for now")
    top = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    rows = []
    for row in one.reliability.rows:
        low, high = row.interval
        cells = (
            f"{row.low:.2f} to {row.high:.2f}",
            f"{row.count}",
            f"{row.right}",
            f"{row.right / row.count:.2f} ({low:.2f} to {high:.2f})",
            f"{one.calibration(row.confidence):.2f}",
        )
        rows.append(tag("tr", *(tag("td", cell) for cell in cells)))
    return tag("table", top, tag("tbody", *rows))
