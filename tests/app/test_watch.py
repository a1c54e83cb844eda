"""A watch tells, event by event, what analyze finds in the end."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import pytest

from ethogram import Event, Watch, analyze
from ethogram.app.readings import names_used
from ethogram.config import Settings
from ethogram.errors import BadEvents, BadUsage, Conflict
from ethogram.models import Detection
from ethogram.patterns.library import load_patterns
from live_cases import events_of, last_rows, live_rows, whole_rows
from sampling import IS_LONG
from small import BOTH, GONE, HOT, WARM, message, turns, warm_messages, write_patterns
from strategies import KINDS, random_case
from waiting import PATIENCE_SECONDS

CASES = 25 if IS_LONG else 8
GROWN, SUBJECTS, EVERY = ((5_000, 9_000), 2, 1) if IS_LONG else ((2_500, 4_500), 1, 6)
"""Events between which the state must not grow, of how many subjects, and for every which pattern."""
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


# --- the same as analyze --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_ends_where_one_run_over_everything_does(kind: str):
    fired = 0
    for seed in range(CASES):
        case = random_case(seed, kind)
        rows = whole_rows(case)
        assert live_rows(case) == rows, case
        fired += bool(rows)
    assert fired >= 0.3 * CASES


@pytest.mark.parametrize("kind", KINDS)
def test_a_watch_may_be_cut_anywhere_saved_and_loaded(kind: str):
    for seed in range(CASES):
        case, rng = random_case(seed, kind), random.Random(seed)
        cuts = rng.sample(range(len(case.events) + 1), 3)
        assert live_rows(case, cuts=cuts) == whole_rows(case), (cuts, case)


@pytest.mark.parametrize("kind", KINDS)
def test_ticks_between_events_change_nothing_in_the_end(kind: str):
    for seed in range(CASES):
        case = random_case(seed, kind)
        assert live_rows(case, ticks=True) == whole_rows(case), case


@pytest.mark.parametrize("kind", KINDS)
def test_events_may_come_in_any_order_within_the_lateness(kind: str):
    for seed in range(CASES):
        case, rng = random_case(seed, kind), random.Random(seed)
        lateness = rng.choice((1, 60, 3600)) * 1_000_000
        events, _ = events_of(case)
        delays = {event.id: rng.randrange(lateness) for event in events}
        shuffled = sorted(events, key=lambda e: (e.at + timedelta(microseconds=delays[e.id]), rng.random()))
        assert live_rows(case, arrival=shuffled, lateness=lateness) == whole_rows(case), case


@lru_cache(maxsize=4)
def library_events(count: int, subjects: int = 1, seed: int = 1, pace: int = 1) -> list[Event]:
    """Events that give every shipped pattern something to look at; the more pace, the further apart."""
    rng, at, events = random.Random(seed), START, []
    library = load_patterns(any_status=True)
    used = {name for program in library.programs for name in names_used(program)}
    kinds = {name: kind for name, kind in library.kinds.items() if name in used}
    numbers = sorted(name for name, kind in kinds.items() if kind == "number")
    categories = sorted(name for name, kind in kinds.items() if kind != "number")
    indicators = [
        "MAN_INJECTION",
        "DEC_HIDDEN",
        "MAN_AUTHORITY",
        "DEC_FALSEID",
        "MAN_GASLIGHT",
        "DIS_INVALIDATE",
    ]
    for k in range(count):
        at += timedelta(seconds=pace * rng.choice((1, 20, 300, 7200)))
        readings: dict[str, Any] = {name: round(rng.random(), 2) for name in rng.sample(numbers, 16)}
        readings |= {name: rng.choice("abc") for name in rng.sample(categories, 2)}
        readings |= {name: rng.random() for name in indicators if rng.random() < 0.1}
        who = rng.randrange(subjects)
        other = f"s{rng.randrange(subjects)}" if subjects > 1 else "bo"
        target = None if other == f"s{who}" else other
        events.append(
            Event(f"e{k}", at, f"s{who}", seq=k, target=target, thread=f"t{k % 2}", readings=readings)
        )
    return events


def told_by(watch: Watch, events: list[Event]) -> list[Detection]:
    record = [item for event in events for item in watch.observe(event)]
    return [*record, *watch.flush()]


# --- what is told when ----------------------------------------------------------------------


def small_watch(tmp_path: Any, **options: Any) -> Watch:
    return Watch([write_patterns(tmp_path / "p", WARM, HOT, GONE, BOTH)], **options)


def test_each_opening_rise_and_closing_is_told_once(tmp_path):
    watch = small_watch(tmp_path)
    told = [
        [(item.pattern, item.state, item.severity) for item in watch.observe(event)]
        for event in turns("ann", [0.9, 0.9, 0.9, 0.9, 0.97, 0.9, 0.1], days=[1, 1, 1, 1, 1, 1, 1])
    ]
    assert told == [
        [],
        [],
        [("hot_for_long", "opened", "medium")],
        [],
        [("hot_for_long", "opened", "critical")],
        [],
        [("hot_for_long", "closed", "critical")],
    ]


@pytest.mark.parametrize("kind", ["threshold", "trend", "contrast", "silence", "sequence"])
def test_nothing_is_told_twice(kind: str):
    from ethogram.app.live.watch import Watch
    from ethogram.language.compiler import compile_patterns
    from ethogram.models import rank

    for seed in range(CASES):
        case = random_case(seed, kind)
        events, as_of = events_of(case)
        watch = Watch.of_programs(compile_patterns(case.patterns), cap=case.cap)
        told = [item for event in events for item in watch.observe(event)] + watch.flush(as_of)
        heights = {item.id: -1 for item in told}
        closed: Counter[str] = Counter()
        for item in told:
            assert not closed[item.id]
            if item.state == "closed":
                closed[item.id] += 1
            else:
                assert rank(item.severity) > heights[item.id]
            heights[item.id] = rank(item.severity)


def test_a_silence_is_told_by_a_tick_and_closed_by_the_next_event(tmp_path):
    watch = small_watch(tmp_path)
    *before, back = turns("ann", [0.9, 0.9, 0.9, 0.1], days=[1, 1, 1, 9])
    for event in before:
        watch.observe(event)
    assert watch.tick(datetime(2026, 1, 3, 12, tzinfo=UTC)) == []
    told = watch.tick(datetime(2026, 1, 3, 12, 0, 1, tzinfo=UTC))
    assert [(item.pattern, item.state) for item in told] == [
        ("gone_away", "opened"),
        ("hot_then_gone", "closed"),
    ]
    assert ("gone_away", "closed") in [(item.pattern, item.state) for item in watch.observe(back)]


def test_open_episodes_can_be_asked_for_as_far_as_they_have_come(tmp_path):
    watch = small_watch(tmp_path)
    for event in turns("ann", [0.9, 0.9, 0.9, 0.9, 0.9], days=[1] * 5):
        watch.observe(event)
    (item,) = watch.open()
    assert (item.pattern, item.count, item.last_event) == ("hot_for_long", 3, "ann-5")


def test_progress_says_how_many_steps_stand(tmp_path):
    watch = small_watch(tmp_path)
    stages = []
    for event in warm_messages():
        watch.observe(event)
        stages.append([(p.stage, p.of, p.step, p.events) for p in watch.progress("ann")])
    assert stages == [[(0, 2, "warm", 1)], [(0, 2, "warm", 2)], [(1, 2, "warm", 3)], []]
    assert watch.progress("bo") == []


def test_progress_leaves_out_what_a_never_has_ruled_out(tmp_path):
    watch = small_watch(tmp_path)
    apology = message("ann-4", 3, "ann", compassion=0.1, apology=0.9)
    for event in [*warm_messages()[:3], apology]:
        watch.observe(event)
    # No demand may follow the three warm messages now; but two of them could begin another three.
    assert [(p.stage, p.step, p.events) for p in watch.progress("ann")] == [(0, "warm", 2)]


def test_detections_are_handed_to_a_callback_whose_faults_are_kept_apart(tmp_path):
    seen: list[str] = []

    def on_detection(detection: Detection) -> None:
        seen.append(detection.pattern)
        raise ValueError("not my day")

    watch = small_watch(tmp_path, on_detection=on_detection)
    messages = [item for event in warm_messages() for item in watch.observe(event)]
    assert [item.pattern for item in messages] == seen == ["warm_then_cold"]
    assert [str(error) for error in watch.errors] == ["not my day"]


# --- order, repeats, clocks -----------------------------------------------------------------


def test_a_repeat_is_ignored_and_another_content_is_a_conflict(tmp_path):
    watch = small_watch(tmp_path)
    events = warm_messages()
    for event in events[:2]:
        watch.observe(event)
    before = json.dumps(watch.save())
    assert watch.observe(events[0]) == []
    with pytest.raises(Conflict, match="ann-1"):
        watch.observe(events[0] | {"readings": {"compassion": 0.1}})
    assert watch.repeated == 1
    assert json.loads(json.dumps(watch.save())) | {"repeated": 0, "refused": 0} == json.loads(before)


def test_an_event_before_the_newest_is_late_and_not_observed(tmp_path):
    watch = small_watch(tmp_path)
    first, second, *_ = warm_messages()
    watch.observe(second)
    assert watch.observe(first) == []
    assert watch.late == 1


def test_within_the_lateness_nothing_is_late_and_nothing_is_told_too_soon(tmp_path):
    watch = small_watch(tmp_path, settings=Settings(lateness=3 * 86_400_000_000))
    item, two, three, four = warm_messages()
    told = [found for event in (two, item, four, three) for found in watch.observe(event)]
    assert (told, watch.late) == ([], 0)
    assert [found.pattern for found in watch.tick(datetime(2026, 1, 8, tzinfo=UTC))] == ["warm_then_cold"]


def test_an_event_that_would_undo_what_a_tick_told_is_late(tmp_path):
    watch = small_watch(tmp_path)
    *before, during, after = turns("ann", [0.9, 0.9, 0.9, 0.9, 0.9], days=[1, 1, 1, 2, 5])
    for event in before:
        watch.observe(event)
    watch.tick(datetime(2026, 1, 4, tzinfo=UTC))
    watch.observe(during)
    assert watch.late == 1
    watch.observe(after)
    assert watch.late == 1


def test_an_event_without_a_time_happens_now_and_without_a_number_is_the_next(tmp_path):
    times = iter([START, START + timedelta(minutes=1), START + timedelta(minutes=2)])
    watch = small_watch(tmp_path, clock=lambda: next(times))
    watch.observe({"id": "a", "subject": "ann", "readings": {"risk": 0.9}})
    watch.observe({"id": "a", "subject": "ann", "readings": {"risk": 0.9}})
    assert watch.repeated == 1
    watch.observe({"id": "b", "subject": "ann", "readings": {"risk": 0.9}})
    known = watch.save()["arrivals"]["input"]
    assert (known["next_seq"], known["last"][1:]) == (2, [1, "b"])


def test_what_is_no_event_is_refused(tmp_path):
    watch = small_watch(tmp_path)
    with pytest.raises(BadEvents, match="subject"):
        watch.observe({"at": "2026-01-01T00:00:00Z"})
    with pytest.raises(BadUsage, match="time zone"):
        watch.tick(datetime(2026, 1, 1))  # noqa: DTZ001


# --- state ----------------------------------------------------------------------------------


def test_a_saved_watch_goes_on_in_another_process(tmp_path):
    folder = write_patterns(tmp_path / "p", WARM, HOT, GONE, BOTH)
    events = warm_messages()
    watch = Watch([folder])
    for event in events[:3]:
        watch.observe(event)
    (tmp_path / "state.json").write_text(json.dumps(watch.save()), encoding="utf-8")
    code = (
        "import json, sys, pathlib; from ethogram import Watch;"
        "watch = Watch.load(json.loads(pathlib.Path(sys.argv[1]).read_text()), [sys.argv[2]]);"
        "print(json.dumps([one.to_dict() for one in watch.observe(json.loads(sys.argv[3]))]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "state.json"), str(folder), json.dumps(events[3])],
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert json.loads(done.stdout) == [item.to_dict() for item in watch.observe(events[3])]
    assert json.loads(done.stdout)[0]["pattern"] == "warm_then_cold"


def test_state_of_another_version_starts_empty_and_says_so(tmp_path):
    watch = small_watch(tmp_path)
    for event in warm_messages()[:3]:
        watch.observe(event)
    saved = json.loads(json.dumps(watch.save()))
    changed = write_patterns(tmp_path / "q", WARM.replace("warmth: 0.6", "warmth: 0.5"), HOT, GONE, BOTH)
    other = Watch.load(saved, [changed])
    assert other.notes == ["warm_then_cold: saved under another version of the pattern; it starts empty"]
    assert other.progress("ann") == []
    assert other.observe(warm_messages()[3]) == []
    with pytest.raises(BadUsage, match="format"):
        Watch.load({"format": 99}, [changed])


@pytest.mark.parametrize("name", [file.name for file in load_patterns(any_status=True)][::EVERY])
def test_state_does_not_grow_with_the_history(name: str):
    library, events = load_patterns([name]), library_events(GROWN[1], SUBJECTS, pace=2 // SUBJECTS)
    watch, sizes = Watch(library), []
    for k, event in enumerate(events, 1):
        watch.observe(event)
        if k in GROWN:
            sizes.append(len(json.dumps(watch.save())))
    # Numbers get longer, and how much lies within a limit varies; a list that grew would more than double.
    assert sizes[1] < 1.25 * sizes[0]


def test_many_threads_with_a_subject_each_find_the_same():
    library = load_patterns(any_status=True)
    events = library_events(300, subjects=6)
    subjects = sorted({event.subject for event in events})
    alone = [program for program in library.programs if not program.is_combination]
    watch = Watch.of_programs(alone)

    def one_subject(subject: str) -> list[Detection]:
        # A source of its own, since the order of events is that of their source.
        own = [event for event in events if event.subject == subject]
        return [item for event in own for item in watch.observe(moved(event, subject))]

    with ThreadPoolExecutor(6) as pool:
        told = [item for found in pool.map(one_subject, subjects) for item in found]
    told += watch.flush()
    other = Watch.of_programs(alone)
    again = told_by(other, [moved(event, event.subject) for event in events])
    assert last_rows([*told, *watch.open()]) == last_rows([*again, *other.open()])


def moved(event: Event, source: str) -> Event:
    from dataclasses import replace

    return replace(event, source=source)


USUAL = """\
name: usual
title: Usual
description: As warm as is usual, where nothing else is known.
shape: {sequence: [{usual: "CONDITION"}]}
confidence: 0.5
severity: low
examples:
  fires: [{story: not looked at here, compassion: [0.3]}]
  quiet: [{story: not looked at here, compassion: [0.9]}, {story: another, compassion: [0.8]}]
"""


@pytest.mark.parametrize(
    ("condition", "steps"),
    [
        # Only the last two steps have an apology: for the others the second comparison is decided beforehand.
        ("compassion > 0.1 and or_else(apology, 0.3) == 0.3", ["s1", "s2", "s3"]),
        ("compassion > 0.1 and or_else(apology, 0.3) != 0.5", ["s1", "s2", "s3", "s4"]),
        # In binary, 0.1 + 0.2 is more than 0.3.
        ("compassion + 0.1 == 0.3", ["s1", "s2"]),
        ("compassion + 0.1 != 0.3", ["s0", "s3", "s4"]),
    ],
)
def test_equality_is_up_to_rounding_and_may_be_certain_beforehand(tmp_path, condition, steps):
    pattern = write_patterns(tmp_path / "p", USUAL.replace("CONDITION", condition)) / "usual.yaml"
    readings = [
        {"compassion": 0.05}, {"compassion": 0.2}, {"compassion": 0.2},
        {"compassion": 0.4, "apology": 0.3}, {"compassion": 0.4, "apology": 0.4},
    ]  # fmt: skip
    events = [
        Event(f"s{k}", START + timedelta(minutes=k), "ann", k, readings=values)
        for k, values in enumerate(readings)
    ]
    watched = Watch([pattern]).observe_many(events)
    assert [item.last_event for item in watched] == steps
    assert [item.last_event for item in analyze(events, patterns=[pattern]).detections] == steps
