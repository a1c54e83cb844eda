"""UsageTracker: people's use of a service as it happens."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from ..errors import BadUsage
from .audit import Look, check_ids, check_words
from .baseline import Cohort
from .event import AHEAD, Moment, check_name, check_zone, is_activity, seconds, seen_of
from .pseudonym import Keys, Pseudonym, find_keys, new_keys
from .retention import own_data
from .settings import Settings
from .signals import Episode, News, UsageSignals, news_of, signals
from .store import Person, Removed, UsageStore, Who
from .summary import Summary
from .write_buffer import WriteBuffer

# UsageTracker: people's use of a service as it happens, and what is unusual about a person, at any time.
#
# In memory, or in a file that many processes share. Ids are kept as keyed hashes only, and no text at all.

AT_ONCE = 5000
"""Events of a file in one transaction."""
TOLD_AT_ONCE = 100
KEEPS = ("events", "aggregates")


class UsageTracker:
    """Records use, and says what is unusual about a person against their own habit.

    `path`: a file that many processes may share; without it, memory. `key`: the file with the key of the
    pseudonyms (or ETHOGRAM_USAGE_KEY_FILE); in memory a key is made up. `keep`: the file holds events until
    `retention` has passed, or aggregates alone, and no event after its day. `hold`: seconds that events may
    wait in this process before they are written together; 0 writes each before `record` returns. `who` stands
    in the audit. `max_future`: how far ahead of the clock, in seconds, an event may lie (None: no limit).
    `clock` says what time it is, where nobody does.
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
        max_future: timedelta | float | None = AHEAD,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if keep not in (None, *KEEPS):
            raise BadUsage(f"keep is {' or '.join(KEEPS)}, not {keep!r:.40}")
        self._clock, self._ahead = clock, _ahead(max_future)
        self._who, self._zone = check_words(who, "who"), check_zone(time_zone)
        self._how: dict[str, Any] = {} if cohort is None else {"cohort": cohort}
        self._how |= {} if settings is None else {"settings": settings}
        kept = None if retention is None else _retention(retention)
        exact = None if keep is None else keep == "events"
        how: dict[str, Any] = {"exact": exact, "retention": kept}
        self._store = _open_store(path, key, create=create, at=clock(), who=self._who, **how)
        self._buffer = WriteBuffer(self._store, _seconds_of(hold, "hold"), clock)
        self._closed = False

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
        """Note one event of a person, in any order of time. BadUsage, and nothing noted, where it is none.

        What the service itself wrote (`is_user=False`) is no activity of the person; the mark that a session
        broke off counts whoever carries it. `emotional` may be a reading from 0 to 1. An `id` that came
        before is the same event: of all that are kept, or, where no events are, of the person's newest 64.
        """
        self._check_open()
        _check_truth(is_user)
        zone = self._zone if time_zone is None else time_zone
        said = (length, is_user, emotional, ended_abruptly, session, closing, zone, id)
        base, seen = seen_of(self._store.keys, self._latest(), subject, at, *said)
        if is_activity(seen):
            self._buffer.add(base, seen)

    def record_all(
        self,
        events: Sequence[dict[str, Any]],
        name: str,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[int, int]:
        """How many of many events were new, and how many were in already, by what they are from (`name`).

        Each event has the arguments of `record`. Interrupted, the same call goes on where it was.
        """
        self._check_open()
        store, now, latest = self._store, self._clock(), self._latest()
        base = store.keys.base("file", name)
        new, done = 0, store.done(base)
        begun = done
        while done < len(events):
            piece = events[done : done + AT_ONCE]
            for item in piece:
                _check_truth(item.get("is_user", True))
            zoned = ({**item, "time_zone": item.get("time_zone") or self._zone} for item in piece)
            made = [seen_of(store.keys, latest, **item) for item in zoned]
            done += len(piece)
            new += store.add([item for item in made if is_activity(item[1])], now, (base, done))
            if progress is not None:
                progress(done, len(events))
        return new, begun

    def flush(self) -> None:
        """Write what is held back. Where that fails nothing is lost: it is held still."""
        self._buffer.flush()

    # --- looking ----------------------------------------------------------------------------

    def signals(self, subject: str, as_of: Moment | None = None, why: str | None = None) -> UsageSignals:
        """What is unusual about a person; all quiet and insufficient where nobody is known by that id.

        Every call leaves a line in the audit: who asked, about whom, and why.
        """
        at = self._moment(as_of)
        person = self._looked(subject, "signals", why)
        return signals(Summary() if person is None else person.state, at, **self._how)

    def sweep(
        self, as_of: Moment | None = None, *, subjects: Iterable[str] | None = None, why: str | None = None
    ) -> Iterator[News]:
        """People with something unusual that was not told yet, at severity low or above.

        Only names of the store, unless the ids are given: `subjects` are looked at then, and nobody else.
        What was given to the caller counts as told once the next one is asked for; who is killed in between
        hears it again. What is too old is let go of first (see `tidy`).
        """
        self._check_open()
        at, words = self._moment(as_of), check_words(why, "why")
        given = None if subjects is None else list(subjects)
        for what, said in (("why", words), ("who", self._who)):
            check_ids(said, what, given or ())
        self.tidy(at)
        ids = None if given is None else {self._store.name(self._named(item)): item for item in given}
        whom = None if ids is None else [Pseudonym(name.hex()) for name in ids]
        self._store.tell([], [Look(self._clock(), "sweep", None, self._who, words)])
        told: list[tuple[bytes, Sequence[Episode]]] = []
        try:
            for person in self._store.people(whom):
                usage_signals = signals(person.state, at, **self._how)
                new, stand = news_of(usage_signals, person.told, at, person.state.newest)
                if new:
                    # The line is written before the look, and what was told is remembered after it.
                    self._store.tell([], [Look(self._clock(), "listed", person.name, self._who, words)])
                    yield News(
                        person.name.hex(), None if ids is None else ids[person.name], at, new, usage_signals
                    )
                if stand:
                    told.append((person.name, stand))
                if len(told) >= TOLD_AT_ONCE:
                    self._store.tell(told, [])
                    told = []
        finally:
            self._store.tell(told, [])

    def tidy(self, as_of: Moment | None = None) -> Removed:
        """What was let go of: whatever is older than the retention, counted back from the newest event.

        Where that is later than `as_of`, from there; never from later than the clock.
        """
        self._check_open()
        at = self._moment(as_of)
        self.flush()
        return self._store.tidy(min(at, self._clock()))

    def _looked(self, subject: str, what: str, why: str | None) -> Person | None:
        """Who is known by an id, with a line in the audit, also where nobody is."""
        self._check_open()
        check_name(subject, "subject")
        words = check_words(why, "why", subject)
        check_ids(self._who, "who", [subject])
        self.flush()
        who = self._named(subject)
        found = self._store.person(who)
        told = what if found is not None else "unknown"
        self._store.tell([], [Look(self._clock(), told, self._store.name(who), self._who, words)])
        return found

    def _named(self, subject: str) -> Who:
        return subject if isinstance(subject, Pseudonym) else self._store.keys.base("person", subject)

    def _check_open(self) -> None:
        if self._closed:
            raise BadUsage("the tracker is closed; make a new one")

    def _latest(self) -> float:
        """The latest second an event may have: one of a wrong year would drive out what is known."""
        return self._clock() + self._ahead

    def _moment(self, as_of: Moment | None) -> float:
        return self._clock() if as_of is None else seconds(as_of, "as_of")

    def name(self, subject: str) -> str:
        """The name that the store has for a person, known or not: 32 hexadecimal digits."""
        self._check_open()
        return self._store.name(self._named(subject)).hex()

    def export(self, subject: str, why: str | None = None) -> Iterator[dict[str, Any]]:
        """Everything that is kept of a person, as records: for the person themselves."""
        person = self._looked(subject, "export", why)
        yield from own_data(self._store, self._store.name(self._named(subject)), person)

    def audit(self, subject: str | None = None) -> Iterator[Look]:
        """Who looked at whom, oldest first: all lines, or those about one person."""
        self._check_open()
        name = None if subject is None else self._store.name(self._named(subject))
        return self._store.looks(name)

    def purge(
        self, subject: str | None = None, before: Moment | None = None, why: str | None = None
    ) -> Removed:
        """What was removed for good: a person, or what lies before a moment, or both.

        The audit keeps that something was removed, not who.
        """
        self._check_open()
        if subject is None and before is None:
            raise BadUsage("purge what? Give a subject, or a moment, or both")
        name = None if subject is None else check_name(subject, "subject")
        words = check_words(why, "why", subject)
        check_ids(self._who, "who", [] if subject is None else [subject])
        self.flush()
        self._store.check_integrity()
        # Written first: a purge that fails half-way was tried all the same.
        self._store.tell([], [Look(self._clock(), "purge", None, self._who, words)])
        at = None if before is None else int(seconds(before, "before"))
        return self._store.purge(None if name is None else self._store.name(self._named(name)), at)

    def info(self) -> dict[str, Any]:
        """What is kept, and for how long."""
        self._check_open()
        self.flush()
        policy = self._store.policy
        from .records import UsageStoreRecord

        return UsageStoreRecord(
            keep=KEEPS[not policy.exact],
            retention_days=policy.retention / 86_400,
            keys=len(self._store.keys.chain),
            **self._store.counts(),
        ).to_dict()

    # --- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Write what is held back and let go of the file. A second call does nothing."""
        if self._closed:
            return
        self.flush()
        self._closed = True
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open_store(path: str | Path | None, key: Keys | str | Path | None, **how: Any) -> UsageStore:
    if path is None:
        return UsageStore(None, new_keys() if key is None else find_keys(key)[0], **how)
    keys, key_file = find_keys(key, is_made=Path(path).is_file() and Path(path).stat().st_size > 0)
    return UsageStore(path, keys, key_file=key_file, **how)


def _retention(value: timedelta | float) -> int:
    found = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(found, bool) or not isinstance(found, int | float) or not 86_400 <= found < 1e10:
        raise BadUsage(f"retention is a timedelta, or seconds, of one day or more; not {value!r:.40}")
    return int(found)


def _ahead(value: timedelta | float | None) -> float:
    if value is None:
        return math.inf
    found = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        raise BadUsage(f"max_future is a timedelta, seconds of 0 or more, or None; not {value!r:.40}")
    return float(found)


def _check_truth(is_user: object) -> None:
    if not isinstance(is_user, int | float) or not 0 <= is_user <= 1:
        raise BadUsage(f"is_user is true or false; here is {is_user!r:.40}")


def _seconds_of(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
        raise BadUsage(f"{what} is a number of seconds from 0 to 3600, not {value!r:.40}")
    return float(value)


# Two functions over one tracker in memory, for a service that needs no more than that.

_LOCK = Lock()
_TRACKER: list[UsageTracker] = []


def default_tracker() -> UsageTracker:
    """The tracker of this process, made when first asked for."""
    with _LOCK:
        if not _TRACKER:
            _TRACKER.append(UsageTracker())
        return _TRACKER[0]


def record_event(
    subject: str,
    timestamp: Moment | None = None,
    message_length: int | None = None,
    is_user: bool = True,
    emotional_content: float = False,
    terminated_abruptly: float = False,
    *,
    session: str | None = None,
    time_zone: str | None = None,
) -> None:
    """Note one event of a person in this process's memory, without a time now; see UsageTracker.record."""
    default_tracker().record(
        subject,
        time.time() if timestamp is None else timestamp,
        message_length,
        is_user,
        emotional_content,
        terminated_abruptly,
        session,
        time_zone=time_zone,
    )


def get_risk_signals(subject: str, as_of: Moment | None = None) -> UsageSignals:
    """What is unusual about a person, from what `record_event` noted; see UsageTracker.signals."""
    return default_tracker().signals(subject, as_of)
