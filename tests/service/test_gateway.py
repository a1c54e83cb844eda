"""The gateway in front of a scripted chat API, with the OpenAI SDK and plain HTTP as clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest

from ethogram.errors import BadUsage
from ethogram.service import gateway as gateway_module
from ethogram.service import upstream as upstream_module
from ethogram.service.gateway import Gateway, ProxyOptions
from ethogram.service.keys import new_key
from ethogram.service.options import ServeOptions
from ethogram.service.policy import Policy
from ethogram.store import open_store
from service.conftest import serving, wait_for
from service.test_chat import RISING, bot, threads, user
from service.test_request_checks import NOW
from service.upstream import ANSWER, Upstream
from waiting import PATIENCE_SECONDS

Begin = Callable[..., "Proxy"]


class Proxy:
    """A running gateway: its port, clients of it, and its upstream."""

    def __init__(self, gateway: Gateway, port: int, upstream: Upstream) -> None:
        self.gateway, self.upstream = gateway, upstream
        self.url = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)
        self.openai = openai.OpenAI(base_url=f"{self.url}/v1", api_key="sk-secret", max_retries=0)

    def ask(self, messages: list[dict[str, Any]], headers: Any = None, **fields: Any) -> httpx.Response:
        body = {"model": "stub", "messages": messages, **fields}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)


def start(
    stack: contextlib.ExitStack, upstream: Upstream | None = None, store: str = "", **options: Any
) -> Proxy:
    """A gateway with some options in front of a scripted upstream, until the stack is closed."""
    upstream = upstream or Upstream()
    address = options.pop("address", "") or f"http://127.0.0.1:{stack.enter_context(serving(upstream))}"
    policy = Policy(options.pop("mode", "annotate"), options.pop("changes", ()))
    options.setdefault("deadline", PATIENCE_SECONDS)  # a busy machine is not what is tested
    serve = ServeOptions(store=store, **options.pop("serve", {}))
    gateway = Gateway(ProxyOptions(address, serve, keeps=bool(store), policy=policy, **options))
    proxy = Proxy(gateway, stack.enter_context(serving(gateway)), upstream)
    stack.enter_context(proxy.client)
    stack.callback(proxy.openai.close)
    return proxy


@pytest.fixture(scope="module")
def shared_proxies() -> Iterator[Callable[..., Proxy]]:
    """A gateway for each set of options, for tests that need no conversations of their own."""
    with contextlib.ExitStack() as stack:
        known: dict[str, Proxy] = {}

        def shared(**options: Any) -> Proxy:
            proxy = known.setdefault(repr(options), known.get(repr(options)) or start(stack, **options))
            proxy.upstream.requests.clear()
            return proxy

        yield shared


@pytest.fixture
def begin(shared_proxies: Callable[..., Proxy]) -> Iterator[Begin]:
    """A gateway with some options; one of its own where it has a store, an upstream or is to be fresh."""
    with contextlib.ExitStack() as stack:

        def chosen(
            upstream: Upstream | None = None, store: str = "", *, fresh: bool = False, **options: Any
        ) -> Proxy:
            if upstream or store or fresh or not {*options} <= {"mode", "changes", "fail"}:
                return start(stack, upstream, store, **options)
            return shared_proxies(**options)

        yield chosen


def rising() -> list[dict[str, Any]]:
    """A conversation that ends with a risky question."""
    return [message for text in RISING for message in (user(text), bot(ANSWER))][:-1]


def talk(proxy: Proxy, texts: list[str], **more: Any) -> list[httpx.Response]:
    """Say texts one after another, each with the whole history."""
    history: list[dict[str, Any]] = []
    answers = []
    for text in texts:
        history.append(user(text))
        answers.append(proxy.ask(history, **more))
        history.append(bot(answers[-1].json()["choices"][0]["message"]["content"]))
    return answers


def test_a_request_passes_as_it_is_and_the_risk_is_in_the_headers(begin: Begin) -> None:
    proxy = begin()
    body = b'{"model":"stub",  "messages":[{"role":"user","content":"Hello!"}], "x": 1.0}'
    answer = proxy.client.post("/v1/chat/completions", content=body, headers={"Authorization": "Bearer sk-1"})
    assert answer.json()["choices"][0]["message"]["content"] == ANSWER
    assert answer.headers["x-ethogram-mode"] == "SAFE"
    assert float(answer.headers["x-ethogram-risk"]) < 0.15
    path, headers, received = proxy.upstream.requests[-1]
    assert (path, received) == ("/v1/chat/completions", body)
    assert headers["authorization"] == "Bearer sk-1"


def test_the_risk_of_a_conversation_rises_over_its_turns(begin: Begin) -> None:
    answers = talk(begin(), RISING)
    assert [answer.headers["x-ethogram-mode"] for answer in answers][:2] == ["SAFE", "SAFE"]
    assert answers[-1].headers["x-ethogram-mode"] in ("SUSPECT", "CRITICAL", "UNSAFE")
    assert "standing: " in answers[-1].headers["x-ethogram-reasons"]
    assert len({answer.headers["x-ethogram-conversation"] for answer in answers}) == 1


def test_a_whole_history_that_is_not_known_is_followed_at_once(begin: Begin) -> None:
    whole = begin(fresh=True).ask(rising())
    assert whole.headers["x-ethogram-mode"] in ("SUSPECT", "CRITICAL", "UNSAFE")


def test_the_sdk_streams_through(begin: Begin) -> None:
    proxy = begin()
    messages: Any = [user("Hello!")]
    with proxy.openai.chat.completions.with_streaming_response.create(
        model="stub", messages=messages, stream=True
    ) as response:
        assert response.headers["x-ethogram-mode"] == "SAFE"
        events = [line for line in response.iter_lines() if line]
    assert events[-1] == "data: [DONE]"
    stream = proxy.openai.chat.completions.create(model="stub", messages=messages, stream=True)
    text = "".join(event.choices[0].delta.content or "" for event in stream)
    assert text == ANSWER


def test_a_streamed_answer_is_known_when_the_conversation_goes_on(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(store=str(tmp_path / "chats.db"))
    for _ in proxy.openai.chat.completions.create(model="stub", messages=[user("Hello!")], stream=True):  # type: ignore[list-item]
        pass
    proxy.ask([user("Hello!"), bot(ANSWER), user("Will it rain?")])
    [turns] = threads(tmp_path / "chats.db", 4).values()
    assert turns == [("1", "user"), ("2", "assistant"), ("3", "user"), ("4", "assistant")]


def test_other_paths_pass(begin: Begin) -> None:
    proxy = begin()
    assert [model.id for model in proxy.openai.models.list()] == ["stub"]
    assert proxy.client.get("/v1/models?limit=2&x=%2F").json()["data"]
    assert proxy.upstream.requests[-1][0] == "/v1/models?limit=2&x=%2F"
    assert proxy.client.get("/nothing").status_code == 404


def test_the_path_of_the_upstream_may_end_with_v1(begin: Begin) -> None:
    upstream = Upstream()
    with serving(upstream) as port:
        proxy = begin(address=f"http://127.0.0.1:{port}/v1/")
        assert proxy.ask([user("Hello!")]).status_code == 200
    assert upstream.requests[-1][0] == "/v1/chat/completions"


@pytest.mark.parametrize("stream", [None, True, False])
def test_ollama(begin: Begin, stream: bool | None) -> None:
    proxy = begin(mode="refuse", changes=("SUSPECT=refuse",))
    fields = {} if stream is None else {"stream": stream}
    safe = proxy.client.post("/api/chat", json={"model": "m", "messages": [user("Hello!")], **fields})
    lines = [json.loads(line) for line in safe.text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == ANSWER
    assert safe.headers["x-ethogram-mode"] == "SAFE"
    refused = proxy.client.post("/api/chat", json={"model": "m", "messages": rising(), **fields})
    [line] = [json.loads(line) for line in refused.text.splitlines()]
    assert line["done"] is True
    assert line["message"]["content"].startswith("I cannot help with this.")


def test_messages_of_anthropic(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(store=str(tmp_path / "chats.db"))
    with anthropic.Anthropic(base_url=proxy.url, api_key="sk-secret", max_retries=0) as client:
        create: Any = client.messages.create
        how = {"model": "m", "max_tokens": 10, "metadata": {"user_id": "ann"}}
        history: list[Any] = [user("Hello!")]
        with client.messages.stream(messages=history, **how) as stream:  # type: ignore[arg-type]
            assert stream.get_final_text() == ANSWER
        history += [{"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}]
        history += [user("Will it rain?")]
        assert create(messages=history, **how).content[0].text == ANSWER
    stored = threads(tmp_path / "chats.db", 4)
    assert list(stored.values()) == [[("1", "user"), ("2", "assistant"), ("3", "user"), ("4", "assistant")]]
    assert "sk-secret" in str(proxy.upstream.requests[-1][1])


def test_anthropic_is_noted_and_refused_in_its_own_form(begin: Begin) -> None:
    noting, refusing = begin(mode="note"), begin(mode="refuse", changes=("SUSPECT=refuse",))
    body = {"model": "m", "max_tokens": 10, "messages": rising()}
    for system, first in ((None, "Safety note: "), ("Be brief.", "Be brief.\n\nSafety note: ")):
        noting.client.post("/v1/messages", json={**body, **({"system": system} if system else {})})
        assert noting.upstream.last_body["system"].startswith(first)
    noting.client.post("/v1/messages", json={**body, "system": [{"type": "text", "text": "Be brief."}]})
    assert [block["text"][:11] for block in noting.upstream.last_body["system"]] == [
        "Be brief.",
        "Safety note",
    ]
    with anthropic.Anthropic(base_url=refusing.url, api_key="x", max_retries=0) as client:
        create: Any = client.messages.create
        whole = create(**body)
        assert (whole.stop_reason, whole.content[0].text[:24]) == ("refusal", "I cannot help with this.")
        with client.messages.stream(**body) as stream:  # type: ignore[arg-type]
            assert stream.get_final_text() == whole.content[0].text
    assert refusing.upstream.requests == []


def test_pass_leaves_no_trace_in_the_response(begin: Begin) -> None:
    answer = begin(mode="pass").ask(rising())
    assert not [name for name in answer.headers if name.startswith("x-ethogram")]


def test_a_note_goes_into_the_system_message(begin: Begin) -> None:
    proxy = begin(mode="note")
    proxy.ask([user("Hello!")])
    assert [message["role"] for message in proxy.upstream.last_body["messages"]] == ["user"]
    proxy.ask(rising(), temperature=0.5)
    sent = proxy.upstream.last_body
    assert sent["messages"][0]["role"] == "system"
    assert sent["messages"][0]["content"].startswith("Safety note: ")
    assert (sent["temperature"], sent["messages"][1:]) == (0.5, rising())
    proxy.ask([{"role": "system", "content": "Be brief."}, *rising()])
    system, *rest = proxy.upstream.last_body["messages"]
    assert system["content"].startswith("Be brief.\n\nSafety note: ")
    assert rest == rising()


def test_a_refusal_is_an_answer_in_the_form_of_the_api(begin: Begin) -> None:
    proxy = begin(mode="refuse", changes=("SUSPECT=refuse",))
    messages: Any = rising()
    whole = proxy.openai.chat.completions.create(model="stub", messages=messages)
    text = whole.choices[0].message.content or ""
    assert text.startswith("I cannot help with this. The conversation was rated ")
    assert whole.choices[0].finish_reason == "content_filter"
    stream = list(proxy.openai.chat.completions.create(model="stub", messages=messages, stream=True))
    assert "".join(event.choices[0].delta.content or "" for event in stream) == text
    assert stream[-1].choices[0].finish_reason == "content_filter"
    assert proxy.upstream.requests == []


def test_an_action_per_mode(begin: Begin) -> None:
    proxy = begin(mode="pass", changes=("ELEVATED=annotate", "SUSPECT=refuse"))
    assert "x-ethogram-mode" not in proxy.ask([user("Hello!")]).headers
    assert proxy.ask(rising()).json()["choices"][0]["finish_reason"] == "content_filter"
    for bad in ("LOUD=refuse", "SAFE=shout", "SAFE"):
        with pytest.raises(BadUsage, match="invalid policy"):
            Policy("annotate", [bad])


def test_a_request_sent_again_counts_once(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(store=str(tmp_path / "chats.db"))
    answers = [proxy.ask(rising()) for _ in range(3)]
    assert len({answer.headers["x-ethogram-risk"] for answer in answers}) == 1
    proxy.ask([user("Good day")])
    stored = threads(tmp_path / "chats.db", 12)
    assert sorted(map(len, stored.values())) == [2, 10]


def test_an_edited_turn_is_a_branch(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(store=str(tmp_path / "chats.db"))
    start = [user("Hello!"), bot(ANSWER)]
    first = proxy.ask([*start, user("Will it rain?")])
    second = proxy.ask([*start, user("Will it snow?")])
    again = proxy.ask([*start, user("Will it rain?"), bot(ANSWER), user("And tomorrow?")])
    name = first.headers["x-ethogram-conversation"]
    assert second.headers["x-ethogram-conversation"] == f"{name}~2"
    assert again.headers["x-ethogram-conversation"] == name
    stored = threads(tmp_path / "chats.db", 8)
    assert stored[f"{name}~2"] == [("3", "user"), ("4", "assistant")]


def test_the_name_of_a_conversation_decides(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(store=str(tmp_path / "chats.db"))
    for name in ("c1", "c2"):
        answer = proxy.ask([user("Hello!")], headers={"X-Conversation-Id": name})
        assert answer.headers["x-ethogram-conversation"] == name
    # Only the newest messages, and after that a window of them.
    proxy.ask([user("Will it rain?")], headers={"X-Conversation-Id": "c1"})
    window = [bot(ANSWER), user("Will it rain?"), bot(ANSWER), user("And tomorrow?")]
    proxy.ask(window, headers={"X-Conversation-Id": "c1"})
    stored = threads(tmp_path / "chats.db", 8)
    assert [turn for turn, _ in stored["c1"]] == ["1", "2", "3", "4", "5", "6"]
    assert "x-conversation-id" not in proxy.upstream.requests[-1][1]


def test_system_messages_may_change_from_request_to_request(begin: Begin) -> None:
    proxy = begin()
    names = set()
    for number in range(3):
        system = {"role": "system", "content": f"It is {number} o'clock."}
        history = [message for n in range(number) for message in (user(f"q{n}"), bot(ANSWER))]
        answer = proxy.ask([system, *history, user(f"q{number}")])
        names.add(answer.headers["x-ethogram-conversation"])
    assert len(names) == 1


def test_a_restart_goes_on_where_it_was(begin: Begin, tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    history = [user("Hello!"), bot(ANSWER), user("Will it rain?")]
    first = begin(store=store)
    name = first.ask(history).headers["x-ethogram-conversation"]
    threads(tmp_path / "chats.db", 4)
    first.gateway.chats.close()
    second = begin(store=store)
    answer = second.ask([*history, bot(ANSWER), user("And tomorrow?")])
    assert answer.headers["x-ethogram-conversation"] == name
    assert [turn for turn, _ in threads(tmp_path / "chats.db", 6)[name]] == list("123456")


def test_who_names_the_conversation_of_another_has_one_of_his_own(begin: Begin, tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    proxy = begin(store=str(path))
    headers = {"X-Conversation-Id": "bob-7"}

    def ask(text: str, **fields: Any) -> tuple[str, str]:
        answer = proxy.ask([user(text)], headers=headers, **fields)  # the newest message alone
        assert answer.headers["x-ethogram-conversation"] == "bob-7"  # nobody learns of another
        return answer.headers["x-ethogram-mode"], answer.headers["x-ethogram-risk"]

    for text in RISING:
        risen = ask(text, user="mallory")
    assert risen[0] != "SAFE"
    assert ask("Hello!", user="bob")[0] == "SAFE"
    assert ask("Hello!")[0] == "SAFE"
    assert ask("Will it rain?", user="bob")[0] == "SAFE"
    threads(path, 2 * (len(RISING) + 3))
    with open_store(str(path)) as store:
        told = {(event.thread, event.subject, event.text) for event in store.events()}
        ids = [event.id for event in store.events()]
    users = {(thread, subject) for thread, subject, _ in told if not str(subject).endswith("/assistant")}
    assert len(users) == 3
    assert ("bob-7", "mallory") in users
    assert {subject for _, subject in users} > {"bob", "mallory"}
    assert len(ids) == len(set(ids))


def test_clients_with_two_keys_have_conversations_of_their_own(begin: Begin, tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    with open_store(str(path), create=True) as store:
        keys = [new_key(store, name, "ingest", NOW)[1] for name in ("one", "two")]
    serve = {"host": "0.0.0.0", "hosts": ("127.0.0.1",)}
    proxy = begin(store=str(path), serve=serve)
    for key in keys:
        headers = {"X-Ethogram-Key": key, "X-Conversation-Id": "c1"}
        proxy.ask([user("Hello!")], headers=headers, user="bob")
    assert sorted(map(len, threads(path, 4).values())) == [2, 2]


def test_the_users_of_two_subjects_are_apart(begin: Begin) -> None:
    proxy = begin()
    names = {
        proxy.ask([user("Hello!")], user=who).headers["x-ethogram-conversation"] for who in ("ann", "bo")
    }
    assert len(names) == 2


@pytest.mark.parametrize("mode", ["annotate", "refuse"])
@pytest.mark.parametrize("body", [b"{", b'{"messages": "x"', b"\xff"])
def test_open_passes_what_cannot_be_read_and_closed_does_not(begin: Begin, mode: str, body: bytes) -> None:
    closed = begin(mode=mode, fail="closed")
    answer = closed.client.post("/v1/chat/completions", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_scored")
    assert closed.upstream.requests == []
    opened = begin(mode=mode)
    opened.client.post("/v1/chat/completions", content=body)
    assert opened.upstream.requests[-1][2] == body


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/completions/", "/api/generate"])
def test_other_ways_to_ask_a_model_are_not_scored_and_say_so(begin: Begin, path: str) -> None:
    opened = begin()
    passed = opened.client.post(path, json={"model": "stub", "input": "Hello!"})
    assert passed.headers["x-ethogram-error"] == "not scored"
    assert [item[0] for item in opened.upstream.requests] == [path]
    closed = begin(fail="closed")
    refused = closed.client.post(path, json={"model": "stub", "input": "Hello!"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_scored")
    assert closed.upstream.requests == []


@pytest.mark.parametrize("mode", ["annotate", "refuse"])
def test_a_failure_of_ours_is_open_or_closed(
    begin: Begin, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, closed = begin(mode=mode), begin(mode=mode, fail="closed")

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(opened.gateway.chats, "follow", broken)
    monkeypatch.setattr(closed.gateway.chats, "follow", broken)
    passed = opened.ask(rising())
    assert (passed.status_code, passed.headers["x-ethogram-error"]) == (200, "not scored")
    refused = closed.ask(rising())
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "broken" not in refused.text


def test_errors_of_the_upstream_pass(begin: Begin) -> None:
    proxy = begin(Upstream("fail"))
    with pytest.raises(openai.RateLimitError):
        proxy.openai.chat.completions.create(model="stub", messages=[user("Hello!")])  # type: ignore[list-item]


def test_an_upstream_that_is_away_is_a_bad_gateway(begin: Begin) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = begin(address=f"http://127.0.0.1:{taken.getsockname()[1]}")
        answer = proxy.ask([user("Hello!")])
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_failed")


def test_nothing_but_the_upstream_is_contacted(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    proxy = begin()
    moved = proxy.client.get("/moved")
    assert moved.status_code == 302
    assert [path for path, _, _ in proxy.upstream.requests] == ["/moved"]
    sent = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Ethogram-Risk": "0"}
    proxy.client.get("/v1/models", headers=sent)
    headers = proxy.upstream.requests[-1][1]
    assert "evil" not in str(headers)
    assert headers["host"].startswith("127.0.0.1:")


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example/v1/models",
        "http://evil.example/v1/models",
        "/../v1/models",
        "/v1/%2e%2e/models",
        "/v1\\models",
        "/./v1/models",
    ],
)
def test_paths_that_lead_elsewhere_are_refused(begin: Begin, target: str) -> None:
    proxy = begin()
    port = int(proxy.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        status = connection.makefile("rb").readline()
    assert b" 400 " in status
    assert proxy.upstream.requests == []


def test_one_users_cookie_is_not_sent_for_another(begin: Begin) -> None:
    proxy = begin()
    assert httpx.get(f"{proxy.url}/cookie").headers["set-cookie"] == "who=ann"
    httpx.get(f"{proxy.url}/v1/models")
    assert "cookie" not in proxy.upstream.requests[-1][1]


def test_foreign_hosts_sites_and_large_bodies_are_refused(begin: Begin) -> None:
    proxy = begin(serve={"body_bytes": 1000})
    assert proxy.ask([user("Hello!")], headers={"Host": "evil.example"}).status_code == 421
    assert proxy.ask([user("Hello!")], headers={"Origin": "https://evil.example"}).status_code == 403
    assert proxy.ask([user("x" * 2000)]).status_code == 413
    parts = iter([b" " * 600] * 3)
    assert proxy.client.post("/v1/chat/completions", content=parts).status_code == 413
    assert proxy.upstream.requests == []


def test_others_need_a_key_of_ours(begin: Begin, tmp_path: Path) -> None:
    store = str(tmp_path / "chats.db")
    with pytest.raises(BadUsage, match="API keys"):
        begin(store=store, serve={"host": "0.0.0.0"})
    with open_store(store, create=True) as opened:
        _, secret = new_key(opened, "app", "ingest", NOW)
    proxy = begin(store=store, serve={"host": "0.0.0.0"})
    assert proxy.ask([user("Hello!")]).status_code == 401
    assert proxy.ask([user("Hello!")], headers={"x-ethogram-key": secret}).status_code == 200
    assert secret not in str(proxy.upstream.requests)


@pytest.mark.parametrize(
    "address", ["ftp://x", "nothing", "http://example.org", "https://me:secret@example.org", "https://x?y=1"]
)
def test_a_bad_upstream_is_refused(address: str) -> None:
    with pytest.raises(BadUsage, match="upstream") as refused:
        Gateway(ProxyOptions(address, ServeOptions()))
    assert "secret" not in str(refused.value)


def test_keys_and_texts_are_in_no_log_and_no_store(
    begin: Begin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    proxy = begin(store=str(tmp_path / "chats.db"))
    proxy.openai.chat.completions.create(model="stub", messages=[user("My cat is called Zanzibar.")])  # type: ignore[list-item]
    threads(tmp_path / "chats.db", 2)
    proxy.gateway.chats.close()
    ours = [record for record in caplog.records if record.name.startswith("ethogram")]
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in ("sk-secret", "Zanzibar"):
        assert secret.encode() not in written
        assert not [record for record in ours if secret in record.getMessage()]


def test_a_client_that_leaves_does_not_keep_the_upstream(begin: Begin) -> None:
    upstream = Upstream("word " * 5_000)
    upstream.pause = 0.05
    proxy = begin(upstream)
    body = {"model": "stub", "messages": [user("Hello!")], "stream": True}
    with proxy.client.stream("POST", "/v1/chat/completions", json=body) as response:
        next(response.iter_lines())
    wait_for(lambda: upstream.left == 1)
    upstream.answer = ANSWER
    assert proxy.ask([user("Good day")], model="stub").status_code == 200


def test_an_answer_that_breaks_off_does_not_look_whole(begin: Begin, tmp_path: Path) -> None:
    proxy = begin(Upstream("break off now please"), str(tmp_path / "chats.db"))
    body = {"model": "stub", "messages": [user("Hello!")], "stream": True}
    with pytest.raises(httpx.RemoteProtocolError):
        proxy.client.post("/v1/chat/completions", json=body)
    proxy.upstream.answer = ANSWER
    proxy.ask([user("Hello!"), bot("Good day"), user("Will it rain?")])
    [turns] = threads(tmp_path / "chats.db", 4).values()
    assert [role for _, role in turns] == ["user", "assistant", "user", "assistant"]


def test_a_request_that_does_not_arrive_is_given_up(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "BODY_SECONDS", 0.2)
    port = int(begin().url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 100\r\n\r\n{{"
        )
        connection.sendall(head.encode())
        assert b" 408 " in connection.makefile("rb").readline()


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.long)])
def test_many_conversations_at_once(
    begin: Begin, tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Upstream and gateway share a process here, and both may be slow.
    monkeypatch.setattr(upstream_module, "CONNECT", PATIENCE_SECONDS)
    proxy = begin(
        Upstream(lambda fields: f"answer to {fields['messages'][-1]['content']}"), str(tmp_path / "c.db")
    )

    async def converse(client: httpx.AsyncClient, number: int) -> list[str]:
        history: list[Any] = []
        names = []
        for turn in range(2):
            history.append(user(f"question {turn} of {number}"))
            body = {"model": "stub", "messages": history}
            answer = await client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            names.append(answer.headers["x-ethogram-conversation"])
            text = answer.json()["choices"][0]["message"]["content"]
            assert text == f"answer to question {turn} of {number}"
            history.append(bot(text))
        return names

    async def all_at_once() -> list[list[str]]:
        limits = httpx.Limits(max_connections=count)
        async with httpx.AsyncClient(base_url=proxy.url, timeout=PATIENCE_SECONDS, limits=limits) as client:
            return await asyncio.gather(*(converse(client, number) for number in range(count)))

    names = asyncio.run(all_at_once())
    assert [len(set(name)) for name in names] == [1] * count
    assert len({name[0] for name in names}) == count
    stored = threads(tmp_path / "c.db", 4 * count)
    assert {len(turns) for turns in stored.values()} == {4}


def test_an_id_that_is_too_long_to_be_stored_is_refused(begin: Begin) -> None:
    proxy = begin()
    longest = proxy.ask([user("Hello!")], headers={"X-Conversation-Id": "c" * 480})
    assert longest.headers["x-ethogram-conversation"] == "c" * 480
    refused = proxy.ask([user("Hello!")], headers={"X-Conversation-Id": "c" * 481})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "bad_conversation")
    assert len(proxy.upstream.requests) == 1
