"""Episodes: a script, varied and set into a copy of somebody's history.

A script is a firing example of a pattern, with which of its events make it fire.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from benchmarks.quality.background import Background, varying
from ethogram.app.readings import measured_events
from ethogram.config import Settings
from ethogram.engine.detect import find
from ethogram.errors import BadUsage
from ethogram.ingest import in_order
from ethogram.language.program import Program
from ethogram.models import EPOCH, Detection, Event
from ethogram.models.detection import base_pattern
from ethogram.patterns.examples import START
from ethogram.patterns.library import Library
from ethogram.patterns.pattern_file import PatternFile

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
JITTER = 2.0
"""How much of the time to its nearest neighbour an event may be moved, as a multiple of the noise."""
MOST_MOVED = timedelta(minutes=10)
MOST_BETWEEN = 2
"""Innocent events set between two events of an episode, at most."""
NAMES = ("target", "thread", "session")
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Setting:
    """How episodes differ from the examples.

    `strength` is drawn between two numbers: 1 is that of the example, 0 that of the background. `noise` is
    the standard deviation of what is added to a reading, and moves events in time too. `gaps` is how likely
    an innocent event stands between two of the episode.
    """

    strength: tuple[float, float] = (0.6, 1.0)
    noise: float = 0.05
    gaps: float = 0.3


@dataclass(frozen=True, slots=True)
class Episode:
    """One planted episode, with the history around it. `source` is its own, so that nothing else is in it.

    `planted` are the ids of all its events, `acts` of those that make the pattern.
    """

    pattern: str
    number: int
    story: str
    strength: float
    source: str
    events: tuple[Event, ...]
    planted: frozenset[str]
    acts: frozenset[str]
    until: datetime


def episode(
    pattern: str,
    number: int,
    script: Script,
    background: Background,
    setting: Setting,
    seed: int,
    *,
    scrambled: bool = False,
) -> Episode:
    """The episode of that number: the same for the same seed, pattern and background.

    `scrambled` puts what happens in another order and changes nothing else: what is then still found was
    not found by its order.
    """
    rng = random.Random(f"{seed}:{pattern}:{number}")
    strength = rng.uniform(*setting.strength)
    source = f"{pattern}:{number}"
    hosts = _hosts(script, background, rng)
    anchor = rng.choice(hosts[script.events[0].subject])
    shift = _whole_days(anchor.at - script.events[0].at) + rng.randint(-1, 1) * DAY
    how = varying(script.events, background.means, strength, setting.noise)
    events = _reordered(script, rng)
    if scrambled:
        events = _scrambled(script, events, random.Random(f"{seed}:{pattern}:{number}:order"))
    named = _names(script, hosts, number, rng)
    acts = [
        replace(
            _renamed(event, named),
            id=f"planted-{place + 1}",
            source=source,
            timed=background.timed,
            at=event.at + shift,
            readings=how.varied(event.readings, rng),
        )
        for place, event in enumerate(events)
    ]
    acts = _jittered(acts, min(JITTER * setting.noise, 0.4), rng)
    between = _between(acts, background, setting.gaps, rng)
    around = [
        replace(event, source=source, id=f"host-{event.id}", reply_to=_answered(event))
        for own in hosts.values()
        for event in own
        if not acts[-1].at < event.at <= acts[-1].at + script.after
    ]
    whole = _in_order([*acts, *between, *around], anchored=background.timed)
    return Episode(
        pattern,
        number,
        script.story,
        strength,
        source,
        tuple(whole),
        frozenset(act.id for act in acts),
        frozenset(act.id for place, act in enumerate(acts) if place in script.acts),
        acts[-1].at + script.after,
    )


def _hosts(script: Script, background: Background, rng: random.Random) -> dict[str, list[Event]]:
    """For every subject of the script the history of another one in the background."""
    wanted = list(dict.fromkeys(event.subject for event in script.events))
    drawn = background.draw(len(wanted), rng)
    return dict(zip(wanted, drawn, strict=True))


def _whole_days(distance: timedelta) -> timedelta:
    """To the nearest day, so that what happens at night stays at night."""
    return round(distance / DAY) * DAY


def _reordered(script: Script, rng: random.Random) -> list[Event]:
    """The events with what does not matter for the pattern in another order, at the same times."""
    return _swapped(script.events, script.fillers, rng)


def _scrambled(script: Script, events: Sequence[Event], rng: random.Random) -> list[Event]:
    return _swapped(events, sorted(script.acts), rng)


def _swapped(events: Sequence[Event], places: Sequence[int], rng: random.Random) -> list[Event]:
    drawn = list(places)
    rng.shuffle(drawn)
    out = list(events)
    for place, other in zip(places, drawn, strict=True):
        here = events[place]
        out[place] = replace(events[other], id=here.id, at=here.at, seq=here.seq, reply_to=here.reply_to)
    return out


def _names(
    script: Script, hosts: Mapping[str, Sequence[Event]], number: int, rng: random.Random
) -> dict[tuple[str, str], str]:
    """New names for the people, threads and sessions of a script: of the host's own where it has any."""
    people = {subject: own[0].subject for subject, own in hosts.items()}
    named = {("subject", old): new for old, new in people.items()}
    ids = {event.id: f"planted-{place + 1}" for place, event in enumerate(script.events)}
    named |= {("reply_to", old): new for old, new in ids.items()}
    for field in NAMES:
        own = sorted(
            {value for events in hosts.values() for event in events if (value := getattr(event, field))}
        )
        rng.shuffle(own)
        for old in dict.fromkeys(value for event in script.events if (value := getattr(event, field))):
            fresh = f"{old}-{number}"
            named[field, old] = people.get(old, "") if field == "target" else ""
            named[field, old] = named[field, old] or (own.pop() if own else fresh)
    return named


def _renamed(event: Event, named: Mapping[tuple[str, str], str]) -> Event:
    new = {
        field: named[field, old]
        for field in ("subject", "reply_to", *NAMES)
        if (old := getattr(event, field)) is not None and (field, old) in named
    }
    return replace(event, **new)  # type: ignore[arg-type]


def _jittered(events: Sequence[Event], share: float, rng: random.Random) -> list[Event]:
    """The events moved a little in time, never past one another."""
    out = []
    for place, event in enumerate(events):
        near = [abs(event.at - events[i].at) for i in (place - 1, place + 1) if 0 <= i < len(events)]
        room = min([share * item for item in near] + [MOST_MOVED])
        out.append(replace(event, at=event.at + rng.uniform(-1, 1) * room))
    return out


def _between(acts: Sequence[Event], background: Background, gaps: float, rng: random.Random) -> list[Event]:
    """Innocent events between those of the episode, with the same people and threads."""
    out: list[Event] = []
    for before, after in pairwise(acts):
        if before.kind == "action" and after.kind == "result":
            continue  # nothing stands inside a step of a run
        for _ in range(MOST_BETWEEN):
            if rng.random() >= gaps:
                break
            drawn = background.innocent(rng)
            at = before.at + rng.random() * (after.at - before.at)
            step = f"between-{len(out) + 1}"
            out += [
                _set_in(item, before, f"between-{len(out) + place + 1}", at + place * MICROSECOND, step)
                for place, item in enumerate(drawn)
            ]
    return out


def _set_in(drawn: Event, before: Event, name: str, at: datetime, step: str) -> Event:
    """An event of the background as one that follows another, with a call id that is its own."""
    called = {"call_id": step} if "call_id" in drawn.attributes else {}
    return replace(
        before,
        id=name,
        at=at,
        reply_to=None,
        kind=drawn.kind,
        text=drawn.text,
        attributes={**drawn.attributes, **called},
        readings=drawn.readings,
        scorers=drawn.scorers,
        widths=drawn.widths,
    )


def _answered(event: Event) -> str | None:
    return None if event.reply_to is None else f"host-{event.reply_to}"


def _in_order(events: Sequence[Event], *, anchored: bool) -> list[Event]:
    """The events in order, numbered; without times of their own they stand a second apart."""
    ordered = sorted(events, key=lambda event: (event.at, event.seq, event.id))
    if anchored:
        return [replace(event, seq=number) for number, event in enumerate(ordered)]
    return [
        replace(event, seq=number, timed=False, at=EPOCH + timedelta(seconds=number))
        for number, event in enumerate(ordered)
    ]


@dataclass(frozen=True, slots=True)
class Script:
    """A firing example. `acts`: positions of the events that make it fire; `after`: the quiet after them."""

    story: str
    events: tuple[Event, ...]
    acts: frozenset[int]
    after: timedelta

    @property
    def fillers(self) -> list[int]:
        """Positions of the events that could as well stand in another order."""
        return [place for place in range(len(self.events)) if place not in self.acts]


def programs_of(library: Library, file: PatternFile) -> tuple[Program, ...]:
    """The programs of one pattern and of its parts."""
    return replace(library, chosen=(file.name,)).programs


def scripts_of(file: PatternFile, programs: Sequence[Program]) -> list[Script]:
    """One script for each firing example that fires with the parameters in force."""
    found = [
        _script(example.story, example.events, example.as_of, file, programs)
        for example in file.examples
        if example.fires
    ]
    scripts = [item for item in found if item is not None]
    if not scripts:
        raise BadUsage(
            f"{file.name}: none of its examples fires with these parameters, so there is nothing to plant"
        )
    return scripts


def detected(text: str, name: str) -> bool:
    """Whether a detection of this name is one of the pattern, and no early word of it.

    >>> [detected(one, "con") for one in ("con", "con.tokens", "con@5", "loop")]
    [True, True, False, False]
    """
    return base_pattern(text) == name and "@" not in text


def _script(
    story: str,
    events: Sequence[Event],
    as_of: datetime | None,
    file: PatternFile,
    programs: Sequence[Program],
) -> Script | None:
    ordered = _timed(in_order(events))
    last = ordered[-1].at
    asked = as_of if as_of is not None and as_of > last else last
    measured, _ = measured_events([item for item in ordered if item.at <= asked], programs, Settings())
    found = find(programs, measured, as_of=asked)
    first = next(
        (detection for detection in found.detections if detected(detection.pattern, file.name)), None
    )
    if first is None:
        return None
    made = _evidence(first, {detection.id: detection for detection in found.detections})
    acts = frozenset(place for place, event in enumerate(ordered) if event.id in made)
    return Script(story, tuple(ordered), acts, asked - last)


def _evidence(detection: Detection, every: Mapping[str, Detection]) -> set[str]:
    """The events of a detection and, of a combination, of everything it is made of."""
    own = {evidence.event for evidence in detection.evidence} | {detection.first_event, detection.fired_event}
    return own.union(*(_evidence(every[part], every) for part in detection.parts if part in every))


def _timed(events: Sequence[Event]) -> list[Event]:
    """The events with times: an example without any has one every minute."""
    return [
        event if event.timed else replace(event, timed=True, at=START + place * MINUTE)
        for place, event in enumerate(events)
    ]
