"""Why a pattern fired or stayed quiet: how far it came, and the limit that failed with its numbers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

import strategies
from ethogram.app.explain import FIRED, INSUFFICIENT, NO_HISTORY, QUIET, Explainer, Question, Why, why
from ethogram.config import Settings
from ethogram.engine.detect import find
from ethogram.errors import BadUsage
from ethogram.ingest import events_of, in_order
from ethogram.language.compiler import compile_patterns
from ethogram.patterns.library import load_patterns
from ethogram.report.explain import why_lines
from sampling import seeds
from small import BOTH, GONE, HOT, WARM, message, turns, warm_messages, write_patterns


@pytest.fixture
def ask(tmp_path, no_shipped_patterns):
    """Asks why of one pattern; gives the answers."""
    folder = write_patterns(tmp_path / "patterns", WARM, HOT, GONE, BOTH)

    def answer(pattern: str, events: list[dict], subject: str = "ann", as_of=None, **more) -> tuple[Why, ...]:
        library = load_patterns([pattern], more=[folder])
        batch = events_of(events, kinds=library.kinds)
        return why(Question(subject, **more), library, batch, as_of=as_of)

    return answer


def only(answers: tuple[Why, ...]) -> Why:
    assert len(answers) == 1
    return answers[0]


def day(n: int) -> datetime:
    return datetime(2026, 1, n, tzinfo=UTC)


# --- sequences ---


def test_a_sequence_that_fired_says_where(ask):
    item = only(ask("warm_then_cold", warm_messages()))
    assert item.answer == FIRED
    assert [fired.event for fired in item.fired] == ["ann-4"]
    assert [step.last.event for step in item.sequence.steps] == ["ann-3", "ann-4"]
    assert [step.met for step in item.sequence.steps] == [3, 1]


def test_a_limit_that_failed_is_named_with_its_numbers(ask):
    item = only(ask("warm_then_cold", warm_messages(days=(1, 2, 3, 8))))
    assert item.answer == QUIET
    warm, press = item.sequence.steps
    assert warm.last.event == "ann-3"
    assert press.last is None
    assert press.tried.spot.event == "ann-4"
    assert press.tried.condition.truth is True
    failed = [limit for limit in press.tried.limits if not limit.holds]
    assert [limit.limit for limit in failed] == ["within"]
    assert failed[0].said == "5d, 1 event from event ann-3; at most 2d and 6 events"


def test_a_condition_that_failed_shows_both_sides_of_every_comparison(ask):
    events = warm_messages()
    events[3]["readings"] |= {"manipulation": 0.4}
    press = only(ask("warm_then_cold", events)).sequence.steps[1]
    manipulation, compassion = press.tried.condition.comparisons
    assert manipulation.text == "manipulation > warm.manipulation + 0.5"
    assert (manipulation.op, manipulation.truth) == (">", False)
    assert [value for _, value in manipulation.values] == [0.4, pytest.approx(0.7)]
    assert compassion.truth is True


def test_never_names_the_event_that_met_it(ask):
    events = warm_messages(days=(1, 2, 3, 5))
    events.append(message("sorry", 4, "ann", compassion=0.5, apology=0.9))
    press = only(ask("warm_then_cold", events)).sequence.steps[1]
    never = next(limit for limit in press.tried.limits if limit.limit == "never")
    assert (never.holds, never.said) == (False, "apology > 0.5: met by event sorry")


def test_too_many_events_between_are_counted(ask):
    events = warm_messages(days=(1, 2, 3, 4))
    others = [message(f"x{i}", 3, "ann", compassion=0.5, manipulation=0.1) for i in (1, 2)]
    for other in others:
        other["at"] = "2026-01-03T18:00:00Z"
    press = only(ask("warm_then_cold", [*events, *others])).sequence.steps[1]
    assert [(limit.limit, limit.said) for limit in press.tried.limits if not limit.holds] == [
        ("max_gap", "2 events between, at most 1 allowed")
    ]


def test_a_step_that_came_part_of_the_way_says_how_far(ask):
    warm, press = only(ask("warm_then_cold", warm_messages()[:2])).sequence.steps
    assert (warm.stood, warm.last) == ((2, 1, 0), None)
    assert press.tried is None


def test_a_whole_that_took_too_long_fails_by_within(ask):
    events = warm_messages(days=(1, 2, 16, 17))
    item = only(ask("warm_then_cold", events))
    assert item.sequence.complete.event == "ann-4"
    assert [(limit.limit, limit.holds) for limit in item.sequence.limits] == [("within", False)]


def test_a_second_end_is_not_a_second_firing(ask):
    events = [*warm_messages(), message("ann-5", 5, "ann", compassion=0.1, manipulation=0.9)]
    item = only(ask("warm_then_cold", events))
    assert [fired.event for fired in item.fired] == ["ann-4"]
    assert [limit.limit for limit in item.sequence.limits if not limit.holds] == ["new"]


def test_one_event_can_be_asked_about(ask):
    warm, press = only(ask("warm_then_cold", warm_messages(), at="ann-2")).sequence.steps
    assert (warm.tried.spot.event, warm.tried.place, warm.tried.condition.truth) == ("ann-2", 2, True)
    assert all(limit.holds for limit in warm.tried.limits)
    assert [limit.limit for limit in press.tried.limits] == ["order"]


# --- thresholds and silences --


def test_a_threshold_shows_its_numbers_where_it_came_nearest(ask):
    item = only(ask("hot_for_long", turns("ann", [0.5, 0.85, 0.6, 0.1], [1, 2, 3, 4])))
    assert item.answer == QUIET
    assert (item.threshold.true, item.threshold.false, item.threshold.unknown) == (0, 4, 0)
    assert item.threshold.spot.event == "ann-3"
    assert [round(float(row.values[0][1]), 6) for row in item.threshold.when.comparisons] == [0.65, 1]
    assert [row.truth for row in item.threshold.when.comparisons] == [True, False]
    assert item.threshold.clears.truth is False


def test_a_threshold_that_opened_is_shown_where_it_opened(ask):
    events = turns("ann", [0.9, 0.9, 0.9, 0.9], [1, 2, 3, 4])
    item = only(ask("hot_for_long", events))
    assert (item.answer, item.threshold.spot.event) == (FIRED, "ann-3")
    assert only(ask("hot_for_long", events, at="ann-2")).threshold.when.truth is None


def test_a_threshold_that_could_not_be_judged_is_insufficient_data(ask):
    item = only(ask("hot_for_long", turns("ann", [0.9, 0.9], [1, 2])[1:]))
    assert item.answer in (QUIET, INSUFFICIENT)
    assert item.threshold.spot.event == "ann-2"


def test_a_silence_shows_its_deadline_and_when_the_wait_ended(ask):
    events = turns("ann", [0.9, 0.9, 0.9, 0.1], [1, 2, 3, 4])
    item = only(ask("gone_away", events, as_of=day(10)))
    assert item.answer == QUIET
    third, last = item.silence.waits
    assert (third.spot.event, third.deadline, third.ended) == ("ann-3", day(5).replace(hour=12), True)
    assert (last.deadline, last.after.truth) == (None, False)


def test_a_silence_that_lasts_is_measured_to_the_moment_of_the_question(ask):
    events = turns("ann", [0.9, 0.9, 0.9], [1, 2, 3])
    early, late = (only(ask("gone_away", events, as_of=day(n))) for n in (5, 6))
    assert (early.answer, late.answer) == (QUIET, FIRED)
    assert (late.silence.waits[-1].ended, late.silence.waits[-1].next_at) == (False, day(6))


def test_too_few_events_for_a_silence_are_counted(ask):
    item = only(ask("gone_away", turns("ann", [0.9, 0.9], [1, 2]), as_of=day(9)))
    assert (item.answer, item.silence.counted) == (INSUFFICIENT, 0)
    assert "have 2, need 3" in item.reason


# --- combinations ---


def test_a_combination_says_which_part_is_missing(ask):
    item = only(ask("hot_then_gone", turns("ann", [0.9, 0.9, 0.9], [1, 2, 3])))
    assert item.answer == QUIET
    assert [len(part.detections) for part in item.parts] == [1, 0]
    assert [limit.said for limit in item.limits] == ["no detection of gone_away"]


def test_a_combination_whose_parts_are_too_far_apart_says_how_far(ask):
    events = turns("ann", [0.9, 0.9, 0.9, 0.9, 0.9], [1, 2, 3, 4, 5])
    item = only(ask("hot_then_gone", events, as_of=day(9)))
    assert [(limit.limit, limit.holds, limit.said) for limit in item.limits] == [
        ("order", True, "each came after the one before"),
        ("within", False, "4d from first to last; at most 3d"),
    ]


def test_a_combination_that_fired_says_so(ask):
    item = only(ask("hot_then_gone", turns("ann", [0.9, 0.9, 0.9], [1, 2, 3]), as_of=day(9)))
    assert (item.answer, len(item.fired)) == (FIRED, 1)


# --- whose histories ---


def test_there_is_one_answer_for_each_history(ask):
    other = [{**message, "id": message["id"] + "-cy", "target": "cy"} for message in warm_messages()[:2]]
    answers = ask("warm_then_cold", [*warm_messages(), *other])
    assert {(answer.history["target"], answer.answer) for answer in answers} == {("bo", FIRED), ("cy", QUIET)}
    assert only(ask("warm_then_cold", [*warm_messages(), *other], target="cy")).answer == QUIET


def test_a_subject_without_what_the_pattern_reads_has_no_history(ask):
    item = only(ask("warm_then_cold", turns("ann", [0.9], [1])))
    assert item.answer == NO_HISTORY
    assert item.reason.startswith("no event by ann has a reading of apology, compassion")


@pytest.mark.parametrize(
    ("pattern", "question", "said"),
    [
        ("warm_then_cold", {"subject": "anne"}, "no subject 'anne' in the input; did you mean 'ann'?"),
        ("warm_then_cold", {"at": "ann-44"}, "no event 'ann-44' in the input; did you mean"),
        ("warm_then_cold", {"subject": "cy", "at": "ann-1"}, "event 'ann-1' is by 'ann', not by 'cy'"),
        ("warm_then_cold", {"thread": "t"}, "warm_then_cold groups by subject, target: --thread"),
        ("hot_then_gone", {"at": "ann-1"}, "hot_then_gone combines other detections"),
    ],
)
def test_a_question_that_makes_no_sense_is_bad_usage(ask, pattern, question, said):
    events = [*warm_messages(), *turns("cy", [0.9], [1])]
    with pytest.raises(BadUsage) as caught:
        ask(pattern, events, **question)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("seed", seeds(20, 80))
def test_on_random_patterns_the_answer_is_what_was_found_and_quiet_has_a_reason(seed):
    case = strategies.random_case(seed)
    events = in_order(case.events)
    as_of = case.as_of or max(event.at for event in events)
    events = [event for event in events if event.at <= as_of]
    programs = compile_patterns(case.patterns)
    detections = find(programs, events, as_of=as_of, cap=case.cap).detections
    explainer = Explainer(programs, events, as_of, case.cap)
    for program in programs:
        for subject in sorted({event.subject for event in events}):
            answers = list(explainer.answers(program, Question(subject)))
            mine = [item for item in detections if item.pattern == program.name and item.subject == subject]
            assert sum(len(answer.fired) for answer in answers) == len(mine)
            for answer in answers:
                json.dumps(answer.to_dict(), allow_nan=False)
                assert list(why_lines(answer))
                assert answer.answer != QUIET or reasons(answer), answer


def reasons(item: Why) -> list[object]:
    """What kept a quiet pattern from firing."""
    if item.sequence is not None:
        lacking = [step for step in item.sequence.steps if step.last is None]
        return lacking or [limit for limit in item.sequence.limits if not limit.holds]
    if item.threshold is not None:
        return (
            [item.threshold]
            if item.threshold.when.truth is not True or item.threshold.clears.truth is True
            else []
        )
    if item.silence is not None:
        return [wait for wait in item.silence.waits if not wait.fired]
    return [limit for limit in item.limits if not limit.holds]


def test_every_answer_is_plain_json(ask):
    events = turns("ann", [0.9, 0.9, 0.9], [1, 2, 3])
    for pattern, given in [
        ("warm_then_cold", warm_messages()),
        ("hot_for_long", events),
        ("gone_away", events),
        ("hot_then_gone", events),
    ]:
        record = only(ask(pattern, given, as_of=day(9))).to_dict()
        assert json.loads(json.dumps(record, allow_nan=False)) == record
        assert record["record"] == "why"


@pytest.mark.parametrize("name", ["withdrawal", "frequency_spike"])
def test_of_messages_that_do_not_count_as_use_the_setting_is_named(name: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    library = load_patterns([name])
    rows = [{"at": start + timedelta(days=n), "subject": "ann", "kind": "message"} for n in range(40)]
    batch = events_of(rows, kinds=library.kinds)
    answer = only(why(Question("ann"), library, batch))
    assert "every event is of kind message, none of kind usage" in answer.reason
    assert "set usage: {kinds: [usage, message]} in ethogram.yaml" in answer.reason
    settings = Settings(usage={**Settings().usage, "kinds": ["usage", "message"]})
    counted = only(why(Question("ann"), library, batch, settings=settings))
    assert "kinds" not in counted.reason
