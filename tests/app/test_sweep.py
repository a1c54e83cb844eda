"""Sweeping: only what is new, each change once, and in the end the same as looking at everything at once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from ethogram.app import stored_events
from ethogram.app import sweep as sweep_module
from ethogram.app.analyze import analyze
from ethogram.app.changes import save_found
from ethogram.app.stored_events import chunks
from ethogram.app.sweep import Sweep, next_due, reset_clock, sweep
from ethogram.config import Settings
from ethogram.engine.history import History, histories
from ethogram.engine.live.expressions import number as number_of
from ethogram.engine.live.expressions import read_at
from ethogram.errors import BadUsage
from ethogram.ingest import events_of
from ethogram.language.compiler import compile_patterns
from ethogram.language.program import SilenceProgram
from ethogram.language.three_valued import above
from ethogram.models import Event, micros
from ethogram.patterns.library import Library, load_patterns
from ethogram.store import Store, open_store
from ethogram.store.records import SubjectRow
from sampling import seeds
from small import BOTH, GONE, HOT, WARM, message, turns, warm_messages, write_patterns
from strategies import random_case

SPREAD = """\
name: heat_spreads
title: Heat spreads
description: Hot for long in one, then in two others it met.
shape: {spread: {from: hot_for_long, to: hot_for_long, at_least: 2, within: 10d}}
severity: high
examples:
  fires: [{story: not looked at here, risk: [0.9]}]
  quiet: [{story: cool, risk: [0.1]}, {story: alone, risk: [0.9, 0.9, 0.9]}]
"""
NOW = datetime(2026, 1, 4, 13, tzinfo=UTC)


@pytest.fixture
def library(tmp_path, no_shipped_patterns) -> Library:
    return load_patterns([write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH, SPREAD)])


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    with open_store(str(tmp_path / "store.db"), create=True) as opened:
        yield opened


@pytest.fixture
def swept(store, library) -> Callable[..., Sweep]:
    """A sweep whose changes are told."""

    def once(as_of: datetime = NOW, **how) -> Sweep:
        done = sweep(store, how.pop("library", library), as_of=as_of, clock=lambda: as_of, **how)
        store.mark_reported(change.key for change in done.changes)
        return done

    return once


def events(lines: list[dict]) -> tuple[Event, ...]:
    return events_of(lines).events


def told(done: Sweep) -> list[tuple[str, str, str]]:
    return [(change.change, change.detection.pattern, change.detection.subject) for change in done.changes]


def test_what_is_found_is_told_once_and_a_second_sweep_reads_nothing(store, swept):
    store.add(events(warm_messages() + turns("cy", [0.1, 0.1], [1, 2])))
    first = swept()
    assert told(first) == [("new", "warm_then_cold", "ann")]
    assert (first.subjects, first.events) == (2, 6)
    second = swept(NOW + timedelta(minutes=1))
    assert (told(second), second.subjects, second.events) == ([], 0, 0)


def test_only_who_has_something_new_is_looked_at_again(store, swept):
    store.add(events(warm_messages() + turns("cy", [0.1, 0.1], [1, 2])))
    swept()
    store.add(events([message("cy-3", 3, "cy", risk=0.1)]))
    done = swept(NOW + timedelta(minutes=1))
    assert (done.subjects, done.events) == (1, 3)


def test_a_silence_is_found_when_its_time_has_passed_though_nothing_came(store, swept):
    store.add(events(turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    early = swept(datetime(2026, 1, 5, 12, tzinfo=UTC))
    assert told(early) == [("new", "hot_for_long", "cy")]
    assert swept(datetime(2026, 1, 5, 12, tzinfo=UTC)).subjects == 0
    late = swept(datetime(2026, 1, 5, 12, 0, 1, tzinfo=UTC))
    assert told(late) == [("new", "gone_away", "cy"), ("new", "hot_then_gone", "cy")]
    assert swept(datetime(2026, 1, 9, tzinfo=UTC)).subjects == 0


def test_an_episode_is_told_when_it_rises_and_when_it_closes_and_not_while_it_lasts(store, swept):
    store.add(events(turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    assert told(swept()) == [("new", "hot_for_long", "cy")]
    store.add(events(turns("cy", [0.9] * 4, [1, 2, 3, 4])[3:]))
    assert told(swept(NOW + timedelta(hours=1))) == []
    store.add(events(turns("cy", [0.9] * 4 + [0.99], [1, 2, 3, 4, 5])[4:]))
    assert told(swept(NOW + timedelta(days=1))) == [("risen", "hot_for_long", "cy")]
    store.add(events(turns("cy", [0.9] * 5 + [0.1], [1, 2, 3, 4, 5, 6])[5:]))
    assert told(swept(NOW + timedelta(days=2))) == [("closed", "hot_for_long", "cy")]
    (item,) = store.detections(patterns=["hot_for_long"])
    assert [entry["change"] for entry in store.history(item.id)] == ["new", "risen", "closed"]


def test_what_a_late_event_undoes_is_withdrawn_and_found_again_if_it_holds_after_all(store, swept):
    store.add(events(warm_messages()))
    assert told(swept()) == [("new", "warm_then_cold", "ann")]
    apology = {**message("sorry", 4, "ann", apology=0.9), "at": "2026-01-04T06:00:00Z"}
    store.add(events([apology]))
    done = swept(NOW + timedelta(minutes=1))
    assert told(done) == [("withdrawn", "warm_then_cold", "ann")]
    assert done.at_or_above("low") == []
    store.purge(before=datetime(2025, 1, 1, tzinfo=UTC))  # removes nothing, and changes nothing
    assert told(swept(NOW + timedelta(minutes=2))) == []


def test_a_new_version_of_a_pattern_looks_at_everybody_and_supersedes(store, swept, library, tmp_path):
    store.add(events(warm_messages() + turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    swept()
    stricter = load_patterns([tmp_path / "patterns"], parameters={"warm_then_cold": {"warmth": 0.95}})
    done = swept(NOW + timedelta(minutes=1), library=stricter)
    assert done.subjects == 2
    assert told(done) == [("superseded", "warm_then_cold", "ann")]
    back = swept(NOW + timedelta(minutes=2), library=library)
    assert told(back) == [("found again", "warm_then_cold", "ann")]


def test_what_a_killed_sweep_found_and_did_not_tell_is_told_by_the_next(store, library):
    store.add(events(warm_messages()))
    done = sweep(store, library, as_of=NOW, clock=lambda: NOW)
    assert len(done.changes) == 1  # and then it dies before telling them
    again = sweep(store, library, as_of=NOW, clock=lambda: NOW)
    assert again.subjects == 0
    assert told(again) == told(done)


def test_a_sweep_that_stops_half_way_goes_on_with_the_others(store, library, swept, monkeypatch):
    monkeypatch.setattr(stored_events, "MOST_SUBJECTS", 1)
    store.add(events([line for name in "abc" for line in warm_messages(name)]))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(store, library, as_of=NOW, clock=lambda: NOW, progress=stop)
    rest = swept()
    assert rest.subjects == 2
    assert [subject for _, _, subject in told(rest)] == ["a", "b", "c"]


def test_the_number_of_processes_changes_nothing(tmp_path, library, monkeypatch):
    monkeypatch.setattr(stored_events, "MOST_SUBJECTS", 2)
    lines = [
        line for k in range(5) for line in (*warm_messages(f"s{k}"), *turns(f"t{k}", [0.9] * 4, range(1, 5)))
    ]
    results = []
    for jobs in (1, 3):
        with open_store(str(tmp_path / f"{jobs}.db"), create=True) as opened:
            opened.add(events(lines))
            done = sweep(opened, library, as_of=NOW, clock=lambda: NOW, jobs=jobs)
            results.append((done, [change.detection.to_dict() for change in done.changes]))
    (alone, one), (together, three) = results
    assert one == three != []
    assert alone.summary() == together.summary()


def test_only_one_sweeps_at_a_time(store, library, tmp_path):
    store.add(events(warm_messages()))
    with open_store(str(tmp_path / "store.db")) as other:
        held = other.lock("sweep", NOW)
        with pytest.raises(BadUsage, match="another sweep is at work"):
            sweep(store, library, as_of=NOW, clock=lambda: NOW)
        other.unlock(held)
    assert sweep(store, library, as_of=NOW, clock=lambda: NOW).subjects == 1


def test_the_lock_of_a_dead_process_is_taken_over(store, library):
    store.lock("sweep", NOW)
    with store.writing() as connection:
        connection.execute("UPDATE locks SET pid = 4194305")  # above any that Linux gives out
    store.add(events(warm_messages()))
    assert sweep(store, library, as_of=NOW, clock=lambda: NOW).subjects == 1


def test_a_lock_whose_process_number_was_given_to_another_is_taken_over(store, library):
    store.lock("sweep", NOW)
    with store.writing() as connection:
        connection.execute("UPDATE locks SET pid = 1, started = 'long ago'")
    assert sweep(store, library, as_of=NOW, clock=lambda: NOW).subjects == 0


def test_the_lock_of_another_machine_is_taken_over_only_after_long_silence(store, library):
    store.lock("sweep", NOW)
    with store.writing() as connection:
        connection.execute("UPDATE locks SET host = 'elsewhere'")
    with pytest.raises(BadUsage, match="on elsewhere"):
        sweep(store, library, as_of=NOW, clock=lambda: NOW + timedelta(minutes=10))
    sweep(store, library, as_of=NOW, clock=lambda: NOW + timedelta(minutes=20))


def test_a_sweep_goes_forward_only(store, library, swept):
    store.add(events(warm_messages()))
    swept()
    with pytest.raises(BadUsage, match="a sweep goes forward only"):
        sweep(store, library, as_of=NOW - timedelta(days=1), clock=lambda: NOW)


def test_since_and_min_events_choose_whom_to_look_at(store, swept):
    store.add(events(warm_messages() + turns("cy", [0.1], [2])))
    assert swept(min_events=2).subjects == 1
    assert swept().subjects == 1
    assert swept(since=datetime(2026, 1, 3, tzinfo=UTC)).subjects == 1
    assert swept(since=datetime(2026, 1, 1, tzinfo=UTC)).subjects == 2


def test_shadow_patterns_are_kept_and_not_told(store, swept, tmp_path):
    quiet = load_patterns([tmp_path / "patterns"], status={"warm_then_cold": "shadow"})
    store.add(events(warm_messages()))
    assert told(swept(library=quiet)) == []
    assert [detection.pattern for detection in store.detections()] == ["warm_then_cold"]


def test_subjects_come_in_pieces_of_bounded_size(monkeypatch):
    monkeypatch.setattr(stored_events, "MOST_EVENTS", 10)
    sizes = [4, 4, 4, 25, 1]
    rows = [SubjectRow("input", str(i), n, NOW, NOW, 0) for i, n in enumerate(sizes)]
    assert [[item.events for item in piece] for piece in chunks(rows)] == [[4, 4], [4], [25], [1]]


def test_the_readings_of_a_thread_are_those_of_all_who_were_in_it(tmp_path, store, no_shipped_patterns):
    """A late word of somebody else changes when ann was answered, though ann did nothing new."""
    pattern = """\
name: slow_answer
title: Slow
description: Answers after an hour or more.
shape: {threshold: {when: reply_gap > 3600}}
severity: low
confidence: 0.5
examples:
  fires: [{story: slow, reply_gap: [9000], at: 1}]
  quiet: [{story: quick, reply_gap: [9]}, {story: quicker, reply_gap: [1]}]
"""
    library = load_patterns([write_patterns(tmp_path / "slow", pattern)])

    def say(name: str, subject: str, hour: int) -> dict:
        return {"id": name, "subject": subject, "thread": "t", "at": f"2026-01-01T{hour:02d}:00:00Z"}

    store.add(events([say("1", "bo", 1), say("2", "ann", 4)]))
    first = sweep(store, library, as_of=NOW, clock=lambda: NOW)
    store.mark_reported(change.key for change in first.changes)
    assert told(first) == [("new", "slow_answer", "ann")]
    late = [{**say("3", "bo", 3), "at": "2026-01-01T03:30:00Z"}]
    store.add(events(late))
    assert ("withdrawn", "slow_answer", "ann") in told(sweep(store, library, as_of=NOW, clock=lambda: NOW))


OTHERS = """\
name: crowd
title: Crowd
description: Begins to act on a target that others begin with too.
shape: {threshold: {when: first_contacts >= 3}}
severity: low
confidence: 0.5
examples:
  fires: [{story: three, first_contacts: [3]}]
  quiet: [{story: alone, first_contacts: [1]}, {story: two, first_contacts: [2]}]
---
name: chorus
title: Chorus
description: Says what two others said before.
shape: {threshold: {when: copied_by >= 3}}
severity: low
confidence: 0.5
examples:
  fires: [{story: three, copied_by: [3]}]
  quiet: [{story: alone, copied_by: [1]}, {story: two, copied_by: [2]}]
"""


@pytest.fixture
def of_others(tmp_path, library) -> Library:
    """Patterns over signals that depend on what everybody did."""
    return load_patterns([write_patterns(tmp_path / "others", *OTHERS.split("---\n"))])


def test_a_late_event_of_another_changes_what_is_found_of_those_who_did_nothing_new(store, swept, of_others):
    def act(subject: str, minute: int) -> dict:
        return {"id": subject, "subject": subject, "target": "t", "at": f"2026-01-01T12:{minute:02d}:00Z"}

    store.add(events([act("ann", 1), act("bo", 3)]))
    assert told(swept(library=of_others)) == []
    store.add(events([act("cy", 2)]))  # bo is now the third
    done = swept(library=of_others)
    assert (told(done), done.subjects) == ([("new", "crowd", "bo")], 2)
    assert swept(library=of_others).subjects == 0
    # An earlier cy is long known when the others begin.
    store.add(events([{**act("cy", 0), "id": "long ago", "at": "2025-12-01T12:00:00Z"}]))
    assert told(swept(library=of_others)) == [("withdrawn", "crowd", "bo")]


def test_a_sweep_killed_before_it_came_to_others_goes_on_with_them(store, swept, of_others, monkeypatch):
    def act(subject: str, minute: int) -> dict:
        return {"id": subject, "subject": subject, "target": "t", "at": f"2026-01-01T12:{minute:02d}:00Z"}

    monkeypatch.setattr(stored_events, "MOST_SUBJECTS", 1)
    store.add(events([act("bo", 1), act("cy", 3)]))
    swept(library=of_others)
    store.add(events([act("ann", 2)]))  # changes cy, who is looked at after ann

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        swept(library=of_others, progress=stop)
    assert told(swept(library=of_others)) == [("new", "crowd", "cy")]


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_sweeps_over_signals_that_depend_on_others_end_where_a_new_store_does(
    store, swept, of_others, tmp_path, seed
):
    rng = random.Random(seed)
    order = [
        {
            "id": str(number),
            "subject": rng.choice("abcdef"),
            "target": rng.choice("xyz"),
            "text": f"buy this {rng.choice(['coin', 'house', 'boat'])} today, before all of them are gone",
            "at": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(900))).isoformat(),
        }
        for number in range(40)
    ]
    for start in range(0, 40, 8):
        store.add(events(order[start : start + 8]), keep_text=True)
        swept(library=of_others)
    with open_store(str(tmp_path / "fresh.db"), create=True) as fresh:
        fresh.add(events(order), keep_text=True)
        sweep(fresh, of_others, as_of=NOW, clock=lambda: NOW)
        expected = [item.to_dict() for item in fresh.detections(states=["opened", "closed"])]
    assert [item.to_dict() for item in store.detections(states=["opened", "closed"])] == expected
    assert {item["pattern"] for item in expected} == {"crowd", "chorus"}


def random_lines(rng: random.Random) -> list[dict]:
    """Subjects who write to each other, warm, cold and hot, with pauses in which silences fit."""
    lines = []
    for number, subject in enumerate("abcde"):
        hour = rng.randrange(48)
        for i in range(rng.randrange(4, 14)):
            hour += rng.choice([1, 5, 12, 60])
            hot = rng.random() < 0.6
            readings = {"risk": rng.choice([0.9, 0.97]) if hot else 0.1}
            if rng.random() < 0.7:
                warm = rng.random() < 0.7
                readings |= {"compassion": 0.9 if warm else 0.1, "manipulation": 0.1 if warm else 0.8}
            at = datetime(2026, 1, 1, number, tzinfo=UTC) + timedelta(hours=hour)
            target = rng.choice("abcde".replace(subject, ""))
            line = {"id": f"{subject}{i}", "subject": subject, "target": target, "readings": readings}
            if rng.random() < 0.3:  # to an event that may be late, or may never come
                line["reply_to"] = f"{rng.choice('abcde')}{rng.randrange(10)}"
            lines.append({**line, "at": at.isoformat()})
    return lines


@pytest.mark.parametrize("seed", seeds(3, 12))
def test_sweeps_over_what_comes_bit_by_bit_and_late_end_where_one_look_at_everything_does(
    store, library, seed, monkeypatch
):
    monkeypatch.setattr(stored_events, "MOST_SUBJECTS", 2)
    monkeypatch.setattr(sweep_module, "MOST_NAMES", 1 + seed % 6)
    rng = random.Random(seed)
    lines = random_lines(rng)
    order = lines[:]
    rng.shuffle(order)
    cuts = sorted(rng.sample(range(len(order)), 3))
    end = datetime(2026, 3, 1, tzinfo=UTC)
    moments = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 8, 20)]
    history: dict[str, str] = {}
    for start, stop, at in zip([0, *cuts], [*cuts, len(order)], [*moments, end], strict=True):
        store.add(events(order[start:stop]))
        done = sweep(store, library, as_of=at, clock=lambda: end)
        store.mark_reported(change.key for change in done.changes)
        for change in done.changes:
            # Nothing is told as new twice, and only what stands is taken back.
            before = history.get(change.detection.id, "")
            assert (change.change == "new") == (before == "")
            assert change.change != "found again" or before in ("withdrawn", "superseded")
            history[change.detection.id] = change.change
        assert sweep(store, library, as_of=at, clock=lambda: end).subjects == 0
    kept = [detection.to_dict() for detection in store.detections(states=["opened", "closed"])]
    whole = analyze(lines, library, as_of=end, settings=Settings())
    assert kept == [detection.to_dict() for detection in whole.detections]


def test_the_random_histories_are_not_dull(library):
    patterns = [
        item.pattern for seed in range(12) for item in analyze(random_lines(random.Random(seed)), library)
    ]
    assert {*patterns} >= {"warm_then_cold", "hot_for_long", "gone_away", "heat_spreads"}


# --- clocks ---------------------------------------------------------------------------------

FAR = datetime(9999, 1, 1, tzinfo=UTC)


def test_a_sweep_as_of_far_ahead_of_the_clock_is_refused_and_records_nothing(store, library, swept):
    store.add(events(warm_messages()))
    with pytest.raises(BadUsage, match="as of 9999-01-01T00:00:00Z is in the future: expected a time up to"):
        sweep(store, library, as_of=FAR, clock=lambda: NOW)
    assert store.last_sweep() is None
    assert told(swept()) == [("new", "warm_then_cold", "ann")]


def test_a_store_swept_under_a_wrong_clock_is_reset_and_ends_as_if_it_never_had_been(store, library, swept):
    lines = [*warm_messages(), *turns("cy", [0.9, 0.9, 0.9], [2, 3, 4])]
    store.add(events(lines))
    wrong = swept(FAR)  # the clock says so, too
    assert ("new", "gone_away", "cy") in told(wrong)
    with pytest.raises(BadUsage, match=r"which is in the future.*--reset-clock"):
        swept()
    ids = {detection.id for detection in store.detections()}
    assert reset_clock(store, NOW) == 2
    assert store.last_sweep() is None
    again = swept()
    assert {(change, pattern) for change, pattern, _ in told(again)} == {
        ("withdrawn", "gone_away"),
        ("withdrawn", "hot_then_gone"),
    }
    assert ids == {detection.id for detection in store.detections()}, (
        "what was detected is kept, as withdrawn"
    )
    standing = {detection.id for detection in store.detections(states=["opened", "closed"], parts=False)}
    assert standing == {detection.id for detection in analyze(lines, library, as_of=NOW, now=NOW).detections}


def test_a_reset_leaves_sweeps_before_the_clock_alone(store, swept):
    store.add(events(warm_messages()))
    swept()
    assert reset_clock(store, NOW) == 0
    assert swept(NOW + timedelta(minutes=1)).subjects == 0


def test_a_lock_of_another_machine_with_a_beat_in_the_future_is_left_behind():
    from ethogram.store.locks import is_left

    row = {"host": "elsewhere", "pid": 1, "started": "", "beat_us": micros(FAR)}
    assert is_left(row, micros(NOW))
    assert not is_left({**row, "beat_us": micros(NOW + timedelta(minutes=10))}, micros(NOW))


def deadline_after(body: SilenceProgram, history: History, at: int) -> int | None:
    """When the silence after an event would be too long, in microseconds; None where it never is."""
    if at + 1 < body.at_least or (body.after is not None and read_at(body.after, history, at) is not True):
        return None
    seconds = number_of(read_at(body.longer_than, history, at))
    if seconds is None or above(0.0, seconds):
        return None
    return history.times[at] + max(0, round(seconds * 1e6))


def test_the_next_deadline_is_that_after_the_last_event_of_a_history():
    some = 0
    for seed in range(60):
        case = random_case(seed, "silence")
        events = sorted(case.events, key=lambda event: event.order)
        programs = compile_patterns(case.patterns)
        expected: dict[tuple[str, str], int] = {}
        for program in programs:
            for history in histories(program, events, case.cap):
                if not (program.timed_only and not history.timed):
                    deadline = deadline_after(program.body, history, len(history.events) - 1)
                    if deadline is not None and deadline >= micros(events[0].at):
                        who = (history.source, history.events[-1].subject)
                        expected[who] = min(deadline, expected.get(who, deadline))
        assert next_due(programs, events, events[0].at, case.cap) == expected
        some += bool(expected)
    assert some > 10


def test_two_choices_of_patterns_that_sweep_one_store_each_keep_their_place(store, swept, tmp_path):
    store.add(events(warm_messages() + turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    warm, hot = (
        load_patterns([tmp_path / "patterns" / f"{name}.yaml"]) for name in ("warm_then_cold", "hot_for_long")
    )
    assert told(swept(library=warm)) == [("new", "warm_then_cold", "ann")]
    assert told(swept(library=hot)) == [("new", "hot_for_long", "cy")]
    for library in (warm, hot):
        again = swept(NOW + timedelta(minutes=1), library=library)
        assert (told(again), again.subjects) == ([], 0)


# --- patterns that one selection chooses and another needs as a part ----------------------------


@pytest.fixture
def selection(tmp_path, library) -> Callable[..., Library]:
    """Some of the patterns, chosen by name."""
    return lambda *names: load_patterns(names, more=[tmp_path / "patterns"])


def listed(store: Store) -> list[tuple[str, str]]:
    """The standing detections that people see, with their severity."""
    return sorted((item.pattern, item.severity) for item in store.find_detections()[0])


def test_a_part_of_one_selection_is_reported_by_the_first_that_chooses_it(store, swept, selection):
    store.add(events(turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    combination = selection("hot_then_gone")
    assert told(swept(library=combination)) == []
    assert listed(store) == []

    # The same programs run; another one of them is chosen.
    both = selection("hot_then_gone", "gone_away", "hot_for_long")
    assert told(swept(library=both)) == [("new", "hot_for_long", "cy")]
    assert listed(store) == [("hot_for_long", "medium")]
    for library in (both, combination):
        again = swept(library=library)
        assert (told(again), again.subjects) == ([], 0)


def test_a_sweep_in_which_it_is_a_part_reports_the_changes_of_a_shown_detection(store, swept, selection):
    store.add(events(turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])))
    single, combination = selection("hot_for_long"), selection("hot_then_gone")
    assert told(swept(library=single)) == [("new", "hot_for_long", "cy")]

    # Above .95 it is critical.
    store.add(events([message("cy-4", 4, "cy", risk=0.99)]))
    assert told(swept(library=combination)) == [("risen", "hot_for_long", "cy")]
    assert listed(store) == [("hot_for_long", "critical")]

    # Only more evidence, and then its end.
    store.add(events([message("cy-5", 5, "cy", risk=0.9)]))
    assert told(swept(NOW + timedelta(days=1), library=combination)) == []
    assert listed(store) == [("hot_for_long", "critical")]
    store.add(events([message("cy-6", 6, "cy", risk=0.1)]))
    assert told(swept(NOW + timedelta(days=2), library=combination)) == [("closed", "hot_for_long", "cy")]
    assert told(swept(NOW + timedelta(days=2), library=single)) == []


def test_a_part_that_ended_before_it_was_chosen_is_withdrawn_in_silence(store, swept, selection):
    store.add(events(turns("cy", [0.85, 0.85, 0.85], [1, 2, 4])))
    swept(library=selection("hot_then_gone"))
    store.add(events([message("cool", 3, "cy", risk=0.0)]))  # the means of three are now below .6
    assert told(swept(library=selection("hot_for_long"))) == []
    assert [item.state for item in store.detections(patterns=["hot_for_long"])] == ["withdrawn"]


def test_a_part_that_is_then_found_outside_a_sweep_is_reported(store, swept, selection):
    lines = turns("cy", [0.9, 0.9, 0.9], [1, 2, 3])
    store.add(events(lines))
    swept(library=selection("hot_then_gone"))
    for _ in range(2):
        save_found(store, analyze(lines, selection("hot_for_long")).detections, NOW)
    assert listed(store) == [("hot_for_long", "medium")]
    assert told(swept(library=selection("hot_then_gone"))) == [("new", "hot_for_long", "cy")]


@pytest.mark.parametrize("seed", seeds(2, 8))
def test_selections_in_any_order_show_and_report_what_each_would_alone(
    store, swept, selection, tmp_path, seed
):
    rng = random.Random(seed)
    lines = random_lines(rng)
    rng.shuffle(lines)
    chosen = [("hot_then_gone",), ("hot_for_long", "hot_then_gone"), ("gone_away",), ("heat_spreads",)]
    reported: dict[str, str] = {}
    for day in range(6):
        store.add(events(lines[day::6]))
        for names in rng.sample(chosen, 2) if day < 5 else chosen:
            for change in swept(NOW + timedelta(days=day), library=selection(*names)).changes:
                before = reported.get(change.detection.id, "")
                assert (change.change == "new") == (before == "")
                reported[change.detection.id] = change.change

    whole = selection(*{name for names in chosen for name in names})
    expected = analyze(lines, whole, as_of=NOW + timedelta(days=5), settings=Settings())
    shown = store.detections(states=["opened", "closed"], parts=False)
    assert [item.to_dict() for item in shown] == [item.to_dict() for item in expected]
    assert {item.id for item in shown} == {
        name for name, change in reported.items() if change not in ("withdrawn", "superseded")
    }
