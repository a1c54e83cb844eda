"""Risk of the subjects of a store, and assessments of events, from end to end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import ethogram
from ethogram.app.judging.risk import Muted, newest, risk_weights
from ethogram.config import Settings
from ethogram.errors import BadUsage
from ethogram.models import Verdict
from ethogram.models.mute import Mute
from ethogram.risk.scoring import RiskWeights
from ethogram.store import open_store
from ethogram.store.records import SweptDetection
from risk_makers import DAY, NOW, detection

PLAIN = Settings(calibration=False)


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "s.db"), create=True) as opened:
        opened.add([ethogram.Event.sample(id=f"e-{who}", subject=who, at=NOW) for who in ("ann", "bo", "cy")])
        yield opened


def keep(store, *found, part=False):
    changes = [("new", SweptDetection(item, part=part)) for item in found]
    store.save_sweep("selection", "versions", NOW, detections=changes)


def judge(store, verdict, of, by="eve", at=NOW):
    store.add_verdicts([Verdict(verdict, by, at, "loop", detection=of)])


def test_subjects_are_ranked_and_quiet_ones_left_out(store):
    keep(
        store,
        detection("a", subject="ann", cause="stuck"),
        detection("b", subject="bo", severity="critical", confidence=1.0),
        detection("c", subject="bo", cause="drift", state="withdrawn"),
    )
    told = ethogram.subject_risks(store, settings=PLAIN)
    assert [(item.subject, item.value) for item in told] == [("bo", 0.9), ("ann", 0.3)]
    assert told[0].to_dict()["detections"] == ["b"]


def test_one_subject_with_what_if_and_what_to_do(store):
    keep(
        store,
        detection("a", cause="stuck", recommendation="Look."),
        detection("b", cause="drift", severity="medium", confidence=1.0, pattern="drift"),
    )
    told = ethogram.subject_risk(store, "ann", settings=PLAIN)
    # 1 - (1 - .6 x .5) x (1 - .3 x 1)
    assert told.overall_risk == 0.51
    assert {item.detection: item.value for item in told.without} == {"a": 0.3, "b": 0.3}
    assert ethogram.subject_risk(store, "ann", settings=PLAIN, without=["a"]).overall_risk == 0.3
    assert [recommendation.urgency for recommendation in told.recommendations] == ["soon", "soon"]
    assert ethogram.subject_risk(store, "cy", settings=PLAIN).overall_risk == 0


def test_what_judges_say_counts_at_once_though_they_judge_after_the_newest_event(store):
    keep(store, detection("a", cause="stuck"))
    judge(store, "confirmed", "a")
    assert ethogram.subject_risk(store, "ann", settings=PLAIN).overall_risk == 0.6
    judge(store, "false_alarm", "a", by="fay", at=NOW + 100 * DAY)
    judge(store, "false_alarm", "a", by="gus", at=NOW + 100 * DAY)
    for as_of in (None, NOW, NOW + 200 * DAY):
        assert ethogram.subject_risk(store, "ann", as_of=as_of, settings=PLAIN).overall_risk == 0
    before = ethogram.subject_risk(store, "ann", as_of=NOW, settings=PLAIN)
    store.settle_verdicts(NOW + 300 * DAY)
    assert ethogram.subject_risk(store, "ann", as_of=NOW, settings=PLAIN) == before


def test_a_false_alarm_stays_one_when_its_verdict_is_gone(store):
    keep(store, detection("a", cause="stuck"))
    judge(store, "false_alarm", "a")
    store.settle_verdicts(NOW + DAY)
    assert store.verdicts() == []
    assert ethogram.subject_risk(store, "ann").overall_risk == 0


def test_verdicts_on_others_say_what_a_confidence_stands_for(store):
    keep(store, detection("a", cause="stuck"), *(detection(f"b{n}", subject="bo") for n in range(40)))
    before = ethogram.subject_risk(store, "ann").overall_risk
    store.add_verdicts([Verdict("false_alarm", "eve", NOW, "loop", detection=f"b{n}") for n in range(40)])
    after = ethogram.subject_risk(store, "ann").overall_risk
    # Forty of forty were wrong at this confidence: next to nothing is left of .3.
    assert (before, 0 < after < 0.1) == (0.3, True)
    assert ethogram.subject_risk(store, "ann", settings=PLAIN).overall_risk == 0.3


def test_parts_that_nobody_asked_for_and_muted_ones_do_not_count(store):
    keep(store, detection("a", cause="stuck"), part=True)
    assert ethogram.subject_risks(store, settings=PLAIN) == []
    keep(store, detection("b", pattern="drift", cause="drift"))
    entry = Mute("m1", "known", pattern="drift", until=NOW + 30 * DAY)
    assert ethogram.subject_risks(store, settings=PLAIN, muted=Muted((entry,), NOW)) == []
    # What ran out mutes nothing.
    assert len(ethogram.subject_risks(store, settings=PLAIN, muted=Muted((entry,), NOW + 31 * DAY))) == 1


def test_what_a_pattern_found_before_it_was_retired_no_longer_counts(store):
    keep(store, detection("a", pattern="loop", cause="stuck"), detection("b", pattern="goes", parts=("a",)))
    assert len(ethogram.subject_risk(store, "ann", settings=PLAIN).composition.detections) == 2
    for off in ({"status": {"loop": "retired"}}, {"status": {"loop": "shadow"}}):
        told = ethogram.subject_risk(store, "ann", settings=Settings(calibration=False, **off))
        assert told.composition.detections == ("b",)
    told = ethogram.subject_risk(
        store, "ann", settings=Settings(calibration=False, combination_detection=False)
    )
    assert told.composition.detections == ("a",)


def test_settings_say_what_counts_how_much(store):
    keep(store, detection("a", cause="stuck", severity="low", confidence=1.0))
    mine = Settings(calibration=False, risk={**PLAIN.risk, "weights": {**PLAIN.risk["weights"], "low": 0.25}})
    assert ethogram.subject_risk(store, "ann", settings=mine).overall_risk == 0.25
    fast = Settings(calibration=False, risk={**PLAIN.risk, "half_lives": {"stuck": 86_400_000_000}})
    later = ethogram.subject_risk(store, "ann", as_of=NOW + 2 * DAY, settings=fast)
    assert later.overall_risk == 0.025


def test_combinations_multiply_by_what_their_files_say_or_the_settings():
    shipped = risk_weights(Settings())
    assert shipped.multiplier("runaway_execution") == 2.0
    assert (shipped.multiplier("confused_state"), shipped.multiplier("loop")) == (1.8, 1.0)
    other = {**PLAIN.risk, "multipliers": {"runaway_execution": 3.0}}
    assert risk_weights(Settings(risk=other)).multiplier("runaway_execution") == 3.0


def test_the_settings_begin_with_the_numbers_of_the_code_and_may_name_some_alone():
    assert risk_weights(Settings(), {}) == RiskWeights()
    assert risk_weights(Settings(risk={"floor": 0.0}), {}) == RiskWeights(floor=0.0)
    for wrong in ({"floor": 2.0}, {"height": 1}, {"weights": {"low": 0.95}}):
        with pytest.raises(BadUsage, match=r"settings\.risk"):
            risk_weights(Settings(risk=wrong), {})


def test_the_moment_is_the_newest_that_the_store_knows(store):
    assert newest(store) == NOW
    store.close_sweep("selection", "versions", NOW + DAY, NOW)
    assert newest(store) == NOW + DAY


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: ethogram.subject_risk(s, "annn"), "no subject 'annn'"),
        (lambda s: ethogram.subject_risk(s, "ann", without=["x"]), "no detection 'x'"),
        (lambda s: ethogram.subject_risk(s, "ann", as_of="soon"), "as_of"),
        (
            lambda s: ethogram.subject_risk(s, "ann", source="inptu"),
            "did you mean 'input'",
        ),
        (lambda s: ethogram.assess(3), "assess takes"),
        (lambda s: ethogram.assess(None), "assess takes"),
        (lambda s: ethogram.subject_risk(s, "ann", as_of=datetime(2026, 1, 1)), "time zone"),  # noqa: DTZ001
    ],
)
def test_what_is_asked_wrongly_is_told(store, call, says):
    with pytest.raises(BadUsage, match=says):
        call(store)


# --- assess ---------------------------------------------------------------------------------


def run_events(thread="monday", times=5, start=datetime(2026, 1, 5, 12, tzinfo=UTC)):
    """An agent that runs the same failing command again and again."""
    events = []
    for n in range(times):
        told = {"tool": "Bash", "call_id": f"{thread}-{n}", "arguments": {"command": "make deploy"}}
        wrong = {"tool": "Bash", "call_id": f"{thread}-{n}", "error": "bash: deploy: command not found"}
        for kind, attributes, seconds in (("action", told, 0), ("result", wrong, 20)):
            at = (start + timedelta(minutes=n, seconds=seconds)).isoformat()
            events.append(
                {"at": at, "subject": "agent", "thread": thread, "kind": kind, "attributes": attributes}
            )
    return events


def test_a_run_is_assessed_as_of_its_own_end():
    told = ethogram.assess(run_events())
    assert (told.thread, told.subject, told.combined_patterns) == ("monday", "agent", ())
    assert {pattern.pattern for pattern in told.individual_patterns} == {"repetitive_errors", "loop"}
    # Five times the same error is critical and certain.
    assert (told.overall_risk, told.mode) == (0.9, "critical")
    assert [recommendation.ladder.next for recommendation in told.recommendations] == ["ask", "nudge"]
    assert ethogram.assess(run_events(), as_of="2026-03-05T12:00:00Z").overall_risk < 0.2


def test_an_analysis_and_its_detections_give_the_same():
    events = run_events()
    analysis = ethogram.analyze(events)
    whole = ethogram.assess(events, as_of=analysis.as_of)
    for other in (ethogram.assess(analysis), ethogram.assess(list(analysis), as_of=analysis.as_of)):
        assert (other.overall_risk, other.individual_patterns) == (
            whole.overall_risk, whole.individual_patterns,
        )  # fmt: skip


def test_of_several_runs_one_is_named_or_each_is_assessed():
    events = [*run_events(), *run_events("tuesday", times=1, start=datetime(2026, 3, 1, tzinfo=UTC))]
    with pytest.raises(BadUsage, match="2 runs"):
        ethogram.assess(events)
    assert ethogram.assess(events, thread="tuesday").overall_risk == 0
    told = ethogram.assess_each(events)
    assert [(item.thread, item.overall_risk) for item in told] == [("monday", 0.9), ("tuesday", 0.0)]
    with pytest.raises(BadUsage, match="did you mean"):
        ethogram.assess(events, subject="agnet")


def test_nothing_and_a_quiet_history_are_no_risk():
    assert ethogram.assess([]).overall_risk == 0
    quiet = ethogram.assess([{"at": "2026-01-05T12:00:00Z", "subject": "ann", "text": "hello"}])
    assert (quiet.subject, quiet.overall_risk, quiet.recommendations) == ("ann", 0.0, ())


def test_a_false_alarm_takes_a_pattern_out_of_an_assessment():
    events = run_events()
    first = ethogram.assess(events)
    individual_patterns = first.individual_patterns
    said = [
        Verdict("false_alarm", "eve", NOW, item.pattern, detection=item.id) for item in individual_patterns
    ]
    for as_of in (None, NOW):  # without one it is the end of the run, long before anybody judged it
        told = ethogram.assess(events, as_of=as_of, verdicts=said)
        assert (told.overall_risk, told.recommendations) == (0.0, ())
