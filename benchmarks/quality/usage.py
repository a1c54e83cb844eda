"""Validating on people: how often usage patterns speak where nothing is known to be wrong, and what they find
of changes that were planted.

Nobody in these sets is known to have been in trouble, so every opening counts as a false alarm.

`Shared` measures histories that begin alike once as far as they do: a person's own, and each planted change
of it. It gives what `analyze` gives, by the same two steps: readings, then detections, and says when each of
them reached severity medium. A reading depends on earlier events alone, so that of a changed history only
the changed end is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.quality.runs import set_files, set_name
from benchmarks.quality.usage_baseline import fixed_episodes
from benchmarks.quality.usage_changes import CHANGES, Row
from benchmarks.quality.usage_figures import CaseOpenings, final_silence, natural_falls, rates, recall
from benchmarks.quality.usage_people import (
    HALVES,
    KIND,
    ZONES,
    Opening,
    People,
    Progress,
    asked_daily,
    moments,
    opening_of,
    openings,
    person_weeks,
    read_people,
    usage_event,
    usage_patterns,
    well_known,
)
from benchmarks.quality.usage_planting import STEADY, planted, steady_people, steady_rows
from ethogram.app.readings import needed
from ethogram.config import Settings
from ethogram.engine.detections import detection_of
from ethogram.engine.live.engine import Engine
from ethogram.engine.match import CLOSED, ROSE, Match
from ethogram.errors import BadUsage
from ethogram.language.program import Program
from ethogram.models import Event, micros, rank
from ethogram.patterns.library import Library
from ethogram.signals import Measurer, Options, plan
from ethogram.usage.clock import DAY
from ethogram.usage.cohort import find_cohort

PATTERNS, DAILY, FIXED = "patterns", "asked daily", "fixed limits"
"""What is compared: the product, its statistics asked at every close of a day, and fixed constants."""
DRAWS = 30
"""Cases in a row by default: both sets then take about four minutes."""
SPARE = 3_650
"""Days of a set from which on silences are asked about on some days only: nobody needs years of them."""

Record = Mapping[str, Any]
Records = Iterator[dict[str, Any]]
LATER = 28 * DAY
MEDIUM = "medium"


def validate_usage(
    data_dir: str | Path,
    sets: Sequence[str] = (),
    *,
    seed: int,
    draws: int = DRAWS,
    half: str = "all",
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Records:
    """Records about the people of each set, as they are got; `seed` decides every draw.

    Without `sets` those that are known (collegemsg, irc_ubuntu) and are there. `draws` is how many cases of
    each row are planted at most; 0: none. Settings give the zone of people of other sets.
    """
    if half not in HALVES:
        raise BadUsage(f"half must be one of {', '.join(HALVES)}; here is {half!r:.40}")
    settings = settings or Settings()
    library = usage_patterns(settings)
    for file in chosen_files(data_dir, sets):
        name = set_name(file)
        zone = ZONES.get(name, settings.time_zone)
        item = _Set(name, zone, half, seed, settings, library, progress)
        people = well_known(read_people(file), half)
        if not people:
            raise BadUsage(f"{name} has nobody with three weeks and thirty events in the half {half!r}")
        yield item.described(people)
        yield from item.false_alarms(people)
        if draws:
            yield from item.planted(people, draws)


def chosen_files(data_dir: str | Path, sets: Sequence[str]) -> list[Path]:
    """The files of the sets asked for; without any, of those that are known by themselves."""
    files = set_files(data_dir, sets)
    chosen = files if sets else [file for file in files if set_name(file) in ZONES]
    if not chosen:
        known = ", ".join(set_name(file) for file in files)
        raise BadUsage(f"name what to look at with --set: there are {known}")
    return chosen


class _Set:
    """One set, with all that its figures are got with."""

    def __init__(
        self,
        name: str,
        zone: str | None,
        half: str,
        seed: int,
        settings: Settings,
        library: Library,
        progress: Progress | None,
    ) -> None:
        self.name, self.zone, self.half, self.seed = name, zone, half, seed
        self.progress, self.cohort = progress, find_cohort(settings.usage.get("cohort", 1))
        self.library, self.settings = library, settings
        self.detect = partial(openings, zone=zone, library=library, settings=settings, progress=progress)

    def described(self, people: People) -> dict[str, Any]:
        """What is looked at."""
        weeks = person_weeks(people)
        return {
            "record": "usage_set",
            "set": self.name,
            "half": self.half,
            "seed": self.seed,
            "zone": self.zone,
            "cohort": self.cohort.version,
            "people": len(people),
            "events": sum(map(len, people.values())),
            "person_weeks": round(sum(weeks.values()), 1),
            "observed_days": sum(len({at // 86_400 for at in times}) for times in people.values()),
        }

    def false_alarms(self, people: People) -> Records:
        """Rates of the three that are compared, what is said of the final silence, and natural falls."""
        found = self.detect(people, what=f"{self.name}: patterns")
        yield from self.rates_of(PATTERNS, people, found)
        for method, openings_of in self.others(people).items():
            yield from self.rates_of(method, people, openings_of)
        yield from final_silence({"set": self.name}, people, found)
        yield from natural_falls({"set": self.name}, people, self.zone)

    def rates_of(
        self, method: str, people: People, record: Mapping[str, Sequence[Opening]], background: str = "real"
    ) -> Records:
        """Rates of one of them."""
        about = {"set": self.name, "background": background, "method": method}
        return rates(about, people, record, self.zone, self.half, self.seed)

    def others(self, people: People) -> dict[str, dict[str, list[Opening]]]:
        """What asking daily and the fixed limits say of everybody at the same moments."""
        daily, fixed = {}, {}
        spare = any(times[-1] - times[0] > SPARE * 86_400 for times in people.values())
        for k, (who, times) in enumerate(people.items()):
            asked = moments(times, self.zone, spare=spare)
            daily[who] = asked_daily(times, self.zone, asked, self.cohort)
            fixed[who] = [
                Opening(who, name, name, "medium", at, at)
                for name, at in fixed_episodes(times, self.zone, asked)
            ]
            if self.progress is not None:
                self.progress(k + 1, len(people), f"{self.name}: fixed limits")
        return {DAILY: daily, FIXED: fixed}

    def planted(self, people: People, draws: int) -> Records:
        """Recall on planted changes in real and in steady people, and what is said of steady people."""
        # Two to five in the morning is no night where nobody knows whose clock it is.
        changes = [change for change in CHANGES if self.zone or "night" not in change]
        seed = f"{self.seed}/{self.name}"
        rows = [
            *planted(people, self.zone, seed, draws, changes),
            *steady_rows(people, self.zone, f"{seed}/{STEADY}", draws, changes),
        ]
        yield from recall({"set": self.name}, rows, self._found(people, rows))
        calm = steady_people(people, self.zone, f"{seed}/calm")
        if calm:
            found = self.detect(calm, what=f"{self.name}: steady people")
            yield from self.rates_of(PATTERNS, calm, found, STEADY)

    def _found(self, people: People, rows: Sequence[Row]) -> list[list[CaseOpenings]]:
        """What is found in each case of each row; those of one person are looked at after each other."""
        shared = Shared(self.zone, self.library, self.settings)
        cases = [case for row in rows for case in row.cases]
        record: dict[int, CaseOpenings] = {}
        for k in sorted(range(len(cases)), key=lambda k: (cases[k].background == STEADY, cases[k].who)):
            case = cases[k]
            base = case.control if case.background == STEADY else people[case.who]
            record[k] = (shared.openings(base, case.times), shared.openings(base, case.control))
            if self.progress is not None:
                self.progress(len(record), len(cases), f"{self.name}: planted changes")
        every = (record[k] for k in range(len(cases)))
        return [list(islice(every, len(row.cases))) for row in rows]


@dataclass(frozen=True, slots=True)
class Base:
    """A history, its measured events, and what the signals remembered after each of them."""

    times: tuple[int, ...]
    events: tuple[Event, ...]
    states: tuple[Mapping[str, Any], ...]


class Shared:
    """Detects in histories of one zone; of those of one base the common beginning is measured once."""

    def __init__(self, zone: str | None, library: Library, settings: Settings) -> None:
        self.library = library
        self.options = Options.of(replace(settings, time_zone=zone))
        every = plan(needed(library.programs))
        self.signals = tuple(item for item in every if item.kinds is None or KIND in item.kinds)
        self._base: Base | None = None

    def openings(self, base: Sequence[int], times: Sequence[int]) -> list[Opening]:
        """What is found in a history that begins as the base does, for as long as it does."""
        if self._base is None or self._base.times != tuple(base):
            self._base = self._measured(Base((), (), ()), base)
        measured = self._measured(self._base, times)
        as_of = datetime.fromtimestamp(times[-1] + LATER, UTC)
        return watched(self.library.programs, measured.events, as_of)

    def _measured(self, base: Base, times: Sequence[int]) -> Base:
        known = common(base.times, times)
        events, states = list(base.events[:known]), list(base.states[:known])
        measurer = Measurer(signals=self.signals, options=self.options)
        if states:
            measurer.load(states[-1])
        for seq in range(known, len(times)):
            events.append(measurer.measure(usage_event(seq, times[seq])))
            states.append(measurer.save())
        return Base(tuple(times), tuple(events), tuple(states))


def watched(programs: Iterable[Program], events: Sequence[Event], as_of: datetime) -> list[Opening]:
    """What programs (no combinations) find in events of one source, in order, with when it rose to medium."""
    engine = Engine(programs)
    ended: list[Match] = []
    rose: dict[tuple[str, str], float] = {}
    for event in events:
        changes = [*engine.advance(event.source, micros(event.at)), *engine.observe(event)]
        for what, item in changes:
            at = event.at.timestamp() if what == ROSE else item.detected_at / 1e6
            if rank(item.severity) >= rank(MEDIUM):
                rose.setdefault((item.program.name, item.fired.id), at)
        ended += [item for what, item in changes if what == CLOSED]
    for source in list(engine.deadlines.queues):
        engine.advance(source, micros(as_of))
    found = []
    for match in [*ended, *(change.match for change in engine.open())]:
        # What opened after the last event was never told with an event: it opened as it is.
        at = rose.get((match.program.name, match.fired.id), match.detected_at / 1e6)
        found.append((detection_of(match), at if rank(match.severity) >= rank(MEDIUM) else None))
    found.sort(key=lambda pair: pair[0].order)
    return [replace(opening_of(made), medium_at=at) for made, at in found]


def common(numbers: Sequence[int], other: Sequence[int]) -> int:
    """How many times both begin with.

    >>> common([1, 2, 5], [1, 2, 4, 5])
    2
    """
    shorter = min(len(numbers), len(other))
    return next((k for k in range(shorter) if numbers[k] != other[k]), shorter)


def summary(records: Sequence[Record], seed: int, draws: int, half: str, data: str) -> dict[str, Any]:
    """The last record: how it was got, and for each set the rates and recall that bars are set for."""
    names = [item["set"] for item in records if item["record"] == "usage_set"]
    return {
        "record": "usage_summary",
        "seed": seed,
        "draws": draws,
        "half": half,
        "data": data,
        "sets": {name: _bars([item for item in records if item["set"] == name]) for name in names},
    }


def _bars(records: Iterable[Record]) -> dict[str, Any]:
    rows = list(records)
    rates = {
        row["severity"]: row["rate"]
        for row in rows
        if row["record"] == "usage_rate" and _key(row) == ("real", "patterns", "all", "all")
    }
    recall: dict[str, dict[str, float | None]] = {"low": {}, "medium": {}}
    for row in rows:
        if row["record"] == "usage_recall":
            name = f"{row['change']}/{row['background']}/{row['measure']}"
            name += "" if row["rise"] is None else f"/rise {row['rise']}"
            recall[row["severity"]][name] = row["recall"]
    return {"rate": rates, "recall": recall}


def _key(record: Record) -> tuple[str, ...]:
    return record["background"], record["method"], record["group"], record["pattern"]
