"""Turns are read from plain lines, from JSON lines, and from every format that has messages."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from ethogram.app.chat.files import read_turns
from ethogram.errors import BadEvents, BadUsage

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
    return [(item.thread, item.role, item.text) for item in read_turns(str(folder / name))]


def test_plain_lines_are_turns(tmp_path: Path) -> None:
    assert said(PLAIN, tmp_path, "talk.txt") == [
        ("talk", "user", "hello"),
        ("talk", "assistant", "hi: there"),
        ("talk", "user", "and now?"),
        ("talk", "user", "Note: this is mine"),
    ]


def test_a_turn_may_be_a_line_of_json(tmp_path: Path) -> None:
    assert said(LINES, tmp_path, "talk.jsonl") == [("talk", "user", "hello"), ("talk", "assistant", "hi")]
    first, second = read_turns(str(tmp_path / "talk.jsonl"))
    assert first.at is not None
    assert (first.at.hour, second.at) == (12, None)


def test_chats_conversations_and_events_are_read_too(tmp_path: Path) -> None:
    assert said(CHAT, tmp_path, "a.json") == [("a", "user", "hello"), ("a", "assistant", "hi")]
    assert said(TALKS, tmp_path, "b.jsonl") == [("c1", "user", "c1"), ("c2", "user", "c2")]
    assert said(EVENTS, tmp_path, "c.jsonl") == [("t", "user", "hi"), ("t", "assistant", "hi")]


@pytest.mark.parametrize("text", [PLAIN, LINES, CHAT, TALKS, EVENTS])
def test_a_stream_has_the_same_turns_as_a_file(text: str, tmp_path: Path) -> None:
    name = "talk.txt" if text is PLAIN else "talk.json"
    streamed = [(item.role, item.text) for item in read_turns("-", BytesIO(text.encode()))]
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
    turns = read_turns("-", stream)
    next(turns)
    assert stream.taken == 1
    next(turns)
    assert stream.taken == 2


def test_every_bad_line_of_a_file_is_told_and_the_first_of_a_stream(tmp_path: Path) -> None:
    text = LINES + '{"role": "user"}\n' + "{\n" + '{"role": "user", "text": "a", "at": "noon"}\n'
    (tmp_path / "talk.jsonl").write_text(text)
    with pytest.raises(BadEvents) as told:
        read_turns(str(tmp_path / "talk.jsonl"))
    assert [fault.line for fault in told.value.faults] == [3, 4, 5]
    assert '{"role": "user", "text": "..."} is one' in told.value.faults[0].message
    with pytest.raises(BadEvents) as told:
        list(read_turns("-", BytesIO(text.encode())))
    assert [fault.line for fault in told.value.faults] == [3]


def test_a_closed_stream_is_told() -> None:
    with pytest.raises(BadUsage, match="standard input is closed"):
        read_turns("-", None)


FORMS = {
    "role and text": lambda who, text: {"role": who, "text": text},
    "role and content": lambda who, text: {"role": who, "content": text},
    "speaker and text": lambda who, text: {"speaker": who, "text": text},
    "speaker and content": lambda who, text: {"speaker": who, "content": text},
    "speaker, role and text": lambda who, text: {"speaker": f"the {who}", "role": who, "text": text},
    "blocks": lambda who, text: {"role": who, "content": [{"type": "text", "text": text}]},
}
SPOKEN = (("user", "hello"), ("assistant", "hi"), ("user", "and now?"))


def talk(form: str, name: str, key: str = "conversation_id") -> dict[str, Any]:
    return {key: name, "turns": [FORMS[form](who, text) for who, text in SPOKEN]}


def everywhere(text: str, folder: Path, ending: str) -> Iterator[list[tuple[str, str, str]]]:
    """The turns of a text in a file, in a compressed one, and from standard input, plain and compressed."""
    packed = gzip.compress(text.encode())
    (folder / f"a{ending}").write_text(text)
    (folder / f"a{ending}.gz").write_bytes(packed)
    for path, stdin in (
        (str(folder / f"a{ending}"), None),
        (str(folder / f"a{ending}.gz"), None),
        ("-", BytesIO(text.encode())),
        ("-", BytesIO(packed)),
    ):
        yield [(item.thread, item.role, item.text) for item in read_turns(path, stdin)]


@pytest.mark.parametrize("key", ["conversation_id", "id"])
@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_has_turns_by_role_or_speaker_as_text_or_content(
    form: str, key: str, tmp_path: Path
) -> None:
    item, two = talk(form, "c1", key), talk(form, "c2", key)
    told = [("c1", *each) for each in SPOKEN], [("c2", *each) for each in SPOKEN]
    for found in everywhere(json.dumps(item, indent=2), tmp_path, ".json"):
        assert found == told[0]
    for found in everywhere(json.dumps([item, two]), tmp_path, ".json"):
        assert found == told[0] + told[1]
    for found in everywhere(f"{json.dumps(item)}\n{json.dumps(two)}\n", tmp_path, ".jsonl"):
        assert found == told[0] + told[1]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "blocks"])
def test_a_turn_a_line_has_the_same_forms(form: str, tmp_path: Path) -> None:
    text = "".join(json.dumps(FORMS[form](who, said)) + "\n" for who, said in SPOKEN)
    for found in everywhere(text, tmp_path, ".jsonl"):
        assert [(role, words) for _, role, words in found] == list(SPOKEN)


def test_plain_lines_may_be_compressed(tmp_path: Path) -> None:
    for found in everywhere("user: hello\nassistant: hi\n", tmp_path, ".txt"):
        assert [(role, words) for _, role, words in found] == [("user", "hello"), ("assistant", "hi")]


def test_turns_may_be_a_list_or_messages(tmp_path: Path) -> None:
    turns = [FORMS["role and text"](who, text) for who, text in SPOKEN]
    assert said(json.dumps(turns), tmp_path, "a.json") == [("a", *each) for each in SPOKEN]
    told = json.dumps({"id": "m", "messages": turns})
    assert said(told, tmp_path, "b.json") == [("m", *each) for each in SPOKEN]


def test_a_turn_may_name_its_conversation() -> None:
    rows = [{"conversation_id": name, "role": "user", "text": "hello"} for name in ("c1", "c2", "c1")]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert [item.thread for item in read_turns("-", BytesIO(text.encode()))] == ["c1", "c2", "c1"]


def test_the_subject_is_the_one_named_or_the_first_person_who_speaks() -> None:
    turns = [{"speaker": "bot", "text": "hi"}, {"speaker": "ann", "text": "hello"}]
    for told, subject in (({}, "ann"), ({"subject": "kim"}, "kim")):
        text = json.dumps({"id": "x", "turns": turns, **told}).encode()
        assert {item.subject for item in read_turns("-", BytesIO(text))} == {subject}


def test_what_is_no_turn_of_a_conversation_is_told_with_its_place(tmp_path: Path) -> None:
    rows = [{"id": "c1", "turns": ["hello", {"text": "hi"}]}, {"id": "c2", "turns": "hello"}, {"id": "c3"}]
    rows += [
        {"id": "c4", "turns": [{"role": "user", "text": 3}, {"role": "user", "text": "a", "at": "noon"}]}
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(BadEvents) as told:
        read_turns(str(tmp_path / "a.jsonl"))
    assert [fault.line for fault in told.value.faults] == [1, 1, 2, 3, 4, 4]
    assert told.value.faults[0].message == 'turn 1 of c1 is none: {"role": "user", "text": "..."} is one'
    assert told.value.faults[5].message.startswith("turn 2 of c4: 'noon' is no time")


@pytest.mark.parametrize("text", ["", "\n\n", '{"id": "x", "turns": []}'])
def test_an_empty_input_has_no_turns(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    for path, stdin in ((str(tmp_path / "a.jsonl"), None), ("-", BytesIO(text.encode()))):
        assert list(read_turns(path, stdin)) == []


def test_events_without_a_text_are_no_conversation_and_what_would_be_right_is_told(tmp_path: Path) -> None:
    text = '{"subject": "ann", "kind": "action"}'
    (tmp_path / "a.jsonl").write_text(text)
    for path, stdin in ((str(tmp_path / "a.jsonl"), None), ("-", BytesIO(text.encode()))):
        with pytest.raises(BadEvents, match="no event has a text") as told:
            list(read_turns(path, stdin))
        assert '{"role": "user", "text": "..."} is a turn' in str(told.value)


def test_messages_of_several_subjects_without_a_role_are_read_with_a_warning(tmp_path: Path) -> None:
    lines = ['{"subject": "ann", "text": "hi"}', '{"subject": "bo", "text": "hello"}']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    heard: list[str] = []
    assert [turn.role for turn in read_turns(str(tmp_path / "a.jsonl"), warn=heard.append)] == ["user"] * 2
    assert len(heard) == 1
    assert "`ethogram analyze` is for agents" in heard[0]
    (tmp_path / "a.jsonl").write_text("\n".join([lines[0], lines[1].replace("bo", "assistant")]))
    assert len(list(read_turns(str(tmp_path / "a.jsonl"), warn=heard.append))) == 2
    alone = [line[:-1] + f', "thread": "{n}"}}' for n, line in enumerate(lines)]
    (tmp_path / "a.jsonl").write_text("\n".join(alone))
    assert len(list(read_turns(str(tmp_path / "a.jsonl"), warn=heard.append))) == 2
    assert len(heard) == 1


def test_a_torn_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(TALKS.encode())[:20])
    with pytest.raises(BadEvents):
        read_turns(str(tmp_path / "a.jsonl.gz"))


def test_what_is_no_conversation_is_told_what_one_is(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"conversation_id": "x", "turn": "hello"}')
    with pytest.raises(BadEvents, match=r"no conversation: .* is a turn, .* a conversation"):
        read_turns(str(tmp_path / "a.json"))


def test_characters_that_no_encoder_takes_are_replaced_as_in_events() -> None:
    line = (
        rb'{"role": "user", "content": "a\ud800b\u0000", "conversation_id": "c\udfff", "speaker": "x\ud800"}'
    )
    (turn,) = read_turns("-", BytesIO(line + b"\n"))
    assert (turn.thread, turn.text) == ("c\ufffd", "a\ufffdb\ufffd")
    turn.subject.encode()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_refused(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_bytes("user: hello\nassistant: hi\n".encode(encoding))
    with pytest.raises(BadEvents, match="not text in UTF-8"):
        [*read_turns(str(tmp_path / "talk.txt"))]
    with pytest.raises(BadEvents, match="not text in UTF-8"):
        [*read_turns("-", BytesIO((tmp_path / "talk.txt").read_bytes()))]


def test_an_empty_turn_counts_in_every_format_and_a_tool_call_in_none(tmp_path: Path) -> None:
    turns = [{"role": "user", "text": ""}, {"role": "assistant", "text": "hi"}]
    lines = "".join(json.dumps(turn) + "\n" for turn in turns)
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    whole = json.dumps({"conversation_id": "talk", "turns": [*turns, call]})
    expected = [("talk", "user", ""), ("talk", "assistant", "hi")]
    assert said(lines, tmp_path, "talk.jsonl") == said(whole, tmp_path, "talk.json") == expected


def chatgpt(name: str, parent: str | None, role: str, text: str) -> dict[str, object]:
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
    return {"id": name, "parent": parent, "message": message}


EXPORTS = {
    "sharegpt.json": [
        {"id": "c1", "conversations": [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Yes?"}]}
    ],
    "claude.json": [
        {
            "uuid": "c1",
            "chat_messages": [{"sender": "human", "text": "Hi."}, {"sender": "assistant", "text": "Yes?"}],
        }
    ],
    # An edited answer: only the branch that leads to the current message was the conversation.
    "chatgpt.json": [
        {
            "id": "c1",
            "current_node": "d",
            "mapping": {
                "a": {"id": "a", "parent": None, "message": None},
                "b": chatgpt("b", "a", "user", "Hi."),
                "c": chatgpt("c", "b", "assistant", "What?"),
                "d": chatgpt("d", "b", "assistant", "Yes?"),
            },
        }
    ],
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_of_chat_programs_are_read(name: str, tmp_path: Path) -> None:
    assert said(json.dumps(EXPORTS[name]), tmp_path, name) == [
        ("c1", "user", "Hi."),
        ("c1", "assistant", "Yes?"),
    ]


def test_a_table_of_chats_is_read_with_its_roles(tmp_path: Path) -> None:
    text = "conversation_id;role;content\n1;user;Hi.\n1;assistant;Yes?\n2;user;Bye.\n"
    turns = [("1", "user", "Hi."), ("1", "assistant", "Yes?"), ("2", "user", "Bye.")]
    assert said(text, tmp_path, "a.csv") == turns
    subjects = {turn.subject for turn in read_turns(str(tmp_path / "a.csv"))}
    assert subjects == {"1/user", "1/assistant", "2/user"}
