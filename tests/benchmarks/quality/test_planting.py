"""Planted episodes: what is planted as it stands is found, and is told apart from what was there."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from benchmarks.quality.background import Varying, background_of, generated, varying
from benchmarks.quality.episodes import Setting, episode, programs_of, scripts_of
from benchmarks.quality.planting import Planted, plant
from ethogram import analyze
from ethogram.errors import BadUsage
from ethogram.ingest import events_of
from ethogram.models import Event
from ethogram.patterns.library import SHIPPED, select
from pattern_files import BUSY, write

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AS_WRITTEN = Setting(strength=(1, 1), noise=0, gaps=0)
NAMES = sorted(path.stem for path in SHIPPED.rglob("*.yaml"))


def strangers(count: int, *, each: int = 1, timed: bool = True, **fields) -> list[Event]:
    """Subjects who do something that no pattern reads."""
    return [
        Event(
            id=f"x{n}-{i}",
            at=NOON + timedelta(days=i) if timed else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=i),
            subject=f"stranger-{n}",
            seq=n * each + i,
            timed=timed,
            **fields,
        )
        for i in range(each)
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def library():
    return select()


@pytest.fixture(scope="module")
def gaslighting(library):
    return library.files["gaslighting"]


def planted_once(library, file, events, setting=AS_WRITTEN, number=0, **more):
    scripts = scripts_of(file, programs_of(library, file))
    return episode(
        file.name, number, scripts[number % len(scripts)], background_of(events), setting, 0, **more
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_is_found_where_it_is_planted_as_its_examples_have_it(name):
    (item,) = plant(name, strangers(8), episodes=4, setting=AS_WRITTEN)
    assert (item.found, item.episodes) == (4, 4)


def test_what_happens_in_another_order_is_not_a_pattern_of_order():
    (item,) = plant("information_gathering", strangers(5), episodes=30, setting=AS_WRITTEN)
    assert item.recall == 1
    assert item.found_scrambled < 10


def test_alarms_are_those_of_the_background_without_any_episode(tmp_path):
    busy = write(tmp_path, BUSY)
    quiet = strangers(4, each=5, readings={"noise": 0.1})
    loud = [
        Event(id=f"l{i}", at=NOON + timedelta(days=i), subject="loud", seq=i, readings={"noise": 0.7})
        for i in range(5)
    ]
    events = sorted(quiet + loud, key=lambda event: event.order)
    (item,) = plant(busy, events, episodes=20, setting=AS_WRITTEN)
    assert (item.alarms, item.histories) == (1, 5)
    (without,) = plant(busy, quiet, episodes=20, setting=AS_WRITTEN)
    assert (without.alarms, without.histories) == (0, 4)
    assert without.to_dict()["alarms_per_100"] == 0


def test_weaker_episodes_are_found_less_often():
    weak, strong = (
        plant("con_game", strangers(5, readings={"goodwill": 0.3, "fabrication": 0.1, "manipulation": 0.1}),
              episodes=40, setting=Setting((at, at), 0, 0)).planted[0].found
        for at in (0.2, 1.0)
    )  # fmt: skip
    assert weak == 0
    assert strong == 40


def test_the_same_seed_plants_the_same_and_another_seed_another():
    events = strangers(6, each=3)

    def said(seed):
        return list(plant("love_bombing", events, episodes=8, seed=seed).lines())

    assert said(3) == said(3)
    assert said(3) != said(4)


def test_an_episode_has_a_source_of_its_own_and_leaves_the_host_as_it_was(library, gaslighting):
    events = strangers(1, each=6, readings={"noise": 0.5})
    item = planted_once(library, gaslighting, events)
    host = [event for event in item.events if event.id.startswith("host-")]
    assert {event.source for event in item.events} == {"gaslighting:0"}
    assert [(event.at, event.readings) for event in host] == [(event.at, event.readings) for event in events]
    assert {event.subject for event in item.events} == {"stranger-0"}
    assert len(item.planted) == 3
    assert item.acts == item.planted


def test_an_episode_is_set_where_its_host_is_and_keeps_its_time_of_day(library, gaslighting):
    events = strangers(3, each=20)
    for number in range(10):
        item = planted_once(library, gaslighting, events, number=number)
        times = [event.at for event in item.events if event.id in item.planted]
        assert NOON - timedelta(days=3) < times[0] < NOON + timedelta(days=23)
        assert (times[0].hour, times[0].minute) == (0, 0)
        assert times == sorted(times)


def test_names_in_an_example_become_those_of_the_host(library, gaslighting):
    with_target = planted_once(library, gaslighting, strangers(1, target="kim"))
    assert {event.target for event in with_target.events} == {"kim"}
    without = planted_once(library, gaslighting, strangers(1), number=7)
    assert {event.target for event in without.events if event.id in without.planted} == {"bo-7"}


def test_several_subjects_of_an_example_are_played_by_several_hosts(library):
    item = planted_once(library, library.files["trust_cascade"], strangers(4))
    events = [event for event in item.events if event.id in item.planted]
    assert len({event.subject for event in events}) == 2
    # Whom the first one writes to is the other one, by its new name.
    assert events[0].target in {event.subject for event in events} - {events[0].subject}


def test_a_background_with_too_few_subjects_is_told():
    with pytest.raises(BadUsage, match="has 1 subjects, and an episode needs 2"):
        plant("trust_cascade", strangers(1), episodes=1)


def test_innocent_events_stand_between_those_of_an_episode(library, gaslighting):
    events = strangers(3, each=4, readings={"noise": 0.5}, text="hello")
    counts = Counter()
    for number in range(60):
        item = planted_once(library, gaslighting, events, Setting((1, 1), 0, 0.5), number)
        between = [event for event in item.events if event.id.startswith("between-")]
        ats = [event.at for event in item.events if event.id in item.planted]
        assert all(ats[0] <= event.at <= ats[-1] for event in between)
        assert {event.target for event in between} <= {f"bo-{number}"}
        assert all(event.readings == {"noise": 0.5} for event in between)
        counts["gaps"] += len(ats) - 1
        counts["between"] += len(between)
    # Half the gaps have one, half of those another: three in four on average.
    assert 0.5 < counts["between"] / counts["gaps"] < 1


def test_what_stands_between_steps_of_a_run_is_a_whole_step(library):
    about = {"subject": "agent", "thread": "run-1"}
    lines = [{"subject": "run-1/user", "thread": "run-1", "kind": "message", "text": "Do it."}]
    for n in range(30):
        call = {"tool": "read", "arguments": {"path": f"part_{n}.py"}, "call_id": f"c{n}"}
        lines.append({**about, "kind": "action", "attributes": call})
        lines.append({**about, "kind": "result", "attributes": {"call_id": f"c{n}", "result": f"text {n}"}})
    item = planted_once(library, library.files["loop"], events_of(lines).events, Setting((1, 1), 0, 1))
    between = [event for event in item.events if event.id.startswith("between-")]
    calls = [event.attributes["call_id"] for event in between if event.kind == "action"]
    results = [event.attributes["call_id"] for event in between if event.kind == "result"]
    assert calls == results
    assert len(set(calls)) == len(calls) > 2
    # Nothing stands between a call of the episode and what it gave.
    for before, after in pairwise(item.events):
        if before.id in item.planted and before.kind == "action":
            assert after.id in item.planted


def test_what_does_not_matter_stands_in_another_order(library):
    file = library.files["love_bombing"]
    scripts = scripts_of(file, programs_of(library, file))
    cool = next(script for script in scripts if script.story.startswith("cool with everybody"))
    assert sorted(cool.acts) == [12, 13, 14, 15]
    seen = set()
    for number in range(5):
        item = episode(file.name, number, cool, background_of(strangers(2)), AS_WRITTEN, 0)
        events = [event for event in item.events if event.id in item.planted]
        seen.add(tuple(event.target for event in events[:12]))
        assert [event.readings["compassion"] for event in events[12:]] == [0.5, 0.5, 0.5, 0.1]
    assert len(seen) > 1


def test_noise_moves_events_a_little_and_never_past_one_another(library):
    file = library.files["sandbagging"]
    item = planted_once(library, file, strangers(2), Setting((1, 1), 0.2, 0))
    events = sorted(
        (event for event in item.events if event.id in item.planted), key=lambda event: int(event.id[8:])
    )
    assert all(before.at < after.at for before, after in pairwise(events))
    assert any(event.at.microsecond for event in events)


def test_a_reading_is_pulled_towards_what_is_usual_in_the_background():
    half = Varying(strength=0.5, noise=0, centres={"compassion": 0.2})
    rng = random.Random(0)
    assert half.varied({"compassion": 0.8}, rng) == {"compassion": 0.5}
    assert half.varied({"MAN_GASLIGHT": 0.8, "DEC_BLAME": 0.0, "topic": "cats"}, rng) == {
        "MAN_GASLIGHT": 0.4,
        "DEC_BLAME": 0.0,
        "topic": "cats",
    }


def test_yes_or_no_stays_yes_or_no_and_counts_stay_whole():
    events = [
        Event.sample(readings={"accused": 1.0, "tokens": 100.0}),
        Event.sample(readings={"accused": 0.0, "tokens": 301.0}),
    ]
    how = varying(events, {"tokens": 9.0}, strength=0.5, noise=0.1)
    told = [how.varied(event.readings, random.Random(n)) for n, event in enumerate(events)]
    assert [item["accused"] for item in told] == [1.0, 0.0]
    assert all(float(item["tokens"]).is_integer() for item in told)
    assert how.centres["tokens"] == 200.5  # the example's own mean, whatever the background's is


def test_readings_stay_inside_their_range():
    how = Varying(strength=1, noise=1.0)
    rng = random.Random(0)
    for _ in range(200):
        told = how.varied({"compassion": 0.9, "MAN_GASLIGHT": 0.9, "copied_by": 3.0}, rng)
        assert 0 <= told["compassion"] <= 1
        assert 0 < told["MAN_GASLIGHT"] <= 1
        assert told["copied_by"] >= 1


def test_the_quiet_after_a_silence_is_kept(library):
    file = library.files["withdrawal"]
    scripts = scripts_of(file, programs_of(library, file))
    silent = next(script for script in scripts if script.after > timedelta(0))
    item = episode(file.name, 0, silent, background_of(strangers(1, each=300)), AS_WRITTEN, 0)
    last = max(event.at for event in item.events if event.id in item.planted)
    assert not [event for event in item.events if last < event.at <= last + silent.after]
    assert item.until == last + silent.after


def test_a_background_without_times_stays_without(library, gaslighting):
    item = planted_once(library, gaslighting, strangers(2, each=5, timed=False))
    assert not any(event.timed for event in item.events)
    assert [event.seq for event in item.events] == list(range(len(item.events)))


def test_a_made_up_background_is_of_quiet_examples(gaslighting):
    events = generated(gaslighting, seed=0)
    assert events == generated(gaslighting, seed=0)
    assert [event.order for event in events] == sorted(event.order for event in events)
    found = [item for item in analyze(events, ["gaslighting"]) if item.pattern == "gaslighting"]
    assert found == []


def test_what_is_written_is_read_again_and_gives_the_same(tmp_path):
    done = plant("gaslighting", strangers(4, each=3), episodes=6, setting=AS_WRITTEN)
    path = tmp_path / "planted.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in done.lines()), encoding="utf-8")
    sources = {item.source for item in analyze(path, ["gaslighting"]) if item.pattern == "gaslighting"}
    assert sources == {f"gaslighting:{number}" for number in range(6)}
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    marked = [line for line in lines if "planted" in line.get("attributes", {})]
    assert {line["attributes"]["planted"] for line in marked} == {"gaslighting"}
    assert sum(line["source"] == "input" for line in lines) == 12


def test_parameters_with_which_no_example_fires_are_refused(library):
    from ethogram.config import Settings

    settings = Settings(parameters={"love_bombing": {"warmth": 0.99}})
    with pytest.raises(BadUsage, match="love_bombing: none of its examples fires"):
        plant("love_bombing", strangers(2), episodes=1, settings=settings)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (Setting(strength=(1, 0.5)), "from a low to a high"),
        (Setting(noise=2), "noise and gaps"),
        (Setting(gaps=-1), "noise and gaps"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting, said):
    with pytest.raises(BadUsage, match=said):
        plant("gaslighting", strangers(2), episodes=1, setting=setting)


def test_no_events_are_no_background():
    with pytest.raises(BadUsage, match="no events"):
        plant("gaslighting", [], episodes=1)


def test_below_one_half_is_not_enough():
    few = Planted("x", "stable", 200, 99, 100, 20, 100, 79, 0, 0, 10)
    enough = Planted("x", "stable", 200, 100, 100, 20, 100, 80, 0, 3, 10)
    assert (few.to_dict()["enough"], enough.to_dict()["enough"]) == (False, True)
    assert enough.to_dict()["alarms_per_100"] == 30
    assert (enough.to_dict()["recall_weak"], enough.to_dict()["recall_strong"]) == (0.2, 0.8)
