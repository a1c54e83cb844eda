"""The same answers from every store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from jsonschema import validate

from ethogram import Watch, analyze, registry
from ethogram.app.questions import alike, early, groups, history_summary, to_networkx, who
from ethogram.app.sweep import sweep
from ethogram.cli import questions
from ethogram.cli.main import main
from ethogram.errors import BadUsage
from ethogram.models import TRAITS, Detection, Event
from ethogram.patterns.library import load_patterns
from ethogram.schemas import schema
from ethogram.store import Store
from ethogram.store.records import SweptDetection

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def event(name: str, minute: int, subject: str, **fields) -> Event:
    return Event.sample(id=name, at=NOON + minute * MINUTE, seq=minute, subject=subject, **fields)


def detection(name: str, subject: str, minute: int, pattern: str = "trap", **fields) -> Detection:
    at = NOON + minute * MINUTE
    made = Detection(
        id=name, pattern=pattern, version="v1", state="closed", subject=subject, target="bo", thread=None,
        severity="high", confidence=0.5, opened_at=at, detected_at=at, closed_at=at, first_event="a",
        last_event="b", count=2, evidence=(), details={}, confirms=(), scorer="given", explanation="",
        recommendation="",
    )  # fmt: skip
    return replace(made, **fields)


@pytest.fixture(params=[name for name in registry.stores.names() if name != "bolt"])
def store(request: pytest.FixtureRequest, new_store) -> Iterator[Store]:
    with new_store(request.param) as opened:
        opened.add(
            [
                event("1", 0, "ann", target="bo", text="Hi", readings={"virtue": 0.5}),
                event("2", 10, "ann", target="bo", readings={"MAN_FLATTERY": 0.9, "virtue": 0.7}),
                event("3", 20, "ann", target="cy", kind="action", readings={"MAN_LOVEBOMB": 0.5}),
                event("4", 0, "dan", target="bo", readings={"MAN_FLATTERY": 0.4}),
                event("5", 40, "dan", target="bo", text="Join us", readings={"MAN_LOVEBOMB": 0.1}),
                event("6", 100, "eve", target="x", text="Join us", readings={"MAN_FLATTERY": 0.2}),
                event("7", 41, "fay", text="Join us", source="input"),
                event("8", 42, "gil", text="Join us"),
            ],
            keep_text=True,
        )
        found = [
            detection("d1", "ann", 30),
            detection("d2", "dan", 35),
            detection("d3", "ann", 200, state="withdrawn"),
            detection("d4", "eve", 31, "other", target=None),
            detection("d5", "eve", 31, "try", status="shadow"),
        ]
        opened.save_sweep("s", "v", NOON, detections=[("new", SweptDetection(item)) for item in found])
        yield opened


def test_who_did_what_to_whom(store):
    first, *_ = ties = who(store)
    assert [(tie.subject, tie.target, tie.events) for tie in ties] == [
        ("ann", "bo", 2), ("dan", "bo", 2), ("ann", "cy", 1), ("eve", "x", 1),
    ]  # fmt: skip
    assert (first.kinds, first.patterns) == ({"event": 2}, {"trap": 1})
    assert (first.first_at, first.last_at) == (NOON, NOON + 10 * MINUTE)
    assert [tie.target for tie in who(store, "ann")] == ["bo", "cy"]
    assert [tie.subject for tie in who(store, target="x")] == ["eve"]


def test_subjects_are_alike_by_the_indicators_they_share(store):
    assert [(item.subject, item.similarity, item.shared) for item in alike(store, ("input", "ann"))] == [
        ("dan", 1.0, ["MAN_FLATTERY", "MAN_LOVEBOMB"]),
        ("eve", 0.5, ["MAN_FLATTERY"]),
    ]
    assert alike(store, ("input", "gil")) == []


def test_what_comes_early_in_histories_with_a_pattern(store):
    flattery, bombing = early(store, "trap")
    assert (flattery.indicator, flattery.histories, flattery.share) == ("MAN_FLATTERY", 2, 1.0)
    # Of eve, fay and gil.
    assert flattery.elsewhere == pytest.approx(1 / 3, abs=1e-6)
    assert (flattery.position, flattery.lead_s) == (pytest.approx(1 / 6, abs=1e-6), (20 * 60 + 35 * 60) / 2)
    # dan showed it after the detection.
    assert (bombing.indicator, bombing.histories, bombing.lead_s) == ("MAN_LOVEBOMB", 1, 600)
    with pytest.raises(BadUsage, match="no detection of 'trab' in the store; did you mean 'trap'"):
        early(store, "trab")


def test_groups_act_together(store):
    assert [(group.by, group.value, group.subjects, group.events) for group in groups(store)] == [
        ("text", "Join us", ["dan", "fay", "gil"], 3),
        ("target", "bo", ["ann", "dan"], 3),
        ("pattern", "trap", ["ann", "dan"], 2),
    ]
    assert [group.by for group in groups(store, by=["text"], within=2 * MINUTE * 60)] == ["text"]
    assert len(groups(store, by=["text"], within=2 * MINUTE * 60)[0].subjects) == 4
    assert groups(store, at_least=4) == []


def test_a_group_that_begins_to_act_on_one_target_is_a_pattern_too(store):
    crowd = [event(f"c{n}", 300 + n, f"s{n}", target="zoe", kind="message") for n in range(6)]
    popular = [event(f"p{n}", 300 + 15 * n, f"s{n}", target="yan", kind="message") for n in range(8)]
    store.add([*crowd[3:], *popular, *crowd[:3]])
    (group,) = groups(store, by=["target"], at_least=5)
    assert (group.value, group.subjects) == ("zoe", [f"s{n}" for n in range(6)])
    library, as_of = load_patterns(["brigading"]), NOON + 600 * MINUTE
    sweep(store, library, as_of=as_of, clock=lambda: as_of)
    swept = store.detections(patterns=["brigading"])
    assert {(item.subject, item.target, item.details["subjects"]) for item in swept} == {
        ("s4", "zoe", 5.0),
        ("s5", "zoe", 6.0),
    }
    watch = Watch(library)
    ordered = sorted([*crowd, *popular], key=lambda item: (item.at, item.seq, item.id))
    live = {found.id: found for item in ordered for found in watch.observe(item)}
    live |= {found.id: found for found in (*watch.flush(), *watch.open())}
    assert {key: item.details for key, item in live.items()} == {item.id: item.details for item in swept}
    (whole,) = analyze(ordered, library, as_of=as_of).detections
    assert whole.details["members"] == "s0, s1, s2, s3, s4, s5"


def test_a_history_is_summed_up_for_an_evaluator(store):
    summary = history_summary(store, ("input", "ann"))
    assert (summary.messages, summary.threads, summary.detections) == (3, 0, {"trap": 1})
    assert {item.signal: (item.mean, item.trend) for item in summary.signals}["virtue"] == (0.6, "rising")
    assert summary.dimensions == {}
    assert history_summary(store, ("input", "ann"), NOON).detections == {}


def test_balance_is_that_of_the_mean_traits(store):
    store.add([event("all", 300, "hal", readings=dict.fromkeys(TRAITS, 0.5))])
    assert history_summary(store, ("input", "hal")).dimensions["balance"] == 1.0


def test_commands_answer_in_words_and_in_json(store, monkeypatch, capsys):
    monkeypatch.setattr(questions, "open_store", lambda _: nullcontext(store))
    commands = {
        "history": (["history", "ann"], "  detected: trap (1)", 1),
        "tie": (["who", "--subject", "eve"], "eve → x: 1 event", 1),
        "alike": (["alike", "ann"], "50%  eve", 2),
        "early_sign": (["early", "trap"], "MAN_FLATTERY  2 (100%)", 2),
        "group": (["groups", "--by", "text"], "3 subjects, same text 'Join us', 3 events", 1),
    }
    for record, (args, line, count) in commands.items():
        assert main(["store", *args, "--store", "x"]) == 0
        assert line in capsys.readouterr().out
        assert main(["store", *args, "--store", "x", "--json"]) == 0
        records = [json.loads(item) for item in capsys.readouterr().out.splitlines()]
        assert [item["record"] for item in records] == [record] * count
        for item in records:
            validate(item, schema(record))
    assert main(["store", "groups", "--by", "mood", "--store", "x"]) == 2
    assert "expected pattern, target, text" in capsys.readouterr().err


def test_a_graph_of_a_store(store):
    pytest.importorskip("networkx")
    graph = to_networkx(store)
    ann = ("subject", "input", "ann")
    assert set(graph.successors(ann)) == {
        ("subject", "input", "bo"),
        ("subject", "input", "cy"),
        ("pattern", "trap"),
        ("indicator", "MAN_FLATTERY"),
        ("indicator", "MAN_LOVEBOMB"),
    }
    (edge,) = graph.get_edge_data(ann, ("pattern", "trap")).values()
    assert (edge["type"], edge["id"], edge["severity"]) == ("EXHIBITS_PATTERN", "d1", "high")
