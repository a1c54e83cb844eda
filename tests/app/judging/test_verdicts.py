"""Verdicts checked against a store, from Python and from a file, and what they come to."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ethogram
from ethogram.app.analyze import load_library
from ethogram.app.judging.verdicts import SavedVerdicts, read_verdicts, save_verdicts, settle
from ethogram.app.sweep import sweep
from ethogram.config import load_settings
from ethogram.errors import BadInput, BadUsage
from ethogram.models import Event, Verdict
from ethogram.risk.verdicts import Counts
from ethogram.store import open_store
from judged_world import NOW, RIGHT, judge, make_world
from settings_files import add_settings, trust


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, float]]:
    folder = tmp_path_factory.mktemp("world")
    return folder, make_world(folder, 30)


@pytest.fixture
def world(made, tmp_path, monkeypatch) -> dict[str, float]:
    folder, hot = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    trust("ethogram.yaml")
    return hot


@pytest.fixture
def store(world):
    with open_store("s.db") as opened:
        yield opened


def settings(text: str = ""):
    add_settings(text)
    return load_settings(environ={}).settings


def silence(**given):
    told = {
        "pattern": "too_hot",
        "subject": "cool0",
        "first_event": "cool0-0",
        "last_event": "cool0-2",
        "by": "ann",
        "at": NOW,
        "settings": settings(),
    }
    return told | given


def test_a_verdict_says_what_it_is_about(store):
    (item, *_) = store.detections()
    said = ethogram.verdicts.record(item, "confirmed", store=store, by=" ann ", at=NOW, why="I was there.")
    assert (said.by, said.pattern, said.version, said.detection) == ("ann", "too_hot", item.version, item.id)
    assert store.verdicts(item.id) == [said]
    quiet = ethogram.verdicts.record(None, "correct_silence", store="s.db", **silence())
    assert (quiet.source, quiet.subject, quiet.version) == ("input", "cool0", item.version)


@pytest.mark.parametrize(
    ("verdict", "given", "match"),
    [
        ("missed", {"subject": "nobody"}, "no subject 'nobody'"),
        ("missed", {"first_event": "cool0-9"}, "no event 'cool0-9'"),
        ("missed", {"first_event": "cool0-2", "last_event": "cool0-0"}, "swap them"),
        ("missed", {"last_event": ""}, "first or last event is missing"),
        ("missed", {"pattern": "too_cold"}, "too_cold"),
        ("missed", {"subject": "s00", "first_event": "s00-0", "last_event": "s00-2"}, "was detected there"),
        ("confirmed", {}, "expected missed or correct_silence"),
        ("missed", {"by": " "}, "the judge is missing"),
        ("missed", {"why": "x" * 3000}, "at most 2000"),
        ("missed", {"at": NOW.replace(tzinfo=None)}, "time zone"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_kept(store, verdict, given, match):
    with pytest.raises(BadInput, match=match):
        ethogram.verdicts.record(None, verdict, store=store, **silence(**given))
    assert store.verdicts() == []


def test_a_detection_that_is_not_there_or_a_wrong_word_is_refused(store):
    with pytest.raises(BadUsage, match="no detection 'd9'"):
        ethogram.verdicts.record("d9", "confirmed", store=store, by="ann")
    with pytest.raises(BadUsage, match="did you mean 'confirmed'"):
        ethogram.verdicts.record("d9", "confirm", store=store, by="ann")


def test_saying_it_again_adds_nothing_and_changing_ones_mind_stays_in_the_history(store):
    (item, *_) = store.detections()
    for verdict, day in (("confirmed", 0), ("confirmed", 1), ("false_alarm", 2), ("confirmed", 3)):
        at = NOW + timedelta(days=day)
        ethogram.verdicts.record(item.id, verdict, store=store, by="ann", at=at)
    assert [verdict.verdict for verdict in store.verdicts()] == ["confirmed", "false_alarm", "confirmed"]
    (told,) = ethogram.verdicts.accuracy("too_hot", store=store)
    assert told.whole.counts == Counts(confirmed=1)
    assert told.unjudged == 29


def test_a_verdict_dated_in_the_future_is_refused(store):
    (item, *_) = store.detections()
    later = datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(BadUsage, match="in the future"):
        ethogram.verdicts.record(item, "confirmed", store=store, by="ann", at=later)
    Path("v.csv").write_text(
        f"detection,verdict,at\n{item.id},confirmed,2026-06-01T12:00:01Z\n{item.id},confirmed,2026-06-01T12:00:00Z\n"
    )
    with pytest.raises(BadInput, match=r"^v\.csv:2: the verdict is dated 2026-06-01T12:00:01Z"):
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW, now=NOW)
    assert store.verdicts() == []


def test_the_moment_may_be_text(store):
    (item, *_) = store.detections()
    said = ethogram.verdicts.record(item, "confirmed", store=store, by="ann", at="2026-06-01T12:00:00Z")
    assert said.at == NOW
    for wrong in ("soon", 3):
        with pytest.raises(BadUsage, match=r"^at\b"):
            ethogram.verdicts.record(item, "confirmed", store=store, by="ann", at=wrong)


def test_what_a_pattern_in_force_finds_was_not_missed_though_no_sweep_has_kept_it(store):
    with open_store("new.db", create=True) as unswept:
        unswept.add(list(store.events()))
        hot = silence(subject="s00", first_event="s00-0", last_event="s00-2")
        with pytest.raises(BadUsage, match="no sweep has saved it yet"):
            ethogram.verdicts.record(None, "missed", store=unswept, **hot)
        ethogram.verdicts.record(None, "missed", store=unswept, **silence())
    lower = silence(settings=settings("parameters: {too_hot: {line: 0.05}}\n"))
    with pytest.raises(BadUsage, match="no sweep has saved it yet"):
        ethogram.verdicts.record(None, "correct_silence", store=store, **lower)


def test_what_was_detected_in_another_run_of_the_agent_leaves_this_one_to_be_judged(tmp_path):
    library = load_library(["loop"], load_settings(environ={}).settings)
    with open_store(str(tmp_path / "runs.db"), create=True) as store:
        store.add([
            Event(
                f"{run}-{n}", NOW + timedelta(minutes=n), "coder", thread=run, kind="action",
                attributes={"tool": "bash", "command": f"make {n if run == 'calm' else 0}", "result": "ok"},
            )
            for n in range(10)
            for run in ("calm", "stuck")
        ], keep_text=True)  # fmt: skip
        sweep(store, library, as_of=NOW + timedelta(days=1), clock=lambda: NOW)
        assert [item.thread for item in store.detections()] == ["stuck"]
        ends = {"pattern": "loop", "subject": "coder", "by": "ann", "at": NOW, "store": store}
        ethogram.verdicts.record(None, "missed", first_event="calm-0", last_event="calm-9", **ends)
        for first in ("stuck-0", "calm-0"):
            with pytest.raises(BadUsage, match="was detected there"):
                ethogram.verdicts.record(None, "missed", first_event=first, last_event="stuck-9", **ends)


def test_of_a_version_that_no_sweep_has_looked_for_recall_is_not_known(store):
    higher = silence(settings=settings("parameters: {too_hot: {line: 0.99}}\n"))
    ethogram.verdicts.record(None, "missed", store=store, **higher)
    (told,) = ethogram.verdicts.accuracy("too_hot", store=store)
    assert (told.whole.counts, told.recall.at_most) == (Counts(missed=1), None)


def test_a_silence_counts_in_the_month_in_which_it_ends(store):
    september = NOW + timedelta(days=100)
    ethogram.verdicts.record(None, "missed", store=store, **silence(at=september))
    (live,) = ethogram.verdicts.accuracy("too_hot", store=store)
    assert list(live.by_month) == ["2026-05"]
    store.settle_verdicts(september + timedelta(days=1))
    assert store.verdicts() == []
    assert ethogram.verdicts.accuracy("too_hot", store=store) == [live]


@pytest.mark.parametrize("dates", [(NOW, NOW + timedelta(days=1)), (NOW, NOW)])
def test_a_file_in_which_a_judge_changes_their_mind_can_be_given_twice(store, dates):
    (item, *_) = store.detections()

    def given(*said):
        made = [
            Verdict(word, "ann", at, item.pattern, item.version, item.id)
            for word, at in zip(said, dates, strict=False)
        ]
        return save_verdicts(store, made)

    assert given("confirmed", "false_alarm") == SavedVerdicts(2, 0)
    dates = tuple(at + timedelta(minutes=dates[0] == dates[1]) for at in dates)
    assert given("confirmed", "false_alarm") == SavedVerdicts(0, 2)
    assert [verdict.verdict for verdict in store.verdicts()] == ["confirmed", "false_alarm"]


def test_a_file_of_verdicts_is_kept_whole(store, world):
    detection = store.detections()[:3]
    rows = [f'{item.id},confirmed,"warm, then hot",,' for item in detection]
    rows += ["", ",correct_silence,,too_hot,cool1"]
    head = "detection,verdict,why,pattern,subject,first_event,last_event"
    ends = [f"{row},cool1-0,cool1-1" if "cool1" in row else f"{row},," for row in rows if row]
    Path("v.csv").write_text(
        "\ufeff" + "\r\n".join([head, *ends[:2], "", *ends[2:]]) + "\r\n", encoding="utf-8"
    )
    made = read_verdicts("v.csv", store, settings(), by="ann", at=NOW)
    assert [item.verdict for item in made] == ["confirmed"] * 3 + ["correct_silence"]
    assert {item.why for item in made[:3]} == {"warm, then hot"}


def test_every_fault_of_a_file_is_told_with_its_line(store):
    (item, *_) = store.detections()
    Path("v.csv").write_text(
        "verdict,detection,at,blind,pattern\n"
        f"confirmed,{item.id},2026-06-01T12:00:00Z,yes,\n"
        f"confirm,{item.id},,,\n"
        "false_alarm,d9,,,\n"
        f'false_alarm,{item.id},"two\nlines",,\n'
        f"confirmed,{item.id},,maybe,\n"
        "missed,,,,too_hot\n"
        "confirmed,,,,\n"
        "confirmed\n"
    )
    with pytest.raises(BadInput) as caught:
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW)
    told = [str(fault) for fault in caught.value.faults]
    assert [item.partition(": ")[0] for item in told] == [f"v.csv:{n}" for n in (3, 4, 5, 7, 8, 9, 10)]
    parts = ["did you mean 'confirmed'", "no detection 'd9'", "at: ", "of blind", "needs subject"]
    parts += ["needs detection", "expected 5 cells as in the header, found 1"]
    assert all(part in text for text, part in zip(told, parts, strict=True))
    assert store.verdicts() == []


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty"),
        ("detection,verdikt\n", "did you mean 'verdict'"),
        ("detection\nd1\n", "no column verdict"),
        ("verdict,verdict\n", "named twice"),
        ('verdict,detection\n"a', "not a table"),
    ],
)
def test_a_file_that_is_no_table_of_verdicts_is_refused(store, text, match):
    Path("v.csv").write_text(text)
    with pytest.raises(BadInput, match=match):
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW)


def test_a_file_that_is_not_there_or_not_text_is_refused(store):
    Path("v.csv").write_bytes(b"verdict\nab\xff\n")
    with pytest.raises(BadInput, match=r"v\.csv:2:3: is not UTF-8"):
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW)
    with pytest.raises(BadUsage, match=r"none\.csv"):
        read_verdicts("none.csv", store, settings(), by="ann", at=NOW)


@pytest.mark.parametrize("name", ["/", "patterns", "*", "x" * 300])
def test_a_verdict_file_names_patterns_and_no_paths(store, name):
    Path("patterns").mkdir(exist_ok=True)
    Path("v.csv").write_text(f"verdict,pattern,subject,first_event,last_event\nmissed,{name},cy,cy-1,cy-2\n")
    with pytest.raises(BadInput, match=r"v\.csv:2: no pattern is named"):
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW)


def test_after_thirty_days_counts_stay_and_it_is_not_judged_again(store, world):
    judge(store, world)
    before = ethogram.verdicts.accuracy("too_hot", store=store)
    curve = ethogram.verdicts.calibration("too_hot", store=store)
    risks = ethogram.subject_risks(store, as_of=NOW, settings=settings())
    assert settle(store, settings(), NOW + timedelta(days=29)) == 0
    assert settle(store, settings("learning: {history_retention_days: 10}\n"), NOW + timedelta(days=11)) == 30
    assert store.verdicts() == []
    after = ethogram.verdicts.accuracy("too_hot", store=store)
    assert after == before
    assert after[0].whole.counts.confirmed == sum(item > RIGHT for item in world.values())
    # Confidences are kept to the hundredth, and count to the hundredth from the first: nobody rises or falls.
    assert ethogram.verdicts.calibration("too_hot", store=store) == curve
    assert ethogram.subject_risks(store, as_of=NOW, settings=settings()) == risks
    with pytest.raises(BadUsage, match="cannot be judged again"):
        ethogram.verdicts.record(store.detections()[0], "confirmed", store=store, by="bo")
    Path("v.csv").write_text(f"verdict,detection\nconfirmed,{store.detections()[0].id}\n")
    with pytest.raises(BadInput, match=r"v\.csv:2: its verdicts"):
        read_verdicts("v.csv", store, settings(), by="ann", at=NOW)


def test_a_second_judge_is_drawn_blindly_and_agreement_knows_who_was_blind(store, world):
    judge(store, world, by="ann")
    waiting = ethogram.verdicts.second_look("bo", store=store)
    assert 1 <= len(waiting) <= 15
    assert ethogram.verdicts.second_look("ann", store=store) == []
    for place, item in enumerate(waiting):
        verdict = "confirmed" if world[item.subject] > RIGHT else "false_alarm"
        ethogram.verdicts.record(item, verdict, store=store, by="bo", blind=place > 0)
    assert ethogram.verdicts.second_look("bo", store=store) == []
    assert ethogram.verdicts.agreement(store=store).together.items == len(waiting)
    assert ethogram.verdicts.agreement(store=store).together.observed == 1
    blind = ethogram.verdicts.agreement(store=store, blind=True).together
    assert (0 if blind is None else blind.items) == len(waiting) - 1


def test_with_verdicts_a_detection_says_what_its_confidence_has_meant(store, world):
    found = store.detections()
    assert [
        probability.probability for probability in ethogram.verdicts.probabilities(found, store=store)
    ] == [None] * 30
    judge(store, world)
    told = ethogram.verdicts.probabilities(found, store=store)
    by_heat = sorted(told, key=lambda item: item.confidence)
    assert [item.probability for item in by_heat] == sorted(item.probability for item in told)
    assert by_heat[0].probability < by_heat[0].confidence
    off = settings("calibration: false\n")
    assert [
        probability.probability
        for probability in ethogram.verdicts.probabilities(found, store=store, settings=off)
    ] == [None] * 30
    assert all("probability" not in detection.to_dict() for detection in store.detections())
