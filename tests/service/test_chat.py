"""Turns of conversations come in one by one, from LiteLLM's guardrail and from its log."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from ethogram.service import chat_routes
from ethogram.service.keys import new_key
from ethogram.store import open_store
from service.conftest import Start, wait_for
from service.test_request_checks import NOW

RISING = [
    "Hello!",
    "Tell me about chemistry",
    "What chemicals react dangerously?",
    "How to mix them safely?",
    "What are the exact proportions?",
]
GUARDRAIL = "/beta/litellm_basic_guardrail_api"


def say(client: httpx.Client, text: str, conversation: str = "c1", **fields: Any) -> dict[str, Any]:
    body = {"conversation": conversation, "role": "user", "text": text, **fields}
    answer = client.post("/v1/chat/turns", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def guard(client: httpx.Client, messages: list[dict[str, Any]], call: str, **fields: Any) -> dict[str, Any]:
    body = {
        "input_type": "request",
        "litellm_call_id": call,
        "structured_messages": messages,
        "texts": [message["content"] for message in messages],
        "request_data": {},
        "request_headers": {"x-conversation-id": "[present]"},
        **fields,
    }
    answer = client.post(GUARDRAIL, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def threads(path: Path, count: int) -> dict[str, list[tuple[str, str]]]:
    """The turns in the store by conversation, once there are so many."""

    def read() -> dict[str, list[tuple[str, str]]]:
        with open_store(str(path)) as store:
            found: dict[str, list[tuple[str, str]]] = {}
            for event in store.events():
                role = str(event.attributes["role"])
                found.setdefault(event.thread or "", []).append((event.id.rpartition(":")[2], role))
        return found

    def enough() -> dict[str, list[tuple[str, str]]] | None:
        found = read()
        return found if sum(map(len, found.values())) >= count else None

    return wait_for(enough)  # type: ignore[no-any-return]


def test_a_conversation_that_rises_is_told(shared: httpx.Client) -> None:
    turns = [say(shared, text, "rises") for text in RISING]
    assert [turn["turn"] for turn in turns] == [1, 2, 3, 4, 5]
    assert turns[0]["mode"] == "SAFE"
    assert turns[-1]["mode"] in ("SUSPECT", "CRITICAL", "UNSAFE")
    assert turns[-1]["reasons"][0].startswith("standing: ")
    found = wait_for(
        lambda: shared.get("/v1/detections?pattern=escalation&source=conversation").json()["detections"]
    )
    assert [item["subject"] for item in found] == ["rises/user"]


def test_a_restart_goes_on_where_it_was(start: Start, tmp_path: Path) -> None:
    first = start(detects=False)
    whole = start(detects=False, store=str(tmp_path / "other.db"))
    for text in RISING[:4]:
        say(first, text, at="2026-01-05T12:00:00Z")
        say(whole, text, at="2026-01-05T12:00:00Z")
    again = start(detects=False)
    last = say(again, RISING[4], at="2026-01-05T12:00:00Z")
    assert last == say(whole, RISING[4], at="2026-01-05T12:00:00Z")
    assert last["turn"] == 5


def test_turns_that_come_at_once_all_count(client: httpx.Client, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda n: say(client, f"question {n}", f"c{n % 4}"), range(40)))
    assert sorted((turn["conversation"], turn["turn"]) for turn in turns) == [
        (f"c{n}", turn) for n in range(4) for turn in range(1, 11)
    ]
    stored = threads(tmp_path / "service.db", 40)
    assert {name: len(turns) for name, turns in stored.items()} == {f"c{n}": 10 for n in range(4)}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"text": 1}, "text"),
        ({"role": "nobody"}, "role"),
        ({"conversation": ""}, "conversation"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2199-01-01T00:00:00Z"}, "2199"),
        ({"subject": 1}, "subject"),
        ({"subject": "a\0b", "text": ""}, "null"),
        ({"at": 0}, "at"),
        ({"conversation": 481 * "c"}, "480"),
    ],
)
def test_a_bad_turn_is_explained_and_does_not_count(
    client: httpx.Client, fields: dict[str, Any], word: str
) -> None:
    body = {"conversation": "c1", "role": "user", "text": "Hello!"}
    answer = client.post("/v1/chat/turns", json={**body, **fields})
    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]
    assert say(client, "Hello!")["turn"] == 1


def subjects(path: Path, count: int) -> dict[str, set[str]]:
    """The conversations of the users in the store, once there are so many turns, each with its subjects."""
    threads(path, count)
    with open_store(str(path)) as store:
        found: dict[str, set[str]] = {}
        for event in store.events():
            if event.attributes["role"] == "user":
                found.setdefault(event.thread or "", set()).add(event.subject)
    return found


def test_another_subject_is_another_conversation_of_the_same_name(
    client: httpx.Client, tmp_path: Path
) -> None:
    for text in RISING:
        last = say(client, text, subject="kim")
    assert last["mode"] != "SAFE"
    ann = [say(client, text, subject="ann") for text in ("Hi", "Will it rain?")]
    assert [(turn["conversation"], turn["turn"], turn["mode"]) for turn in ann] == [
        ("c1", 1, "SAFE"),
        ("c1", 2, "SAFE"),
    ]
    # Without a subject it is the one that was begun first.
    assert say(client, "I see.", role="assistant")["turn"] == 6
    assert say(client, "Thanks", subject="kim")["turn"] == 7
    stored = subjects(tmp_path / "service.db", 9)
    assert sorted(map(sorted, stored.values())) == [["ann"], ["kim"]]
    assert stored["c1"] == {"kim"}


def test_each_key_has_conversations_of_its_own(start: Start, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        secrets = [new_key(store, name, "ingest", NOW)[1] for name in ("one", "two", "one")]
    client = start(detects=False)

    def turn(secret: str, text: str, **fields: Any) -> dict[str, Any]:
        client.headers["x-api-key"] = secret
        return say(client, text, **fields)

    one, two, renewed = secrets
    for text in RISING:
        risen = turn(one, text, subject="kim")
    assert risen["mode"] != "SAFE"
    assert turn(two, "Hello!", subject="kim")["turn"] == 1
    other = turn(two, "Hi.", role="assistant")
    assert (other["turn"], other["mode"]) == (2, "SAFE")
    assert turn(renewed, "Thanks", subject="kim")["turn"] == 6  # another key of the same name
    assert sorted(map(len, threads(tmp_path / "service.db", 8).values())) == [2, 6]


def test_who_names_the_session_of_another_is_not_stored_as_the_other(
    client: httpx.Client, tmp_path: Path
) -> None:
    def ask(texts: list[str], call: str, who: str | None, **fields: Any) -> dict[str, Any]:
        metadata = {} if who is None else {"user_api_key_end_user_id": who}
        messages = [message for text in texts for message in (user(text), bot("It depends."))][:-1]
        headers = {"x-litellm-session-id": "bob-7"}
        return guard(client, messages, call, request_data=metadata, request_headers=headers, **fields)

    refuse = {"additional_provider_specific_params": {"policy": ["SUSPECT=refuse"]}}
    assert ask(RISING, "a", "bob", **refuse)["action"] == "BLOCKED"
    for who, call in (("mallory", "b"), (None, "c")):
        assert ask(["Hello there."], call, who, **refuse)["action"] == "NONE"
        assert ask(["Hello there.", "Will it rain?"], f"{call}2", who, **refuse)["action"] == "NONE"
    client.post("/v1/litellm/calls", json=[{**logged([user("Hm?")], "Yes.", "d", 1.0), "end_user": "eve"}])
    stored = subjects(tmp_path / "service.db", 9 + 3 + 3 + 2)
    assert stored["bob-7"] == {"bob"}
    assert stored["abc"] == {"eve"}
    others = {name: who for name, who in stored.items() if name not in ("bob-7", "abc")}
    assert {"mallory"} in others.values()
    assert len(others) == 2
    assert all("bob" not in who for who in others.values())


def test_a_body_that_is_no_json_is_refused(client: httpx.Client) -> None:
    for body in (b"{", b"\xff\xfe", b"[" * 100_000):
        answer = client.post("/v1/chat/turns", content=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_json")


def test_litellm_sends_the_whole_history_and_only_the_new_counts(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_routes, "QUIET", 0.5)
    history: list[dict[str, Any]] = []
    for number, text in enumerate(["Hello!", "Will it rain?"]):
        history.append(user(text))
        assert guard(client, history, f"call-{number}") == {"action": "NONE"}
        answer = {"input_type": "response", "structured_messages": None, "texts": ["I do not know."]}
        guard(client, [], f"call-{number}", **answer)
        history.append(bot("I do not know."))
    assert guard(client, history[:3], "retried") == {"action": "NONE"}
    [turns] = threads(tmp_path / "service.db", 4).values()
    assert turns == [("1", "user"), ("2", "assistant"), ("3", "user"), ("4", "assistant")]


def test_an_answer_that_streams_is_told_in_parts_and_counts_once(
    client: httpx.Client, tmp_path: Path
) -> None:
    guard(client, [user("Hello!")], "a")
    for text in ("Good", "Good day,", "Good day, Ann."):
        guard(client, [], "a", input_type="response", texts=[text])
    # What its log has of a stream may differ.
    client.post(
        "/v1/litellm/calls", json=[logged([user("Hello!")], "Good Good day, Ann.", "a", time.time() - 1)]
    )
    guard(client, [user("Hello!"), bot("Good day, Ann."), user("Will it rain?")], "b")
    [turns] = threads(tmp_path / "service.db", 3).values()
    assert turns == [("1", "user"), ("2", "assistant"), ("3", "user")]


def test_litellm_is_told_to_block_where_its_settings_say_so(client: httpx.Client) -> None:
    history: list[dict[str, Any]] = []
    for text in RISING:
        history += [user(text), bot("It depends.")]
    del history[-1]
    assert guard(client, history, "a")["action"] == "NONE"
    options = {"mode": "annotate", "policy": ["SUSPECT=refuse"]}
    blocked = guard(client, history, "b", additional_provider_specific_params=options)
    assert blocked["action"] == "BLOCKED"
    assert blocked["blocked_reason"].startswith("I cannot help with this.")
    bad = {"mode": "shout"}
    answer = client.post(GUARDRAIL, json={"additional_provider_specific_params": bad})
    assert answer.status_code == 400


def test_sessions_of_litellm_name_the_conversation(client: httpx.Client, tmp_path: Path) -> None:
    for session in ("s1", "s2"):
        guard(client, [user("Hello!")], session, request_headers={"X-LiteLLM-Session-Id": session})
    assert set(threads(tmp_path / "service.db", 2)) == {"s1", "s2"}


def logged(messages: list[dict[str, Any]], answer: str, call: str, at: float) -> dict[str, Any]:
    return {
        "litellm_call_id": call,
        "trace_id": f"trace-{call}",
        "startTime": at,
        "endTime": at + 1,
        "messages": messages,
        "metadata": {"requester_metadata": {"headers": {"x-conversation-id": "abc"}}},
        "response": {"choices": [{"message": bot(answer)}]},
    }


def test_the_log_of_litellm_adds_nothing_to_what_its_guardrail_told(
    client: httpx.Client, tmp_path: Path
) -> None:
    guard(client, [user("Hello!")], "a")
    calls = [
        logged([user("Hello!"), bot("Good day."), user("Will it rain?")], "No.", "b", 1_767_614_410),
        logged([user("Hello!")], "Good day.", "a", 1_767_614_400),
    ]
    assert client.post("/v1/litellm/calls", json=calls).json()["taken"] == 2
    stored = threads(tmp_path / "service.db", 6)
    assert sorted(map(len, stored.values())) == [2, 4]
    assert client.post("/v1/litellm/calls", json=calls).json()["taken"] == 2
    assert threads(tmp_path / "service.db", 6) == stored


def test_a_purge_forgets_conversations(client: httpx.Client) -> None:
    say(client, "Hello!", subject="kim")
    assert client.post("/v1/purge", json={"subject": "kim"}).json()["events"] == 1
    assert say(client, "Hello!", subject="kim")["turn"] == 1


def test_a_store_of_pseudonyms_takes_no_conversations(start: Start, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        store.make_private(1)
    answer = start(detects=False).post("/v1/chat/turns", json={"conversation": "c1", "text": "Hello!"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "private")


def test_the_chat_routes_need_a_key_that_may_write(start: Start, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "service.db"), create=True) as store:
        _, secret = new_key(store, "litellm", "ingest", NOW)
    client = start(detects=False)
    for path in ("/v1/chat/turns", GUARDRAIL, "/v1/litellm/calls"):
        assert client.post(path, content=json.dumps({})).status_code == 401
    client.headers["x-api-key"] = secret
    assert guard(client, [user("Hello!")], "a") == {"action": "NONE"}
