"""Rates: openings a person-week, for everybody and for groups, with intervals over people.

A person-week counts from the first event to the last, silent weeks with it; an active week is a calendar week
in which the person was there.

An interval comes from drawing as many people again, with replacement: a person with many false alarms is one
person, not many observations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..records import rank
from ..risk.score import over_time
from ..usage.clock import DAY
from .validate_usage_found import Opening
from .validate_usage_people import People, active_weeks, groups_of, person_weeks

LEVELS = ("low", "medium")
"""What rates are given for: this level or above."""
RESAMPLES = 1_000
APART = 7 * DAY
"""Openings of one cause that follow each other within so long are one thing to look at."""
AFTER_DAYS = (3, 7, 14, 28)
ALL, CAUSES = "all", "by cause"

Found = Mapping[str, Sequence[Opening]]


def rates(
    about: Mapping[str, Any], people: People, found: Found, zone: str | None, half: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Records of rates: every group at both levels; for everybody also each pattern, and by cause."""
    weeks, active = person_weeks(people), active_weeks(people, zone)
    known = {who: [one for one in found[who] if one.at <= people[who][-1]] for who in people}
    patterns = sorted({one.pattern for every in known.values() for one in every})
    for group, members in groups_of(people, zone, half).items():
        rows = [ALL, CAUSES, *patterns] if group == ALL else [ALL]
        for level in LEVELS:
            for name in rows:
                counts = [count(name, at_least(known[who], level)) for who in members]
                spans = [weeks[who] for who in members], [active[who] for who in members]
                told = rate(counts, *spans, seed)
                named = {"group": group, "pattern": name, "level": level}
                yield {"record": "usage_rate", **about, **named, **told}


def count(name: str, every: Sequence[Opening]) -> int:
    """How many openings count in a row: those of a pattern, of all that are on, or one for each cause."""
    if name == CAUSES:
        return by_cause(every)
    return sum(one.is_on if name == ALL else one.pattern == name for one in every)


def at_least(every: Iterable[Opening], level: str) -> list[Opening]:
    """The openings of this level or above."""
    return [one for one in every if rank(one.level) >= rank(level)]


def by_cause(every: Sequence[Opening]) -> int:
    """How many openings there are where those of one cause within a week of each other are one."""
    last: dict[str, float] = {}
    count = 0
    for one in sorted(every, key=lambda one: one.at):
        if one.is_on:
            count += one.cause not in last or one.at - last[one.cause] > APART
            last[one.cause] = max(last.get(one.cause, one.at), one.until or one.at)
    return count


def rate(counts: Sequence[int], weeks: Sequence[float], active: Sequence[int], seed: int) -> dict[str, Any]:
    """Openings a person-week and an active week with intervals of 95 %, and the share of people with any."""
    n = len(counts)
    (by_week, interval), (by_active, active_interval) = (
        over_time(counts, span, draws=RESAMPLES, seed=seed) for span in (weeks, active)
    )
    return {
        "people": n,
        "person_weeks": round(sum(weeks), 1),
        "active_weeks": sum(active),
        "openings": sum(counts),
        "rate": round(by_week, 4),
        "interval": [round(end, 4) for end in interval],
        "active_rate": round(by_active, 4),
        "active_interval": [round(end, 4) for end in active_interval],
        "with_any": round(sum(count > 0 for count in counts) / n, 4),
    }


def final_silence(about: Mapping[str, Any], people: People, found: Found) -> Iterator[dict[str, Any]]:
    """How many people count as gone quiet so many days after their last event; it is no false alarm.

    Whoever never came back may have gone quiet or gone elsewhere: nobody knows, so it is told apart.
    """
    for level in LEVELS:
        for days in AFTER_DAYS:
            quiet = sum(
                any(times[-1] < one.at <= times[-1] + days * DAY for one in at_least(found[who], level))
                for who, times in people.items()
            )
            told = {"level": level, "days": days, "people": len(people), "quiet": quiet}
            yield {"record": "usage_silence", **about, **told}
