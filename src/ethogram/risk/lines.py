"""Lines: other values for one parameter, and which judged things each would still have found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..records import Detection
from .judged import Bools, Judged, found_again

Overlay = Mapping[str, float]
Replay = Callable[[Sequence[Overlay]], Iterable[Sequence[Detection] | None]]
"""The detections with each of these overlays, in the same order; all at once, so that work can be shared.

None for one that makes no pattern, such as a window of no events.
"""
COARSE, FINE = 9, 9
"""Values on a line at first, and between its interesting neighbours afterwards."""
SMALL = 3
"""How far a small whole number is moved each way."""


@dataclass(frozen=True, slots=True)
class Line:
    """One parameter: its values in rising order, and for each (column) what is still found (row)."""

    parameter: str
    now: float
    values: tuple[float, ...]
    kept: Bools

    @property
    def width(self) -> float:
        """From the lowest to the highest value."""
        return self.values[-1] - self.values[0]

    @property
    def kept_now(self) -> Bools:
        """What the present value still finds."""
        return self.kept[:, self.column(self.now)]

    def column(self, value: float) -> int:
        """The place of the value nearest to this one."""
        return int(np.abs(np.array(self.values) - value).argmin())


def span_of(now: float) -> tuple[float, float]:
    """Where to look for a parameter whose limits nobody told.

    A share anywhere, a small whole number three each way, all else from half of it to the double.

    >>> span_of(0.25), span_of(12.5), span_of(3), span_of(20)
    ((0.0, 1.0), (6.25, 25.0), (1, 6), (10, 40))
    """
    if is_whole(now) and abs(now) <= 2 * SMALL:
        return max(min(1, now), now - SMALL), now + SMALL
    if 0 < now < 1:
        return 0.0, 1.0
    ends = _written(now / 2, now), _written(now * 2, now)
    return min(ends), max(ends)


def reach(share: float, width: float, now: float) -> float:
    """How far a share of a line's width goes from the present value: of a whole number, one at least.

    >>> reach(0.1, 1.0, 0.3), reach(0.1, 5, 3), reach(0.1, 30, 20)
    (0.1, 1, 3.0)
    """
    return max(1, share * width) if is_whole(now) else share * width


def is_whole(value: float) -> bool:
    """Whether a parameter counts something: its author wrote a whole number (3, and not 3.0)."""
    return isinstance(value, int)


def coarse(now: float, span: tuple[float, float]) -> tuple[float, ...]:
    """A few values over the whole span, with the present one among them.

    >>> coarse(3, (1, 6)), coarse(0.25, (0, 1))[:4]
    ((1, 2, 3, 4, 5, 6), (0.0, 0.125, 0.25, 0.375))
    """
    return tuple(sorted({*(_written(one, now) for one in np.linspace(*span, COARSE)), now}))


def between(line: Line, low: float, high: float) -> tuple[float, ...]:
    """Further values from one place on a line to another."""
    return tuple(sorted({_written(one, line.now) for one in np.linspace(low, high, FINE)} - {*line.values}))


def _written(value: float, like: float) -> float:
    """A number as a person would write it: whole where the present one is, else with three digits."""
    return round(float(value)) if is_whole(like) else float(f"{float(value):.3g}")


def lines(
    judged: Sequence[Judged],
    parameters: Overlay,
    replay: Replay,
    spans: Mapping[str, tuple[float, float]] | None = None,
) -> list[Line]:
    """A line for each parameter that makes a difference to what is found, all replayed in one go."""
    spans = spans or {}
    grids = {
        name: coarse(now, spans.get(name, span_of(now)))
        for name, now in sorted(parameters.items())
        if now != 0 or name in spans
    }
    asked = [(name, value) for name, grid in grids.items() for value in grid]
    columns: dict[str, dict[float, Bools]] = {name: {} for name in grids}
    for (name, value), one in zip(asked, replay([{name: value} for name, value in asked]), strict=True):
        if one is not None:
            columns[name][value] = found_again(judged, one)
    made = [_line(name, parameters[name], own) for name, own in columns.items() if own]
    return [line for line in made if (line.kept != line.kept[:, :1]).any()]


def _line(name: str, now: float, columns: Mapping[float, Bools]) -> Line:
    values = sorted(columns)
    return Line(name, now, tuple(values), np.column_stack([columns[one] for one in values]))


def finer(line: Line, judged: Sequence[Judged], replay: Replay, low: float, high: float) -> Line:
    """The line with further values between two places."""
    more = between(line, low, high)
    if not more:
        return line
    columns = dict(zip(line.values, line.kept.T, strict=True))
    for value, one in zip(more, replay([{line.parameter: value} for value in more]), strict=True):
        if one is not None:
            columns[value] = found_again(judged, one)
    return _line(line.parameter, line.now, columns)
