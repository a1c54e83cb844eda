"""Episodes of runs: a detection as a stretch of steps, with what repeated in it and what else was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..records import Detection
from .run_record import Repeated, RunEpisode
from .run_steps import KEYS, Step, Walked, added

MOST_REPEATED = 5
MOST_TRIED = 8

Keyed = list[tuple[int, str]]
"""Step numbers with the key of what was done or said there, in order."""


def episode_of(one: Detection, walked: Walked) -> RunEpisode:
    """Where in the steps of its agent a detection lies. There must be at least one step."""
    detected = walked.number(one.fired_event, one.detected_at)
    since = min([detected, *(walked.places[event] for event in event_ids(one) if event in walked.places)])
    last = max(detected, walked.places.get(one.last_event, detected))
    name = repeated_name(one)
    keyed = keys_of(walked.steps, name)
    core = core_keys(keyed, since, detected, last)
    opened = walked.places.get(one.first_event, detected)
    first = first_step(walked.steps, keyed, core, name, since, detected) if core else min(opened, detected)
    if core:
        last = max([detected, *(n for n, key in keyed if key in core and n <= last)])
    goes_on = one.closed_at is None and not core
    ended, ended_step = ("run_ended", None) if goes_on else end_of(walked.steps, last)
    stretch = walked.steps[first - 1 : last]
    repeated = tuple(repeated_in(stretch, name, core))
    return RunEpisode(
        detection=one.id,
        pattern=one.pattern,
        title=one.title,
        subject=one.subject,
        level=one.level,
        confidence=one.confidence,
        from_step=first,
        to_step=last,
        detected_step=detected,
        tokens=whole_number(total([step.tokens for step in stretch])),
        seconds=None,
        cost=total([step.cost for step in stretch]),
        repeated=repeated,
        tried=tried_in(stretch, name, core, {each.what for each in repeated}),
        ended=ended,
        ended_step=ended_step,
        recommendation=one.recommendation,
    )


def event_ids(one: Detection) -> Iterator[str]:
    """Every event a detection names."""
    yield from (one.first_event, one.last_event, one.fired_event)
    yield from (evidence.event for evidence in one.evidence)


def repeated_name(one: Detection) -> str:
    """The reading by which a detection tells what is the same; '' where it goes by something else."""
    fired = [evidence for evidence in one.evidence if evidence.event == one.fired_event]
    for evidence in (*fired, *reversed(one.evidence)):
        for name in KEYS:
            if name in evidence.readings:
                return name
    return ""


def keys_of(steps: Sequence[Step], name: str) -> Keyed:
    """What each step is known by; a step may say several things, and one without a reading is left out."""
    if name == "talk_key":
        return [(n, key) for n, step in enumerate(steps, 1) for key, _ in step.said]
    return [(n, step.keys[name]) for n, step in enumerate(steps, 1) if name in step.keys]


def core_keys(keyed: Keyed, since: int, detected: int, last: int) -> set[str]:
    """The keys that repeat from the first evidence on, and still come when it is known."""
    counts = Counter(key for n, key in keyed if since <= n <= last)
    late = {key for n, key in keyed if detected <= n <= last}
    return {key for key in late if counts[key] > 1}


def first_step(
    steps: Sequence[Step], keyed: Keyed, core: set[str], name: str, since: int, detected: int
) -> int:
    """Where it began: the first step, not before `since`, that has one of the keys.

    The same error may come again in spite of what was achieved in between; the same step is another matter,
    so that looking back ends where something else that was new was done.
    """
    found = detected
    own = {n for n, key in keyed if key in core}
    for number in range(detected, since - 1, -1):
        if number in own:
            found = number
        elif name == "step_key" and steps[number - 1].progress:
            break
    return found


def repeated_in(stretch: Sequence[Step], name: str, core: set[str]) -> Iterator[Repeated]:
    """What came again in a stretch, the most frequent first; what looks the same is told once."""
    keyed = keys_of(stretch, name)
    counts: Counter[tuple[str, str | None]] = Counter()
    for key, times in Counter(key for _, key in keyed if key in core).items():
        counts[_shown([stretch[n - 1] for n, other in keyed if other == key], name, key)] += times
    return (Repeated(what, times, error) for (what, error), times in counts.most_common(MOST_REPEATED))


def _shown(steps: Sequence[Step], name: str, key: str) -> tuple[str, str | None]:
    """The action or words that have one key, as they were most often, and the error if they met one."""
    if name == "talk_key":
        return next(said for step in steps for other, said in step.said if other == key), None
    what = Counter(step.shown for step in steps).most_common(1)[0][0]
    return what, next((step.error for step in steps if step.error), None)


def tried_in(stretch: Sequence[Step], name: str, core: set[str], told: set[str]) -> tuple[str, ...]:
    """What else was done between the repetitions, each thing once, in order."""
    if not core:
        return ()
    others = [step.shown for step in stretch if step.keys.get(name) not in core]
    return tuple(one for one in dict.fromkeys(others) if one not in told)[:MOST_TRIED]


def end_of(steps: Sequence[Step], last: int) -> tuple[str, int | None]:
    """How a stretch that ends at this step ended, and at which step."""
    if last >= len(steps):
        return "run_ended", None
    new = next((n for n, step in enumerate(steps[last:], last + 1) if step.progress), None)
    return ("stopped", last + 1) if new is None else ("progress", new)


def seconds_in(steps: Sequence[Step], *, timed: bool) -> float | None:
    """How long some steps took: by the clock, or else by what their results say."""
    if timed:
        return (max(step.until for step in steps) - steps[0].at).total_seconds() if steps else None
    return total([step.duration for step in steps])


def total(values: Sequence[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    found: float | None = None
    for one in values:
        found = added(found, one)
    return found


def whole_number(value: float | None) -> int | None:
    """A count that came as a number of any kind."""
    return None if value is None else round(value)
