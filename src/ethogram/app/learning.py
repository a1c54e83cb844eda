"""Learn from the verdicts of a store: propose, apply, undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..config import Loaded, Settings
from ..config.learned import read_changes, write_changes
from ..config.settings import learning_in
from ..errors import BadUsage, did_you_mean
from ..fields import Count, RecordStruct
from ..models import Verdict, stable_hash
from ..models.detection import base_pattern
from ..patterns.library import Library
from ..risk.changes import AUTOMATIC, Change, Changes, accepted, in_force, undone
from ..risk.parameter_grid import Judged, Replay, Stretch, judged_detections, judged_misses
from ..risk.proposal import Nothing, Proposal, proposal_of, with_recent
from ..risk.tuning import Learning, Steps, automatic, found_now, learn, reason_not_to
from ..store.protocol import Store, Try
from .backtest import replayer, stored_chunks, variant
from .risk import newest

# Learning from the verdicts of a store: a proposal, replayed over its events, and kept with every try.

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


class ProposalRecord(RecordStruct):
    """Another number for a pattern that is too often wrong."""

    RECORD = "proposal"
    FLAT = ("proposal",)

    proposal: Proposal
    version: str
    tries: Count
    not_changed: str | None
    """Why it was not accepted automatically."""


class NoProposalRecord(RecordStruct):
    """Why there is nothing to propose."""

    RECORD = "no_proposal"
    FLAT = ("nothing",)

    nothing: Nothing
    version: str
    tries: Count


def lesson_record(lesson: Lesson, not_changed: str | None = None) -> ProposalRecord | NoProposalRecord:
    """A proposal, with why it was not accepted automatically; or why there is none."""
    if isinstance(lesson.told, Nothing):
        return NoProposalRecord(nothing=lesson.told, version=lesson.version, tries=lesson.tries)
    return ProposalRecord(
        proposal=lesson.told, version=lesson.version, tries=lesson.tries, not_changed=not_changed
    )


def judged_patterns(store: Store) -> list[str]:
    """The patterns that there are verdicts on."""
    return sorted({base_pattern(verdict.pattern) for verdict in store.verdicts()})


def learn_pattern(
    store: Store, pattern: str, settings: Settings, *, at: datetime, as_of: datetime | None = None
) -> Lesson:
    """A proposal for one pattern, or why there is none; kept in the store where the verdicts were tried.

    `at` is when it is asked. Events and detections up to `as_of` count, the newest moment that the store
    knows of where none is given; verdicts count whenever they were given. Nothing is written before the end,
    and nothing else than that it was tried.
    """
    case = _case(store, pattern, settings, as_of)
    if case.why:
        return Lesson(Nothing(pattern, case.why), case.version, at)
    before, marks = case.before, case.marks
    is_known = bool(before) and not _is_news(marks, before[-1])
    proposal = told_of(before[-1]) if is_known else None
    if isinstance(proposal, Nothing):
        return Lesson(proposal, case.version, before[-1].at, len(before) - 1)
    replay = case.replay()
    why = case.reason_now(replay)
    if why:
        return Lesson(Nothing(pattern, why), case.version, at)
    if proposal is not None:
        return Lesson(case.with_lately(proposal), case.version, before[-1].at, len(before) - 1)
    data = stable_hash(marks)[:16]
    learning = replace(case.learning, tries=len(before), seed=int(data[:8], 16))
    proposal = learn(pattern, case.parameters, case.judged, replay, learning=learning)
    if isinstance(proposal, Proposal):
        proposal = case.with_lately(proposal)
    elif not proposal.is_try:
        return Lesson(proposal, case.version, at)
    store.add_try(Try(at, pattern, case.version, data, {**proposal.to_dict(), "judged": marks}))
    return Lesson(proposal, case.version, at, len(before))


@dataclass(frozen=True, slots=True)
class _Case:
    """What is known about a pattern as it is in force: what was judged, and every try before."""

    store: Store
    library: Library
    settings: Settings
    as_of: datetime
    judged: Sequence[Judged]
    before: Sequence[Try]

    @property
    def pattern(self) -> str:
        (pattern,) = self.library.chosen
        return pattern

    @property
    def version(self) -> str:
        return version_of(self.library)

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.library.files[self.pattern].parameters

    @property
    def learning(self) -> Learning:
        return learning_of(self.settings)

    @property
    def marks(self) -> list[str]:
        """What was judged and how, each for itself, to be known again."""
        return sorted(stable_hash([item.id, item.true, item.detected])[:12] for item in self.judged)

    @property
    def why(self) -> str:
        """Why there is nothing to learn, before anything is replayed; empty where there is."""
        if not learning_in(self.settings)["enabled"]:
            return "learning is turned off in the settings (learning.enabled)"
        if not self.parameters:
            return "it has no parameters"
        return reason_not_to(self.judged, self.learning)

    def replay(self) -> Replay:
        """What the pattern would have found with other numbers, of subjects with something judged."""
        whose = {item.stretch.whose[:2] for item in self.judged}
        events = stored_chunks(self.store, self.library, self.settings, self.as_of, whose)  # type: ignore[arg-type]
        return replayer(self.pattern, self.settings, events, self.as_of)

    def reason_now(self, replay: Replay) -> str:
        """Why there is nothing to learn about the numbers in force; empty where there is."""
        return reason_not_to(self.judged, self.learning, found_now(self.judged, self.parameters, replay))

    def with_lately(self, proposal: Proposal) -> Proposal:
        """The proposal with how many detections there are in the last days with events, of all subjects."""
        every = stored_chunks(self.store, self.library, self.settings, self.as_of)
        last = max((subject.last_at for subject in self.store.subjects()), default=self.as_of)
        replay = replayer(proposal.pattern, self.settings, every, self.as_of)
        return with_recent(proposal, replay, min(last, self.as_of) - RECENT, self.judged)


def _case(store: Store, pattern: str, settings: Settings, as_of: datetime | None = None) -> _Case:
    library = variant(pattern, settings)
    assert library is not None
    version = version_of(library)
    until = as_of or newest(store)
    before = [item for item in store.tries(pattern) if item.version == version]
    return _Case(store, library, settings, until, judged_of(store, pattern, until), before)


def _is_news(marks: Sequence[str], last: Try) -> bool:
    """Whether enough was said, or taken back, since the last try: one a verdict would use the tries up."""
    seen, now = set(last.record.get("judged", ())), set(marks)
    return max(len(now - seen), len(seen - now)) >= NEWS * len(marks)


def version_of(library: Library) -> str:
    """The version of a pattern as it is in force, all its programs together."""
    own = [
        program.version
        for program in library.programs
        if library.is_chosen(program) and "@" not in program.name
    ]
    return own[0] if len(own) == 1 else stable_hash(own)[: len(own[0])]


def learning_of(settings: Settings) -> Learning:
    """When to propose something, by the settings."""
    told = learning_in(settings)
    return Learning(
        bar=told["adjustment_threshold"],
        minimum=told["minimum"],
        each=told["each"],
        luck=told["luck"],
        step=told["step"],
    )


def judged_of(store: Store, pattern: str, as_of: datetime) -> list[Judged]:
    """What judges agree on about a pattern, with detections by any version of it, and known misses.

    What began after `as_of` is left out, and no verdict for when it was given: judges look at old events too.
    """
    own = [
        verdict
        for verdict in store.verdicts()
        if base_pattern(verdict.pattern) == pattern and "@" not in verdict.pattern
    ]
    ids = {item.detection for item in own if item.detection is not None}
    found = judged_detections(own, store.detections(ids=ids))
    every = [*found, *judged_misses(own, _stretches(store, own))]
    return [item for item in every if item.stretch.start <= as_of]


def _stretches(store: Store, verdicts: Iterable[Verdict]) -> dict[tuple[str, str, str, str], Stretch]:
    """When it was that something was missed, as far as the events are still there."""
    missed = [verdict for verdict in verdicts if verdict.verdict == "missed" and verdict.subject]
    whose = {(item.source, item.subject or "") for item in missed}
    times = {(event.source, event.subject, event.id): event.at for event in store.events(whose)}
    out = {}
    for item in missed:
        key = (item.source, item.subject or "", item.first_event or "", item.last_event or "")
        start, end = (times.get((*key[:2], event)) for event in key[2:])
        if start is not None and end is not None:
            out[key] = Stretch(key[:2], start, end)
    return out


def told_of(item: Try) -> Proposal | Nothing:
    """What came of a try."""
    if item.record["record"] == "proposal":
        return proposal_of(item.record)
    return Nothing(item.record["pattern"], item.record["why"], is_try=True)


def open_proposal(store: Store, pattern: str, settings: Settings) -> Proposal | None:
    """The newest proposal for a pattern as it is in force now; None where there is none, or later verdicts
    led to nothing. BadUsage where `learn` would not tell it any more by the verdicts there are now."""
    case = _case(store, pattern, settings)
    told = told_of(case.before[-1]) if case.before else None
    if not isinstance(told, Proposal):
        return None
    why = case.why or case.reason_now(case.replay())
    if not why and _is_news(case.marks, case.before[-1]):
        why = "a fifth of them are new or were taken back"
    if why:
        raise BadUsage(
            f"the verdicts on {pattern} are not those of the proposal any more ({why}); learn again"
        )
    return told


# Taking up what was learned: into its file, a step at a time where nobody is asked, and back out of it.


def accept(store: Store, pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """The change that takes up the newest proposal for a pattern; in force when settings are read next."""
    proposal = open_proposal(store, pattern, loaded.settings)
    if proposal is None:
        raise BadUsage(f"there is no proposal for {pattern}; `ethogram learn {pattern}` makes one, if any")
    return take_up(loaded, proposal, by=by, at=at)


def take_up(loaded: Loaded, proposal: Proposal, *, by: str, at: datetime) -> Change:
    """The change that a proposal makes, written to the file of what was learned."""
    if loaded.settings.parameters.get(proposal.pattern, {}).get(proposal.parameter) is not None:
        _check_layers(loaded, proposal)
    changes = read_changes(loaded.learned)
    try:
        changes = accepted(changes, proposal, by=by, at=at, why=proposal.sentence())
    except ValueError as error:
        raise BadUsage(str(error)) from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def _check_layers(loaded: Loaded, proposal: Proposal) -> None:
    """BadUsage where a variable or an option has the last word, so that a change would change nothing."""
    place = ("parameters", proposal.pattern, proposal.parameter)
    last = loaded.layer_of(place)
    if last is not None and last.node is None:
        raise BadUsage(f"{'.'.join(place)} is set by {last.name}, which wins over what is learned")


def undo(pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """The change that takes back the newest one of a pattern that still stands."""
    changes = read_changes(loaded.learned)
    try:
        changes = undone(changes, pattern, by=by, at=at)
    except ValueError:
        near = did_you_mean(pattern, in_force(changes))
        raise BadUsage(f"nothing was learned of {pattern!r:.80} that could be taken back{near}") from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def go_by_itself(proposal: Proposal, loaded: Loaded, *, at: datetime) -> Change | str:
    """The step towards a proposal that may be taken without asking; or why none may."""
    told = learning_in(loaded.settings)
    steps = Steps(told["step"], told["far"], told["lose"], timedelta(days=told["apart_days"]))
    changes = read_changes(loaded.learned)
    base_value = _unlearned(proposal, changes)
    found = automatic(proposal, file_value=base_value, changes=changes, at=at, steps=steps)
    if isinstance(found, str):
        return found
    value, after = found
    return take_up(loaded, replace(proposal, new=value, after=after, recent=None), by=AUTOMATIC, at=at)


def _unlearned(proposal: Proposal, changes: Changes) -> float:
    """The number that was in force before anything was learned."""
    own = [
        change
        for change in changes
        if (change.pattern, change.parameter) == (proposal.pattern, proposal.parameter)
    ]
    return own[0].old if own else proposal.old
