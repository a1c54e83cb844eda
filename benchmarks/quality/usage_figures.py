"""Rates: openings a person-week, for everybody and for groups, with intervals over people.

A person-week counts from the first event to the last, silent weeks with it; an active week is a calendar week
in which the person was there.

An interval comes from drawing as many people again, with replacement: a person with many false alarms is one
person, not many observations.

Recall: how many planted changes are found, how soon, and how many would have been by luck.

The control is the same period of the same person without the change: what is found there would have been
counted as a hit too.

Natural falls: how often people fall to a fifth of what was to be expected, with nothing planted.

What happens by itself so often bounds what any detector of a withdrawal can do: it is found too, and counts
as a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import median
from typing import Any

from benchmarks.quality.separation import over_time
from benchmarks.quality.usage_changes import WANTED, Case, Row
from benchmarks.quality.usage_people import Opening, People, active_weeks, groups_of, person_weeks
from benchmarks.quality.usage_planting import LEAST, LENGTHS, MONTH
from ethogram.models import rank
from ethogram.stats import wilson
from ethogram.usage.clock import DAY, day_of, offset

SEVERITIES = ("low", "medium")
"""What rates are given for: this severity or above."""
RESAMPLES = 1_000
APART = 7 * DAY
"""Openings of one cause that follow each other within so long are one thing to look at."""
AFTER_DAYS = (3, 7, 14, 28)
ALL, CAUSES = "all", "by cause"

Found = Mapping[str, Sequence[Opening]]
CaseOpenings = tuple[Sequence[Opening], Sequence[Opening]]
"""What was found in a case: with the change, and without it."""
OPEN_FOR = 7 * DAY
"""A pattern that was open so shortly before a change may be silent about it: it was told already."""
BANDS = ((10.0, 15.0), (15.0, 30.0), (30.0, None))
FALLEN = 0.2
RECOVERED = 0.5
KNOWN_DAYS = 14


def rates(
    about: Mapping[str, Any], people: People, result: Found, zone: str | None, half: str, seed: int
) -> Iterator[dict[str, Any]]:
    """Records of rates: every group at both severities; for everybody also each pattern, and by cause."""
    weeks, active = person_weeks(people), active_weeks(people, zone)
    known = {who: [item for item in result[who] if item.at <= people[who][-1]] for who in people}
    patterns = sorted({item.pattern for every in known.values() for item in every})
    for group, members in groups_of(people, zone, half).items():
        rows = [ALL, CAUSES, *patterns] if group == ALL else [ALL]
        for severity in SEVERITIES:
            for name in rows:
                counts = [count(name, at_least(known[who], severity)) for who in members]
                spans = [weeks[who] for who in members], [active[who] for who in members]
                record = rate(counts, *spans, seed)
                named = {"group": group, "pattern": name, "severity": severity}
                yield {"record": "usage_rate", **about, **named, **record}


def count(name: str, every: Sequence[Opening]) -> int:
    """How many openings count in a row: those of a pattern, of all that are on, or one for each cause."""
    if name == CAUSES:
        return by_cause(every)
    return sum(item.is_on if name == ALL else item.pattern == name for item in every)


def at_least(every: Iterable[Opening], severity: str) -> list[Opening]:
    """The openings of this severity or above."""
    return [item for item in every if rank(item.severity) >= rank(severity)]


def by_cause(every: Sequence[Opening]) -> int:
    """How many openings there are where those of one cause within a week of each other are one."""
    last: dict[str, float] = {}
    count = 0
    for item in sorted(every, key=lambda item: item.at):
        if item.is_on:
            count += item.cause not in last or item.at - last[item.cause] > APART
            last[item.cause] = max(last.get(item.cause, item.at), item.until or item.at)
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


def final_silence(about: Mapping[str, Any], people: People, result: Found) -> Iterator[dict[str, Any]]:
    """How many people count as gone quiet so many days after their last event; it is no false alarm.

    Whoever never came back may have gone quiet or gone elsewhere: nobody knows, so it is told apart.
    """
    for severity in SEVERITIES:
        for days in AFTER_DAYS:
            quiet = sum(
                any(times[-1] < item.at <= times[-1] + days * DAY for item in at_least(result[who], severity))
                for who, times in people.items()
            )
            told = {"severity": severity, "days": days, "people": len(people), "quiet": quiet}
            yield {"record": "usage_silence", **about, **told}


def recall(
    about: Mapping[str, Any], rows: Sequence[Row], case_openingseses: Sequence[Sequence[CaseOpenings]]
) -> Iterator[dict[str, Any]]:
    """Records of recall at both severities; `found` has what was found in each case of each row."""
    for row, own in sorted(zip(rows, case_openingseses, strict=True), key=lambda pair: _order(pair[0])):
        named = {"change": row.change, "background": row.background, "measure": row.measure, "rise": row.rise}
        came_to = [case.reached for case in row.cases if case.reached is not None]
        drawn = {
            "drawn": row.drawn,
            "too_small": row.too_small,
            "reached": round(median(came_to), 4) if came_to else None,
        }
        for severity in SEVERITIES:
            told = [(case, delay(case, item[0], severity)) for case, item in zip(row.cases, own, strict=True)]
            luck = [delay(case, item[1], severity) for case, item in zip(row.cases, own, strict=True)]
            figures = _figures(told, luck)
            yield {"record": "usage_recall", **about, **named, "severity": severity, **drawn, **figures}


def _order(row: Row) -> tuple[str, float, str, str]:
    return row.change, row.rise or 0.0, row.background, row.measure


def delay(case: Case, openings: Sequence[Opening], severity: str) -> float | None:
    """Days from the change until a wanted pattern reached the severity; infinite: never; None: open before.

    A case in which one was open at this severity when the change came says nothing about the change, whatever
    was told afterwards.
    """
    wanted = [
        (at, item.until)
        for item in openings
        if item.pattern in WANTED[case.change] and (at := reached_at(item, severity)) is not None
    ]
    if any(at <= case.start and (until is None or until > case.start - OPEN_FOR) for at, until in wanted):
        return None
    after = [at for at, _ in wanted if case.start < at <= case.stop]
    return (min(after) - case.start) / DAY if after else float("inf")


def reached_at(opening: Opening, severity: str) -> float | None:
    """When an opening reached this severity or a higher one; None: it did not."""
    if rank(opening.severity) < rank(severity):
        return None
    return opening.medium_at if severity == "medium" else opening.at


def _figures(caseses: Sequence[tuple[Case, float | None]], luck: Sequence[float | None]) -> dict[str, Any]:
    fresh = [(case, days) for case, days in caseses if days is not None]
    hits = [days for _, days in fresh if days < float("inf")]
    chance = [days for days in luck if days is not None]
    by_luck = sum(days < float("inf") for days in chance)
    return {
        "cases": len(fresh),
        "people": len({case.who for case, _ in fresh}),
        "open_before": len(caseses) - len(fresh),
        "found": len(hits),
        "recall": _share(len(hits), len(fresh)),
        "interval": _interval(len(hits), len(fresh)),
        "delay_days": round(median(hits), 1) if hits else None,
        "control_found": by_luck,
        "control": _share(by_luck, len(chance)),
        "control_interval": _interval(by_luck, len(chance)),
        "by_expected": [_band(fresh, low, high) for low, high in BANDS],
    }


def _band(
    fresh: Sequence[tuple[Case, float]], low: float, high: float | None
) -> dict[str, float | int | None]:
    some = [days for case, days in fresh if low <= case.expected and (high is None or case.expected < high)]
    return {"from": low, "below": high, "cases": len(some), "found": sum(d < float("inf") for d in some)}


def _share(number: int, of: int) -> float | None:
    return round(number / of, 4) if of else None


def _interval(number: int, of: int) -> list[float] | None:
    return [round(end, 4) for end in wilson(number, of)] if of else None


def natural_falls(about: Mapping[str, Any], people: People, zone: str | None) -> Iterator[dict[str, Any]]:
    """For each length of period: the share of periods that fell so, and falls a person-week."""
    weeks = sum(person_weeks(people).values())
    daily = [days_of(times, zone) for times in people.values()]
    for length in LENGTHS:
        ratios = [list(period_ratios(days, length)) for days in daily]
        known = [item for own in ratios for item in own if item is not None]
        fallen = sum(item <= FALLEN for item in known)
        yield {
            "record": "usage_fall",
            **about,
            "days": length,
            "periods": len(known),
            "fallen": fallen,
            "share": round(fallen / len(known), 4) if known else None,
            "falls": sum(map(falls, ratios)),
            "rate": round(sum(map(falls, ratios)) / weeks, 4),
        }


def days_of(times: Sequence[int], zone: str | None) -> list[int]:
    """Events of each day on the own clock, from the first to the last."""
    days = [day_of(at, offset(at, zone)) for at in times]
    counts = [0] * (days[-1] - days[0] + 1)
    for day in days:
        counts[day - days[0]] += 1
    return counts


def period_ratios(days: Sequence[int], length: int) -> Iterator[float | None]:
    """What every period of so many days had over what the four weeks before it promise.

    None where that is less than ten events.
    """
    sums = [0, *accumulate(days)]
    for start in range(KNOWN_DAYS, len(days) - length + 1):
        back = max(0, start - MONTH)
        expected = (sums[start] - sums[back]) / (start - back) * length
        if expected < LEAST:
            yield None
        else:
            yield (sums[start + length] - sums[start]) / expected


def falls(ratios: Sequence[float | None]) -> int:
    """How often a fall began: over once a period has half of what was to be expected again.

    >>> falls([1.0, 0.2, 0.1, 0.3, 0.6, 0.0, None])
    2
    """
    count, is_down = 0, False
    for ratio in ratios:
        if ratio is None:
            continue
        count += ratio <= FALLEN and not is_down
        is_down = ratio <= RECOVERED if is_down else ratio <= FALLEN
    return count
