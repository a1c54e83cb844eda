"""Forum dumps: nested or flat, with edits and deletions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import EthogramError
from ethogram.ingest import read_events
from ethogram.models import Event


def message(name: str, author: Any, content: Any, minute: int, **more: Any) -> dict[str, Any]:
    at = f"2026-01-01T10:{minute:02}:00Z"
    return {"id": name, "author": author, "content": content, "created_at": at, **more}


def read(folder: Path, *messages: Any, array: bool = False, skip_bad: bool = False) -> list[Event]:
    path = folder / ("dump.json" if array else "dump.jsonl")
    path.write_text(
        json.dumps(messages) if array else "".join(json.dumps(message) + "\n" for message in messages)
    )
    return list(read_events([path], skip_bad=skip_bad).events)


NESTED = message(
    "p", "ann", "first", 0, title="T",
    comments=[
        message("a", "bob", "one", 1, replies=[message("b", {"name": "ann"}, "two", 2)]),
        message("c", "cy", "three", 3),
    ],
)  # fmt: skip
FLAT = (
    message("p", "ann", "first", 0, title="T"),
    message("a", "bob", "one", 1, parent="p"),
    message("b", "ann", "two", 2, parent="a"),
    message("c", "cy", "three", 3, parent="p"),
)


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("messages", [(NESTED,), FLAT])
def test_nested_and_flat_dumps_say_the_same(tmp_path: Path, messages: tuple[Any, ...], array: bool):
    events = read(tmp_path, *messages, array=array)
    said = [(e.id, e.subject, e.kind, e.thread, e.reply_to, e.target, e.text) for e in events]
    assert said == [
        ("p", "ann", "post", "p", None, None, "first"),
        ("a", "bob", "comment", "p", "p", "ann", "one"),
        ("b", "ann", "comment", "p", "a", "bob", "two"),
        ("c", "cy", "comment", "p", "p", "ann", "three"),
    ]
    assert events[0].attributes == {"title": "T"}


def test_an_edit_is_an_event_of_its_own_and_a_repeat_is_none(tmp_path: Path):
    again = message("p", "ann", "changed", 0, edited_at="2026-01-01T11:00:00Z")
    events = read(tmp_path, FLAT[0], FLAT[0], again)
    assert [(e.id, e.kind, e.text, e.reply_to) for e in events] == [
        ("p", "post", "first", None),
        ("p@1", "edit", "changed", "p"),
    ]
    assert events[1].at.hour == 11


def test_a_deletion_keeps_no_text(tmp_path: Path):
    gone = message("p", "[deleted]", "[deleted]", 0, deleted_at="2026-01-01T12:00:00Z")
    events = read(tmp_path, FLAT[0], gone)
    assert [(e.id, e.subject, e.kind, e.text) for e in events] == [
        ("p", "ann", "post", "first"),
        ("p@deleted", "ann", "deletion", None),
    ]


def test_a_message_whose_author_is_gone_is_left_out_and_its_replies_stay(tmp_path: Path):
    events = read(tmp_path, message("p", None, "x", 0), message("a", "bob", "y", 1, parent="p"))
    assert [(e.id, e.reply_to, e.target) for e in events] == [("a", "p", None)]


def test_seconds_since_1970_and_prefixed_parents(tmp_path: Path):
    posts = {"id": "p", "author": "ann", "body": "x", "created_utc": 0}, {
        "id": "c", "author": "bob", "body": "y", "created_utc": 60, "parent_id": "t3_p",
    }  # fmt: skip
    events = read(tmp_path, *posts)
    assert [(e.at.isoformat(), e.reply_to) for e in events] == [
        ("1970-01-01T00:00:00+00:00", None),
        ("1970-01-01T00:01:00+00:00", "p"),
    ]


def test_what_is_wrong_is_said(tmp_path: Path):
    with pytest.raises(EthogramError, match="a message needs an id"):
        read(tmp_path, FLAT[0], {"author": "x", "content": "y", "created_at": "2026-01-01T10:00:00Z"})
    deep: dict[str, Any] = message("x", "ann", "x", 0)
    for k in range(205):
        deep = message(str(k), "ann", "x", 0, replies=[deep])
    with pytest.raises(EthogramError, match="nested deeper than 200"):
        read(tmp_path, deep)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"content": "x", "created_at": "2026-01-01T10:00:00Z"}, "needs an author"),
        ({"author": "j", "content": ["x"], "created_at": "2026-01-01T10:00:00Z"}, "content must be text"),
        ({"author": "j", "content": "x", "created_at": "yesterday"}, "created_at: 'yesterday' is no time"),
        ({"author": "j", "content": "x", "created_at": "14:10"}, "has no date"),
        ({"author": "j", "content": "x", "created_at": -1e30}, "no time"),
    ],
)
def test_a_message_that_lacks_something_is_a_fault_and_not_left_out(tmp_path: Path, wrong: Any, says: str):
    with pytest.raises(EthogramError, match=says):
        read(tmp_path, FLAT[0], {"id": "w", **wrong})


def test_a_long_or_unprintable_id_is_shortened_in_the_fault(tmp_path: Path):
    with pytest.raises(EthogramError) as found:
        read(
            tmp_path,
            FLAT[0],
            {"id": "\x1b[2J" + "9" * 5000, "author": "j", "content": "x", "created_at": "soon"},
        )
    assert len(str(found.value)) < 300
    assert "\x1b" not in str(found.value)
    assert "created_at: 'soon' is no time" in str(found.value)


def test_an_id_has_one_author(tmp_path: Path):
    with pytest.raises(EthogramError, match="that of a message by 'ann' before"):
        read(tmp_path, FLAT[0], message("p", "bob", "first", 0))


def test_ordinary_events_among_messages_are_read(tmp_path: Path):
    event = {"id": "e", "subject": "kim", "at": "2026-01-01T12:00:00Z", "readings": {"compassion": 0.5}}
    assert [item.subject for item in read(tmp_path, FLAT[0], event)] == ["ann", "kim"]


@pytest.mark.parametrize("at", ["1767261600", 1767261600000, "2026-01-01T10:00:00+00:00", 1767261600])
def test_times_may_be_written_in_several_ways(tmp_path: Path, at: Any):
    events = read(tmp_path, {"id": "p", "author": "ann", "content": "x", "created_at": at})
    assert events[0].at.isoformat() == "2026-01-01T10:00:00+00:00"


@pytest.mark.parametrize("key", ["parent", "parent_id", "in_reply_to", "reply_to"])
def test_a_reply_is_to_whom_it_answers_under_any_usual_name(tmp_path: Path, key: str):
    events = read(tmp_path, FLAT[0], message("a", "bob", "one", 1, **{key: "p"}))
    assert [(e.reply_to, e.target, e.thread) for e in events[1:]] == [("p", "ann", "p")]


def test_a_named_thread_and_target_stay(tmp_path: Path):
    named = message("a", "bob", "one", 1, parent="p", thread="general", target="cy")
    assert [(e.reply_to, e.target, e.thread) for e in read(tmp_path, FLAT[0], named)[1:]] == [
        ("p", "cy", "general")
    ]


@pytest.mark.parametrize("array", [False, True])
def test_messages_without_ids_keep_thread_target_and_time(tmp_path: Path, array: bool):
    one = {
        "author": "ann", "content": "hello", "created_at": "2026-01-01T10:00:00Z",
        "thread": "t1", "target": "bob", "reply_to": "m0", "score": 3,
    }  # fmt: skip
    other = {"sender": "bob", "text": "hi", "timestamp": 1767261660, "thread_id": "t1", "to": "ann"}
    events = read(tmp_path, one, other, array=array)
    assert [(e.subject, e.text, e.thread, e.target, e.reply_to, e.at.isoformat()) for e in events] == [
        ("ann", "hello", "t1", "bob", "m0", "2026-01-01T10:00:00+00:00"),
        ("bob", "hi", "t1", "ann", None, "2026-01-01T10:01:00+00:00"),
    ]
    assert events[0].attributes == {"score": 3}


def test_turns_of_a_chat_are_messages_of_one_conversation(tmp_path: Path):
    turns = {"role": "user", "text": "hello"}, {"role": "assistant", "text": "hi", "conversation_id": "c2"}
    events = read(tmp_path, *turns)
    assert [(e.subject, e.target, e.thread, e.kind, e.attributes["role"]) for e in events] == [
        ("dump/user", "dump/assistant", "dump", "message", "user"),
        ("c2/assistant", "c2/user", "c2", "message", "assistant"),
    ]
    named = read(tmp_path, {"role": "user", "speaker": "kim", "text": "hello"})
    assert [(e.subject, e.target) for e in named] == [("kim", "dump/assistant")]


@pytest.mark.parametrize("role", [{}, [], 1])
def test_a_role_that_is_no_text_is_a_fault_at_most(tmp_path: Path, role: Any):
    turn = {"role": "user", "text": "hello"}
    read(tmp_path, {"role": role, "author": "ann", "text": "hi"}, skip_bad=True)
    # The format is chosen by the first lines; a later one may be anything.
    [first, *_] = read(tmp_path, *[turn] * 2000, {"role": role, "text": "hi"}, skip_bad=True)
    assert first.attributes["role"] == "user"
