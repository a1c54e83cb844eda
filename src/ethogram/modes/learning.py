"""Learning from the verdicts of a store: a proposal, replayed over its events, and kept with every try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..config import Settings
from ..config.settings import learning_in
from ..library.load import Library
from ..library.parts import base
from ..records import Verdict, stable_hash
from ..risk.judged import Judged, Stretch, judged_detections, judged_misses
from ..risk.learn import Learning, learn, reason_not_to
from ..risk.proposal import Nothing, Proposal, proposal_of, with_recent
from ..stores.protocol import Store, Try
from .replays import replayer, stored_chunks, variant

RECENT = timedelta(days=30)
NEWS = 0.2
"""The share of what was judged that must be new for another try."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of looking at the verdicts on a pattern. `tries` is how often that was done before.

    `at` is when it was found out, which may be earlier: nearly the same verdicts are not asked twice.
    """

    told: Proposal | Nothing
    version: str
    at: datetime
    tries: int = 0


def judged_patterns(store: Store) -> list[str]:
    """The patterns that there are verdicts on."""
    return sorted({base(one.pattern) for one in store.verdicts()})


def learn_pattern(store: Store, pattern: str, settings: Settings, *, as_of: datetime) -> Lesson:
    """A proposal for one pattern, or why there is none; kept in the store where the verdicts were tried.

    Nothing is written before the end, and nothing else than that it was tried.
    """
    library = variant(pattern, settings)
    assert library is not None
    version = version_of(library)
    judged = judged_of(store, pattern, as_of)
    learning = learning_of(settings)
    why = _reason_not_to(settings, library, judged, learning)
    if why:
        return Lesson(Nothing(pattern, why), version, as_of)
    marks = sorted(stable_hash([one.id, one.true, one.detected])[:12] for one in judged)
    before = [one for one in store.tries(pattern) if one.version == version]
    if before and not _is_news(marks, before[-1]):
        told = told_of(before[-1])
        if isinstance(told, Proposal):
            told = _lately(store, library, settings, told, as_of)
        return Lesson(told, version, before[-1].at, len(before) - 1)
    data = stable_hash(marks)[:16]
    learning = replace(learning, tries=len(before), seed=int(data[:8], 16))
    told = _learned(store, library, settings, judged, learning, as_of)
    store.add_try(Try(as_of, pattern, version, data, {**told.to_dict(), "judged": marks}))
    return Lesson(told, version, as_of, len(before))


def _is_news(marks: Sequence[str], last: Try) -> bool:
    """Whether enough has been said since the last try: asking after every verdict would use the tries up."""
    seen = set(last.record.get("judged", ()))
    return sum(one not in seen for one in marks) >= NEWS * len(marks)


def _learned(
    store: Store,
    library: Library,
    settings: Settings,
    judged: Sequence[Judged],
    learning: Learning,
    as_of: datetime,
) -> Proposal | Nothing:
    (pattern,) = library.chosen
    whose = {one.stretch.whose[:2] for one in judged}
    events = stored_chunks(store, library, settings, as_of, whose)  # type: ignore[arg-type]
    replay = replayer(pattern, settings, events, as_of)
    told = learn(pattern, library.files[pattern].parameters, judged, replay, learning=learning)
    if isinstance(told, Nothing):
        return told
    return _lately(store, library, settings, told, as_of)


def _lately(store: Store, library: Library, settings: Settings, told: Proposal, as_of: datetime) -> Proposal:
    """The proposal with how many detections there are in the last days, of all subjects."""
    every = stored_chunks(store, library, settings, as_of)
    return with_recent(told, replayer(told.pattern, settings, every, as_of), as_of - RECENT)


def _reason_not_to(settings: Settings, library: Library, judged: Sequence[Judged], learning: Learning) -> str:
    (pattern,) = library.chosen
    if not learning_in(settings)["enabled"]:
        return "learning is turned off in the settings (learning.enabled)"
    if not library.files[pattern].parameters:
        return "it has no parameters"
    return reason_not_to(judged, learning)


def version_of(library: Library) -> str:
    """The version of a pattern as it is in force, all its programs together."""
    own = [one.version for one in library.programs if library.is_chosen(one) and "@" not in one.name]
    return own[0] if len(own) == 1 else stable_hash(own)[: len(own[0])]


def learning_of(settings: Settings) -> Learning:
    """When to propose something, by the settings."""
    told = learning_in(settings)
    return Learning(
        bar=told["adjustment_threshold"], minimum=told["minimum"], each=told["each"], luck=told["luck"]
    )


def judged_of(store: Store, pattern: str, as_of: datetime) -> list[Judged]:
    """What judges agree on about a pattern, with detections by any version of it, and known misses."""
    own = [
        one
        for one in store.verdicts()
        if base(one.pattern) == pattern and "@" not in one.pattern and one.at <= as_of
    ]
    ids = {one.detection for one in own if one.detection is not None}
    found = judged_detections(own, store.detections(ids=ids))
    return [*found, *judged_misses(own, _stretches(store, own))]


def _stretches(store: Store, verdicts: Iterable[Verdict]) -> dict[tuple[str, str, str, str], Stretch]:
    """When it was that something was missed, as far as the events are still there."""
    missed = [one for one in verdicts if one.verdict == "missed" and one.subject]
    whose = {(one.source, one.subject or "") for one in missed}
    times = {(one.source, one.subject, one.id): one.at for one in store.events(whose)}
    out = {}
    for one in missed:
        key = (one.source, one.subject or "", one.first_event or "", one.last_event or "")
        start, end = (times.get((*key[:2], event)) for event in key[2:])
        if start is not None and end is not None:
            out[key] = Stretch(key[:2], start, end)
    return out


def told_of(one: Try) -> Proposal | Nothing:
    """What came of a try."""
    if one.record["record"] == "proposal":
        return proposal_of(one.record)
    return Nothing(one.record["pattern"], one.record["why"])


def open_proposal(store: Store, pattern: str, settings: Settings) -> Proposal | None:
    """The newest proposal for a pattern as it is in force now; None where there is none, or later verdicts
    led to nothing."""
    library = variant(pattern, settings)
    version = "" if library is None else version_of(library)
    own = [one for one in store.tries(pattern) if one.version == version]
    told = told_of(own[-1]) if own else None
    return told if isinstance(told, Proposal) else None
