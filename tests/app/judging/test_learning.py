"""From the verdicts of a store to a better number, its file, and back."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import ethogram
from ethogram.app.analyze import load_library
from ethogram.app.judging.learning import accept, apply_step, learn_pattern, open_proposal, undo
from ethogram.app.judging.replay import replayer, stored_chunks, variant
from ethogram.app.sweep import sweep
from ethogram.config import load_settings
from ethogram.config.learned import read_changes
from ethogram.errors import BadUsage
from ethogram.risk.proposal import NoProposal, Proposal
from ethogram.store import open_store
from judged_world import NOW, RIGHT, judge, make_world
from settings_files import add_settings, trust

LATER = NOW + timedelta(days=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, float]]:
    folder = tmp_path_factory.mktemp("world")
    hot = make_world(folder)
    with open_store(str(folder / "s.db")) as store:
        judge(store, hot)
    return folder, hot


@pytest.fixture
def world(made, tmp_path, monkeypatch) -> dict[str, float]:
    folder, hot = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    trust("ethogram.yaml")
    return hot


def load(text: str = ""):
    if text:
        add_settings(text)
    return load_settings(environ={})


def above(hot: dict[str, float], line: float) -> int:
    return sum(item > line for item in hot.values())


def test_from_verdicts_to_a_number_in_force_everywhere_and_back(world):
    loaded = load()
    with open_store("s.db") as store:
        lesson = learn_pattern(store, "too_hot", loaded.settings, at=LATER)
        told = lesson.outcome
        assert isinstance(told, Proposal)
        assert told.parameter == "line"
        assert told.low <= RIGHT <= told.high
        assert told.recent == (above(world, 0.3), above(world, told.new))
        assert told.before.confirmed == above(world, RIGHT)
        change = accept(store, "too_hot", loaded, by="ann", at=LATER)
    assert (change.old, change.new, change.by) == (0.3, told.new, "ann")
    assert Path("patterns/too_hot.yaml").read_text().count("line: 0.3") == 1

    then = load()
    assert then.settings.parameters == {"too_hot": {"line": told.new}}
    assert then.origins["parameters.too_hot.line"].startswith("ethogram.learned.yaml:")
    with open_store("s.db") as store:
        events = list(store.events())
        detections = ethogram.analyze(events, ["too_hot"], settings=then.settings).detections
        assert {item.subject for item in detections} == {who for who, top in world.items() if top > told.new}
        watch = ethogram.Watch(["too_hot"], settings=then.settings)
        live = [
            item for event in sorted(events, key=lambda event: event.order) for item in watch.observe(event)
        ]
        assert {item.id for item in live} == {item.id for item in detections}
        swept = sweep(store, load_library(["too_hot"], then), as_of=LATER, clock=lambda: LATER)
        gone = [change for change in swept.changes if change.change == "superseded"]
        assert len(gone) == above(world, 0.3) - above(world, told.new)
        # The verdicts are still there, and all of what is found now is right: nothing is left to learn.
        again = learn_pattern(store, "too_hot", then.settings, at=LATER).outcome
        assert isinstance(again, NoProposal)
        assert again.why in (
            "precision 1.00 is not below 0.7",
            f"insufficient verdicts on what is found now: {above(world, told.new)} of 30",
        )
    undo("too_hot", then, by="bo", at=LATER)
    assert load().settings.parameters == {}
    assert [change.undoes for change in read_changes(Path("ethogram.learned.yaml"))] == [None, 1]
    with pytest.raises(BadUsage, match="nothing was learned of 'too_hot' that could be taken back"):
        undo("too_hot", load(), by="bo", at=LATER)


def test_verdicts_are_not_asked_again_until_a_fifth_are_new_and_then_must_show_more(world):
    settings = load().settings
    with open_store("s.db") as store:
        first = learn_pattern(store, "too_hot", settings, at=LATER)
        second = learn_pattern(store, "too_hot", settings, at=LATER + timedelta(days=1))
        assert len(store.tries()) == 1
        assert (second.outcome, second.at) == (
            replace(first.outcome, luck=round(first.outcome.luck, 6)),
            LATER,
        )
        # A fifth of 60 verdicts is 12.
        right = [verdict for verdict in store.verdicts() if verdict.verdict == "confirmed"][:12]
        for count, tries in ((11, 1), (12, 2)):
            store.add_verdicts([replace(item, verdict="false_alarm", at=LATER) for item in right[:count]])
            third = learn_pattern(store, "too_hot", settings, at=LATER)
            assert (third.tries, len(store.tries("too_hot"))) == (tries - 1, tries)
        assert first.tries == 0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("learning: {enabled: false}\n", "turned off"),
        ("learning: {minimum: 200}\n", "insufficient verdicts: 60 of 200"),
        ("learning: {adjustment_threshold: 0.2}\n", "is not below 0.2"),
    ],
)
def test_nothing_is_tried_where_there_is_no_reason_to(world, text, why):
    with open_store("s.db") as store:
        told = learn_pattern(store, "too_hot", load(text).settings, at=LATER).outcome
        assert isinstance(told, NoProposal)
        assert why in told.why
        assert store.tries() == []
        assert open_proposal(store, "too_hot", load().settings) is None
        with pytest.raises(BadUsage, match="there is no proposal for too_hot"):
            accept(store, "too_hot", load(), by="ann", at=LATER)


def test_a_proposal_whose_verdicts_were_taken_back_is_not_taken_up(world):
    """A second judge disputes some, and the first one changes their mind."""
    settings = load().settings
    with open_store("s.db") as store:
        learn_pattern(store, "too_hot", settings, at=LATER)
        wrong = [verdict for verdict in store.verdicts() if verdict.verdict == "false_alarm"]
        # Fewer than a fifth of those left: `learn` tells the same proposal, and it can be taken up.
        store.add_verdicts([replace(item, verdict="confirmed", by="bo", at=LATER) for item in wrong[:9]])
        assert isinstance(learn_pattern(store, "too_hot", settings, at=LATER).outcome, Proposal)
        assert open_proposal(store, "too_hot", settings) is not None
        store.add_verdicts([replace(item, verdict="confirmed", by="bo", at=LATER) for item in wrong[:12]])
        with pytest.raises(BadUsage, match=r"not those of the proposal any more.*learn again"):
            accept(store, "too_hot", load(), by="ann", at=LATER)
        store.add_verdicts([replace(item, verdict="confirmed", at=LATER) for item in wrong])
        with pytest.raises(BadUsage, match=r"precision 1.00 is not below 0.7"):
            accept(store, "too_hot", load(), by="ann", at=LATER)
    assert not Path("ethogram.learned.yaml").exists()


def test_the_bar_is_for_the_number_in_force_whatever_number_the_verdicts_are_from(world):
    """Judged at .3; somebody then sets .85 by hand, above which everything is right."""
    settings = load("parameters: {too_hot: {line: 0.85}}\n").settings
    with open_store("s.db") as store:
        told = learn_pattern(store, "too_hot", settings, at=LATER).outcome
        assert told == NoProposal(
            "too_hot", f"insufficient verdicts on what is found now: {above(world, 0.85)} of 30"
        )
        fewer = load("learning: {minimum: 5}\n").settings
        told = learn_pattern(store, "too_hot", fewer, at=LATER).outcome
        assert told == NoProposal("too_hot", "precision 1.00 is not below 0.7")
        assert store.tries() == []


def test_old_events_are_counted_back_from_the_newest_and_verdicts_of_today_count(world):
    years_later = NOW + timedelta(days=1000)
    settings = load().settings
    last = NOW - timedelta(days=3) + timedelta(hours=2)
    with open_store("s.db") as store:
        sweep(store, load_library(["too_hot"], load()), as_of=years_later, clock=lambda: years_later)
        store.add_verdicts([replace(verdict, by="bo", at=years_later) for verdict in store.verdicts()])
        told = learn_pattern(store, "too_hot", settings, at=years_later).outcome
        assert told.recent == (above(world, 0.3), above(world, told.new))
        assert told.recent_lost == told.lost_confirmed
        again = learn_pattern(store, "too_hot", settings, at=years_later, as_of=last)
        assert again.outcome.recent == told.recent
        none = learn_pattern(store, "too_hot", settings, at=years_later, as_of=NOW - timedelta(days=9))
        assert none.outcome == NoProposal("too_hot", "insufficient verdicts: 0 of 30")


def test_by_itself_it_goes_on_step_by_step_as_far_as_it_may(world):
    load("learning: {automatic: true, minimum: 10, adjustment_threshold: 0.95}\n")
    at, gone = LATER, []
    with open_store("s.db") as store:
        while True:
            told = learn_pattern(store, "too_hot", load().settings, at=at).outcome
            change = apply_step(told, load(), at=at)
            if isinstance(change, str):
                break
            gone.append(change.new)
            at += timedelta(days=8)
    # A tenth at a time, a quarter in all.
    assert gone == [0.4, 0.5, 0.55]
    assert change == "without asking it may go no further than 0.25 from 0.3"


def test_by_itself_it_goes_small_steps_and_stops_where_a_person_took_one_back(world):
    loaded = load("learning: {automatic: true}\n")
    with open_store("s.db") as store:
        told = learn_pattern(store, "too_hot", loaded.settings, at=LATER).outcome
    change = apply_step(told, loaded, at=LATER)
    assert change.by == "automatic"
    assert 0.3 < change.new <= 0.4 + 1e-9
    then = load()
    assert then.settings.parameters["too_hot"]["line"] == change.new
    undo("too_hot", then, by="ann", at=LATER)
    assert "by hand" in apply_step(told, load(), at=LATER + timedelta(days=30))


def test_a_number_that_a_variable_sets_is_not_learned_over(world):
    loaded = load()
    with open_store("s.db") as store:
        told = learn_pattern(store, "too_hot", loaded.settings, at=LATER).outcome
        environ = {"ETHOGRAM_PARAMETERS": "{too_hot: {line: 0.3}}"}
        with pytest.raises(BadUsage, match="is set by ETHOGRAM_PARAMETERS"):
            accept(store, "too_hot", load_settings(environ=environ), by="ann", at=LATER)
        assert isinstance(told, Proposal)
    assert not Path("ethogram.learned.yaml").exists()


def test_a_replay_finds_what_other_numbers_would_have_found_held_in_memory_or_not(world):
    for memory in (400_000_000, 1):
        settings = replace(load().settings, memory=memory)
        with open_store("s.db") as store:
            library = variant("too_hot", settings)
            some = {("input", "s01"), ("input", "s02"), ("input", "s03")}
            events = stored_chunks(store, library, settings, LATER, some)
            overlays = [{"line": line} for line in (0.2, 0.5, 0.9)]
            found = list(replayer("too_hot", settings, events, LATER)([*overlays, {"turns_seen": 0}]))
        assert found[-1] is None
        for overlay, own in zip(overlays, found[:-1], strict=True):
            hot = {who for _, who in some if world[who] > overlay["line"]}
            assert {item.subject for item in own} == hot


def test_what_was_missed_is_found_again_by_time(world):
    with open_store("s.db") as store:
        ethogram.verdicts.record(
            None,
            "missed",
            store=store,
            by="ann",
            at=NOW,
            pattern="too_hot",
            subject="cool0",
            first_event="cool0-0",
            last_event="cool0-2",
            settings=load().settings,
        )
        told = learn_pattern(store, "too_hot", load().settings, at=LATER).outcome
    assert isinstance(told, Proposal)
    assert told.verdicts == 61
    lowest = next(item for item in told.values if item.value == 0.0)
    assert lowest.caught == 1
