"""The timeline: for each history a lane per pattern and a line per signal, over one time axis."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from urllib.parse import quote

from markupsafe import Markup

from ..app.traces import MOST, HistoryKey, Trace, Traces, history_key, thin
from ..models import SEVERITIES, Detection, Event, Evidence, highest, micros, moment, rank, stable_hash
from ..models.timestamps import SECOND
from .svg import join, mark, number, percent, tag
from .wording import by_severity, clean, pairs_text, plural, span, stamp, title_of, value_text, whom

HISTORIES = 30
"""Histories that are drawn, the gravest ones; the others are named."""
SIGNALS = 8
"""Signals drawn of one history."""
MANY = 300
"""Detections above which each is shown with less evidence, so that the page stays small."""

Who = tuple[str, str]
Marks = Sequence[tuple[float, str]]


# --- anchors --------------------------------------------------------------------------------

_PLAIN = re.compile(r"[0-9a-zA-Z]{1,40}")


def detection_anchor(detection: Detection) -> str:
    """The name of a detection in the page, by which the chart refers to the list."""
    return f"d-{detection.id if _PLAIN.fullmatch(detection.id) else stable_hash(detection.id)[:20]}"


def rows_for(detections: int) -> int:
    """Evidence rows of one detection, at most, in a page of so many. The JSON has all of it."""
    return 24 if detections <= MANY else 10


def shown_evidence(detection: Detection, rows: int) -> list[tuple[int, Evidence]]:
    """The evidence that is listed, with its position: of more than `rows`, the first and the last."""
    every = list(enumerate(detection.evidence))
    return every if len(every) <= rows else every[: rows // 2] + every[-rows // 2 :]


# --- axis -----------------------------------------------------------------------------------

DAY = 86_400
STEPS = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200),
    *(days * DAY for days in (1, 2, 4, 7, 14)),
)
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ABOUT = 6
"""Ticks on an axis, at most."""
MARGIN = 1.5
"""Percent of the width left free on both sides, so that a mark at the end is whole."""


@dataclass(frozen=True, slots=True)
class Axis:
    """From the first to the last time, in microseconds; without times, the numbers of events."""

    start: int
    end: int
    timed: bool = True

    def place(self, at: datetime) -> float:
        """Percent of the width."""
        share = (micros(at) - self.start) / (self.end - self.start)
        return MARGIN + (100 - 2 * MARGIN) * min(max(share, 0.0), 1.0)

    def has(self, at: datetime) -> bool:
        """Whether a time lies between the ends."""
        return self.start <= micros(at) <= self.end


def axis_of(moments: list[datetime], *, timed: bool = True) -> Axis:
    """The axis on which all of these have their place; a single time stands in the middle."""
    start, end = micros(min(moments)), micros(max(moments))
    room = (60 if timed else 1) * SECOND if start == end else 0
    return Axis(start - room, end + room, timed)


def ticks(axis: Axis) -> list[tuple[float, str]]:
    """(percent, words) of the times to write, at most ABOUT of them.

    >>> from datetime import timedelta
    >>> first = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    >>> [words for _, words in ticks(axis_of([first, first + timedelta(days=4)]))]
    ['3 Mar', '4 Mar', '5 Mar', '6 Mar']
    """
    if not axis.timed:
        return list(_numbers(axis))
    seconds = (axis.end - axis.start) / SECOND
    for step in STEPS:
        if seconds / step <= ABOUT:
            return [(axis.place(moment(at)), _clock(moment(at), step)) for at in _even(axis, step * SECOND)]
    return list(_months(axis))


def _even(axis: Axis, step: int) -> Iterator[int]:
    yield from range(-(-axis.start // step) * step, axis.end + 1, step)


def _numbers(axis: Axis) -> Iterator[tuple[float, str]]:
    count = (axis.end - axis.start) / SECOND
    sizes = (digit * 10**power for power in range(12) for digit in (1, 2, 5))
    step = next(size for size in sizes if count / size <= ABOUT)
    # Numbers count from 1, times from 0: so they read 10, 20, 30 and not 11, 21, 31.
    for at in _even(Axis(axis.start + SECOND, axis.end + SECOND), step * SECOND):
        yield axis.place(moment(at - SECOND)), f"no. {at // SECOND}"


def _months(axis: Axis) -> Iterator[tuple[float, str]]:
    first, last = (12 * moment(at).year + moment(at).month - 1 for at in (axis.start, axis.end))
    step = next((size for size in MONTH_STEPS if (last - first) / size <= ABOUT), MONTH_STEPS[-1])
    for month in range(-(-first // step) * step, last + 1, step):
        if month < 12:
            continue
        at = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        if micros(at) >= axis.start:
            yield axis.place(at), str(at.year) if step >= 12 else f"{MONTHS[at.month - 1]} {at.year}"


def _clock(at: datetime, step: int) -> str:
    if at.hour == at.minute == at.second == 0:
        return f"{at.day} {MONTHS[at.month - 1]}"
    return at.strftime("%H:%M:%S" if step < 60 else "%H:%M")


# --- histories ------------------------------------------------------------------------------


def chart(
    detections: Sequence[Detection], traces: Traces, as_of: datetime, numbers: Mapping[Who, int]
) -> Markup:
    """The whole chart, a card for each history. `numbers` are those by which subjects are filtered."""
    groups = by_history(detections)
    rows = rows_for(len(detections))
    cards = [
        card(
            (own[0].source, own[0].subject), own, traces, as_of, rows, numbers[own[0].source, own[0].subject]
        )
        for own in groups[:HISTORIES]
    ]
    return join([*cards, *others(groups[HISTORIES:])])


def by_history(detections: Iterable[Detection]) -> list[list[Detection]]:
    """Detections by the history they are in: the gravest first, then those with most, then by name.

    Steps of other runs of the same agent are no surroundings of a detection.
    """
    groups: dict[HistoryKey, list[Detection]] = {}
    for detection in detections:
        groups.setdefault(history_key(detection), []).append(detection)

    def gravity(key: HistoryKey) -> tuple[int, int, str]:
        own = groups[key]
        return (-max(rank(detection.severity) for detection in own), -len(own), str(key))

    return [groups[key] for key in sorted(groups, key=gravity)]


def overlaps(detection: Detection, period: tuple[datetime, datetime]) -> bool:
    """Whether a detection or a piece of its evidence lies in a period, both ends included."""
    times = [detection.opened_at, *(evidence.at for evidence in detection.evidence)]
    return min(times) <= period[1] and (detection.closed_at is None or detection.closed_at >= period[0])


def quiet_traces(who: Who, events: Sequence[Event]) -> Traces:
    """The times of a subject's events, and the numbers of their readings, apart from any detection."""
    points: dict[str, list[tuple[datetime, float, bool]]] = {}
    for event in events:
        for name, value in event.readings.items():
            if isinstance(value, (int, float)):
                points.setdefault(name, []).append((event.at, float(value), False))
    lines = []
    for name, own in sorted(points.items()):
        shown = tuple((at, value) for at, value, _ in thin(own, MOST))
        lines.append(Trace(*who, {}, name, shown, len(own)))
    times = [(event.at, False) for event in events]
    untimed = frozenset({who[0]} if any(not event.timed for event in events) else ())
    shown_times = tuple(at for at, _ in thin(times, MOST))
    return Traces(tuple(lines), {(who[0], ()): shown_times}, untimed=untimed)


def card(
    who: Who,
    detections: Sequence[Detection],
    traces: Traces,
    as_of: datetime,
    most: int,
    index: int,
    period: tuple[datetime, datetime] | None = None,
    note: str = "",
    page: str = "",
    title: str = "",
) -> Markup:
    """One history: its detections with at most so much evidence each, and what lies behind them.

    Without detections it is what `quiet_traces` has of the subject. `period` limits the axis; `note` stands
    under the chart. `page` is the address of the page of a detection without its id; without it points lead
    to rows of the same page. `title` replaces the name of the history.
    """
    source, subject = who
    key: HistoryKey = history_key(detections[0]) if detections else (source, ())
    end, moments = traces.as_of.get(source, as_of), traces.moments.get(key, ())
    proofs = [evidence.at for detection in detections for evidence in detection.evidence]
    ends = [at for detection in detections for at in (detection.opened_at, detection.closed_at or end)]
    timed = source not in traces.untimed
    axis = axis_of(list(period) if period else [*moments, *ends, *proofs], timed=timed)
    marks = ticks(axis)
    rows = [lane(own, axis, end, most, page) for own in by_pattern(detections)]
    signals: dict[str, list[Trace]] = {}
    for trace in traces.lines:
        if (trace.source, tuple(trace.history.items())) == key:
            signals.setdefault(trace.signal, []).append(trace)
    rows += [line(name, signals[name], detections, axis) for name in sorted(signals)[:SIGNALS]]
    if moments:
        rows.append(rug(moments, axis))
    rows += [grid(marks), axis_row(marks)]
    if len(signals) > SIGNALS:
        left = ", ".join(clean(name) for name in sorted(signals)[SIGNALS:])
        rows.append(tag("p", f"Not drawn: {clean(left)}", class_="note"))
    if note:
        rows.append(tag("p", note, class_="note"))
    facts = [by_severity(detections) or "no detections"]
    name = clean(whom(detections[0]) if detections else subject, 120)
    if moments:
        facts.append(span(moments[0], moments[-1], timed=axis.timed))
    if source != "input":
        facts.append(clean(source, 60))
    marks_of = [mark(highest(*(detection.severity for detection in detections)))] if detections else []
    head = tag("h3", *marks_of, tag("bdi", title or name), tag("small", " · ".join(facts)))
    ends_of = {"data_from": axis.start // 1000, "data_to": axis.end // 1000} if period else {}
    drawn = tag("div", *rows, class_="rows", **ends_of)
    return tag("section", head, drawn, class_="subject", data_subject=index)


def by_pattern(detections: Sequence[Detection]) -> list[list[Detection]]:
    """Detections by pattern, the gravest pattern first."""
    patterns: dict[str, list[Detection]] = {}
    for detection in detections:
        patterns.setdefault(detection.pattern, []).append(detection)
    return sorted(
        patterns.values(),
        key=lambda own: (-max(rank(detection.severity) for detection in own), own[0].pattern),
    )


def others(groups: Sequence[Sequence[Detection]]) -> list[Markup]:
    """The histories that are not drawn, by name; nothing where there are none."""
    if not groups:
        return []
    named = [tag("li", tag("bdi", clean(whom(own[0]), 120)), f": {by_severity(own)}") for own in groups[:500]]
    more = [] if len(groups) <= 500 else [tag("li", f"and {len(groups) - 500:,} more")]
    title = f"{plural(len(groups), 'further history')} with detections, not drawn"
    return [tag("details", tag("summary", title), tag("ul", *named, *more), class_="others")]


# --- lanes: the episodes of one pattern as bars, with their evidence as points ---------------

ROW = 30
BAR = 12
DEPTH = 5
"""Rows in a lane for episodes that overlap."""
EPISODES = 40
POINTS = 120
"""Drawn in one lane at most."""


def lane(detections: Sequence[Detection], axis: Axis, as_of: datetime, rows: int, page: str = "") -> Markup:
    """One row of the chart: all episodes of one pattern."""
    first, drawn = detections[0], list(detections[:EPISODES])
    room, episodes = POINTS, []
    places = rows_of(drawn, axis, as_of)
    for detection, row in zip(drawn, places, strict=True):
        y = ROW * row + ROW / 2
        points = []
        for index, evidence in shown_evidence(detection, rows)[:room]:
            if not axis.has(evidence.at):
                continue
            x, when = percent(axis.place(evidence.at)), stamp(evidence.at, timed=axis.timed)
            words = f"{clean(evidence.step, 40)}, {when}, event {clean(evidence.event, 60)}"
            if evidence.readings:
                words += f": {pairs_text(evidence.readings)}"
            reach = tag("circle", class_="reach", cx=x, cy=y, r=11)
            shape = tag("use", href=f"#mark-{detection.severity}", x=x, y=y)
            place = f"#{detection_anchor(detection)}-{index}"
            href = f"{page}{quote(detection.id, safe='')}{place}" if page else place
            link = {"class_": "point", "href": href, "tabindex": 0}
            points.append(tag("a", reach, shape, **link, role="link", aria_label=clean(words, 160)))
        room -= len(points)
        episodes.append(episode(detection, axis, y, as_of, points))
    title = title_of(first, 80)
    left = len(detections) - len(drawn)
    small = clean(first.pattern, 60) + (f", {left} more in the list" if left else "")
    words = f"{title}: {plural(len(detections), 'episode')}"
    size = {"width": "100%", "height": ROW * (1 + max(places))}
    plot = tag("svg", *episodes, class_="plot", **size, role="group", aria_label=words)
    severities = " ".join(
        severity for severity in SEVERITIES if any(detection.severity == severity for detection in detections)
    )
    label = tag("div", tag("b", title), tag("small", small), class_="label")
    return tag(
        "div", label, plot, class_="row lane", data_pattern=clean(first.pattern), data_severities=severities
    )


def rows_of(detections: Sequence[Detection], axis: Axis, as_of: datetime) -> list[int]:
    """The row of each episode, so that those at the same time stand under each other."""
    free: list[float] = []
    rows = []
    for detection in detections:
        times = [
            detection.opened_at,
            detection.closed_at or as_of,
            *(evidence.at for evidence in detection.evidence),
        ]
        start, end = axis.place(min(times)), axis.place(max(times))
        row = next((index for index, at in enumerate(free) if at + 2 < start), len(free))
        if row < DEPTH:
            free[row : row + 1] = [end]
        rows.append(row % DEPTH)
    return rows


def episode(detection: Detection, axis: Axis, y: float, as_of: datetime, points: Sequence[Markup]) -> Markup:
    """One bar, from when it opened to when it closed or to `as_of`."""
    start, end = axis.place(detection.opened_at), axis.place(detection.closed_at or as_of)
    first = min([start, *(axis.place(evidence.at) for evidence in detection.evidence)])
    parts = []
    if first < start:
        parts.append(tag("line", class_="lead", x1=percent(first), x2=percent(start), y1=y, y2=y))
    title = tag(
        "title", f"{detection.severity}: {span(detection.opened_at, detection.closed_at, timed=axis.timed)}"
    )
    box = {"x": percent(start), "width": percent(end - start), "y": y - BAR / 2, "height": BAR}
    parts.append(tag("rect", title, class_="bar", fill=f"url(#hatch-{detection.severity})", **box))
    if detection.closed_at is None:
        arrow = tag("path", d="M0-9 8 0 0 9", class_="open")
        parts.append(tag("svg", arrow, x=percent(end), y=y, overflow="visible"))
    return tag(
        "g", *parts, *points, class_=f"episode l-{detection.severity}", data_severity=detection.severity
    )


# --- lines: the readings of one signal, and all events as ticks -----------------------------

HEIGHT = 46
PAD = 6
DOTS = 80
"""Readings drawn as dots too, where there are no more than so many."""
PROOFS = 200


def line(signal: str, traces: Sequence[Trace], detections: Sequence[Detection], axis: Axis) -> Markup:
    """One row of the chart: a signal, one line for each history it counted in."""
    values = [value for trace in traces for _, value in trace.points]
    low, high = domain(values)
    paths = [_path(trace, axis, low, high) for trace in traces]

    def dot(at: datetime, value: float, class_: str, r: float) -> Markup:
        return tag("circle", class_=class_, cx=percent(axis.place(at)), cy=height_of(value, low, high), r=r)

    few = [trace for trace in traces if len(trace.points) <= DOTS]
    dots = [dot(at, value, "dot", 1.8) for trace in few for at, value in trace.points]
    severities: dict[tuple[datetime, float], str] = {}
    for detection in detections:
        for evidence in detection.evidence:
            value = evidence.readings.get(signal)
            if isinstance(value, (int, float)) and axis.has(evidence.at):
                severities[evidence.at, float(value)] = detection.severity
    # Where the evidence lies on the line.
    proofs = [
        dot(at, value, f"proof l-{severity}", 3.6)
        for (at, value), severity in list(severities.items())[:PROOFS]
    ]
    ends = " – ".join(dict.fromkeys(value_text(value) for value in (min(values), max(values))))
    words = f"{clean(signal, 60)}: {plural(len(values), 'reading')}, {ends}"
    size = {"width": "100%", "height": HEIGHT}
    plot = tag("svg", *paths, *dots, *proofs, class_="plot", **size, role="img", aria_label=words)
    label = tag("div", tag("span", clean(signal, 60)), tag("small", ends), class_="label")
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
    # Halves, since the difference of two very large numbers may overflow.
    share = (value / 2 - low / 2) / (high / 2 - low / 2)
    return PAD + (HEIGHT - 2 * PAD) * (1 - min(max(share, 0.0), 1.0))


def _path(trace: Trace, axis: Axis, low: float, high: float) -> Markup:
    corners = steps(trace.points) if all(value in (0, 1) for _, value in trace.points) else trace.points
    places = " ".join(
        f"{number(10 * axis.place(at))},{number(height_of(value, low, high))}" for at, value in corners
    )
    # Drawn in thousandths of the width and stretched: a polyline takes no percentages.
    drawn = tag("polyline", points=places, vector_effect="non-scaling-stroke")
    return _stretched(drawn, "path", HEIGHT)


def _stretched(drawn: Markup, name: str, height: int) -> Markup:
    size = {"width": "100%", "height": height, "viewBox": f"0 0 1000 {height}", "preserveAspectRatio": "none"}
    return tag("svg", drawn, class_=name, **size)


def steps(points: Sequence[tuple[datetime, float]]) -> list[tuple[datetime, float]]:
    """The corners of a line that stays level until the next reading: there is no half of a yes."""
    corners = list(points[:1])
    for (_, before), (at, value) in pairwise(points):
        corners += [(at, before), (at, value)] if value != before else [(at, value)]
    return corners


def rug(moments: Sequence[datetime], axis: Axis) -> Markup:
    """One row of the chart: every event of the history as a tick, so that silence is seen."""
    places = sorted({number(10 * axis.place(at)) for at in moments}, key=float)
    path = "".join(f"M{at} 4V16" for at in places)
    inner = _stretched(tag("path", d=path, vector_effect="non-scaling-stroke"), "rug", 20)
    words = plural(len(moments), "event")
    plot = tag("svg", inner, class_="plot", width="100%", height=20, role="img", aria_label=words)
    return tag("div", tag("div", tag("span", "all events"), class_="label"), plot, class_="row all")


def grid(marks: Marks) -> Markup:
    """The upright lines of the time axis, behind all rows."""
    drawn = (tag("line", x1=percent(at), x2=percent(at), y1=0, y2="100%") for at, _ in marks)
    return tag("svg", *drawn, class_="grid", aria_hidden="true")


def axis_row(marks: Marks) -> Markup:
    """The words under the chart."""

    def word(at: float, text: str) -> Markup:
        anchor = "start" if at < 5 else "end" if at > 95 else "middle"
        return tag("text", text, x=percent(at), y=13, text_anchor=anchor)

    words = (word(at, text) for at, text in marks)
    plot = tag("svg", *words, class_="plot", width="100%", height=18, aria_hidden="true")
    return tag("div", tag("div", class_="label"), plot, class_="row axis")
