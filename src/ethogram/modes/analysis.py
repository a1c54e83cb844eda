"""Analysis: what was found, with what was quiet and what could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ..detections.find import Found
from ..errors import Fault
from ..ingest import Gathered
from ..library.load import Library
from ..records import Detection, format_time, rank
from ..records.mute import Muting
from ..shapes.finding import Insufficient
from ..shapes.program import Program
from .run_record import Run
from .traces import Traces
from .unread import Unread


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one pattern: in how many histories it was looked for, and what came of it."""

    pattern: str
    histories: int
    detections: int
    insufficient: int

    @property
    def quiet(self) -> bool:
        """Whether nothing was found, and something could have been."""
        return not self.detections and self.histories > self.insufficient


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found. Iterating gives the detections; `kept` are those of patterns under test.

    `as_of` is None where nothing was asked about and there was no event to take it from.
    """

    detections: tuple[Detection, ...]
    kept: tuple[Detection, ...]
    insufficient: tuple[Insufficient, ...]
    checked: tuple[Checked, ...]
    as_of: datetime | None
    events: int
    subjects: int
    repeated: int = 0
    after_as_of: int = 0
    bad: tuple[Fault, ...] = ()
    bad_count: int = 0
    unused: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unmeasured: Mapping[tuple[str, str], int] = field(default_factory=dict)
    unknown: tuple[Unread, ...] = ()
    traces: Traces = field(default_factory=Traces)
    muting: Muting = field(default_factory=Muting)
    evaluated: Mapping[str, Any] | None = None
    """What an evaluator did before, as `ethogram evaluate` tells it; None where nobody was asked."""

    @property
    def every(self) -> list[Detection]:
        """What was found of the patterns asked for, those under test included, in output order."""
        return sorted((*self.detections, *self.kept), key=lambda one: one.order)

    def with_counts(self, *, events: int, **more: Any) -> Analysis:
        """The same, with what only whoever saw the events can count; it had the events after `as_of` too."""
        changed: Analysis = replace(self, events=events, after_as_of=self.events - events, **more)
        return changed

    def __iter__(self) -> Iterator[Detection]:
        return iter(self.detections)

    def __len__(self) -> int:
        return len(self.detections)

    def at_or_above(self, level: str) -> list[Detection]:
        """The detections at this level or a graver one, those that an untrusted file mutes included."""
        every = (*self.detections, *(one for one, _ in self.muting.shown))
        return [one for one in every if rank(one.level) >= rank(level)]

    def told(self, *, muted: bool = False) -> list[Detection]:
        """The detections, and the muted ones if asked for."""
        return [*self.detections, *(one for one, _ in self.muting.muted if muted)]

    def to_dicts(self, *, muted: bool = False, runs: Iterable[Run] = ()) -> Iterator[dict[str, Any]]:
        """JSON records: detections, runs with any, insufficient ones, a summary.

        Muted detections if asked for, and always those that an untrusted file mutes.
        """
        for one in self.detections:
            yield one.to_dict()
        shown = {one.id for _, one in self.muting.shown}
        for one, by in self.muting.muted:
            if muted or by in shown:
                yield {**one.to_dict(), "muted": by, **({"muted_by_untrusted": True} if by in shown else {})}
        yield from (run.to_dict() for run in runs if run.episodes)
        for lacking in self.insufficient:
            yield insufficient_to_dict(lacking)
        yield self.summary()

    def summary(self) -> dict[str, Any]:
        """Counts of what was read, checked and left out."""
        return {
            "record": "summary",
            "as_of": None if self.as_of is None else format_time(self.as_of),
            "events": self.events,
            "subjects": self.subjects,
            "detections": len(self.detections),
            "muted": self.muting.summary(),
            "under_test": len(self.kept),
            "insufficient": len(self.insufficient),
            "checked": [
                {
                    "pattern": one.pattern,
                    "histories": one.histories,
                    "detections": one.detections,
                    "insufficient": one.insufficient,
                }
                for one in self.checked
            ],
            "repeated": self.repeated,
            "after_as_of": self.after_as_of,
            "bad": self.bad_count,
            "unused_readings": [
                {"signal": signal, "scorer": scorer, "count": count}
                for (signal, scorer), count in sorted(self.unused.items())
            ],
            "evaluated": self.evaluated,
            "unmeasured": [
                {"signal": signal, "reason": reason, "count": count}
                for (signal, reason), count in sorted(self.unmeasured.items())
            ],
            "unknown_readings": [
                {"signal": one.signal, "count": one.count, "near": list(one.near)} for one in self.unknown
            ],
        }


def insufficient_to_dict(one: Insufficient) -> dict[str, Any]:
    """The JSON form of a history about which a pattern cannot say yes or no."""
    history = dict(zip(one.program.history, one.key, strict=True))
    return {
        "record": "insufficient",
        "pattern": one.program.name,
        "source": one.source,
        "subject": history["subject"],
        "history": history,
        "have": one.have,
        "need": one.need if one.need > 1 else None,
        "reason": one.reason,
    }


def summed_up(library: Library, found: Found, gathered: Gathered, as_of: datetime | None) -> Analysis:
    """What was found of the patterns asked for; `events` are all that were read."""
    chosen = {program.name: program for program in library.programs if library.is_chosen(program)}
    told = [one for one in found.detections if one.pattern in chosen]
    lacking = tuple(one for one in found.insufficient if one.program.name in chosen)
    return Analysis(
        detections=tuple(one for one in told if one.status != "test"),
        kept=tuple(one for one in told if one.status == "test"),
        insufficient=lacking,
        checked=checked_patterns(chosen, found.checked, told, lacking),
        as_of=as_of,
        events=len(gathered.events),
        subjects=0,
        repeated=gathered.repeated,
        bad=gathered.bad,
        bad_count=gathered.bad_count,
    )


def checked_patterns(
    chosen: Mapping[str, Program],
    histories: Mapping[str, int],
    detections: Iterable[Detection],
    insufficient: Iterable[Insufficient],
) -> tuple[Checked, ...]:
    """What became of every pattern that was asked for."""
    found = Counter(one.pattern for one in detections)
    lacking = Counter(one.program.name for one in insufficient)
    return tuple(Checked(name, histories.get(name, 0), found[name], lacking[name]) for name in sorted(chosen))
