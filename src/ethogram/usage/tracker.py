"""UsageTracker: people's use of a service as it happens, and what is unusual about a person.

In memory, or in a file that many processes share. Ids are stored as keyed hashes only, and no text at all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from ..errors import BadUsage
from ..files import sqlite
from ..models import moment
from .audit import check_ids, check_words
from .clock import DAY
from .cohort import Cohort
from .event import MAX_FUTURE, Moment, check_name, check_zone, is_activity, make_event, seconds
from .pseudonym import Keys, Pseudonym, find_keys, new_keys
from .records import UsageLook, UsagePurge, UsageStoreRecord
from .retention import own_data
from .settings import Settings
from .signals import Episode, Looked, News, UsageSignals, news_of, signals
from .store import Person, UsageStore, Who
from .summary import EMPTY
from .write_buffer import WriteBuffer

AT_ONCE = 5000
"""Events of a file in one transaction."""
REPORTED_AT_ONCE = 100
STORED = ("events", "aggregates")


class UsageTracker:
    """Records use, and reports what is unusual about a person against their own habit.

    `path`: a file that many processes may share; without it, memory. `key`: the file with the key of the
    pseudonyms (or ETHOGRAM_USAGE_KEY_FILE; or else usage.key in the user's configuration folder, which is
    made for a new store); in memory a random one. `keep`: the file holds events until `retention` has
    passed, or aggregates alone, and no event after its day. `hold`: seconds that events may wait in this
    process before they are written together; 0 writes each before `record` returns. `who` stands in the
    audit. `max_future`: how far ahead of the clock, in seconds, an event may lie (None: no limit).
    `clock` returns the time where a call does not give it.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        key: Keys | str | Path | None = None,
        keep: str | None = None,
        retention: timedelta | float | None = None,
        cohort: Cohort | None = None,
        settings: Settings | None = None,
        time_zone: str | None = None,
        hold: float = 0.0,
        who: str | None = None,
        create: bool = True,
        max_future: timedelta | float | None = MAX_FUTURE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if keep not in (None, *STORED):
            raise BadUsage(f"invalid keep {keep!r:.40}: expected {' or '.join(STORED)}")
        self._clock, self._max_future = clock, math.inf
        if max_future is not None:
            expected = "max_future is a timedelta, seconds of 0 or more, or None"
            self._max_future = _duration(max_future, 0, math.inf, expected)
        self._who, self._zone = check_words(who, "who"), check_zone(time_zone)
        self._options: dict[str, Any] = {} if cohort is None else {"cohort": cohort}
        self._options |= {} if settings is None else {"settings": settings}
        how: dict[str, Any] = {"exact": None if keep is None else keep == "events", "retention": None}
        if retention is not None:
            expected = "retention is a timedelta, or seconds, of one day or more"
            how["retention"] = int(_duration(retention, 86_400, 1e10, expected))
        hold = _duration(hold, 0, 3600.1, "hold is a number of seconds from 0 to 3600")
        self._store = _open_store(path, key, create=create, at=clock(), who=self._who, **how)
        self._buffer = WriteBuffer(self._store, hold, clock)
        self._is_closed = False

    # --- recording --------------------------------------------------------------------------

    def record(
        self,
        subject: str,
        at: Moment,
        length: int | None = None,
        is_user: bool = True,
        emotional: float = False,
        ended_abruptly: float = False,
        session: str | None = None,
        closing: float = False,
        time_zone: str | None = None,
        id: str | None = None,  # noqa: A002 (what an event's id is called everywhere)
    ) -> None:
        """Record one event of a person, in any order of time; BadUsage where it is invalid.

        What the service itself wrote (`is_user=False`) is no activity of the person; its mark that a session
        broke off counts. `emotional` may be a reading from 0 to 1. An event with an `id` that is known
        already is ignored: known are those of all stored events, or, where no events are stored, the person's
        newest 64.
        """
        self._check_open()
        zone = self._zone if time_zone is None else time_zone
        base, event = make_event(
            self._store.keys, self._clock() + self._max_future, subject, at, length, is_user, emotional,
            ended_abruptly, session, closing, zone, id,
        )  # fmt: skip
        if is_activity(event):
            self._buffer.add(base, event)

    def record_all(
        self,
        events: Sequence[dict[str, Any]],
        name: str,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[int, int]:
        """Record many events and return how many were new, and how many of this source were stored before.

        Each event has the arguments of `record`; `name` stands for the source. Interrupted, the same call
        continues where it was. Events before `retained_from(events)` are left out.
        """
        self._check_open()
        store, now, oldest = self._store, self._clock(), self.retained_from(events)
        base = store.keys.base("file", name)
        new, done = 0, store.done(base)
        begun = done
        while done < len(events):
            piece = events[done : done + AT_ONCE]
            zoned = ({**item, "time_zone": item.get("time_zone") or self._zone} for item in piece)
            made = [make_event(store.keys, now + self._max_future, **item) for item in zoned]
            done += len(piece)
            activity = [item for item in made if is_activity(item[1]) and item[1].at >= oldest]
            new += store.add(activity, now, (base, done))
            if progress is not None:
                progress(done, len(events))
        return new, begun

    def retained_from(self, events: Sequence[dict[str, Any]]) -> int:
        """Return the time, in seconds since 1970, before which `record_all` leaves these events out.

        The retention counts back from the newest event of anybody, these included.
        """
        self._check_open()
        newest = max((seconds(item["at"]) for item in events if item.get("is_user", True)), default=0.0)
        return self._store.retained_from(newest, self._clock())

    def flush(self) -> None:
        """Write the events that wait. Where that fails nothing is lost: they wait still."""
        self._buffer.flush()

    # --- looking ----------------------------------------------------------------------------

    def signals(self, subject: str, as_of: Moment | None = None, why: str | None = None) -> UsageSignals:
        """Return what is unusual about a person; all signals are insufficient where nobody is known.

        Every call leaves a line in the audit: who looked, at whom, and why.
        """
        at = self._moment(as_of)
        person = self._look_up(subject, "signals", why)
        return signals(EMPTY if person is None else person.state, at, **self._options)

    def sweep(
        self,
        as_of: Moment | None = None,
        *,
        subjects: Iterable[str] | None = None,
        why: str | None = None,
        tidy: bool = True,
        looked: Looked | None = None,
    ) -> Iterator[News]:
        """Yield people with something unusual that was not reported yet, at severity low or above.

        By their names in the store, unless the ids are given: then only `subjects` are looked at. News count
        as reported once the caller asks for the next; after a kill in between they come again. What is too
        old is removed first (see `tidy`), unless `tidy` is False. `looked` counts people and what could not
        be judged.
        """
        self._check_open()
        at, words = self._moment(as_of), check_words(why, "why")
        chosen = None if subjects is None else list(subjects)
        for what, text in (("why", words), ("who", self._who)):
            check_ids(text, what, chosen or ())
        if tidy:
            self.tidy(at)
        ids = None if chosen is None else {self._store.name(self._key_of(item)): item for item in chosen}
        whom = None if ids is None else list(map(Pseudonym, ids))
        self._log("sweep", None, words)
        reported: list[tuple[str, Sequence[Episode]]] = []
        try:
            for person in self._store.people(whom):
                current = signals(person.state, at, **self._options)
                if looked is not None:
                    looked.add(current)
                new, episodes = news_of(current, person.episodes, at, person.state.newest)
                if new:
                    # The line is written before the look, and the report is remembered after it.
                    self._log("listed", person.name, words)
                    subject = None if ids is None else ids[person.name]
                    yield News(person.name, subject, at, new, current)
                if episodes:
                    reported.append((person.name, episodes))
                if len(reported) >= REPORTED_AT_ONCE:
                    self._store.remember(reported)
                    reported = []
        finally:
            self._store.remember(reported)

    def name(self, subject: str) -> str:
        """Return the name that the store has for a person, known or not: 32 hexadecimal digits."""
        self._check_open()
        return self._store.name(self._key_of(subject))

    def export(self, subject: str, why: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield everything that is stored of a person, as records: for the person themselves."""
        person = self._look_up(subject, "export", why)
        yield from own_data(self._store, self._store.name(self._key_of(subject)), person)

    def audit(self, subject: str | None = None) -> list[UsageLook]:
        """Return who looked at whom, oldest first: all lines, or those about one person."""
        self._check_open()
        return self._store.rows.looks(None if subject is None else self._store.name(self._key_of(subject)))

    def info(self) -> dict[str, Any]:
        """Return what is stored, and for how long."""
        self._check_open()
        self.flush()
        policy = self._store.policy
        return UsageStoreRecord(
            keep=STORED[not policy.exact],
            retention_days=policy.retention / DAY,
            keys=len(self._store.keys.chain),
            **self._store.counts(),
        ).to_dict()

    # --- removing ---------------------------------------------------------------------------

    @property
    def newest(self) -> float:
        """Seconds since 1970 of the newest event of anybody, up to half an hour more; 0: there is none."""
        return self._store.newest

    def tidy(self, as_of: Moment | None = None) -> UsagePurge:
        """Remove whatever is older than the retention, counted back from the newest event.

        Counted from `as_of` or the clock where the newest event is later.
        """
        self._check_open()
        at = self._moment(as_of)
        self.flush()
        return self._store.tidy(min(at, self._clock()))

    def purge(
        self, subject: str | None = None, before: Moment | None = None, why: str | None = None
    ) -> UsagePurge:
        """Remove for good: a person, or what lies before a moment, or both.

        The audit keeps that something was removed, not who.
        """
        self._check_open()
        if subject is None and before is None:
            raise BadUsage("nothing to purge: expected a subject, a moment or both")
        words = self._check_look(why, *(() if subject is None else (subject,)))
        self.flush()
        self._store.rows.check_integrity()
        # Written first: a purge that fails half-way was tried all the same.
        self._log("purge", None, words)
        at = None if before is None else int(seconds(before, "before"))
        return self._store.purge(None if subject is None else self._store.name(self._key_of(subject)), at)

    # --- helpers ----------------------------------------------------------------------------

    def _look_up(self, subject: str, what: str, why: str | None) -> Person | None:
        """Return the person with an id, with a line in the audit, also where nobody is known."""
        self._check_open()
        words = self._check_look(why, subject)
        self.flush()
        person = self._store.person(self._key_of(subject))
        name = self._store.name(self._key_of(subject))
        self._log("unknown" if person is None else what, name, words)
        return person

    def _check_look(self, why: str | None, *subjects: str) -> str:
        for subject in subjects:
            check_name(subject, "subject")
        words = check_words(why, "why")
        check_ids(words, "why", subjects)
        check_ids(self._who, "who", subjects)
        return words

    def _log(self, what: str, person: str | None, why: str) -> None:
        self._store.log(UsageLook(moment(int(self._clock() * 1e6)), what, person, self._who, why))

    def _key_of(self, subject: str) -> Who:
        return subject if isinstance(subject, Pseudonym) else self._store.keys.base("person", subject)

    def _check_open(self) -> None:
        if self._is_closed:
            raise BadUsage("the tracker is closed; make a new one")

    def _moment(self, as_of: Moment | None) -> float:
        return self._clock() if as_of is None else seconds(as_of, "as_of")

    def close(self) -> None:
        """Write the events that wait and close the file. A second call does nothing."""
        if self._is_closed:
            return
        self.flush()
        self._is_closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _open_store(path: str | Path | None, key: Keys | str | Path | None, **how: Any) -> UsageStore:
    if path is None:
        return UsageStore(None, new_keys() if key is None else find_keys(key)[0], **how)
    keys, key_file = find_keys(key, has_store=not sqlite.is_new(path), makes=True)
    return UsageStore(path, keys, key_file=key_file, **how)


def _duration(value: timedelta | float, low: float, end: float, expected: str) -> float:
    """Seconds from `low` on and below `end`; BadUsage says what was expected."""
    count = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(count, bool) or not isinstance(count, int | float) or not low <= count < end:
        raise BadUsage(f"{expected}; not {value!r:.40}")
    return float(count)
