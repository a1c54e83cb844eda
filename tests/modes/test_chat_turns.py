"""Turns are read from plain lines, from JSON lines, and from every format that has messages."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest

from ethogram.errors import BadEvents, BadUsage
from ethogram.modes.chat_turns import read_said

PLAIN = "\n\nUser: hello\nassistant:  hi: there\nand now?\nNote: this is mine\n"
LINES = '{"role": "human", "text": "hello", "at": "2026-01-05T12:00:00Z"}\n{"role": "ai", "content": "hi"}\n'
CHAT = json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}])
TALKS = "".join(
    json.dumps({"conversation_id": name, "turns": [{"speaker": "ann", "role": "user", "text": name}]}) + "\n"
    for name in ("c1", "c2")
)
EVENTS = "".join(
    json.dumps({"subject": who, "thread": "t", "text": "hi", "kind": kind}) + "\n"
    for who, kind in (("ann", "message"), ("assistant", "message"), ("ann", "action"))
)


def said(text: str, folder: Path, name: str) -> list[tuple[str, str, str]]:
    (folder / name).write_text(text)
    return [(one.thread, one.role, one.text) for one in read_said(str(folder / name))]


def test_plain_lines_are_turns(tmp_path: Path) -> None:
    assert said(PLAIN, tmp_path, "talk.txt") == [
        ("talk", "user", "hello"),
        ("talk", "assistant", "hi: there"),
        ("talk", "user", "and now?"),
        ("talk", "user", "Note: this is mine"),
    ]


def test_a_turn_may_be_a_line_of_json(tmp_path: Path) -> None:
    assert said(LINES, tmp_path, "talk.jsonl") == [("talk", "user", "hello"), ("talk", "assistant", "hi")]
    first, second = read_said(str(tmp_path / "talk.jsonl"))
    assert first.at is not None
    assert (first.at.hour, second.at) == (12, None)


def test_chats_conversations_and_events_are_read_too(tmp_path: Path) -> None:
    assert said(CHAT, tmp_path, "a.json") == [("a", "user", "hello"), ("a", "assistant", "hi")]
    assert said(TALKS, tmp_path, "b.jsonl") == [("c1", "user", "c1"), ("c2", "user", "c2")]
    assert said(EVENTS, tmp_path, "c.jsonl") == [("t", "user", "hi"), ("t", "assistant", "hi")]


@pytest.mark.parametrize("text", [PLAIN, LINES, CHAT, TALKS, EVENTS])
def test_a_stream_has_the_same_turns_as_a_file(text: str, tmp_path: Path) -> None:
    name = "talk.txt" if text is PLAIN else "talk.json"
    streamed = [(one.role, one.text) for one in read_said("-", BytesIO(text.encode()))]
    assert streamed == [(role, words) for _, role, words in said(text, tmp_path, name)]


def test_a_stream_is_answered_line_by_line() -> None:
    class Stream(BytesIO):
        """Tells how many lines were taken from it."""

        taken = 0

        def readline(self, size: int | None = -1) -> bytes:
            self.taken += 1
            return super().readline(size)

        def __next__(self) -> bytes:
            self.taken += 1
            return super().__next__()

    stream = Stream(b"one\ntwo\nthree\n")
    turns = read_said("-", stream)
    next(turns)
    assert stream.taken == 1
    next(turns)
    assert stream.taken == 2


def test_every_bad_line_of_a_file_is_told_and_the_first_of_a_stream(tmp_path: Path) -> None:
    text = LINES + '{"role": "user"}\n' + "{\n" + '{"role": "user", "text": "a", "at": "noon"}\n'
    (tmp_path / "talk.jsonl").write_text(text)
    with pytest.raises(BadEvents) as told:
        read_said(str(tmp_path / "talk.jsonl"))
    assert [fault.line for fault in told.value.faults] == [3, 4, 5]
    assert '{"role": "user", "text": "..."} is one' in told.value.faults[0].message
    with pytest.raises(BadEvents) as told:
        list(read_said("-", BytesIO(text.encode())))
    assert [fault.line for fault in told.value.faults] == [3]


def test_a_closed_stream_is_told() -> None:
    with pytest.raises(BadUsage, match="standard input is closed"):
        read_said("-", None)


def test_an_empty_file_has_no_turns(tmp_path: Path) -> None:
    assert said("", tmp_path, "talk.txt") == []
