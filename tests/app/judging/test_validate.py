"""Labelled data of any kind: what labels are about, what marks them, and figures worked out by hand."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ethogram import analyze
from ethogram.app.judging.labelled_items import detections_by_label, join_labels, timeline_of
from ethogram.app.judging.labels import Label, label_of, labels_in, locate_set, read_labels
from ethogram.app.judging.validate import compare_labelled, summary, validate_labelled
from ethogram.errors import BadLabels, BadUsage
from ethogram.models import Detection, Event
from ethogram.schemas import schema

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HERE = Path("labels.jsonl")
PATTERN = """\
name: high
title: High
description: A reading above a half.
shape: {threshold: {when: x > 0.5}}
confidence: x
severity: {low: x > 0.5, high: x > 0.8}
examples:
  fires: [{story: up, x: [0.1, 0.9], at: 2}]
  quiet: [{story: low, x: [0.1]}, {story: lower, x: [0.0]}]
"""


def thread(name: str, *values: float) -> list[Event]:
    """A thread with one reading an event."""
    return [
        Event(f"{name}{n}", NOON + timedelta(minutes=n), "ann", seq=n, thread=name, readings={"x": value})
        for n, value in enumerate(values, start=1)
    ]


def found_in(events: Iterable[Event], tmp_path: Path, history: str = "thread") -> list[Detection]:
    file = tmp_path / "high.yaml"
    file.write_text(PATTERN + f"group_by: [subject, {history}]\n")
    return analyze(list(events), patterns=[file]).every


def label(name: str, target: bool, **given: Any) -> Label:
    return replace(label_of({"id": name, "target": target, **given}), line=1)


@pytest.fixture
def events() -> list[Event]:
    """Four threads: two are marked (one of them rightly), two are not."""
    return [
        *thread("a", 0.1, 0.1, 0.9, 0.9, 0.1, 0.1),
        *thread("b", 0.1, 0.2, 0.1),
        *thread("c", 0.1, 0.6, 0.1, 0.1),
        *thread("d", 0.1, 0.1),
    ]


def test_figures_of_threads_are_those_one_counts_by_hand(events, tmp_path):
    labels = [label("a", True), label("b", True), label("c", False), label("d", False)]
    told = join_labels(labels, events, HERE)
    records = list(validate_labelled("made", told, found_in(events, tmp_path), ["high"]))
    assert [(record["pattern"], record["split"]) for record in records] == [("any", "any"), ("high", "any")]
    record = records[1]
    assert (record["things"], record["targets"], record["marked"], record["groups"]) == (4, 2, 2, 4)
    assert [record[key]["value"] for key in ("precision", "recall", "false_alarms")] == [0.5, 0.5, 0.5]
    # a .9 above c .6 and d 0; b 0 below c and level with d: (1 + 1 + 0 + .5) / 4.
    assert record["auroc"]["value"] == 0.625
    assert record["lift"] == 1.0
    # a has six events, b three; c four, d two: 3 of the 4 pairs.
    assert {row["name"]: row["auroc"] for row in record["trivial"]}["events"] == 0.75
    # Known at the third of six events; nothing tells when it began, so nothing is left out.
    assert record["horizon"] == {
        "of": 2, "count": 1, "left_out": 0, "median": 3.0, "quartile_low": None, "quartile_high": None,
    }  # fmt: skip


def test_only_detections_at_the_severity_count(events, tmp_path):
    told = join_labels([label("a", True), label("c", False)], events, HERE)
    item = next(validate_labelled("made", told, found_in(events, tmp_path), [], "high"))
    assert (item["marked"], item["precision"]["value"]) == (1, 1.0)


def test_an_event_is_marked_by_what_names_it_and_a_stretch_by_what_overlaps_it(events, tmp_path):
    detections = found_in(events, tmp_path)
    labels = [
        label("a3", True, of="event"),
        label("a5", False, of="event"),
        label("s1", True, **{"from": "a1", "to": "a3"}),
        label("s2", False, **{"from": "a5", "to": "a6"}),
        label("s3", True, thread="a", **{"from": 4, "to": 5}),
    ]
    assert sorted(detections_by_label(join_labels(labels, events, HERE).items, detections)) == [
        "a3",
        "s1",
        "s3",
    ]


def test_the_horizon_counts_from_where_things_begin_and_recovery_from_where_they_are_over(events, tmp_path):
    detections = found_in(events, tmp_path)
    quiet = join_labels([label("a", True, at="a6", begins="a2", over="a3")], events, HERE).items[0]
    told = timeline_of(quiet, detections)
    assert (told.target, told.begins, told.over) == (6, 2, 3)
    # Opened at the third; the first event at which it was no more is the fifth.
    assert told.detections == ((3.0, 5.0),)
    on_already = replace(quiet.label, begins="a4")
    item = next(validate_labelled("made", join_labels([on_already], events, HERE), detections, []))
    assert (item["horizon"]["left_out"], item["horizon"]["count"]) == (1, 0)
    assert item["recovery"]["median"] == 2.0


def test_of_an_event_only_the_label_can_say_when_it_began(events):
    plain, told = join_labels(
        [label("a3", True, of="event"), label("a4", True, of="event", begins="a2")], events, HERE
    ).items
    assert timeline_of(plain, []) is None
    assert timeline_of(told, []).begins == 2


def test_splits_and_labels_of_one_pattern_are_counted_apart(events, tmp_path):
    labels = [
        label("a", True, split="test"),
        label("b", False, split="tune"),
        label("c", True, pattern="other", split="test"),
    ]
    told = join_labels(labels, events, HERE)
    records = list(validate_labelled("made", told, found_in(events, tmp_path), ["high"]))
    sizes = {(record["pattern"], record["split"]): record["things"] for record in records}
    assert sizes == {
        ("any", "any"): 2, ("high", "any"): 2, ("any", "test"): 1, ("high", "test"): 1, ("any", "tune"): 1,
        ("high", "tune"): 1,
    }  # fmt: skip
    # Where the other one is looked for too its label counts, and what another pattern found does not mark it.
    both = list(validate_labelled("made", told, found_in(events, tmp_path), ["high", "other"]))
    assert (both[0]["pattern"], both[0]["things"], both[0]["marked"]) == ("any", 3, 1)


def test_things_of_one_group_are_one_observation(events, tmp_path):
    """Forty threads in two groups that go together say as much as two threads."""
    many = [item for n in range(40) for item in thread(f"t{n}x", 0.9 if n < 20 else 0.1)]
    detections = found_in(many, tmp_path)
    alone = join_labels([label(f"t{n}x", True) for n in range(40)], many, HERE)
    grouped = join_labels([label(f"t{n}x", True, group=str(n // 20)) for n in range(40)], many, HERE)
    wide, narrow = (
        next(validate_labelled("made", item, detections, []))["recall"] for item in (grouped, alone)
    )
    assert wide["value"] == narrow["value"] == 0.5
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])


def test_two_versions_are_compared_on_the_same_things(events, tmp_path):
    told = join_labels([label("a", True), label("b", True), label("c", False)], events, HERE)
    detections = found_in(events, tmp_path)
    (item,) = compare_labelled("made", told, detections, [], "any")
    # Nothing marked: no longer right on a, no longer wrong on c.
    assert (item["better"], item["worse"], item["p"]) == (1, 1, 1.0)
    assert item["precision"] is None
    assert Draft202012Validator(schema("labelled_compared")).is_valid(item)


def test_an_alarm_elsewhere_in_the_history_counts_for_the_horizon_of_an_event_or_span(tmp_path):
    """The target is event 6, things begin at 4: one alarm was on at 2, one comes at 5, one at 6 itself."""
    made = [
        *thread("a", 0.1, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1),
        *thread("b", 0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1),
        *thread("c", 0.1, 0.1, 0.1, 0.1, 0.1, 0.9, 0.1),
    ]
    detections = found_in(made, tmp_path)
    for of in ({"of": "event"}, {"of": "span"}):
        ends = {"from": 6, "to": 7} if of["of"] == "span" else {"event": 6}
        labels = [label(name, True, thread=name, begins=4, **of, **ends) for name in "abc"]
        told = join_labels(labels, made, HERE)
        ahead = list(validate_labelled("made", told, detections, ["high"]))[1]["horizon"]
        assert (ahead["of"], ahead["count"], ahead["left_out"], ahead["median"]) == (2, 2, 1, 0.5)


def test_labels_on_one_thread_are_one_group_and_those_of_other_patterns_are_not_compared(tmp_path):
    made = [item for n in range(5) for item in thread(f"t{n}x", 0.1, 0.9)]
    detections = found_in(made, tmp_path)
    labels = [
        label(f"{n}{name}", True, thread=f"t{n}x", pattern=name) for n in range(5) for name in ("high", "low")
    ]
    told = join_labels(labels, made, HERE)
    whole, item = list(validate_labelled("made", told, detections, ["high", "low"]))[:2]
    assert (whole["things"], whole["groups"], whole["marked"]) == (10, 5, 5)
    assert (item["things"], item["groups"], item["marked"]) == (5, 5, 5)
    (against,) = compare_labelled("made", told, detections, [], "any", (["high"], ["high"]))
    # Five threads, on each of which only the old one is right: 2 / 2 ** 5.
    assert (against["things"], against["worse"], against["p"]) == (5, 5, 0.0625)


def test_a_pattern_of_another_name_may_stand_for_the_one_that_labels_name(tmp_path):
    made = [item for n in range(5) for item in thread(f"t{n}x", 0.1, 0.9)]
    told = join_labels([label(f"t{n}x", True, pattern="old") for n in range(5)], made, HERE)
    (item,) = compare_labelled("made", told, [], found_in(made, tmp_path), "any", (["old"], ["high"]))
    assert (item["better"], item["worse"]) == (5, 0)


def test_records_are_as_their_schemas_say(events, tmp_path):
    told = join_labels([label("a", True), label("zzz", False)], events, HERE)
    made = [*validate_labelled("made", told, found_in(events, tmp_path), ["high"])]
    made.append(summary("made", told, ["high"], "any", "d1"))
    for item in made:
        assert not list(Draft202012Validator(schema(item["record"])).iter_errors(item))
    assert made[-1]["not_found_first"] == ["zzz"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"id": "a", "at": "e99"}, "there is no event 'e99'"),
        ({"id": "a", "at": "b1"}, "no event 'b1' in thread 'a'"),
        ({"id": "x", "from": "a1", "to": "b1"}, "is in another history"),
        ({"id": "a", "subject": "bo"}, "has no events of subject 'bo'"),
        ({"id": "x", "from": "a3", "to": "a1"}, "to is before from"),
        ({"id": "x", "of": "event", "event": "9", "thread": "a"}, "which has 6 events"),
    ],
)
def test_a_label_that_contradicts_the_events_is_told_with_its_line(events, given, said):
    with pytest.raises(BadLabels, match=said) as error:
        join_labels([label(target=True, name=given.pop("id"), **given)], events, HERE)
    assert error.value.faults[0].line == 1


def test_labels_about_nothing_are_counted_and_nothing_but_those_is_an_error(events):
    told = join_labels([label("a", True), label("gone", True)], events, HERE)
    assert told.not_found == ("gone",)
    with pytest.raises(BadLabels, match="no label is about anything"):
        join_labels([label("gone", True)], events, HERE)


def test_labels_may_stand_in_an_attribute_of_the_events():
    events = [
        replace(item, attributes={"label": "failed" if name == "a" else "passed"})
        for name in "ab"
        for item in thread(name, 0.1)
    ]
    found = labels_in(events, "label", {"failed"})
    assert [(item.thread, item.target) for item in found] == [("a", True), ("b", False)]
    with pytest.raises(BadUsage, match="there are failed, passed"):
        labels_in(events, "label", {"broken"})


# --- reading ---------------------------------------------------------------------------------


def test_json_lines_and_tables_say_the_same(tmp_path):
    as_lines, as_table = tmp_path / "a.labels.jsonl", tmp_path / "a.labels.csv.gz"
    as_lines.write_text('{"id": 1, "target": true, "split": "test"}\n\n{"id": "b", "target": 0, "at": 3}\n')
    with gzip.open(as_table, "wt") as file:
        file.write("id,target,at,split\n1,yes,,test\nb,0,3,\n")
    plain = [[replace(label, line=0) for label in read_labels(path)] for path in (as_lines, as_table)]
    assert plain[0] == plain[1]
    assert plain[0][0] == Label("1", True, "conversation", thread="1", split="test")


def test_every_fault_of_a_file_is_told_at_once_with_its_line(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text(
        '{"id": "a", "traget": 1}\n'
        "{\n"
        "[]\n"
        '{"id": "b", "target": "maybe", "of": "talk"}\n'
        '{"id": "c", "target": 1, "from": "e1"}\n'
        '{"id": "d", "target": 1}\n{"id": "d", "target": 0}\n'
        f'{{"id": "{"x" * 3000}", "target": 1}}\n'
    )
    with pytest.raises(BadLabels) as error:
        read_labels(path)
    assert [fault.line for fault in error.value.faults] == [1, 1, 2, 3, 4, 4, 5, 7, 8]
    told = str(error.value)
    for part in (
        "did you mean 'target'",
        "not JSON",
        "an object",
        "'maybe'",
        "'talk'",
        "from and to",
        "line 6",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no labels"),
        (b"id,target\na,1,2\n", "expected 2 cells as in the header, found 3"),
        (b"id,id\n1,1\n", "named twice"),
        (b"id,target\n\xff,1\n", "not UTF-8"),
        (b'id,target\n"a,1\n', "not a table"),
    ],
)
def test_a_table_that_is_none_is_told(tmp_path, content, said):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(BadLabels, match=said):
        read_labels(path)


def test_a_set_is_found_by_folder_labels_events_or_name(tmp_path):
    folder = tmp_path / "sets" / "mine"
    folder.mkdir(parents=True)
    (folder / "labels.csv").touch()
    (folder / "events.jsonl").touch()
    (tmp_path / "x.labels.jsonl").touch()
    (tmp_path / "x.jsonl").touch()
    by_folder = locate_set(str(folder))
    assert (by_folder.name, by_folder.labels.name, [event.name for event in by_folder.events]) == (
        "mine", "labels.csv", ["events.jsonl"],
    )  # fmt: skip
    assert locate_set("mine", folder=str(tmp_path / "sets")).labels == by_folder.labels
    assert locate_set("mine", folder=str(tmp_path)).labels == by_folder.labels
    by_labels, by_events = (locate_set(str(tmp_path / name)) for name in ("x.labels.jsonl", "x.jsonl"))
    assert by_labels == by_events
    assert [event.name for event in by_labels.events] == ["x.jsonl"]
    assert locate_set(str(tmp_path / "x.labels.jsonl"), ["elsewhere"]).events == (Path("elsewhere"),)
    for name, said in (("y.jsonl", "no such file"), ("sets", "no file of labels")):
        with pytest.raises(BadUsage, match=said):
            locate_set(str(tmp_path / name))
    (tmp_path / "y.jsonl").touch()
    with pytest.raises(BadUsage, match=r"y\.labels\.jsonl"):
        locate_set(str(tmp_path / "y.jsonl"))
