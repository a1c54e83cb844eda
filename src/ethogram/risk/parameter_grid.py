"""Parameter grids: other values of a parameter, and what each would find."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ..models import Detection, Verdict
from .verdicts import TRUE, standings

# Judged: things whose truth is known, and which of them other parameters would still have found.

Whose = tuple[str, ...]
"""Source, subject, the program's name, and what else the pattern's histories are kept apart by."""
NEVER = datetime.max.replace(tzinfo=UTC)
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Stretch:
    """When something was going on, and in whose history; ends included."""

    whose: Whose
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Judged:
    """One thing that judges agree on: whether it was there (`true`), and whether it was detected.

    `group` is what is drawn and left out together, since what one subject does is alike.
    """

    id: str
    true: bool
    detected: bool
    stretch: Stretch
    group: str


def group_of(detection: Detection) -> str:
    """Whose a detection is; where a pattern looks at single runs or threads, each of them is for itself.

    One agent may make all runs there are, and they are as independent as its tasks.
    """
    return "\0".join((detection.source, detection.subject, str(detection.history.get("thread", ""))))


def judged_detections(verdicts: Iterable[Verdict], detections: Iterable[Detection]) -> list[Judged]:
    """The detections that judges agree on, whatever version found them; disputed ones are left out."""
    about = {detection.id: detection for detection in detections}
    out = []
    for item, standing in sorted(standings(verdicts).items()):
        if item[0] == "detection" and item[1] in about and standing.verdict != "disputed":
            entry = about[item[1]]
            out.append(Judged(entry.id, standing.verdict in TRUE, True, stretch_of(entry), group_of(entry)))
    return out


def judged_misses(
    verdicts: Iterable[Verdict], stretches: Mapping[tuple[str, str, str, str], Stretch]
) -> list[Judged]:
    """What judges agree was missed; `stretches` tells when, by source, subject, first and last event."""
    out = []
    for item, standing in sorted(standings(verdicts).items()):
        where = stretches.get(item[2:6]) if item[0] == "silence" else None  # type: ignore[arg-type]
        if where is not None and standing.verdict == "missed":
            out.append(Judged("\0".join(item), True, False, where, "\0".join((*where.whose[:2], ""))))
    return out


def stretch_of(detection: Detection) -> Stretch:
    """From where an episode opened to where it was last known to hold; an open one has no end yet."""
    other = [str(value) for name, value in sorted(detection.history.items()) if name != "subject"]
    end = (
        NEVER
        if detection.state == "opened"
        else max(detection.held_at, detection.closed_at or detection.held_at)
    )
    return Stretch(
        (detection.source, detection.subject, detection.pattern, *other),
        min(detection.opened_at, detection.detected_at),
        end,
    )


def found_again(judged: Sequence[Judged], detections: Iterable[Detection]) -> Bools:
    """For each judged thing, whether one of these detections lies in the same history at the same time.

    By time and not by id, since with another threshold an episode opens at another event. A stretch told
    with source and subject alone meets any history of that subject, one told with the pattern too any that
    this one of its programs looks at.
    """
    by: dict[Whose, list[Stretch]] = defaultdict(list)
    for detection in detections:
        stretch = stretch_of(detection)
        for length in {2, 3, len(stretch.whose)}:
            by[stretch.whose[:length]].append(stretch)
    met = [any(_meet(item, thing.stretch) for item in by[thing.stretch.whose]) for thing in judged]
    return np.array(met, dtype=bool)


def _meet(stretch: Stretch, other: Stretch) -> bool:
    return stretch.start <= other.end and other.start <= stretch.end


# Lines: other values for one parameter, and which judged things each would still have found.

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
    return tuple(sorted({*(_written(item, now) for item in np.linspace(*span, COARSE)), now}))


def between(line: Line, low: float, high: float) -> tuple[float, ...]:
    """Further values from one place on a line to another."""
    return tuple(sorted({_written(item, line.now) for item in np.linspace(low, high, FINE)} - {*line.values}))


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
    for (name, value), item in zip(asked, replay([{name: value} for name, value in asked]), strict=True):
        if item is not None:
            columns[name][value] = found_again(judged, item)
    made = [_line(name, parameters[name], own) for name, own in columns.items() if own]
    return [line for line in made if (line.kept != line.kept[:, :1]).any()]


def _line(name: str, now: float, columns: Mapping[float, Bools]) -> Line:
    values = sorted(columns)
    return Line(name, now, tuple(values), np.column_stack([columns[value] for value in values]))


def finer(line: Line, judged: Sequence[Judged], replay: Replay, low: float, high: float) -> Line:
    """The line with further values between two places."""
    more = between(line, low, high)
    if not more:
        return line
    columns = dict(zip(line.values, line.kept.T, strict=True))
    for value, item in zip(more, replay([{line.parameter: value} for value in more]), strict=True):
        if item is not None:
            columns[value] = found_again(judged, item)
    return _line(line.parameter, line.now, columns)
