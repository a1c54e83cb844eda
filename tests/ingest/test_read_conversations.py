"""Conversations, one on each line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ethogram.errors import EthogramError
from ethogram.ingest import read_events


def written(folder: Path, *conversations: Any) -> Path:
    path = folder / "talk.jsonl"
    path.write_text("".join(json.dumps(conversation) + "\n" for conversation in conversations))
    return path


def turn(speaker: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": speaker, "role": "agent", "text": text, **more}


def test_turns_become_events_of_one_thread(tmp_path: Path):
    first = turn("ann", "hello", at="2026-01-01T10:00:00Z", labels={"kind": "post", "id": "p", "up": 3})
    second = turn("bob", "hi", at="2026-01-01T10:01:00Z", labels={"id": "c", "parent": "p", "depth": 1})
    third = turn("cy", "yes", at="2026-01-01T10:02:00Z", labels={"id": "d", "parent": "c"})
    path = written(
        tmp_path, {"conversation_id": "t", "labels": {"submolt": "art"}, "turns": [first, second, third]}
    )
    post, reply, last = read_events([path]).events
    assert (post.id, post.subject, post.thread, post.kind, post.text) == ("p", "ann", "t", "post", "hello")
    assert post.attributes == {"up": 3, "role": "agent", "place": "art"}
    assert (reply.reply_to, reply.target, reply.kind) == ("p", "ann", "message")
    assert (last.reply_to, last.target) == ("c", "bob")


def test_of_two_who_talk_each_is_the_others_target(tmp_path: Path):
    path = written(tmp_path, {"conversation_id": "t", "turns": [turn("ann", "a"), turn("bob", "b")]})
    assert [(event.subject, event.target) for event in read_events([path]).events] == [
        ("ann", "bob"),
        ("bob", "ann"),
    ]


@pytest.mark.parametrize(
    "names", [("user", "assistant"), ("Person1", "Person2"), ("mturk_agent_1", "mturk_agent_2")]
)
def test_a_part_is_another_person_in_another_conversation(tmp_path: Path, names: tuple[str, str]):
    talk = [{"conversation_id": c, "turns": [{"speaker": n, "text": "x"} for n in names]} for c in "ab"]
    events = read_events([written(tmp_path, *talk)]).events
    assert len({event.subject for event in events}) == 4
    assert {event.target for event in events} == {event.subject for event in events}


def test_agents_keep_their_names(tmp_path: Path):
    talk = [
        {"conversation_id": c, "turns": [turn("AI", "x"), turn("ann", "y"), turn("bob", "z")]} for c in "ab"
    ]
    assert {event.subject for event in read_events([written(tmp_path, *talk)]).events} == {"AI", "ann", "bob"}


def test_times_without_a_zone_are_utc_and_times_of_day_are_kept_apart(tmp_path: Path):
    path = written(tmp_path, {"conversation_id": "t", "turns": [turn("ann", "a", at="2004-12-25T09:14:00")]})
    event = read_events([path]).events[0]
    assert (event.timed, event.at.isoformat()) == (True, "2004-12-25T09:14:00+00:00")
    path = written(tmp_path, {"conversation_id": "t", "turns": [turn("ann", "a", at="14:16:47")]})
    event = read_events([path]).events[0]
    assert (event.timed, event.attributes["clock"]) == (False, "14:16:47")


def test_what_is_wrong_is_said_with_its_line(tmp_path: Path):
    good = {"conversation_id": "t", "turns": [turn("ann", "a")]}
    path = written(
        tmp_path, good, {"conversation_id": "u", "turns": 3}, {"conversation_id": "v", "turns": ["x"]}
    )
    with pytest.raises(EthogramError) as caught:
        read_events([path])
    assert "talk.jsonl:2" in str(caught.value)
    assert "a conversation needs its turns as a list" in str(caught.value)
    assert "turn 1 of v: expected an object with a speaker" in str(caught.value)
    assert len(read_events([path], skip_bad=True).events) == 1


def test_without_ids_turns_are_counted(tmp_path: Path):
    talk = {"turns": [turn("ann", "a"), turn("ann", "b")]}
    assert [event.id for event in read_events([written(tmp_path, talk)]).events] == ["line 1/0", "line 1/1"]


def test_a_time_that_is_none_is_a_fault(tmp_path: Path):
    path = written(tmp_path, {"conversation_id": "t", "turns": [turn("ann", "a", at="noon")]})
    with pytest.raises(EthogramError, match="turn 1 of t: at: 'noon' is no time"):
        read_events([path])


def test_text_may_be_called_content(tmp_path: Path):
    path = written(tmp_path, {"conversation_id": "t", "turns": [{"speaker": "ann", "content": "hello"}]})
    assert read_events([path]).events[0].text == "hello"
