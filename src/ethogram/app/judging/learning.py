"""Learn from the verdicts of a store: propose, apply, undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ...config import Loaded, Settings
from ...config.learned import read_changes, write_changes
from ...config.settings import learning_in
from ...errors import BadUsage, did_you_mean
from ...fields import Count, RecordStruct
from ...language.history import common_fields
from ...models import Verdict, stable_hash
from ...models.detection import base_pattern
from ...patterns.library import Library
from ...risk.changes import AUTOMATIC, Change, apply_proposal, in_force, undo_last
from ...risk.parameter_grid import JudgedItem, Period, Replay, judged_items
from ...risk.proposal import NoProposal, Proposal, add_recent
from ...risk.tuning import (
    LearningOptions,
    StepLimits,
    automatic_step,
    detected_now,
    learn,
    reason_not_to_learn,
)
from ...store.records import Store, Try
from .replay import replayer, stored_chunks, variant
from .risk import newest

RECENT = timedelta(days=30)
NEW_SHARE = 0.2
"""Share of the judged items that must be new for another test."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The outcome for a pattern. `tries` counts earlier tests; `at` is earlier for a repeated result."""

    outcome: Proposal | NoProposal
    version: str
    at: datetime
    tries: int = 0


class ProposalRecord(RecordStruct):
    """Another number for a pattern that is too often wrong."""

    RECORD = "proposal"
    FLAT = ("outcome",)

    outcome: Proposal
    version: str
    tries: Count
    not_changed: str | None
    """Why it was not accepted automatically."""


class NoProposalRecord(RecordStruct):
    """Why there is nothing to propose."""

    RECORD = "no_proposal"
    FLAT = ("outcome",)

    outcome: NoProposal
    version: str
    tries: Count


def learning_record(
    result: LearningResult, not_changed: str | None = None
) -> ProposalRecord | NoProposalRecord:
    """A proposal, with why it was not accepted automatically; or why there is none."""
    outcome, version, tries = result.outcome, result.version, result.tries
    if isinstance(outcome, NoProposal):
        return NoProposalRecord(outcome=outcome, version=version, tries=tries)
    return ProposalRecord(outcome=outcome, version=version, tries=tries, not_changed=not_changed)


def judged_patterns(store: Store) -> list[str]:
    """The patterns with verdicts."""
    return sorted({base_pattern(verdict.pattern) for verdict in store.verdicts()})


def learn_pattern(
    store: Store, pattern: str, settings: Settings, *, at: datetime, as_of: datetime | None = None
) -> LearningResult:
    """A proposal for one pattern, or why there is none; a test of the verdicts is recorded in the store.

    Events and detections up to `as_of` count (default: the newest moment in the store), and all verdicts.
    While few verdicts are new, the last result is returned again.
    """
    case = _load_case(store, pattern, settings, as_of)
    tries, version = len(case.tries), case.version
    if why := case.reason_not_to_learn:
        return LearningResult(NoProposal(pattern, why), version, at)
    last = case.tries[-1] if case.tries and not case.has_news else None
    outcome = None if last is None else _outcome(last)
    if last is not None and isinstance(outcome, NoProposal):
        return LearningResult(outcome, version, last.at, tries - 1)
    replay = case.replay()
    if why := case.reason_now(replay):
        return LearningResult(NoProposal(pattern, why), version, at)
    if last is not None and isinstance(outcome, Proposal):
        return LearningResult(case.with_recent(outcome), version, last.at, tries - 1)
    data = stable_hash(case.marks)[:16]
    options = replace(case.options, tries=tries, seed=int(data[:8], 16))
    outcome = learn(pattern, case.parameters, case.items, replay, options=options)
    if isinstance(outcome, Proposal):
        outcome = case.with_recent(outcome)
    elif not outcome.is_try:
        return LearningResult(outcome, version, at)
    store.add_try(Try(at, pattern, version, data, {**outcome.to_dict(), "judged": case.marks}))
    return LearningResult(outcome, version, at, tries)


@dataclass(frozen=True, slots=True)
class _Case:
    """A pattern as it is in force, what was judged of it, and every test so far."""

    store: Store
    library: Library
    settings: Settings
    as_of: datetime
    pattern: str
    version: str
    items: Sequence[JudgedItem]
    tries: Sequence[Try]

    @property
    def parameters(self) -> Mapping[str, float]:
        return self.library.files[self.pattern].parameters

    @property
    def options(self) -> LearningOptions:
        values = learning_in(self.settings)
        names = ("minimum", "each", "luck", "step")
        return LearningOptions(bar=values["adjustment_threshold"], **{name: values[name] for name in names})

    @property
    def marks(self) -> list[str]:
        """A hash of each judged item and its verdict."""
        return sorted(stable_hash([item.id, item.true, item.detected])[:12] for item in self.items)

    @property
    def has_news(self) -> bool:
        """Whether enough verdicts are new or changed since the last test: a test per verdict uses them up."""
        seen, now = set(self.tries[-1].record.get("judged", ())), set(self.marks)
        return max(len(now - seen), len(seen - now)) >= NEW_SHARE * len(self.items)

    @property
    def reason_not_to_learn(self) -> str:
        """Why there is nothing to learn, before any replay; empty where there is."""
        if not learning_in(self.settings)["enabled"]:
            return "learning is turned off in the settings (learning.enabled)"
        if not self.parameters:
            return "it has no parameters"
        return reason_not_to_learn(self.items, self.options)

    def reason_now(self, replay: Replay) -> str:
        """Why there is nothing to learn about the values in force; empty where there is."""
        current = detected_now(self.items, self.parameters, replay)
        return reason_not_to_learn(self.items, self.options, current)

    def replay(self, *, everybody: bool = False) -> Replay:
        """What other values would have found, of subjects with judged items or of everybody."""
        subjects = None if everybody else {item.period.history[:2] for item in self.items}
        events = stored_chunks(self.store, self.library, self.settings, self.as_of, subjects)  # type: ignore[arg-type]
        return replayer(self.pattern, self.settings, events, self.as_of)

    def with_recent(self, proposal: Proposal) -> Proposal:
        """The proposal with the detections of all subjects in the last days with events."""
        last = max((subject.last_at for subject in self.store.subjects()), default=self.as_of)
        since = min(last, self.as_of) - RECENT
        return add_recent(proposal, self.replay(everybody=True), since, self.items)


def _load_case(store: Store, pattern: str, settings: Settings, as_of: datetime | None = None) -> _Case:
    library = variant(pattern, settings)
    assert library is not None
    versions = [
        program.version
        for program in library.programs
        if library.is_chosen(program) and "@" not in program.name
    ]
    version = versions[0] if len(versions) == 1 else stable_hash(versions)[: len(versions[0])]
    until = as_of or newest(store)
    (name,) = library.chosen
    tries = [item for item in store.tries(pattern) if item.version == version]
    return _Case(store, library, settings, until, name, version, _judged_items(store, pattern, until), tries)


def _judged_items(store: Store, pattern: str, as_of: datetime) -> list[JudgedItem]:
    """Detections by any version of a pattern and misses that judges agree on, begun by `as_of`."""
    own = [
        verdict
        for verdict in store.verdicts()
        if base_pattern(verdict.pattern) == pattern and "@" not in verdict.pattern
    ]
    ids = {item.detection for item in own if item.detection is not None}
    items = judged_items(own, store.detections(ids=ids), _periods(store, own))
    return [item for item in items if item.period.start <= as_of]


def _periods(store: Store, verdicts: Sequence[Verdict]) -> dict[tuple[str, ...], Period]:
    """The periods of misses whose events are still there, by source, subject, first and last event."""
    missed = [verdict for verdict in verdicts if verdict.verdict == "missed" and verdict.subject]
    subjects = {(item.source, item.subject or "") for item in missed}
    ends = {
        (item.source, item.subject, name) for item in missed for name in (item.first_event, item.last_event)
    }
    stored = store.columns(subjects)
    rows = [row for row, name in enumerate(stored.values("source", "subject", "id")) if name in ends]
    events = {(event.source, event.subject, event.id): event for event in stored.take(rows)}
    periods = {}
    for item in missed:
        key = (item.source, item.subject or "", item.first_event or "", item.last_event or "")
        first, last = (events.get((*key[:2], event)) for event in key[2:])
        if first is not None and last is not None:
            periods[key] = Period(key[:2], first.at, last.at, common_fields(first, last))
    return periods  # type: ignore[return-value]


def _outcome(item: Try) -> Proposal | NoProposal:
    if item.record["record"] == "proposal":
        return Proposal.from_dict(item.record)
    return NoProposal(item.record["pattern"], item.record["why"], is_try=True)


def open_proposal(store: Store, pattern: str, settings: Settings) -> Proposal | None:
    """The newest proposal for a pattern as it is in force; None where the last test led to none.

    BadUsage where `learn` would no longer make it with the verdicts there are now.
    """
    case = _load_case(store, pattern, settings)
    outcome = _outcome(case.tries[-1]) if case.tries else None
    if not isinstance(outcome, Proposal):
        return None
    why = case.reason_not_to_learn or case.reason_now(case.replay())
    if not why and case.has_news:
        why = "a fifth of them are new or were taken back"
    if why:
        raise BadUsage(
            f"the verdicts on {pattern} are not those of the proposal any more ({why}); learn again"
        )
    return outcome


def accept(store: Store, pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """Apply the newest proposal for a pattern; in force when settings are loaded next."""
    proposal = open_proposal(store, pattern, loaded.settings)
    if proposal is None:
        how = f"`ethogram patterns learn {pattern}` makes one, if any"
        raise BadUsage(f"there is no proposal for {pattern}; {how}")
    return _apply(loaded, proposal, by=by, at=at)


def _apply(loaded: Loaded, proposal: Proposal, *, by: str, at: datetime) -> Change:
    """Write the change that a proposal makes; BadUsage where a variable or an option overrides it."""
    place = ("parameters", proposal.pattern, proposal.parameter)
    last = loaded.layer_of(place)
    if last is not None and last.node is None:
        raise BadUsage(f"{'.'.join(place)} is set by {last.name}, which overrides learned parameters")
    try:
        changes = apply_proposal(
            read_changes(loaded.learned), proposal, by=by, at=at, why=proposal.sentence()
        )
    except ValueError as error:
        raise BadUsage(str(error)) from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def undo(pattern: str, loaded: Loaded, *, by: str, at: datetime) -> Change:
    """Revert the newest standing change of a pattern."""
    changes = read_changes(loaded.learned)
    try:
        changes = undo_last(changes, pattern, by=by, at=at)
    except ValueError:
        near = did_you_mean(pattern, in_force(changes))
        raise BadUsage(f"nothing was learned of {pattern!r:.80} that could be taken back{near}") from None
    write_changes(loaded.learned, changes)
    return changes[-1]


def apply_step(proposal: Proposal, loaded: Loaded, *, at: datetime) -> Change | str:
    """Apply the step towards a proposal that is allowed without asking; or why there is none."""
    values = learning_in(loaded.settings)
    limits = StepLimits(values["step"], values["far"], values["lose"], timedelta(days=values["apart_days"]))
    changes = read_changes(loaded.learned)
    key = (proposal.pattern, proposal.parameter)
    unlearned = next((item.old for item in changes if (item.pattern, item.parameter) == key), proposal.old)
    step = automatic_step(proposal, file_value=unlearned, changes=changes, at=at, limits=limits)
    if isinstance(step, str):
        return step
    return _apply(loaded, replace(proposal, new=step.value, after=step, recent=None), by=AUTOMATIC, at=at)
