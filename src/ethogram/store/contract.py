"""What every store does: the methods that commands and `ethogram.app` call, and nothing else of a store.

A store is a class under `@store("name")` with these methods; it need not derive from `Store`. Times are UTC
and kept to the microsecond, names and texts as they are. A method that writes does all of it or nothing.
tests/contracts/test_store_contract.py checks each promise on every store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ..models import Detection, Event, Reading, Verdict
from ..risk.verdicts import Counts, Item, Slot
from ..usage.records import UsageLook
from .records import (
    NO_SCORERS,
    Added,
    Change,
    Clash,
    Held,
    Import,
    Info,
    LinkRow,
    Place,
    Purged,
    SavedState,
    SharedRow,
    ShownRow,
    Source,
    Staged,
    SubjectRow,
    Swept,
    SweptDetection,
    Try,
    Who,
)

if TYPE_CHECKING:
    from ..ingest.batch import EventSequence
    from .scores import Scored

Rows = tuple[str, Sequence[tuple[Any, ...]]]
"""A table of `schema.PORTABLE` and some of its rows, each in the order of its columns."""


class Store(Protocol):
    """A store of events, readings, detections, verdicts and states."""

    url: str
    """The address as messages show it: never with a password."""
    address: str
    """What opens it again, with the password."""

    def close(self) -> None:
        """Release connections. A closed store is not used again."""

    def settle(self) -> None:
        """Make commits survive a loss of power, where they do not already; others may write meanwhile."""

    def __enter__(self) -> Store: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def info(self) -> Info:
        """What is in the store."""

    # --- events -----------------------------------------------------------------------------

    def add(
        self,
        events: Sequence[Event | Staged],
        *,
        keep_text: bool = False,
        received_at: datetime | None = None,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
    ) -> Added:
        """Add events and return when they are stored; each id of a source once.

        The same content again is counted as repeated. Other content under a known id raises `Clashes`, and
        nothing of the call is added. Texts go unless `keep_text` (`rows.bare_attributes` for agent runs);
        content is compared with the text all the same. The numbers of a subject (`SubjectRow`) follow.
        `kinds` (source -> signal -> kind) replaces what is known of these sources. `Added.again` has the
        lines of `Staged` items, or the positions of events, that were there.
        """

    def add_readings(self, event: tuple[str, str], readings: Iterable[Reading]) -> int:
        """Add or replace readings of the event (source, id) by (signal, scorer); return how many.

        0 where there is no such event. What came with an event wins over readings added later.
        """

    def events(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        ordered: bool = True,
        with_text: bool = False,
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> Iterator[Event]:
        """Events of all or some subjects in the order (at, seq, id), read in batches. `until` is included.

        Subjects are read a few hundred at a time; only within these the order holds. Not `ordered`: unsorted.
        `with_text`: only events with a text. `scorers`: signal (or '*') to the scorer whose readings come
        before all others.
        """

    def columns(
        self,
        subjects: Iterable[Who] | None = None,
        *,
        until: datetime | None = None,
        mates: bool = False,
        without: Collection[str] = (),
        scorers: Mapping[str, str] = NO_SCORERS,
    ) -> EventSequence:
        """The events that `events` gives, all in order, as columns where that is possible.

        `mates` adds the events of others in the threads (of the same source) of these subjects. Stored
        readings of our own signals that `without` names are left out; steps of a run without their texts get
        another kind.
        """

    def sources(self) -> dict[str, Source]:
        """Every source by name."""

    def subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects with events, by source and name; `name` and `source` select.

        `SubjectRow.changed` is the arrival number of the newest event: it grows with every event of the
        subject, late ones too, and is never given twice in a store, even after a purge.
        """

    # --- scores of messages -----------------------------------------------------------------

    def scored_by(self, scorer: str) -> set[tuple[str, str]]:
        """The events (source, id) that have scores by this scorer."""

    def has_texts(self) -> bool:
        """Whether an event has a text."""

    def measured(self, signal: str) -> bool:
        """Whether a reading of this signal was added to an event that came without one."""

    def add_scores(self, scored: Sequence[Scored]) -> int:
        """Add or replace scores in one commit; return how many events got some.

        An event is found by its source and id; where a file has no ids, by its source and content. The
        subjects count as changed, so that the next sweep checks them again.
        """

    # --- imports ----------------------------------------------------------------------------

    def begin_import(self, key: str, state: Mapping[str, Any], at: datetime) -> Import:
        """Continue the import of a key, or begin a new one with this state."""

    def imports(self) -> list[Import]:
        """Unfinished imports, oldest first."""

    def stage(
        self,
        of: Import,
        batch: Sequence[Staged],
        state: Mapping[str, Any],
        *,
        keep_text: bool = False,
        skip_clashes: bool = False,
        received_at: datetime | None = None,
    ) -> tuple[Import, tuple[Clash, ...]]:
        """Stage a batch, and its state in the same commit; return the import and the skipped clashes.

        Nobody sees staged events. An event staged before is counted as repeated; under other content it is a
        clash that names both places, raised as `Clashes` unless `skip_clashes`.
        """

    def staged_untimed(self, of: Import, source: str, *, drop: bool) -> tuple[int, list[Place]]:
        """Count staged events of a source without a time, and list the first 50; `drop` removes them."""

    def finish_import(
        self,
        of: Import,
        kinds: Mapping[str, Mapping[str, str]],
        *,
        files: Mapping[str, int],
        options: str,
        at: datetime,
        skip_clashes: bool = False,
    ) -> Added:
        """Make everything staged visible in one commit, as `add` would. `kinds`: source -> signal -> kind.

        `BadEvents` where some events of a source have times and some have none. `files` (hash -> number of
        events) are known under `options` from then on.
        """

    def drop_import(self, of: Import) -> None:
        """Remove an import and everything staged for it."""

    def known_files(self, options: str) -> dict[str, int]:
        """Hashes of files imported under these options, with their numbers of events."""

    # --- detections and sweeps --------------------------------------------------------------

    def detections(
        self,
        *,
        subjects: Iterable[Who] | None = None,
        sources: Iterable[str] | None = None,
        patterns: Iterable[str] | None = None,
        states: Iterable[str] | None = None,
        ids: Iterable[str] | None = None,
        parts: bool = True,
    ) -> list[Detection]:
        """The current detections in output order. `parts`: also those that only combinations need."""

    def history(self, detection: str) -> list[dict[str, Any]]:
        """Every change of a detection as JSON, oldest first."""

    def find_detections(
        self,
        *,
        patterns: Sequence[str] = (),
        subject: str | None = None,
        source: str | None = None,
        severity: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> tuple[list[Detection], int]:
        """Standing detections, newest first, and how many there are without `limit` and `offset`.

        `severity` is the lowest, `since` the earliest `detected_at`. Parts of combinations and detections of
        shadow patterns are left out.
        """

    def detected_patterns(self) -> list[str]:
        """The patterns of stored detections, sorted."""

    def save_found(
        self, changes: Iterable[tuple[str, Detection]], as_of: datetime, *, reported: bool = False
    ) -> None:
        """Save detections that were made outside a sweep, each with its change, in one commit.

        Unless `reported`, the next sweep reports the changes.
        """

    def detected_subjects(self, name: str | None = None, source: str | None = None) -> list[SubjectRow]:
        """Subjects that have standing detections and no events, by source and name.

        Their times are those of the detections.
        """

    def changes(self, after: int = 0, most: int = 1_000) -> list[Change]:
        """Changes with a key above `after`, oldest first, but not those of parts and shadow patterns."""

    def unreported(self) -> list[Change]:
        """Changes that were not reported yet, oldest first; never those of parts and shadow patterns."""

    def mark_reported(self, changes: Iterable[int]) -> None:
        """Record that the changes with these keys were reported."""

    def touched(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        since: datetime | None = None,
        min_events: int = 1,
        threads: bool = False,
    ) -> list[SubjectRow]:
        """Subjects to sweep again, by source and name.

        Never swept with these versions; changed since; with an event that was in the future then; or with a
        silence that is due. `since`: also all with an event at or after it. `threads`: also those in a
        thread where somebody changed, whose readings may depend on it.
        """

    def save_sweep(
        self,
        selection: str,
        versions: str,
        as_of: datetime,
        *,
        detections: Sequence[tuple[str, SweptDetection]] = (),
        swept: Sequence[Swept] = (),
        lock: Held | None = None,
        at: datetime | None = None,
    ) -> None:
        """Write the detections of a sweep, each with its change, and the swept subjects, in one commit.

        A detection replaces the one with its id. `BadUsage` where `lock` is no longer held.
        """

    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None:
        """Record that a sweep was finished."""

    def last_sweep(self) -> datetime | None:
        """The latest moment that was swept as of, also by a sweep that was killed; None before the first."""

    def reset_sweeps(self, after: datetime) -> int:
        """Forget sweeps as of later than a moment; how many subjects will be looked at anew.

        Detections, changes and verdicts stay: the next sweep compares them with what it finds.
        """

    def lock(self, name: str, at: datetime) -> Held:
        """Take a lock that one process holds at a time; that of a dead process is taken over.

        BadUsage says who holds it.
        """

    def unlock(self, held: Held) -> None:
        """Release a lock, if it is still ours."""

    # --- verdicts ---------------------------------------------------------------------------

    def add_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Add all verdicts, or none."""

    def verdicts(self, detection: str | None = None) -> list[Verdict]:
        """Verdicts, oldest first: all, or those of one detection."""

    def has_verdicts(self) -> bool:
        """Whether there are verdicts or counts of removed ones."""

    def settle_verdicts(self, before: datetime) -> int:
        """Count and remove the verdicts on items last judged before a moment; return how many items."""

    def settled(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """The verdicts on items whose earlier verdicts were counted and removed."""

    def settled_verdicts(self) -> dict[str, str]:
        """The joint verdict on detections whose verdicts were counted and removed, by their ids."""

    def verdict_counts(self) -> dict[Slot, Counts]:
        """The counts of removed verdicts."""

    def silence_ends(self) -> dict[Item, datetime]:
        """When each judged silence ends, where its last event is still stored."""

    def add_try(self, item: Try) -> int:
        """Add an attempt to learn, and return its key."""

    def tries(self, pattern: str | None = None) -> list[Try]:
        """Attempts to learn, oldest first: all, or those about one pattern."""

    # --- states, pseudonyms, audit ----------------------------------------------------------

    def put_note(self, kind: str, key: str, record: Mapping[str, Any] | None, at: datetime) -> None:
        """Replace a record that is not derived from events, such as an API key; None removes it."""

    def notes(self, kind: str) -> dict[str, dict[str, Any]]:
        """The records of a kind by key, oldest first."""

    def note(self, kind: str, key: str) -> dict[str, Any] | None:
        """One record, or None."""

    def save_state(
        self, name: str, key: str, state: bytes | None, at: datetime, *, subject: str | None = None
    ) -> None:
        """Replace a state; None removes it.

        One with a `subject` belongs to it: a purge of others leaves it. One without can be rebuilt.
        """

    def load_state(self, name: str, key: str) -> bytes | None:
        """The state that was saved last, or None."""

    def states_of(self, subject: str) -> list[SavedState]:
        """A subject's own states, by name and key."""

    def private(self) -> int | None:
        """The check of the key; None where names are stored as they are."""

    def private_salt(self) -> int | None:
        """The store's own random number, part of every pseudonym; None in those of the first scheme."""

    def make_private(self, check: int, salt: int | None = None) -> None:
        """Mark the store as one of pseudonyms; one that is marked stays as it is."""

    def add_looks(self, looks: Iterable[UsageLook]) -> None:
        """Write lines of the audit."""

    def looks(self, person: str | None = None) -> list[UsageLook]:
        """The audit, oldest first: all, or the lines about one person."""

    # --- purge ------------------------------------------------------------------------------

    def purge(
        self, *, subject: Who | str | None = None, before: datetime | None = None, redact: bool = False
    ) -> Purged:
        """Remove a subject (in all sources, or in one), or what lies before a moment, or both.

        Detections go with their subject; before a moment, those that were over by then, and all of subjects
        without events left. Verdicts on removed detections, and on silences whose events go, are counted and
        go too. Runner states that can be rebuilt go; of conversations those of the subject, or those last
        saved before the moment. Unfinished imports go.

        Where a subject goes as a whole, rows of others that mention it are counted; `redact` puts a
        placeholder there.
        """

    def purged_before(self) -> int | None:
        """Microseconds since 1970 before which something was purged, if anything was."""

    # --- questions (questions.py makes answers of these) ------------------------------------

    def links(self, subject: str | None = None, target: str | None = None) -> list[LinkRow]:
        """Events with a target, counted by source, subject, target and kind, in that order.

        `subject` and `target` select. Both hold where both are given.
        """

    def shown(self) -> list[ShownRow]:
        """The indicators of each subject: number readings above 0 with the name of one, by any scorer.

        In the order source, subject, indicator.
        A name of an indicator is three capitals, `_`, and capitals or digits (`models.is_indicator_name`).
        """

    def shared(self, by: str) -> Iterator[SharedRow]:
        """Events whose `by` (target or text) events of another subject of the source have too.

        In the order source, value, time, sequence number, id. Events without one are left out.
        """

    # --- moving -----------------------------------------------------------------------------

    def dump(self) -> Iterator[Rows]:
        """Everything but locks and unfinished imports, as rows of the tables in `schema.PORTABLE`.

        Tables come in that order, in batches, as of one moment.
        """

    def load(self, rows: Iterable[Rows]) -> None:
        """Take over what `dump` gave; BadUsage where this store has any of what `info` counts."""
