from dataclasses import asdict, replace
from datetime import timedelta
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethogram.risk.changes import AUTOMATIC, apply_proposal, in_force, undo_last
from ethogram.risk.proposal import TriedValue, measure_effect
from ethogram.risk.tuning import StepLimits, automatic_step, learn
from risk_lines_world import replayer, things
from risk_makers import NOW

NOW_AT = 0.3


@cache
def planted(rng_seed=3):
    rng = np.random.default_rng(rng_seed)
    x, judged = things(rng, 60, NOW_AT, 0.7)
    told = learn("p", {"threshold": NOW_AT}, judged, replayer(x))
    # Every value that could be a step, each with what it keeps of the sixty.
    true = np.array([item.true for item in judged])
    every = np.ones(60, dtype=bool)
    values = [float(item) for item in np.round(np.linspace(0, 1, 41), 3)]
    return replace(
        told,
        values=tuple(
            TriedValue(**asdict(measure_effect(true, every, x > value, every)), value=value)
            for value in values
        ),
    )


def test_automatic_steps_are_small_apart_and_lose_little():
    told = planted()
    after = automatic_step(told, file_value=0.3, at=NOW)
    value = after.value
    assert value == 0.4
    assert after.confirmed == told.before.confirmed
    assert after.false_alarms < told.before.false_alarms
    changes = apply_proposal((), replace(told, new=value), by=AUTOMATIC, at=NOW)
    assert "less than 7 days" in automatic_step(told, file_value=0.3, changes=changes, at=NOW + timedelta(3))
    assert "no further than 0 from 0.3" in automatic_step(
        told, file_value=0.3, at=NOW, limits=StepLimits(far=0.0)
    )
    losing = replace(told, values=tuple(replace(item, lost=9) for item in told.values))
    assert "too many confirmed" in automatic_step(losing, file_value=0.3, at=NOW)
    idle = replace(
        told, values=tuple(TriedValue(**asdict(told.before), value=item.value) for item in told.values)
    )
    assert "avoids a false alarm" in automatic_step(idle, file_value=0.3, at=NOW)
    assert "nothing was tried" in automatic_step(replace(told, values=()), file_value=0.3, at=NOW)
    unsure = replace(told, low=0.2, high=0.8)
    assert "may well be" in automatic_step(unsure, file_value=0.3, at=NOW)


@pytest.mark.parametrize("now", [0.25, 0.3, 0.41])
def test_there_is_a_step_from_wherever_the_number_lies(now):
    """What is tried at first lies .125 apart, and a step is .1."""
    x, judged = things(np.random.default_rng(3), 60, now, 0.8)
    told = learn("p", {"threshold": now}, judged, replayer(x))
    after = automatic_step(told, file_value=now, at=NOW)
    value = after.value
    assert value == pytest.approx(now + 0.1)
    assert (after.confirmed, after.false_alarms) == (
        told.before.confirmed,
        int((x > value).sum()) - told.after.confirmed,
    )


def test_a_whole_number_goes_by_one():
    """Of 2 to 7 times, five and more are right; 2 is in force."""
    x, judged = things(np.random.default_rng(3), 60, 0.0, 0.5)
    times = 2 + np.floor(x * 6)
    told = learn("p", {"threshold": 2}, judged, replayer(times + 0.5))
    assert (told.old, told.new) == (2, 5)
    after = automatic_step(told, file_value=2, at=NOW)
    value = after.value
    assert (value, type(value)) == (3, int)
    assert after.false_alarms == int(((times > 2) & (times < 5)).sum())
    assert "no further than 1 " in automatic_step(replace(told, old=3), file_value=2, at=NOW)


def test_a_change_can_be_undone_and_everything_stays_in_the_list():
    told = planted()
    once = apply_proposal((), told, by="ann", at=NOW)
    assert in_force(once) == {"p": {"threshold": told.new}}
    twice = apply_proposal(once, replace(told, old=told.new, new=0.9), by="ann", at=NOW)
    back = undo_last(twice, "p", by="bo", at=NOW)
    assert in_force(back) == in_force(once)
    # Nothing learned is left, so the number of the file holds again, whatever that is by then.
    assert in_force(undo_last(back, "p", by="bo", at=NOW)) == {}
    assert len(undo_last(back, "p", by="bo", at=NOW)) == 4
    with pytest.raises(ValueError, match="left to undo"):
        undo_last(undo_last(back, "p", by="bo", at=NOW), "p", by="bo", at=NOW)
    with pytest.raises(ValueError, match="learn again"):
        apply_proposal(once, told, by="ann", at=NOW)


def test_what_a_person_took_back_is_not_done_again_without_asking():
    told = planted()
    once = apply_proposal((), replace(told, new=0.4), by=AUTOMATIC, at=NOW)
    back = undo_last(once, "p", by="ann", at=NOW)
    assert "by hand" in automatic_step(told, file_value=0.3, changes=back, at=NOW + timedelta(days=30))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("pq"), st.sampled_from("ab")), max_size=12))
def test_whatever_was_taken_up_and_back_an_overlay_is_the_newest_of_what_stands(steps):
    """Against a pile for each pattern: taking up puts a number on it, taking back takes the top one off."""
    told, changes, piles = planted(), (), {"p": [], "q": []}
    for number, (is_new, pattern, parameter) in enumerate(steps, start=1):
        if is_new:
            now = dict(piles[pattern]).get(parameter, told.old)
            asked = replace(told, pattern=pattern, parameter=parameter, old=now, new=float(number))
            changes = apply_proposal(changes, asked, by="ann", at=NOW)
            piles[pattern].append((parameter, float(number)))
        elif piles[pattern]:
            changes = undo_last(changes, pattern, by="ann", at=NOW)
            piles[pattern].pop()
        else:
            with pytest.raises(ValueError, match="left to undo"):
                undo_last(changes, pattern, by="ann", at=NOW)
    assert in_force(changes) == {name: dict(pile) for name, pile in piles.items() if pile}
