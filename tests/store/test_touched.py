"""Who is swept again: the watermark gives those whom a mark for every subject gives."""

from __future__ import annotations

import random
import secrets
from datetime import timedelta

import pytest

from dict_store import DictStore
from ethogram.models import Event, micros, moment
from ethogram.store.records import Swept, Who
from sampling import seeds
from stores_support import NOON

MINUTE_US = 60_000_000


class Marks:
    """How far each subject was swept, one by one: what a watermark stands for."""

    def __init__(self) -> None:
        self.events: dict[Who, list[tuple[int, int, str]]] = {}
        self.swept: dict[tuple[str, Who], tuple[str, int, int, int | None]] = {}
        self.last = 0

    def add(self, who: Who, at_us: int, thread: str) -> None:
        self.last += 1
        self.events.setdefault(who, []).append((self.last, at_us, thread))

    def is_new(self, selection: str, versions: str, who: Who, event: tuple[int, int, str], now: int) -> bool:
        mark = self.swept.get((selection, who))
        return mark is None or mark[0] != versions or event[0] > mark[1] or mark[2] < event[1] <= now

    def touched(self, selection: str, versions: str, now: int, *, threads: bool) -> list[Who]:
        found = set()
        for who, events in self.events.items():
            mark = self.swept.get((selection, who))
            is_due = mark is not None and mark[0] == versions and mark[3] is not None and mark[3] < now
            if is_due or any(self.is_new(selection, versions, who, event, now) for event in events):
                found.add(who)
        # Those whose events all lie in the future are swept when these have come.
        found = {who for who in found if min(event[1] for event in self.events[who]) <= now}
        if threads:
            new = {
                (who[0], event[2])
                for who in found
                for event in self.events[who]
                if event[1] <= now and self.is_new(selection, versions, who, event, now)
            }
            found |= {who for who, events in self.events.items() if {(who[0], e[2]) for e in events} & new}
        return sorted(who for who in found if min(event[1] for event in self.events[who]) <= now)


@pytest.mark.parametrize("seed", seeds(5, 100))
def test_the_watermark_gives_whom_marks_for_everybody_give(seed):
    rng = random.Random(seed)
    store, marks, now = DictStore(f"dict://{secrets.token_hex(4)}", create=True), Marks(), micros(NOON)
    count = 0
    for _ in range(25):
        for _ in range(rng.choice([0, 0, 1, 3])):
            who = (rng.choice("ab"), f"s{rng.randrange(5)}")
            at = now + rng.randrange(-30, 30) * MINUTE_US
            thread = f"t{rng.randrange(4)}"
            event = Event.sample(
                id=f"e{count}", at=moment(at), seq=0, source=who[0], subject=who[1], thread=thread
            )
            assert store.add([event]).added == 1
            marks.add(who, at, thread)
            count += 1
        now += rng.choice([0, 1, 10]) * MINUTE_US
        selection, versions = rng.choice(["s1", "s2"]), rng.choice(["v1", "v1", "v2"])
        threads = rng.random() < 0.5
        rows = store.touched(selection, versions, moment(now), threads=threads)
        assert [row.who for row in rows] == marks.touched(selection, versions, now, threads=threads)
        # A sweep that is killed leaves the last ones.
        is_killed = rng.random() < 0.3
        done = rows[: rng.randrange(len(rows) + 1)] if is_killed else rows
        due = {row.who: rng.choice([None, None, now + rng.randrange(20) * MINUTE_US]) for row in done}
        swept = [Swept(row.who, row.changed, due[row.who]) for row in done]
        store.save_sweep(selection, versions, moment(now), swept=swept)
        for row in done:
            marks.swept[selection, row.who] = (versions, row.changed, now, due[row.who])
        if not is_killed:
            store.close_sweep(selection, versions, moment(now), moment(now))
            assert all(row[6] is not None for row in store.rows("swept", [("selection", "=", selection)]))


def test_with_fewer_events_asked_for_those_who_had_too_few_are_swept():
    store = DictStore(f"dict://{secrets.token_hex(4)}", create=True)
    names = ["ann", "bo", "bo"]
    store.add([Event.sample(id=f"e{n}", at=NOON, seq=n, subject=who) for n, who in enumerate(names)])
    later = NOON + timedelta(hours=1)
    for least, expected in ((2, ["bo"]), (2, []), (1, ["ann"]), (1, [])):
        rows = store.touched("s", "v", later, min_events=least)
        assert [row.name for row in rows] == expected, least
        store.save_sweep("s", "v", later, swept=[Swept(row.who, row.changed, None) for row in rows])
        store.close_sweep("s", "v", later, later)
