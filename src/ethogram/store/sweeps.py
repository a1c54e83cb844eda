"""Sweeps: who has something new, and how far each selection of patterns has come.

A finished sweep leaves a watermark in `sweeps`: as of when it was, and the arrival number of the newest
event before it. Rows of `swept` say what differs for a subject: how far a sweep under way has come with it,
or when a silence is due. So a sweep reads of the store's subjects only those that may have something new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ..models import micros, moment
from .detections import save_changes
from .events import highest, subject_of
from .kinds import Row
from .locks import check_held
from .numbers import last_key
from .records import Held, SubjectRow, Swept, SweptDetection, Who
from .row_store import Condition, Reader, RowStore, atomic, by_source, in_pieces

NEVER = -(2**63)


class Progress(NamedTuple):
    """How far a subject was swept: up to which event, as of when, and when a silence is due."""

    changed: int
    as_of_us: int
    due_us: int | None = None


class Watermark(NamedTuple):
    """How far everybody was swept who had at least `min_events`."""

    progress: Progress
    min_events: int


class Sweeps(RowStore):
    """How far each selection of patterns has come with each subject."""

    _begun: tuple[str, str, int, int] | None = None
    """The selection and versions of the sweep under way, the newest event before it, and its `min_events`."""

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
        now = micros(as_of)
        with self.snapshot() as view:
            self._begun = (selection, versions, last_key(view), min_events)
            look = _Look(view, selection, versions, now, min_events)
            rows = look.changed_subjects()
            found = dict(rows)
            if since is not None:
                found |= look.subjects([("last_us", ">=", micros(since))])
            # Those whose events all lie in the future are swept when these have come.
            if threads and (begun := {who: row for who, row in rows.items() if row[3] <= now}):
                found |= look.thread_mates(begun)
        chosen = {who: row for who, row in found.items() if row[3] <= now}
        return [subject_of(chosen[who]) for who in sorted(chosen)]

    def last_sweep(self) -> datetime | None:
        """The latest moment that was swept as of, also by a sweep that was killed; None before the first."""
        with self.snapshot() as view:
            ends = [highest(view, kind, "as_of_us") for kind in ("sweeps", "swept")]
        known = [end for end in ends if end is not None]
        return moment(max(known)) if known else None

    @atomic
    def reset_sweeps(self, after: datetime) -> int:
        """Forget sweeps as of later than a moment; how many subjects will be looked at anew.

        Detections, changes and verdicts stay: the next sweep compares them with what it finds.
        """
        gone = [("as_of_us", ">", micros(after))]
        count = 0
        for selection, as_of in list(self.rows("sweeps", gone, columns=("selection", "as_of_us"))):
            self.delete("sweeps", [("selection", "=", selection)])
            self.delete("swept", [("selection", "=", selection)])
            count += self.count("subjects", [("first_us", "<=", as_of)])
        return count + self.delete("swept", gone)

    @atomic
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
        if lock is not None:
            check_held(self, lock, None if at is None else micros(at))
        save_changes(self, detections, micros(as_of))
        rows = [(selection, *item.who, versions, item.changed, micros(as_of), item.due_us) for item in swept]
        if rows:
            self.write("swept", rows)

    @atomic
    def close_sweep(self, selection: str, versions: str, as_of: datetime, at: datetime) -> None:
        """Record that a sweep was finished, of those whom `touched` gave last."""
        begun = self._begun
        changed = min_events = None
        if begun is not None and begun[:2] == (selection, versions):
            _, _, changed, min_events = begun
            own = ("selection", "=", selection)
            self.delete("swept", [own, ("versions", "!=", versions)])
            self.delete("swept", [own, ("due_us", "=", None)])
        row = (selection, versions, micros(as_of), micros(at), changed, min_events)
        self.write("sweeps", [row])


class _Look:
    """Finds the subjects with something new for a selection, as of a moment."""

    def __init__(self, view: Reader, selection: str, versions: str, now: int, min_events: int) -> None:
        self._view, self._now = view, now
        self._enough: Condition = ("events", ">=", min_events)
        self._min_events = min_events
        self._own: list[Condition] = [("selection", "=", selection), ("versions", "=", versions)]
        self._mark: Watermark | None = None
        for _, _, as_of, _, changed, least in view.rows("sweeps", self._own):
            if changed is not None:
                self._mark = Watermark(Progress(changed, as_of), least or 1)
        self._swept: dict[Who, Progress] = {}
        # Of a sweep with other versions that was killed: what it saved is compared again.
        others = [("selection", "=", selection), ("versions", "!=", versions)]
        columns = ("source", "subject")
        self._stale: set[Who] = {
            (source, name) for source, name in view.rows("swept", others, columns=columns)
        }

    def subjects(self, where: Sequence[Condition]) -> dict[Who, Row]:
        """The rows of subjects with enough events, by name."""
        return {(row[0], row[1]): row for row in self._view.rows("subjects", [*where, self._enough])}

    def changed_subjects(self) -> dict[Who, Row]:
        """The rows of subjects that have something new, by name."""
        mark = self._mark
        if mark is None:
            found = self.subjects([])
            self._read_swept([])
        else:
            found = self.subjects([("changed", ">", mark.progress.changed)])
            found |= self.subjects([("last_us", ">", mark.progress.as_of_us)])
            if self._min_events < mark.min_events:
                found |= self.subjects([("events", "<", mark.min_events)])
            self._read_swept([("due_us", "<", self._now)])
            for source, names in by_source((self._swept.keys() | self._stale) - found.keys()):
                found |= self.subjects([("source", "=", source), ("name", "in", names)])
            for source, names in by_source(found.keys() - self._swept.keys()):
                self._read_swept([("source", "=", source), ("subject", "in", names)])
        later: list[Who] = []
        new: dict[Who, Row] = {}
        for who, row in found.items():
            own = self.progress(who, row)
            if own is None or row[5] > own.changed or (own.due_us is not None and own.due_us < self._now):
                new[who] = row
            elif row[4] > own.as_of_us:
                later.append(who)
        return new | {who: found[who] for who in self._with_events_since(later, found)}

    def _read_swept(self, where: Sequence[Condition]) -> None:
        columns = ("source", "subject", "changed", "as_of_us", "due_us")
        for source, name, *progress in self._view.rows("swept", [*self._own, *where], columns=columns):
            self._swept[source, name] = Progress(*progress)

    def progress(self, who: Who, row: Row) -> Progress | None:
        """How far a subject was swept; None where it never was."""
        own = self._swept.get(who)
        mark = self._mark
        if who in self._stale:
            return None
        if mark is None or row[2] < mark.min_events:
            return own
        if own is None:
            return mark.progress
        # A row from before the watermark says when a silence is due, and no more.
        return own._replace(
            changed=max(own.changed, mark.progress.changed),
            as_of_us=max(own.as_of_us, mark.progress.as_of_us),
        )

    def _with_events_since(self, subjects: Sequence[Who], rows: dict[Who, Row]) -> Iterator[Who]:
        """Those with an event that was in the future when they were swept and is not any more."""
        for as_of, group in self._by_progress(subjects, rows, "as_of_us").items():
            when = [("at_us", ">", as_of), ("at_us", "<=", self._now)]
            for source, names in by_source(group):
                own = [("source", "=", source), ("subject", "in", names), *when]
                yield from (
                    (source, name) for _, name, *_ in self._view.groups("events", ("source", "subject"), own)
                )

    def _by_progress(self, subjects: Iterable[Who], rows: dict[Who, Row], field: str) -> dict[int, list[Who]]:
        """Subjects by one number of how far they were swept; most have the same."""
        groups: dict[int, list[Who]] = {}
        for who in subjects:
            own = self.progress(who, rows[who])
            groups.setdefault(NEVER if own is None else getattr(own, field), []).append(who)
        return groups

    def thread_mates(self, rows: dict[Who, Row]) -> dict[Who, Row]:
        """The rows of all subjects in the threads that have new events of these."""
        threads: dict[str, set[str]] = {}
        for field, column in (("changed", "key"), ("as_of_us", "at_us")):
            for since, group in self._by_progress(rows, rows, field).items():
                if since == NEVER and column == "at_us":
                    continue  # all their events are new
                when: list[Condition] = [("thread", "!=", None), ("at_us", "<=", self._now)]
                if since != NEVER:
                    when.append((column, ">", since))
                for source, names in by_source(group):
                    where = [("source", "=", source), ("subject", "in", names), *when]
                    for _, thread, *_ in self._view.groups("events", ("source", "thread"), where):
                        threads.setdefault(source, set()).add(thread)
        found: dict[Who, Row] = {}
        for source, own_threads in threads.items():
            for piece in in_pieces(sorted(own_threads)):
                where = [("source", "=", source), ("thread", "in", list(piece))]
                mates = self._view.groups("events", ("source", "subject"), where)
                for own, some in by_source((source, name) for _, name, *_ in mates):
                    found |= self.subjects([("source", "=", own), ("name", "in", some)])
        return found
