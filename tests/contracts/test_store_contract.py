"""What every store promises, checked on everything that is registered."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ethogram import registry
from ethogram.errors import BadUsage, Conflict
from ethogram.models import Detection, Event, Evidence, Reading, Verdict
from ethogram.risk.verdicts import Counts, Slot
from ethogram.store import Store, moving, open_store
from ethogram.store.moving import PORTABLE
from ethogram.store.records import Clashes, LinkRow, SharedRow, ShownRow, Staged, Swept, SweptDetection, Try
from ethogram.store.scores import Scored
from ethogram.usage.records import UsageLook

NAMES = [*sorted({store: name for name, store in registry.stores.items()}.values()), "dict"]
"""One name of each store: some have several. The last is the toy of tests/dict_store.py."""
pytestmark = pytest.mark.usefixtures("dict_stores")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(params=NAMES)
def store(request: pytest.FixtureRequest, new_store) -> Iterator[Store]:
    with new_store(request.param) as opened:
        yield opened


def event(name: str, minute: int = 0, **fields) -> Event:
    fields.setdefault("subject", "ann")
    return Event.sample(id=name, at=NOON + timedelta(minutes=minute), seq=minute, **fields)


def found(name: str = "d1", **fields) -> Detection:
    made = Detection(
        id=name,
        pattern="loop",
        version="v1",
        state="opened",
        subject="ann",
        target="bo",
        thread=None,
        severity="low",
        confidence=0.5,
        opened_at=NOON,
        detected_at=NOON,
        closed_at=None,
        first_event="a",
        last_event="b",
        count=2,
        evidence=(Evidence("step", "a", NOON, {"risk": 0.5, "topic": "x"}),),
        details={"times": 3, "names": ["a", "b"]},
        confirms=("MAN_LOVEBOMB",),
        scorer="given",
        explanation="ann went in circles.",
        recommendation="Stop.",
        history={"subject": "ann", "target": "bo"},
        fired_event="b",
        fired_confidence=0.4,
    )
    return replace(made, **fields)


def test_there_are_stores_and_each_says_what_it_is():
    assert NAMES
    for name in NAMES:
        assert len((inspect.getdoc(registry.stores.get(name)) or "").partition("\n")[0]) > 10


def test_a_store_has_every_method_of_the_contract_with_the_same_parameters():
    names = [name for name in dir(Store) if callable(getattr(Store, name)) and not name.startswith("_")]
    for store in NAMES:
        for name in names:
            own, promised = getattr(registry.stores.get(store), name), getattr(Store, name)
            assert list(inspect.signature(own).parameters.values()) == list(
                inspect.signature(promised).parameters.values()
            ), (store, name)


def test_an_event_comes_back_as_it_was(store):
    whole = event(
        "a",
        target="bo",
        reply_to="z",
        thread="t",
        session="s",
        kind="action",
        text="Hello \u00e9 \U0001f600",
        attributes={"tool": "sh", "exit": 1, "deep": {"list": [1, 2.5, None, True]}},
        readings={"risk": 0.1 + 0.2, "topic": "caf\u00e9", "virtue": 1e-300},
        scorers={"topic": "m@1"},
        widths={"topic": 4, "risk": 2},
        received_at=NOON + HOUR,
        source="forum",
    )
    store.add([whole], keep_text=True)
    assert list(store.events()) == [whole]


@pytest.mark.parametrize("year", [1, 1969, 9999])
def test_any_moment_comes_back_to_the_microsecond(store, year):
    at = datetime(year, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    store.add([replace(event("a"), at=at, seq=2**63 - 1)])
    assert [(event.at, event.seq) for event in store.events()] == [(at, 2**63 - 1)]


def test_events_come_in_order_whatever_order_they_came_in(store):
    given = [event("c", 2), event("b", 1), event("a", 1), event("d", 1, subject="bo")]
    store.add([replace(item, seq=0) for item in given])
    assert [event.id for event in store.events()] == ["a", "b", "d", "c"]
    assert [event.id for event in store.events([("input", "ann")])] == ["a", "b", "c"]
    assert [event.id for event in store.events(until=NOON + timedelta(minutes=1))] == ["a", "b", "d"]
    assert list(store.events([])) == []


def test_columns_are_the_same_events(store):
    plain = {"risk": 0.1, "topic": "x"}
    given = [
        event("c", 2, readings=plain, attributes={"n": 2**70, "deep": [1, None]}, kind="action"),
        event("b", 1, readings={"risk": 0.25}, text="Hello", target="bo", thread="t"),
        event("a", 1, readings={"virtue": 0.5}, scorers={"virtue": "m@1"}, widths={"virtue": 4}),
        event("d", 1, subject="bo"),
        event("d", 3, subject="ann", source="forum", timed=False, readings={"topic": 2.0}),
        event("e", 4, subject="cy", source="forum", timed=False, session="s", reply_to="d"),
        event("f", 5),
        event("g", 6),
    ]
    store.add([replace(item, seq=0) for item in given], keep_text=True)
    store.add_readings(("input", "d"), [Reading("risk", 0.75, "m@2"), Reading("length", 5.0, "length@1")])
    for subjects in (None, [("input", "ann"), ("forum", "cy")]):
        assert list(store.columns(subjects)) == sorted(store.events(subjects), key=lambda item: item.order)
    (bo,) = store.columns([("input", "bo")], without=["length", "virtue"])
    assert (bo.readings, bo.scorers) == ({"risk": 0.75}, {"risk": "m@2"})
    assert [item.id for item in store.columns(until=NOON + timedelta(minutes=1))] == ["a", "b", "d"]
    assert list(store.columns([])) == []


def test_a_repeat_is_counted_and_ignored_also_within_one_call(store):
    assert store.add([event("a"), event("a"), event("b", 1)])[:2] == (2, 1)
    assert store.add([replace(event("a"), seq=77), event("c", 2)])[:2] == (1, 1)
    assert [event.id for event in store.events()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "change",
    [{"text": "other"}, {"subject": "bo"}, {"readings": {"risk": 1.0}}, {"thread": ""}, {"kind": "x"}],
)
def test_the_same_id_with_other_content_is_a_conflict_and_nothing_of_the_call_is_kept(store, change):
    store.add([event("a")])
    with pytest.raises(Conflict, match="the id 'a' has other content"):
        store.add([event("new", 5), replace(event("a"), **change)])
    with pytest.raises(Clashes):
        store.add([event("x"), replace(event("x"), **change)])
    assert [event.id for event in store.events()] == ["a"]


def test_the_same_id_in_two_sources_is_two_events(store):
    store.add([event("a"), event("a", source="other", text="else")])
    assert [event.source for event in store.events()] == ["input", "other"]
    assert [(subject.source, subject.name) for subject in store.subjects("ann")] == [
        ("input", "ann"),
        ("other", "ann"),
    ]
    assert [subject.who for subject in store.subjects("ann", "other")] == [("other", "ann")]


def test_subjects_are_counted_with_their_first_and_last_event(store):
    store.add([event("b", 5), event("c", 9)])
    store.add([event("a", 1)])
    (item,) = store.subjects()
    assert (item.events, item.first_at, item.last_at) == (
        3,
        NOON + timedelta(minutes=1),
        NOON + timedelta(minutes=9),
    )


def test_readings_made_later_join_their_event_and_never_replace_what_came_with_it(store):
    store.add([event("a", readings={"risk": 0.1})])
    later = [Reading("risk", 0.9, "m@1", 4), Reading("virtue", 0.5, "m@1", 4), Reading("topic", "x", "m@1")]
    assert store.add_readings(("input", "a"), later) == 3
    assert store.add_readings(("input", "a"), [Reading("virtue", 0.7, "m@1", 4)]) == 1
    assert store.add_readings(("input", "nobody"), later) == 0
    (item,) = store.events()
    assert item.readings == {"risk": 0.1, "virtue": 0.7, "topic": "x"}
    assert (item.scorers, item.widths) == ({"virtue": "m@1", "topic": "m@1"}, {"virtue": 4})


def test_its_address_opens_it_again(store):
    store.add([event("a")])
    with open_store(store.address) as again:
        assert (again.url, [item.id for item in again.events()]) == (store.url, ["a"])


def test_thread_mates(store):
    store.add([event("a", thread="t"), event("b", 1, subject="bo", thread="t"), event("c", 2, subject="cy")])
    mates = store.columns([("input", "ann")], until=NOON + HOUR, mates=True)
    assert [mate.id for mate in mates] == ["a", "b"]


# --- imports --------------------------------------------------------------------------------


def test_what_is_staged_is_seen_by_nobody_until_it_is_finished(store):
    of = store.begin_import("k", {"at": 0}, NOON)
    of, _ = store.stage(of, [Staged(event("a"), 0, 1, (Reading("length", 4.0, "length@1"),))], {"at": 1})
    assert (list(store.events()), store.subjects(), store.sources()) == ([], [], {})
    again = store.begin_import("k", {"at": 0}, NOON)
    assert (again.number, again.staged, again.state) == (of.number, 1, {"at": 1})
    done = store.finish_import(again, {"input": {"risk": "number"}}, files={"h": 1}, options="o", at=NOON)
    assert done[:2] == (1, 0)
    assert [event.readings for event in store.events()] == [{"length": 4.0}]
    assert (store.imports(), store.known_files("o"), store.known_files("p")) == ([], {"h": 1}, {})
    assert store.sources()["input"].kinds == {"risk": "number"}


def test_a_dropped_import_leaves_nothing(store):
    of = store.begin_import("k", {}, NOON)
    of, _ = store.stage(of, [Staged(event("a"), 0, 1)], {})
    store.drop_import(of)
    assert store.imports() == []
    assert list(store.events()) == []
    assert store.begin_import("k", {}, NOON).staged == 0


def test_a_clash_in_an_import_names_both_places_and_can_be_skipped(store):
    store.add([event("old")])
    of = store.begin_import("k", {}, NOON)
    of, _ = store.stage(of, [Staged(event("a"), 0, 1), Staged(event("old", text="new"), 0, 2)], {})
    clash = Staged(event("a", text="other"), 1, 7)
    with pytest.raises(Clashes) as raised:
        store.stage(of, [clash], {})
    assert [(item.id, item.file, item.line, item.other) for item in raised.value.clashes] == [
        ("a", 1, 7, "at 0:1")
    ]
    of, clashes = store.stage(of, [clash, Staged(event("b"), 1, 8)], {}, skip_clashes=True)
    assert [clash.id for clash in clashes] == ["a"]
    with pytest.raises(Clashes, match="in the store"):
        store.finish_import(of, {}, files={}, options="o", at=NOON)
    assert len(list(store.events())) == 1
    done = store.finish_import(of, {}, files={}, options="o", at=NOON, skip_clashes=True)
    assert (done.added, [clash.id for clash in done.clashes]) == (2, ["old"])


# --- detections and sweeps ------------------------------------------------------------------


def test_a_detection_comes_back_whole_and_is_kept_once(store):
    store.save_sweep("s", "v", NOON, detections=[("new", SweptDetection(found()))])
    store.save_sweep(
        "s", "v", NOON + HOUR, detections=[("closed", SweptDetection(found(state="closed", closed_at=NOON)))]
    )
    assert store.detections() == [found(state="closed", closed_at=NOON)]
    assert [item["change"] for item in store.history("d1")] == ["new", "closed"]


def test_detections_are_found_by_subject_source_pattern_and_state(store):
    others = [found("d2", subject="bo"), found("d3", pattern="spiral"), found("d4", source="x")]
    store.save_sweep(
        "s", "v", NOON, detections=[("new", SweptDetection(other)) for other in [found(), *others]]
    )
    store.save_sweep(
        "s", "v", NOON, detections=[("new", SweptDetection(found("d5", state="closed"), part=True))]
    )

    def ids(**how):
        return {detection.id for detection in store.detections(**how)}

    assert ids(subjects=[("input", "bo"), ("x", "ann")]) == {"d2", "d4"}
    assert ids(sources=["x"]) == {"d4"}
    assert ids(patterns=["spiral"]) == {"d3"}
    assert ids(states=["closed"]) == {"d5"}
    assert ids(parts=False) == {"d1", "d2", "d3", "d4"}
    assert store.parts_among(["d1", "d5", "d6"]) == {"d5"}
    assert store.parts_among(["d1"]) == store.parts_among([]) == set()


def test_a_change_is_told_once_and_those_of_parts_and_tests_never(store):
    changes = [
        ("new", SweptDetection(found())),
        ("", SweptDetection(found("d2"))),
        ("new", SweptDetection(found("d3"), part=True)),
        ("new", SweptDetection(found("d4", status="shadow"))),
    ]
    store.save_sweep("s", "v", NOON, detections=changes)
    (item,) = store.unreported()
    assert (item.change, item.detection) == ("new", found())
    store.mark_reported([item.key])
    assert store.unreported() == []


def test_a_subject_is_touched_until_it_was_swept_with_these_versions(store):
    store.add([event("a"), event("b", 1, subject="bo")])

    def touched(versions="v", at=NOON + HOUR, **how):
        return [item.name for item in store.touched("s", versions, at, **how)]

    rows = store.touched("s", "v", NOON + HOUR)
    assert [row.name for row in rows] == ["ann", "bo"]
    due = [Swept(row.who, row.changed, None) for row in rows]
    store.save_sweep("s", "v", NOON + HOUR, swept=due)
    assert touched() == []
    assert touched("v2") == ["ann", "bo"]
    assert touched(since=NOON + timedelta(minutes=1)) == ["bo"]
    store.add([event("late", -5)])
    assert touched() == ["ann"]
    assert touched(min_events=3) == []
    store.add([event("future", 90, subject="bo")])
    assert store.last_sweep() == NOON + HOUR


def test_an_event_of_the_future_touches_its_subject_when_it_has_come(store):
    store.add([event("a"), event("soon", 120)])
    (row,) = store.touched("s", "v", NOON + HOUR)
    store.save_sweep("s", "v", NOON + HOUR, swept=[Swept(row.who, row.changed, None)])
    assert store.touched("s", "v", NOON + HOUR + timedelta(minutes=30)) == []
    assert [item.name for item in store.touched("s", "v", NOON + 2 * HOUR)] == ["ann"]


def test_a_silence_that_is_due_touches_its_subject(store):
    store.add([event("a")])
    (row,) = store.touched("s", "v", NOON)
    deadline = NOON + 3 * HOUR
    due = (deadline - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    store.save_sweep("s", "v", NOON, swept=[Swept(row.who, row.changed, due)])
    assert store.touched("s", "v", deadline) == []
    assert len(store.touched("s", "v", deadline + timedelta(microseconds=1))) == 1


def test_who_shares_a_thread_with_somebody_new_is_touched_too(store):
    store.add(
        [event("a", thread="t"), event("b", subject="bo", thread="t"), event("c", subject="cy", thread="u")]
    )
    rows = store.touched("s", "v", NOON + HOUR)
    store.save_sweep("s", "v", NOON + HOUR, swept=[Swept(row.who, row.changed, None) for row in rows])
    store.add([event("late", -1, thread="t")])
    assert [item.name for item in store.touched("s", "v", NOON + HOUR)] == ["ann"]
    assert [item.name for item in store.touched("s", "v", NOON + HOUR, threads=True)] == ["ann", "bo"]


def test_a_lock_is_held_by_one_and_what_is_written_without_it_is_refused(store):
    held = store.lock("sweep", NOON)
    with pytest.raises(BadUsage, match="another sweep is at work since 2026-01-01T12:00:00Z"):
        store.lock("sweep", NOON + timedelta(minutes=1))
    store.save_sweep("s", "v", NOON, lock=held, at=NOON + timedelta(minutes=2))
    store.unlock(held)
    with pytest.raises(BadUsage, match="took over"):
        store.save_sweep("s", "v", NOON, detections=[("new", SweptDetection(found()))], lock=held)
    assert store.detections() == []
    store.unlock(store.lock("sweep", NOON))


def test_verdicts_and_states_are_kept(store):
    verdict = Verdict("confirmed", "kim", NOON, "loop", "v1", "d1", why="seen it")
    store.add_verdicts([verdict])
    store.add_verdicts([Verdict("missed", "kim", NOON + HOUR, "loop", subject="bo")])
    assert store.verdicts("d1") == [verdict]
    assert [verdict.verdict for verdict in store.verdicts()] == ["confirmed", "missed"]
    state = json.dumps({"a": 1}).encode() + b"\0\xff"
    store.save_state("stream", "ann", b"old", NOON)
    store.save_state("stream", "ann", state, NOON)
    assert store.load_state("stream", "ann") == state
    store.save_state("stream", "ann", None, NOON)
    assert store.load_state("stream", "ann") is None


def kept(store: Store, *detections: Detection) -> None:
    store.save_sweep(
        "s", "v", NOON, detections=[("new", SweptDetection(detection)) for detection in detections]
    )


def said(
    verdict: str = "confirmed", of: str | None = "d1", by: str = "kim", days: float = 0, **more
) -> Verdict:
    return Verdict(verdict, by, NOON + timedelta(days=days), "loop", "v1", of, **more)


def test_a_verdict_comes_back_as_it_was_and_many_are_kept_together(store):
    given = [
        said(why="caf\u00e9", blind=True, source="forum"),
        said("missed", None, subject="bo", first_event="a", last_event="b", source="forum", days=1),
    ]
    store.add_verdicts(given)
    assert store.verdicts() == given
    assert not store.verdict_counts()


def test_detections_can_be_asked_for_by_id(store):
    kept(store, found("d1"), found("d2"), found("d3"))
    assert [detection.id for detection in store.detections(ids=["d3", "d1", "no"])] == ["d1", "d3"]
    assert store.detections(ids=[]) == []


def test_what_was_judged_long_ago_is_counted_and_its_verdicts_go(store):
    kept(store, found("d1", confidence=0.125), found("d2"), found("d3"))
    assert not store.has_verdicts()
    store.add_verdicts(
        [
            said(of="d1"),
            said("false_alarm", of="d2"),
            said("false_alarm", of="d3"),
            # Somebody came back to it later, so all of it stays.
            said("confirmed", of="d3", by="lee", days=9),
            said("missed", None, subject="bo", first_event="a", last_event="b", source="forum"),
        ]
    )
    assert store.settle_verdicts(NOON + timedelta(days=5)) == 3
    assert {verdict.detection for verdict in store.verdicts()} == {"d3"}
    assert store.verdict_counts() == {
        Slot("loop", "v1", "input", "2026-01", 12): Counts(confirmed=1),
        Slot("loop", "v1", "input", "2026-01", 50): Counts(false_alarm=1),
        # Its events are not here, so nobody knows when that was.
        Slot("loop", "v1", "forum"): Counts(missed=1),
    }
    assert store.settle_verdicts(NOON + timedelta(days=5)) == 0
    again = [said(of="d1", by="lee", days=20), said(of="d3")]
    again.append(said("missed", None, by="x", subject="bo", first_event="a", last_event="b", source="forum"))
    assert store.settled(again) == [again[0], again[2]]
    assert store.settled_verdicts() == {"d1": "confirmed", "d2": "false_alarm"}
    assert store.has_verdicts()


def test_counts_of_the_same_kind_add_up(store):
    kept(store, found("d1"), found("d2"), found("d3"))
    for number, name in enumerate(("d1", "d2", "d3")):
        store.add_verdicts([said(of=name, days=number)])
        store.settle_verdicts(NOON + timedelta(days=number + 1))
    assert store.verdict_counts() == {Slot("loop", "v1", "input", "2026-01", 50): Counts(confirmed=3)}


def test_a_purge_leaves_the_counts_of_verdicts_and_no_name(store):
    store.add([event("a"), event("b", subject="bo")])
    kept(store, found("d1", state="closed"), found("d2", subject="bo", target=None, state="closed"))
    store.add_verdicts(
        [
            said("false_alarm", of="d1"),
            said("confirmed", of="d1", by="lee"),
            said(of="d2"),
            said("missed", None, subject="ann", first_event="a", last_event="a", source="input"),
            said("missed", None, subject="ann", first_event="a", last_event="a", source="other"),
        ]
    )
    store.purge(subject=("input", "ann"))
    assert [(verdict.detection, verdict.source) for verdict in store.verdicts()] == [
        ("d2", ""),
        (None, "other"),
    ]
    total = sum(store.verdict_counts().values(), Counts())
    assert total == Counts(disputed=1, missed=1)
    store.purge(before=NOON + HOUR)
    # The silence of the other source had no events here to begin with.
    assert sum(store.verdict_counts().values(), Counts()) == Counts(disputed=1, missed=2, confirmed=1)
    assert "ann" not in repr((store.verdict_counts(), store.settled_verdicts()))


def test_a_purge_forgets_that_something_was_counted_before(store):
    kept(store, found("d1", state="closed"))
    store.add_verdicts([said()])
    store.settle_verdicts(NOON + HOUR)
    store.purge(subject="ann")
    assert not store.settled_verdicts()
    assert sum(store.verdict_counts().values(), Counts()) == Counts(confirmed=1)


def test_tries_to_learn_are_kept_in_order(store):
    first = Try(NOON, "loop", "v1", "abc", {"record": "no_proposal", "why": "caf\u00e9", "n": [1, 2.5, None]})
    second = replace(first, pattern="drift", at=NOON + HOUR)
    keys = [store.add_try(first), store.add_try(second)]
    assert store.tries() == [replace(first, key=keys[0]), replace(second, key=keys[1])]
    assert store.tries("drift") == [replace(second, key=keys[1])]


def test_a_purged_subject_takes_its_detections_and_verdicts_along(store):
    store.add([event("a"), event("b", subject="bo")])
    store.save_sweep(
        "s",
        "v",
        NOON,
        detections=[
            ("new", SweptDetection(found())),
            ("new", SweptDetection(found("d2", subject="bo", target=None))),
        ],
    )
    store.add_verdicts([Verdict("confirmed", "kim", NOON, "loop", "v1", "d1")])
    done = store.purge(subject=("input", "ann"))
    assert (done.events, done.detections) == (1, 1)
    assert [detection.id for detection in store.detections()] == ["d2"]
    assert (store.verdicts(), [item.detection.id for item in store.unreported()]) == ([], ["d2"])
    assert store.info().events == 1


def test_a_purge_takes_the_states_of_the_subject_and_leaves_those_of_others(store):
    for subject in ("ann", "bo"):
        store.save_state("conversation", f"c-{subject}", b"{}", NOON, subject=subject)
        store.save_state("conversation_memory", subject, b"[]", NOON, subject=subject)
    store.save_state("stream", "anybody", b"made again", NOON)
    assert [item.key for item in store.states_of("ann")] == ["c-ann", "ann"]
    assert store.purge(subject=("input", "ann")).states == 0
    assert store.purge(subject="ann").states == 2
    assert store.states_of("ann") == []
    assert store.load_state("conversation", "c-bo") == b"{}"
    assert store.load_state("conversation_memory", "bo") == b"[]"
    assert store.load_state("stream", "anybody") is None
    assert store.purge(subject=("conversation", "bo")).states == 2


def test_a_purge_before_a_moment_takes_the_states_that_were_saved_before_it(store):
    store.save_state("conversation", "old", b"{}", NOON, subject="ann")
    store.save_state("conversation", "new", b"{}", NOON + HOUR, subject="ann")
    store.save_state("conversation", "other", b"{}", NOON, subject="bo")
    assert store.purge(subject="ann", before=NOON + HOUR).states == 1
    assert [item.key for item in store.states_of("ann")] == ["new"]
    assert store.purge(before=NOON + HOUR).states == 1
    assert [item.key for item in store.states_of("ann")] == ["new"]


def test_detections_are_found_newest_first_in_pages(store):
    late = NOON + HOUR
    made = [
        found("d1", severity="high"),
        found("d2", subject="cy", detected_at=late, pattern="spiral"),
        found("d3", state="withdrawn"),
        found("d4", status="shadow"),
    ]
    store.save_found([("new", item) for item in made], NOON)

    def ids(**chosen) -> list[str]:
        return [item.id for item in store.find_detections(**chosen)[0]]

    assert ids() == ["d2", "d1"]
    assert ids(patterns=["loop"]) == ids(subject="ann") == ids(severity="high") == ["d1"]
    assert ids(since=late) == ["d2"]
    assert ids(source="elsewhere") == []
    assert (ids(limit=1), ids(limit=1, offset=1), ids(offset=2)) == (["d2"], ["d1"], [])
    assert store.find_detections(limit=1)[1] == 2
    assert store.detected_patterns() == ["loop", "spiral"]


def test_detections_made_elsewhere_are_reported_by_the_next_sweep_unless_they_were(store):
    store.save_found([("new", found("d1"))], NOON)
    store.save_found([("new", found("d2"))], NOON, reported=True)
    assert [change.detection.id for change in store.unreported()] == ["d1"]


def test_subjects_with_detections_and_no_events_are_listed_apart(store):
    store.add([event("a", subject="cy")])
    store.save_found([("new", found("d1")), ("new", found("d2", subject="cy"))], NOON)
    (row,) = store.detected_subjects()
    assert (row.who, row.events, row.first_at, row.last_at) == (("input", "ann"), 0, NOON, NOON)
    assert store.detected_subjects("cy") == store.detected_subjects(source="x") == []


def test_scores_are_kept_side_by_side_and_the_wanted_one_is_read(store):
    given = event("a", text="hello", readings={"manipulation": 0.1, "risk": 0.2})
    store.add([given, event("b", 1, text="bye")], keep_text=True)
    by = {
        scorer: (Reading("manipulation", value, scorer, 4),) for scorer, value in (("x@1", 0.5), ("y@1", 0.7))
    }
    for readings in by.values():
        assert store.add_scores([Scored(given, readings)]) == 1
    assert store.add_scores([Scored(event("none", 9, text="?"), by["x@1"])]) == 0
    assert store.scored_by("x@1") == {("input", "a")}
    assert (store.measured("manipulation"), store.measured("risk")) == (True, False)
    assert store.has_texts()
    for scorers, value in (({}, 0.1), ({"*": "x@1"}, 0.5), ({"manipulation": "y@1"}, 0.7)):
        for events in (store.events(scorers=scorers), store.columns(scorers=scorers)):
            first = next(iter(events))
            assert first.readings == {"manipulation": value, "risk": 0.2}
            assert first.scorers.get("manipulation") == (
                None if not scorers else next(iter(scorers.values()))
            )


def test_new_scores_replace_old_ones_and_mark_the_subject_as_changed(store):
    one = event("a", text="hello")
    store.add([one])
    (before,) = store.subjects()
    old = (Reading("manipulation", 0.5, "x@1"), Reading("deception", 0.4, "x@1"))
    store.add_scores([Scored(one, old)])
    store.add_scores([Scored(one, (Reading("manipulation", 0.6, "x@1"),))])
    (stored,) = store.events(scorers={"*": "x@1"})
    assert stored.readings == {"manipulation": 0.6}
    (after,) = store.subjects()
    assert after.changed > before.changed
    store.add([event("b", 1)])
    assert store.subjects()[0].changed > after.changed


def test_an_event_without_its_id_is_found_by_its_content(store):
    stored = event("a", text="hello", readings={"risk": 0.2})
    store.add([stored])
    other = replace(stored, id="another", seq=77)
    assert store.add_scores([Scored(other, (Reading("manipulation", 0.6, "x@1"),))]) == 1
    assert store.scored_by("x@1") == {("input", "a")}
    assert not store.has_texts()


@pytest.mark.parametrize("name", ["ann", "J\u00f6rg", "it's 100% {a}:b"])
def test_redacting_leaves_the_name_nowhere(store, name):
    store.add([event("a", subject=name), event("b", 1, subject=f"{name}-2", target=name, text=f"Hi {name}!")])
    store.add(
        [
            event(
                f"c {name}", 2, subject="bo", thread=name, attributes={"to": [name]}, readings={"topic": name}
            )
        ]
    )
    store.add_readings(("input", "b"), [Reading("topic", f"about {name}", "m@1")])
    kept(store, found("d1", subject="bo", target=None, details={"who": name}))
    store.add_verdicts([said(why=f"{name} again", by=name)])
    state = json.dumps({"who": name}, ensure_ascii=False).encode()
    store.save_state("conversation", "c-bo", state, NOON, subject="bo")
    done = store.purge(subject=name, redact=True)
    assert done.placeholder == "[purged]"
    assert done.mentions == {"events": 2, "readings": 1, "detections": 1, "verdicts": 1, "states": 1}
    assert store.load_state("conversation", "c-bo") == b'{"who":"[purged]"}'
    left = repr(contents(store)).replace(repr(f"{name}-2")[1:-1], "")
    assert repr(name)[1:-1] not in left


# --- questions and moving -------------------------------------------------------------------


def test_links_count_events_by_subject_target_and_kind(store):
    store.add(
        [
            event("a", target="bo", kind="message"),
            event("b", 1, target="bo", kind="message"),
            event("c", 2, target="bo", kind="action"),
            event("d", 3, target="cy"),
            event("e", 4),
            event("f", 5, subject="bo", target="ann"),
            event("g", 6, target="bo", source="forum"),
        ]
    )
    minute = timedelta(minutes=1)
    assert store.links("ann", "bo") == [
        LinkRow("forum", "ann", "bo", "event", 1, NOON + 6 * minute, NOON + 6 * minute),
        LinkRow("input", "ann", "bo", "action", 1, NOON + 2 * minute, NOON + 2 * minute),
        LinkRow("input", "ann", "bo", "message", 2, NOON, NOON + minute),
    ]
    assert [row[1:3] for row in store.links(target="ann")] == [("bo", "ann")]
    assert len(store.links()) == 5
    assert store.links("it's; DROP TABLE events --") == []


def test_indicators_are_counted_by_subject_whoever_scored_them(store):
    store.add(
        [
            event("a", readings={"MAN_LOVEBOMB": 0.5, "risk": 0.9, "topic": "MAN_LOVEBOMB"}),
            event("b", 1, readings={"MAN_LOVEBOMB": 0.75, "DEC_LIE": 0.0}, scorers={"MAN_LOVEBOMB": "m@1"}),
            event("c", 2, subject="bo", readings={"NOT_AN_indicator": 0.5}),
        ]
    )
    store.add_readings(("input", "c"), [Reading("DEC_LIE", 0.25, "m@2"), Reading("DEC_LIE", 0.5, "m@3")])
    assert store.shown() == [
        ShownRow("input", "ann", "MAN_LOVEBOMB", 2, NOON, 0.75),
        ShownRow("input", "bo", "DEC_LIE", 1, NOON + timedelta(minutes=2), 0.5),
    ]


def test_what_several_subjects_have_in_common(store):
    store.add(
        [
            event("a", 2, target="x", text="Buy now"),
            event("b", 1, subject="bo", target="x", text="Buy now"),
            event("c", 3, target="y", text="Only ann"),
            event("d", 4, target="y", text="Only ann"),
            event("e", 5, subject="bo", source="forum", target="y", text="Buy now"),
        ],
        keep_text=True,
    )
    minute = timedelta(minutes=1)
    for by, value in (("target", "x"), ("text", "Buy now")):
        assert list(store.shared(by)) == [
            SharedRow("input", value, "bo", "b", NOON + minute),
            SharedRow("input", value, "ann", "a", NOON + 2 * minute),
        ]


@pytest.fixture(params=NAMES)
def other(request: pytest.FixtureRequest, new_store) -> Iterator[Store]:
    with new_store(request.param) as opened:
        yield opened


def fill(store: Store) -> None:
    """Something in every table that is copied."""
    store.make_private(7, 2**62)
    store.add([event("gone", subject="zed")])
    store.purge(before=NOON + timedelta(seconds=1))
    of = store.begin_import("k", {}, NOON)
    later = (Reading("length", 4.0, "length@1"),)
    of, _ = store.stage(of, [Staged(event("a", 1, target="bo", thread="t"), 0, 1, later)], {})
    store.finish_import(of, {"input": {"risk": "number"}}, files={"h": 1}, options="o", at=NOON)
    store.add([event("b", 2, text="caf\u00e9 \U0001f600", readings={"risk": 0.5})], keep_text=True)
    kept(store, found("d1"), found("d2"), found("d3", state="closed"))
    store.mark_reported([store.unreported()[0].key])
    store.add_verdicts([said(of="d1"), said(of="d2", days=9)])
    store.settle_verdicts(NOON + HOUR)
    store.add_try(Try(NOON, "loop", "v1", "abc", {"n": 1}))
    rows = store.touched("s", "v", NOON + HOUR)
    store.save_sweep("s", "v", NOON + HOUR, swept=[Swept(row.who, row.changed, 5) for row in rows])
    store.close_sweep("s", "v", NOON + HOUR, NOON + HOUR)
    store.save_state("conversation", "c", b"{}\xff", NOON, subject="ann")
    store.add_looks([UsageLook(NOON, "export", "ann", "kim", "asked")])
    store.put_note("triage", "d1", {"note": "known"}, NOON)
    add_person(store, "ab")


def add_person(store: Store, name: str) -> None:
    """A person of a usage tracker, with one event and one report."""
    store.write("people", [(name, 1, 2, 3, 3600, 1, b"\x00\xff", b"", b"id", 9)])
    store.write("uses", [(1, name, 1, None, 0, None, 3600, "cd")])
    store.write("reported", [(name, 1, 2, 3, 4)])


def contents(store: Store) -> dict[str, list[tuple]]:
    rows: dict[str, list[tuple]] = {name: [] for name in PORTABLE}
    for name, batch in store.dump():
        rows[name] += batch
    return {name: sorted(own, key=repr) for name, own in rows.items()}


def test_a_copy_has_every_row_and_goes_on_as_the_original_would(store, other, monkeypatch):
    monkeypatch.setattr(moving, "READ_AHEAD", 1)
    fill(store)
    before = contents(store)
    assert [name for name, rows in before.items() if not rows] == []
    other.load(store.dump())
    assert contents(other) == before
    assert list(other.events()) == list(store.events())
    for copy in (store, other):
        copy.add([event("late", 1, subject="cy"), event("c", 3)])
        kept(copy, found("d4"))
        copy.add_verdicts([said(of="d4")])
        copy.add_try(Try(NOON, "loop", "v1", "abc", {"n": 2}))
        copy.add_looks([UsageLook(NOON, "export", "bo", "kim", "")])
    for name in ("subjects", "detections", "unreported", "verdicts", "settled_verdicts", "tries", "looks"):
        assert getattr(other, name)() == getattr(store, name)(), name
    assert list(other.events()) == list(store.events())
    assert other.touched("s", "v", NOON + HOUR) == store.touched("s", "v", NOON + HOUR)


def test_a_purge_of_a_subject_removes_the_person_too(store):
    add_person(store, "ab")
    store.purge(subject="cd")
    assert store.count("people") == 1
    store.purge(subject="ab")
    assert [store.count(kind) for kind in ("people", "uses", "reported")] == [0, 0, 0]


def test_people_count_as_something_that_a_copy_must_not_replace(store, other):
    add_person(other, "ab")
    with pytest.raises(BadUsage, match="people already"):
        other.load(store.dump())


def test_notes_are_replaced_and_removed(store):
    assert store.note("key", "a") is None
    store.put_note("key", "a", {"n": 1}, NOON)
    store.put_note("key", "b", {"n": 2}, NOON + HOUR)
    store.put_note("key", "a", {"n": 3}, NOON + 2 * HOUR)
    assert store.notes("key") == {"b": {"n": 2}, "a": {"n": 3}}
    store.put_note("key", "a", None, NOON)
    assert (store.note("key", "a"), store.notes("other")) == (None, {})


def test_notes_on_a_detection_go_with_it(store):
    store.add([event("a")])
    kept(store, found("d1"), found("d2", subject="cy"))
    for name in ("d1", "d2"):
        store.put_note("triage", name, {"note": "known"}, NOON)
    store.purge(subject="ann")
    assert list(store.notes("triage")) == ["d2"]


def test_changes_can_be_read_after_one(store):
    kept(store, found("d1"), found("d2", status="shadow"))
    first = store.changes()
    assert [change.detection.id for change in first] == ["d1"]
    store.mark_reported([first[0].key])
    assert store.changes() == first
    assert store.changes(first[-1].key) == []


def test_events_added_at_once_say_which_were_there_and_what_signals_are(store):
    store.add([event("a")])
    kinds = {"input": {"risk": "number"}}
    done = store.add([event("b", 1), event("a"), event("c", 2)], kinds=kinds, received_at=NOON)
    assert (done.added, done.repeated, done.again) == (2, 1, (1,))
    assert store.sources()["input"].kinds == kinds["input"]


def test_a_copy_into_a_store_with_events_is_refused_and_changes_nothing(store, other):
    fill(store)
    other.add([event("own")])
    before = contents(other)
    with pytest.raises(BadUsage, match="has events already: copy into a new store"):
        other.load(store.dump())
    assert contents(other) == before
