"""Validating on people: how often usage patterns speak where nothing is known to be wrong, and what they find
of changes that were planted.

Nobody in these sets is known to have been in trouble, so every opening counts as a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from ..config import Settings
from ..errors import BadUsage
from ..library.load import Library
from ..usage.cohort import find_cohort
from .plant_usage import planted
from .plant_usage_change import CHANGES
from .plant_usage_row import Row
from .plant_usage_steady import STEADY, steady_people, steady_rows
from .validate_runs import set_files, set_name
from .validate_usage_fixed import fixed_episodes
from .validate_usage_found import (
    Opening,
    Progress,
    asked_daily,
    moments,
    openings,
    usage_patterns,
)
from .validate_usage_natural import natural_falls
from .validate_usage_people import HALVES, ZONES, People, person_weeks, read_people, well_known
from .validate_usage_rates import final_silence, rates
from .validate_usage_recall import Found, recall
from .validate_usage_shared import Shared

PATTERNS, DAILY, FIXED = "patterns", "asked daily", "fixed limits"
"""What is compared: the product, its statistics asked at every close of a day, and fixed constants."""
DRAWS = 30
"""Cases in a row by default: both sets then take about four minutes."""
SPARE = 3_650
"""Days of a set from which on silences are asked about on some days only: nobody needs years of them."""

Records = Iterator[dict[str, Any]]


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
        one = _Set(name, zone, half, seed, settings, library, progress)
        people = well_known(read_people(file), half)
        if not people:
            raise BadUsage(f"{name} has nobody with three weeks and thirty events in the half {half!r}")
        yield one.described(people)
        yield from one.false_alarms(people)
        if draws:
            yield from one.planted(people, draws)


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
        self, method: str, people: People, found: Mapping[str, Sequence[Opening]], background: str = "real"
    ) -> Records:
        """Rates of one of them."""
        about = {"set": self.name, "background": background, "method": method}
        return rates(about, people, found, self.zone, self.half, self.seed)

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
        changes = [one for one in CHANGES if self.zone or "night" not in one]
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

    def _found(self, people: People, rows: Sequence[Row]) -> list[list[Found]]:
        """What is found in each case of each row; those of one person are looked at after each other."""
        shared = Shared(self.zone, self.library, self.settings)
        cases = [one for row in rows for one in row.cases]
        found: dict[int, Found] = {}
        for k in sorted(range(len(cases)), key=lambda k: (cases[k].background == STEADY, cases[k].who)):
            case = cases[k]
            base = case.control if case.background == STEADY else people[case.who]
            found[k] = (shared.openings(base, case.times), shared.openings(base, case.control))
            if self.progress is not None:
                self.progress(len(found), len(cases), f"{self.name}: planted changes")
        every = (found[k] for k in range(len(cases)))
        return [list(islice(every, len(row.cases))) for row in rows]
