"""Memory: people in a dictionary. A summary each, at most 2 KB, and nothing of events but what is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from threading import Lock
from typing import NamedTuple

from .audit import Look
from .clock import DAY, day_of
from .coarse import Keeping, forget_before, tidied
from .pseudonym import Keys, name_of
from .seen import Seen, added
from .shelf import IDS, Batch, Gone, KeptEvent, Person, Who, has_id, with_id
from .summary import Summary
from .telling import Episode

LOOKS = 100_000
"""Lines of the audit that are held."""
MOST_PEOPLE = 1_000_000
"""People that are held, of 2 KB each; those longest without an event are let go first."""


class _Held(NamedTuple):
    state: Summary
    ids: bytes = b""
    told: tuple[Episode, ...] = ()


class Memory:
    """People of one process, for as long as it runs."""

    def __init__(self, keys: Keys, keeping: Keeping, most: int = MOST_PEOPLE) -> None:
        self.keys, self.keeping = keys, keeping
        self.evicted, self._most = 0, most
        self.newest = 0
        self._people: dict[bytes, _Held] = {}
        self._looks: deque[Look] = deque(maxlen=LOOKS)
        # One for each first byte, so that threads hardly ever wait for one another.
        self._locks = [Lock() for _ in range(256)]

    def add(self, batch: Batch, now: float, mark: tuple[bytes, int] | None = None) -> int:
        """How many of the events were new; all are in now."""
        count = 0
        for base, seen in batch:
            name = self.keys.final(base)
            with self._locks[name[0]]:
                count += self._add(name, seen)
            while len(self._people) > self._most and self._evict():
                pass
        return count

    def _evict(self) -> bool:
        """Let go of whoever is longest without an event, unless another thread is at work there."""
        try:
            name = next(iter(self._people))
        except (StopIteration, RuntimeError):  # another thread changed it in between
            return False
        if not self._locks[name[0]].acquire(blocking=False):
            return False
        try:
            self.evicted += self._people.pop(name, None) is not None
        finally:
            self._locks[name[0]].release()
        return True

    def done(self, base: bytes) -> int:
        """Nothing is remembered of files here."""
        return 0

    def _add(self, name: bytes, seen: Seen) -> bool:
        held = self._people.get(name)
        if held is None:
            held = _Held(Summary())
        ids = held.ids
        if seen.id is not None:
            if has_id(ids, seen.id):
                return False
            ids = with_id(ids, seen.id)
        self.newest = max(self.newest, seen.at)
        state = added(held.state, seen)
        if self._is_due(held.state, seen):
            left = tidied(state, self.newest, self.keeping)
            state = Summary() if left is None else left
        self._people.pop(name, None)  # the newest stand last
        self._people[name] = _Held(state, ids, held.told)
        return True

    def _is_due(self, before: Summary, seen: Seen) -> bool:
        if not self.keeping.exact and day_of(before.newest, before.ahead) != day_of(seen.at, before.ahead):
            return True
        return bool(before.events) and self.newest - before.first > self.keeping.retention + DAY

    def put(self, name: bytes, state: Summary) -> None:
        """Keep a whole summary under a name, in place of what was there."""
        with self._locks[name[0]]:
            self._people[name] = _Held(state)
        self.newest = max(self.newest, state.newest)

    def name(self, who: Who) -> bytes:
        """The name of somebody, known or not."""
        return name_of(self.keys, who)

    def person(self, who: Who) -> Person | None:
        """Who is kept under a name."""
        name = self.name(who)
        held = self._people.get(name)
        return None if held is None else Person(name, held.state, held.told)

    def people(self, whom: Sequence[Who] | None = None) -> Iterator[Person]:
        """Everybody, or these."""
        chosen = list(self._people) if whom is None else [self.name(one) for one in whom]
        for name in chosen:
            if (held := self._people.get(name)) is not None:
                yield Person(name, held.state, held.told)

    def tell(self, rows: Iterable[tuple[bytes, Sequence[Episode]]], looks: Iterable[Look]) -> None:
        """Remember what was told, and who looked."""
        self._looks.extend(looks)
        for name, episodes in rows:
            with self._locks[name[0]]:
                if (held := self._people.get(name)) is not None:
                    kept = {(one.signal, one.opened): one for one in (*held.told, *episodes)}
                    self._people[name] = held._replace(told=tuple(kept.values())[-IDS:])

    def looks(self, name: bytes | None = None) -> Iterator[Look]:
        """The audit, oldest first: all, or the lines about one person."""
        return (one for one in tuple(self._looks) if name is None or one.person == name)

    def events(self, name: bytes) -> Iterator[KeptEvent]:
        """No events are kept here."""
        return islice((), 0)

    def tidy(self, now: float) -> Gone:
        """What was let go of: all that need not be kept as of a moment, or of the newest event before it."""
        people = events = 0
        newest = min(now, self.newest)
        for name in list(self._people):
            with self._locks[name[0]]:
                if (held := self._people.get(name)) is not None:
                    left = tidied(held.state, now, self.keeping, newest)
                    people += left is None
                    events += max(0, held.state.events - (left.events if left else 0))
                    self._put(name, held, left)
        self._forget_looks(before=now - self.keeping.retention)
        return Gone(people, events, True)

    def check_whole(self) -> None:
        """Nothing here can be damaged."""

    def purge(self, name: bytes | None, before: int | None) -> Gone:
        """What was removed: a person, or what lies before a moment, or both."""
        events = people = 0
        for one in list(self._people) if name is None else [name]:
            with self._locks[one[0]]:
                held = self._people.get(one)
                if held is None:
                    continue
                left = None if before is None else forget_before(held.state, before)
                events += held.state.events - (left.events if left else 0)
                self._put(one, held, left)
            if left is None:
                people += 1
                self._forget_looks(one)
        self.newest = max((held.state.newest for held in list(self._people.values())), default=0)
        return Gone(people, events, True)

    def _forget_looks(self, name: bytes | None = None, before: float = 0.0) -> None:
        """Take the person out of the lines about somebody, and of those before a moment."""
        hidden = [
            one._replace(person=None, why="") if one.at < before or one.person == (name or b"") else one
            for one in list(self._looks)
        ]
        self._looks = deque(hidden, maxlen=LOOKS)

    def _put(self, name: bytes, held: _Held, left: Summary | None) -> None:
        if left is None:
            del self._people[name]
        elif left is not held.state:
            self._people[name] = held._replace(state=left)

    def counts(self) -> dict[str, int]:
        """How much is kept."""
        evicted = {"evicted": self.evicted} if self.evicted else {}
        return {"people": len(self._people), "events": 0, "looks": len(self._looks), **evicted}

    def begin_anew(self) -> None:
        """In a forked child: wait for no lock of the parent's."""
        self._locks = [Lock() for _ in range(256)]

    def close(self) -> None:
        """Nothing: memory goes with the process."""
