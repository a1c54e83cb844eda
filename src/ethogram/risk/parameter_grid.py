"""Judged items, and which of them other values of a parameter would still detect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ..language.history import may_hold
from ..models import Detection, Value, Verdict
from ..models.slotted import dataclass, field
from .verdicts import TRUE, consensus_by_item

Bools = NDArray[np.bool_]
Overlay = Mapping[str, float]
Replay = Callable[[Sequence[Overlay]], Iterable[Sequence[Detection] | None]]
"""Returns the detections for each overlay, in order; None for values that make no valid pattern."""
COARSE, FINE = 9, 9
"""Values of a grid at first, and when it is refined."""
SMALL = 3
"""How far a small integer is moved each way."""
FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Period:
    """A time range in a history, ends included.

    `history` is source, subject, the program's name and further `group_by` values, as far as known; `fields`
    are values of fields that contradict other histories.
    """

    history: tuple[str, ...]
    start: datetime
    end: datetime
    fields: Mapping[str, Value | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """An item that judges agree on: whether the behaviour was there (`true`) and whether it was detected.

    Items of one `group` are not independent, and are drawn and left out together.
    """

    id: str
    true: bool
    detected: bool
    period: Period
    group: str


def group_of(detection: Detection) -> str:
    """The subject, or the thread where a pattern looks at single threads.

    One agent may make all runs there are, and they are as independent as its tasks.
    """
    return "\0".join((detection.source, detection.subject, str(detection.history.get("thread", ""))))


def judged_items(
    verdicts: Iterable[Verdict], detections: Iterable[Detection], periods: Mapping[tuple[str, ...], Period]
) -> list[JudgedItem]:
    """What judges agree on: detections, whatever version found them, and misses in these periods.

    `periods` are by source, subject, first and last event.
    """
    by_id = {detection.id: detection for detection in detections}
    items = []
    for item, consensus in sorted(consensus_by_item(verdicts).items()):
        word, detection, period = consensus.verdict, by_id.get(item[1]), periods.get(item[2:6])
        if item[0] == "detection" and detection is not None and word != "disputed":
            where, group = period_of(detection), group_of(detection)
            items.append(JudgedItem(detection.id, word in TRUE, True, where, group))
        elif item[0] == "silence" and period is not None and word == "missed":
            group = "\0".join((*period.history[:2], ""))
            items.append(JudgedItem("\0".join(item), True, False, period, group))
    return items


def period_of(detection: Detection) -> Period:
    """From the opening of an episode to when it was last known to hold; an open one has no end yet."""
    others = (str(value) for name, value in sorted(detection.history.items()) if name != "subject")
    end = max(detection.held_at, detection.closed_at or detection.held_at)
    return Period(
        (detection.source, detection.subject, detection.pattern, *others),
        min(detection.opened_at, detection.detected_at),
        FOREVER if detection.state == "opened" else end,
        detection.history,
    )


def detected_again(items: Sequence[JudgedItem], detections: Iterable[Detection]) -> Bools:
    """For each item, whether one of these detections lies in the same history at the same time.

    By time and not by id, since with another threshold an episode opens at another event. A period with
    source and subject alone matches any history of that subject that its fields do not contradict, one with
    the program's name any of its own.
    """
    periods: dict[tuple[str, ...], list[Period]] = defaultdict(list)
    for detection in detections:
        period = period_of(detection)
        for length in {2, 3, len(period.history)}:
            periods[period.history[:length]].append(period)

    def is_detected(period: Period) -> bool:
        return any(
            it.start <= period.end and period.start <= it.end and may_hold(it.fields, period.fields)
            for it in periods[period.history]
        )

    return np.array([is_detected(item.period) for item in items], dtype=bool)


@dataclass(frozen=True, slots=True)
class ParameterGrid:
    """Values of one parameter in rising order; `hits` says which item (row) each value (column) detects."""

    parameter: str
    current: float
    values: tuple[float, ...]
    hits: Bools

    @property
    def current_column(self) -> int:
        """The column of the current value, or of the nearest one."""
        return int(np.abs(np.array(self.values) - self.current).argmin())

    @property
    def current_hits(self) -> Bools:
        """What the current value detects."""
        return self.hits[:, self.current_column]


def search_range(current: float) -> tuple[float, float]:
    """The default range of a parameter: 0 to 1 for a share, +-3 for a small integer, else half to double.

    >>> search_range(0.25), search_range(12.5), search_range(3), search_range(20)
    ((0.0, 1.0), (6.25, 25.0), (1, 6), (10, 40))
    """
    if is_integer(current) and abs(current) <= 2 * SMALL:
        return max(min(1, current), current - SMALL), current + SMALL
    if 0 < current < 1:
        return 0.0, 1.0
    low, high = sorted((_rounded(current / 2, current), _rounded(current * 2, current)))
    return low, high


def step_size(share: float, width: float, current: float) -> float:
    """A share of a grid's width; at least 1 for an integer.

    >>> step_size(0.1, 1.0, 0.3), step_size(0.1, 5, 3), step_size(0.1, 30, 20)
    (0.1, 1, 3.0)
    """
    return max(1, share * width) if is_integer(current) else share * width


def is_integer(value: float) -> bool:
    """Whether the pattern author wrote an integer (3, not 3.0)."""
    return isinstance(value, int)


def _rounded(value: float, like: float) -> float:
    """An integer where the current value is one, else three significant digits."""
    return round(float(value)) if is_integer(like) else float(f"{float(value):.3g}")


def _spread(low: float, high: float, count: int, like: float) -> set[float]:
    return {_rounded(value, like) for value in np.linspace(low, high, count)}


def build_grids(items: Sequence[JudgedItem], parameters: Overlay, replay: Replay) -> list[ParameterGrid]:
    """A grid for each parameter that changes what is detected, all replayed together."""
    points = [
        (name, value)
        for name, current in sorted(parameters.items())
        if current != 0
        for value in sorted({*_spread(*search_range(current), COARSE, current), current})
    ]
    columns: dict[str, dict[float, Bools]] = defaultdict(dict)
    for (name, value), hits in zip(points, _replayed(items, points, replay), strict=True):
        if hits is not None:
            columns[name][value] = hits
    grids = [_grid(name, parameters[name], own) for name, own in columns.items()]
    return [grid for grid in grids if (grid.hits != grid.hits[:, :1]).any()]


def refine(
    grid: ParameterGrid, items: Sequence[JudgedItem], replay: Replay, low: float, high: float
) -> ParameterGrid:
    """The grid with more values between two places."""
    more = sorted(_spread(low, high, FINE, grid.current) - {*grid.values})
    if not more:
        return grid
    hits = _replayed(items, [(grid.parameter, value) for value in more], replay)
    columns = dict(zip(grid.values, grid.hits.T, strict=True))
    columns |= {value: own for value, own in zip(more, hits, strict=True) if own is not None}
    return _grid(grid.parameter, grid.current, columns)


def _replayed(
    items: Sequence[JudgedItem], points: Sequence[tuple[str, float]], replay: Replay
) -> Iterable[Bools | None]:
    for detections in replay([{name: value} for name, value in points]):
        yield None if detections is None else detected_again(items, detections)


def _grid(name: str, current: float, columns: Mapping[float, Bools]) -> ParameterGrid:
    values = sorted(columns)
    return ParameterGrid(name, current, tuple(values), np.column_stack([columns[value] for value in values]))
