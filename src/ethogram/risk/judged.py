"""Judged: things whose truth is known, and which of them other parameters would still have found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ..records import Detection, Verdict
from .standing import TRUE, standings

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


def group_of(one: Detection) -> str:
    """Whose a detection is; where a pattern looks at single runs or threads, each of them is for itself.

    One agent may make all runs there are, and they are as independent as its tasks.
    """
    return "\0".join((one.source, one.subject, str(one.history.get("thread", ""))))


def judged_detections(verdicts: Iterable[Verdict], detections: Iterable[Detection]) -> list[Judged]:
    """The detections that judges agree on, whatever version found them; disputed ones are left out."""
    about = {one.id: one for one in detections}
    out = []
    for item, standing in sorted(standings(verdicts).items()):
        if item[0] == "detection" and item[1] in about and standing.verdict != "disputed":
            one = about[item[1]]
            out.append(Judged(one.id, standing.verdict in TRUE, True, stretch_of(one), group_of(one)))
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


def stretch_of(one: Detection) -> Stretch:
    """From where an episode opened to where it was last known to hold; an open one has no end yet."""
    other = [str(value) for name, value in sorted(one.history.items()) if name != "subject"]
    end = NEVER if one.state == "opened" else max(one.held_at, one.closed_at or one.held_at)
    return Stretch((one.source, one.subject, one.pattern, *other), min(one.opened_at, one.detected_at), end)


def found_again(judged: Sequence[Judged], detections: Iterable[Detection]) -> Bools:
    """For each judged thing, whether one of these detections lies in the same history at the same time.

    By time and not by id, since with another threshold an episode opens at another event. A stretch told
    with source and subject alone meets any history of that subject, one told with the pattern too any that
    this one of its programs looks at.
    """
    by: dict[Whose, list[Stretch]] = defaultdict(list)
    for one in detections:
        stretch = stretch_of(one)
        for length in {2, 3, len(stretch.whose)}:
            by[stretch.whose[:length]].append(stretch)
    met = [any(_meet(one, thing.stretch) for one in by[thing.stretch.whose]) for thing in judged]
    return np.array(met, dtype=bool)


def _meet(one: Stretch, other: Stretch) -> bool:
    return one.start <= other.end and other.start <= one.end
