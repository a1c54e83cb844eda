"""The ladder: one rung at a time about one thing, with pauses, and never too often."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram.agents.hook.claude_code import _with_tuples
from ethogram.agents.hook.plan import library_of, rules_in
from ethogram.agents.interventions import is_same, next_rung
from ethogram.agents.status import Rules
from ethogram.config import Settings
from ethogram.models.constants import RUNGS

Seen = tuple[int, str, tuple[str, ...]]
"""A thing that goes on at a step: the step, its cause, its keys."""

DEFAULT = rules_in(Settings())
EVERY = replace(DEFAULT, rungs=RUNGS, most=100)


def climbed(things: list[Seen], rules: Rules) -> list[tuple[int, str]]:
    """The rungs taken, each with its step."""
    records: list[dict[str, Any]] = []
    taken = []
    for step, cause, keys in things:
        records, rung = next_rung(records, cause, keys, step, rules)
        if rung is not None:
            taken.append((step, rung))
    return taken


def going_on(steps: int, cause: str = "error", keys: tuple[str, ...] = ("a",)) -> list[Seen]:
    return [(step, cause, keys) for step in range(1, steps + 1)]


def test_one_rung_at_a_time_with_the_cool_down_in_between():
    assert climbed(going_on(30), EVERY) == [(1, "nudge"), (6, "remind"), (11, "ask"), (16, "stop")]


def test_nothing_is_said_beyond_the_top():
    assert climbed(going_on(200), replace(EVERY, rungs=("nudge",))) == [(1, "nudge")]


def test_a_thing_that_does_not_come_again_climbs_no_further():
    things = [(1, "error", ("a",)), (4, "error", ("b",)), (50, "error", ("c",))]
    assert climbed(things, EVERY) == [(1, "nudge"), (4, "nudge"), (50, "nudge")]


def test_nothing_is_said_within_half_the_cool_down_of_anything_else():
    things = [(step, cause, (f"k{step}",)) for step in range(1, 8) for cause in ("stuck", "scope")]
    assert climbed(things, EVERY) == [(1, "nudge"), (4, "nudge"), (7, "nudge")]


def test_a_thing_that_comes_again_much_later_is_taken_up_where_it_was():
    assert climbed([(1, "error", ("a",)), (400, "error", ("a",))], EVERY) == [(1, "nudge"), (400, "remind")]


def test_another_cause_starts_at_the_bottom_though_its_keys_are_the_same():
    assert climbed([(1, "error", ("a",)), (9, "scope", ("a",))], EVERY) == [(1, "nudge"), (9, "nudge")]


def test_two_patterns_that_share_a_key_speak_of_one_thing():
    things = [
        (1, "stuck", ("a", "b")),
        (2, "stuck", ("b", "c")),
        (6, "stuck", ("b", "c")),
        (11, "stuck", ("c",)),
    ]
    assert climbed(things, EVERY) == [(1, "nudge"), (6, "remind"), (11, "ask")]


def test_two_things_that_turn_out_to_be_one_are_one_from_then_on():
    things = [(1, "stuck", ("a",)), (6, "stuck", ("a",)), (9, "stuck", ("b",))]
    # At 13 the second was spoken of four steps ago; at 14 the higher of the two rungs counts.
    things += [
        (13, "stuck", ("a", "b")),
        (14, "stuck", ("a", "b")),
        (18, "stuck", ("b",)),
        (19, "stuck", ("b",)),
    ]
    assert climbed(things, EVERY) == [(1, "nudge"), (6, "remind"), (9, "nudge"), (14, "ask"), (19, "stop")]


def test_without_keys_the_cause_alone_tells_what_is_the_same():
    assert climbed(going_on(7, keys=()), EVERY) == [(1, "nudge"), (6, "remind")]
    told = {"cause": "scope", "keys": [], "rung": 0, "step": 1, "times": 1}
    assert is_same(told, "scope", ("a",))
    assert not is_same(told, "error", ("a",))


def test_a_run_is_interrupted_at_most_so_many_times():
    things = [(step, "error", (f"k{step}",)) for step in range(1, 50)]
    assert [step for step, _ in climbed(things, replace(EVERY, most=6))] == [1, 4, 7, 10, 13, 16]
    assert climbed(things, replace(EVERY, most=0)) == []


@pytest.mark.parametrize("off", RUNGS)
def test_a_rung_that_is_off_is_left_out(off: str):
    expected = [rung for rung in RUNGS if rung != off]
    assert [rung for _, rung in climbed(going_on(30), replace(EVERY, off=(off,)))] == expected


def test_stopping_is_for_those_who_list_it():
    assert [rung for _, rung in climbed(going_on(99), DEFAULT)] == ["nudge", "remind", "ask"]
    assert rules_in(Settings()).active_rungs == ("nudge", "remind", "ask")


def test_rungs_are_climbed_from_the_mildest_however_they_are_listed():
    assert replace(DEFAULT, rungs=("stop", "ask", "nudge")).active_rungs == ("nudge", "ask", "stop")
    assert climbed(going_on(9), replace(EVERY, rungs=())) == []


def test_a_pattern_that_is_off_is_not_watched():
    off = replace(Settings(), hook={**Settings().hook, "off": ("loop",)})
    assert set(library_of(Settings()).chosen) - set(library_of(off).chosen) == {"loop"}


def test_rules_are_the_same_after_being_written_as_data():
    rules = Rules(("nudge", "stop"), 3, 2, "high", ("bash", "loop"), "off")
    data = {"rungs": ["nudge", "stop"], "cool_down": 3, "most": 2, "lowest": "high", "off": ["bash", "loop"],
            "critical": "off"}  # fmt: skip
    assert Rules(**_with_tuples(data)) == rules
    assert not rules.has("bash")
    assert rules.has("ask")


def test_what_came_in_is_left_as_it_was():
    before = [{"cause": "error", "keys": ["a"], "rung": 0, "step": 1, "times": 1}]
    kept = [dict(item) for item in before]
    next_rung(before, "error", ("a",), 9, EVERY)
    assert before == kept


# --- for whatever happens in a run ------------------------------------------------------------

names = st.sampled_from("abcd")
things = st.lists(
    st.tuples(
        st.integers(0, 4), st.sampled_from(["error", "scope"]), st.lists(names, min_size=1, max_size=3)
    ),
    max_size=20,
).map(lambda told: _at_steps(told))
rules = st.builds(
    Rules,
    rungs=st.sets(st.sampled_from(RUNGS)).map(tuple),
    cool_down=st.integers(1, 6),
    most=st.integers(0, 12),
    off=st.sets(st.sampled_from([*RUNGS, "loop"]), max_size=2).map(tuple),
)


def _at_steps(numberses: list[tuple[int, str, list[str]]]) -> list[Seen]:
    found, step = [], 0
    for more, cause, keys in numberses:
        step += more
        found.append((step, cause, tuple(keys)))
    return found


def interventions(things: list[Seen], rules: Rules) -> list[tuple[int, str, set[str], str]]:
    records: list[dict[str, Any]] = []
    found = []
    for step, cause, keys in things:
        records, rung = next_rung(records, cause, keys, step, rules)
        if rung is not None:
            found.append((step, cause, set(keys), rung))
    return found


@given(things=things, rules=rules)
def test_nothing_is_spoken_of_twice_within_the_cool_down(things: list[Seen], rules: Rules):
    numberses = interventions(things, rules)
    for place, (step, cause, keys, _) in enumerate(numberses):
        for before, other, known, _ in numberses[:place]:
            if cause == other and keys & known:
                assert step - before >= rules.cool_down


@given(things=things, rules=rules)
def test_rungs_about_one_thing_neither_fall_nor_skip(things: list[Seen], rules: Rules):
    known: list[tuple[str, set[str], int]] = []
    for _, cause, keys, rung in interventions(things, rules):
        same = [item for item in known if item[0] == cause and keys & item[1]]
        place = rules.active_rungs.index(rung)
        assert place == 1 + max((item[2] for item in same), default=-1)
        merged = keys.union(*(item[1] for item in same))
        known = [*(item for item in known if item not in same), (cause, merged, place)]


@given(things=things, rules=rules)
def test_a_run_is_never_interrupted_more_often_than_is_allowed(things: list[Seen], rules: Rules):
    numberses = interventions(things, rules)
    assert len(numberses) <= rules.most
    assert {rung for *_, rung in numberses} <= set(rules.rungs) - set(rules.off)


@given(things=things, rules=rules)
def test_the_first_word_about_a_thing_is_the_mildest_there_is(things: list[Seen], rules: Rules):
    numberses = interventions(things, rules)
    if things and rules.active_rungs and rules.most:
        assert numberses[0] == (things[0][0], things[0][1], set(things[0][2]), rules.active_rungs[0])
